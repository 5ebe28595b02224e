// Additions to elements that many invocations share: f32 by compare-exchange and natively, integers.
#include <cmath>

#include "spirv/probes/recipe.h"

namespace spirograd::probes {
namespace {

using kernel::Access;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

constexpr uint32_t kFewAdds = 1u << 14, kManyAdds = 1u << 16;
constexpr uint32_t kPlaces[] = {1, 64, 4096};
constexpr uint32_t kBefore = 100;  // what the sums start from

// Updates come in passes over the places; they are unequal, and neighbours take different paths.
uint32_t update(uint32_t pass) { return pass % 2 != 0 ? 3 : 1 + pass % 8; }

// Sums of whole numbers, which are exact in f32, onto what a fill has left, from two dispatches, all of it twice.
void add_float_sums(Recipes& out, uint32_t adds, bool native, bool thorough) {
  Draft d(std::to_string(adds) + (native ? " native f32 additions" : " f32 additions by compare-exchange"));
  if (native) d.native_atomics();
  if (thorough) d.thorough();
  std::vector<uint32_t> outputs;
  for (uint32_t n : kPlaces) outputs.push_back(d.output(n));
  const uint32_t counts = d.constant({std::begin(kPlaces), std::end(kPlaces)});
  Builder b("add", 64, adds);
  const uint32_t n = b.bind("n", Scalar::U32, Access::Read), y = b.bind("y", Scalar::F32, Access::Atomic);
  b.begin_guard();
  const Value places = b.op(KOp::Max, b.load(n, word(b, 0)), word(b, 1));
  const Value place = b.op(KOp::Rem, b.index(), places), pass = b.op(KOp::Quot, b.index(), places);
  b.begin_if(b.op(KOp::Ne, b.op(KOp::And, pass, word(b, 1)), word(b, 0)));
  b.atomic_add(y, place, b.f32(3));
  b.begin_else();
  b.atomic_add(y, place, b.convert(Scalar::F32, b.add(b.op(KOp::And, pass, word(b, 7)), word(b, 1))));
  b.end_if();
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  for (int time = 0; time < 2; ++time)
    for (uint32_t j = 0; j < outputs.size(); ++j) {
      d.fill(outputs[j], bits_of(static_cast<float>(kBefore)));
      for (int dispatch = 0; dispatch < 2; ++dispatch) d.run(kernel, {{counts, 4 * j}, {outputs[j]}});
    }
  for (uint32_t j = 0; j < outputs.size(); ++j) {
    uint32_t sum = kBefore;
    for (uint32_t i = 0; i < adds; i += kPlaces[j]) sum += 2 * update(i / kPlaces[j]);
    const std::string what = "sums in " + std::to_string(kPlaces[j]) + (kPlaces[j] == 1 ? " place" : " places");
    d.expect_steps(native ? 7 : 6, what, outputs[j], bits_of(static_cast<float>(sum)), 0);
  }
  out.push_back(std::move(d).take());
}

// Sums of words that wrap around many times, of both integer types.
void add_integer_sums(Recipes& out) {
  constexpr uint32_t kFew = 3, kAddend = 0x9e3779b9;
  Draft d("integer sums");
  const uint32_t unsigned_sums = d.output(kFew), signed_sums = d.output(kFew);
  Builder b("add integers", 64, kFewAdds);
  const uint32_t u = b.bind("u", Scalar::U32, Access::Atomic), s = b.bind("s", Scalar::I32, Access::Atomic);
  b.begin_guard();
  const Value place = b.op(KOp::Rem, b.index(), word(b, kFew)), addend = b.add(b.index(), word(b, kAddend));
  b.atomic_add(u, place, addend);
  b.atomic_add(s, place, b.bitcast(Scalar::I32, addend));
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  d.fill(unsigned_sums, 5);
  d.fill(signed_sums, 5);
  d.run(kernel, {{unsigned_sums}, {signed_sums}});
  std::vector<uint32_t> sums(kFew, 5);
  for (uint32_t i = 0; i < kFewAdds; ++i) sums[i % kFew] += i + kAddend;
  d.expect(8, "u32 sums", unsigned_sums, sums);
  d.expect(8, "i32 sums", signed_sums, sums);
  out.push_back(std::move(d).take());
}

// A NaN never equals itself: a loop that compares numbers instead of bits has no end.
void add_special_sums(Recipes& out) {
  Draft d("sums of NaN and infinity");
  constexpr uint32_t kSums = 4;
  const uint32_t kinds = d.output(kSums), sums = d.scratch(kSums);
  const float special[kSums] = {std::nanf(""), INFINITY, -INFINITY, 2};
  std::vector<uint32_t> words;
  for (uint32_t i = 0; i < 64; ++i) words.push_back(bits_of(i < 2 * kSums ? special[i % kSums] : 1));
  const uint32_t updates = d.constant(words);
  Builder add("add specials", 64, 64);
  const uint32_t x = add.bind("x", Scalar::F32, Access::Read), y = add.bind("y", Scalar::F32, Access::Atomic);
  add.begin_guard();
  const Value place = add.op(KOp::Rem, add.index(), word(add, kSums));
  add.atomic_add(y, place, add.load(x, add.index()));
  add.end_if();
  // 0: finite, 1: an infinity, 2: NaN; told by the bits.
  Builder tell("tell kinds", 64, kSums);
  const uint32_t from = tell.bind("y", Scalar::U32, Access::Read), to = tell.bind("kinds", Scalar::U32, Access::Write);
  tell.begin_guard();
  const Value size = tell.op(KOp::And, tell.load(from, tell.index()), word(tell, 0x7fffffff));
  const Value beyond = tell.op(KOp::Gt, size, word(tell, 0x7f800000)), at = tell.op(KOp::Eq, size, word(tell, 0x7f800000));
  tell.store(to, {tell.index(), tell.select(beyond, word(tell, 2), tell.select(at, word(tell, 1), word(tell, 0)))});
  tell.end_if();
  const uint32_t first = d.kernel(std::move(add).finish()), second = d.kernel(std::move(tell).finish());
  d.fill(sums, 0);
  d.run(first, {{updates}, {sums}});
  d.run(second, {{sums}, {kinds}});
  d.expect(9, "NaN, infinities and a finite sum", kinds, {2, 1, 1, 0});
  out.push_back(std::move(d).take());
}

}  // namespace

void add_sums(Recipes& out) {
  for (const bool native : {false, true}) {
    add_float_sums(out, kFewAdds, native, false);
    add_float_sums(out, kManyAdds, native, true);
  }
  add_integer_sums(out);
  add_special_sums(out);
}

}  // namespace spirograd::probes
