// How many loop iterations an invocation gets, and how long a compiler takes for much code in a loop.
#include "spirv/probes/recipe.h"

namespace spirograd::probes {

using kernel::Access;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

namespace {

// Code of some length in a loop, for the time that it takes to compile.
void add_long_code(Recipes& out) {
  constexpr uint32_t kSalted = 750, kRounds = 3, kElements = 64;
  Draft d("1,500 instructions");
  const uint32_t y = d.output(kElements), rounds = d.constant({kRounds});
  const auto salt = [](uint32_t j) { return (j + 1) * 0x9e3779b1u; };
  Builder b("1,500 instructions", 64, kElements);
  const uint32_t n = b.bind("rounds", Scalar::I32, Access::Read), to = b.bind("y", Scalar::U32, Access::Write);
  b.begin_guard();
  const Value x = b.var(b.index());
  b.begin_loop(b.load(n, word(b, 0)));
  Value next = b.get(x);
  for (uint32_t j = 0; j < kSalted; ++j) next = b.mul(b.op(KOp::Xor, next, word(b, salt(j))), word(b, 1664525));
  b.set(x, next);
  b.end_loop();
  b.store(to, {b.index(), b.get(x)});
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  d.run(kernel, {{rounds}, {y}});
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < kElements; ++i) {
    uint32_t state = i;
    for (uint32_t k = 0; k < kRounds * kSalted; ++k) state = (state ^ salt(k % kSalted)) * 1664525u;
    expected.push_back(state);
  }
  d.expect(27, "long code", y, expected);
  d.thorough();
  out.push_back(std::move(d).take());
}

}  // namespace

void add_loops(Recipes& out) {
  constexpr auto kCases = static_cast<uint32_t>(kLoopCases.size());
  Draft d("loops");
  const uint32_t report = d.output(kLoopReport * kCases);
  std::vector<uint32_t> trips, expected;
  for (const auto& [outer, inner] : kLoopCases) {
    trips.insert(trips.end(), {outer, inner});
    uint32_t state = 1;
    for (uint32_t k = 0; k < outer * inner; ++k) state = next_state(state);
    expected.insert(expected.end(), {state, outer * inner, outer});
  }
  const uint32_t counts = d.constant(trips);
  Builder b("count iterations", 1, kCases);
  const uint32_t from = b.bind("counts", Scalar::I32, Access::Read), to = b.bind("report", Scalar::U32, Access::Write);
  b.begin_guard();
  const Value i = b.index(), one = word(b, 1);
  const Value state = b.var(one), steps = b.var(word(b, 0)), rounds = b.var(word(b, 0));
  b.begin_loop(b.load(from, b.mul(i, word(b, 2))));
  b.begin_loop(b.load(from, b.add(b.mul(i, word(b, 2)), one)));
  const Value next = b.add(b.mul(b.get(state), word(b, 1664525)), word(b, 1013904223));
  b.set(state, next);
  b.begin_if(b.op(KOp::Ne, b.op(KOp::ShrU, next, word(b, 31)), word(b, 0)));
  b.set(state, b.op(KOp::Xor, next, word(b, 0x5a5a5a5a)));
  b.end_if();
  b.set(steps, b.add(b.get(steps), one));
  b.end_loop();
  b.set(rounds, b.add(b.get(rounds), one));
  b.end_loop();
  const Value place = b.mul(i, word(b, kLoopReport));
  b.store(to, place, b.get(state));
  b.store(to, {b.add(place, one), b.get(steps)});
  b.store(to, {b.add(place, word(b, 2)), b.get(rounds)});
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  d.run(kernel, {{counts}, {report}});
  d.expect(5, "loops", report, expected);
  out.push_back(std::move(d).take());
  add_long_code(out);
}

}  // namespace spirograd::probes
