// What the self-test takes away from a device, programs do without: right on the host, and never with what is wrong.
#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/rewrite/passes.h"
#include "spirograd/compile.h"
#include "spirograd/text.h"
#include "spirv/schedule/legal.h"
#include "support/lowered.h"

namespace spirograd {
namespace device_facts_test {

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

lower::Plan plan_of(const Program& p, const Target& t) { return lower::lower(rewrite::optimise_for_lowering(p), t); }

bool uses(const lower::Plan& plan, kernel::KOp op) {
  return std::any_of(plan.kernels.begin(), plan.kernels.end(), [op](const kernel::Kernel& k) {
    return std::any_of(k.body.begin(), k.body.end(), [op](const kernel::Inst& i) { return i.op == op; });
  });
}

// Where no addition of a type is right, one invocation adds in order.
TEST(DeviceFacts, ScattersAddInOrderWhereNoAdditionIsProved) {
  const std::vector<double> updates = {1, 2, 4, 8, 16, 32}, places = {0, 2, 1, 2, 2, -1};
  for (const std::string type : {"f32", "i32", "u32"}) {
    const Program p = program("def main(x: " + type + "[6], i: i32[6]) -> (y: " + type + "[3]) = scatter([3], x, i)\n");
    for (const bool native : {false, true})
      for (const bool exchange : {false, true})
        for (const bool integers : {false, true}) {
          Target t = test::cpu_target();
          t.atomic_float_add = native;
          t.exchange_float_add = exchange;
          t.integer_atomics = integers;
          const lower::Plan plan = plan_of(p, t);
          EXPECT_EQ(uses(plan, kernel::KOp::AtomicAdd), type == "f32" ? native || exchange : integers) << type;
          EXPECT_TRUE(test::same_as_interpreter(rewrite::optimise_for_lowering(p), plan, {updates, places})) << type;
        }
  }
}

TEST(DeviceFacts, NativeSumsThatAreNotWantedAreNotReplacedByWrongOnes) {
  const Program p = program("def main(x: f32[6], i: i32[6]) -> (y: f32[3]) = scatter([3], x, i)\n");
  Target t = test::cpu_target();
  t.atomic_float_add = true;
  t.exchange_float_add = false;
  constexpr uint32_t kCompareExchange = 230, kAtomicAdd = 6035;  // opcodes
  for (const bool native : {true, false}) {
    const Executable e = compile(p, t, {.native_float_atomics = native}).value();
    bool exchanges = false, adds = false;
    for (const KernelBinary& k : e.kernels)
      for (size_t at = 5; at < k.words.size(); at += k.words[at] >> 16) {
        exchanges = exchanges || (k.words[at] & 0xffff) == kCompareExchange;
        adds = adds || (k.words[at] & 0xffff) == kAtomicAdd;
      }
    EXPECT_FALSE(exchanges);
    EXPECT_EQ(adds, native);
  }
}

// Whoever runs an executable that was made for another device asks for them.
TEST(DeviceFacts, KernelsSayWhichProofsTheyRelyOn) {
  Target t;
  t.max_buffers = 30;
  const auto needs = [&](const std::string& text, bool native) {
    t.atomic_float_add = native;
    return requirements_of(compile(program(text), t).value());
  };
  const auto scatter = [](const std::string& type) {
    return "def main(x: " + type + "[6], i: i32[6]) -> (y: " + type + "[3]) = scatter([3], x, i)\n";
  };
  for (const bool native : {false, true}) {
    const Requirements f = needs(scatter("f32"), native);
    EXPECT_EQ(f.atomic_float_add, native);
    EXPECT_EQ(f.exchange_float_add, !native);
    EXPECT_FALSE(f.integer_atomics || f.shared_memory);
  }
  for (const char* type : {"i32", "u32"}) {
    const Requirements i = needs(scatter(type), true);
    EXPECT_TRUE(i.integer_atomics);
    EXPECT_FALSE(i.atomic_float_add || i.exchange_float_add || i.shared_memory);
  }
  const Requirements s = needs("def main(x: f32[4096]) -> (y: f32) = sum(x)\n", true);
  EXPECT_TRUE(s.shared_memory);
  EXPECT_FALSE(s.atomic_float_add || s.exchange_float_add || s.integer_atomics);
  const Requirements none = needs("def main(x: f32[4]) -> (y: f32[4]) = x + 1.0\n", true);
  EXPECT_FALSE(none.shared_memory || none.atomic_float_add || none.exchange_float_add || none.integer_atomics);
}

// On an invented GPU, which would share each of these in workgroups.
TEST(DeviceFacts, NothingIsSharedWhereSharedMemoryIsWrong) {
  Target together, alone;
  together.max_buffers = alone.max_buffers = 30;
  alone.shared_memory = false;
  const std::vector<double> square(64 * 64, 0.5);
  struct Case {
    const char* text;
    std::vector<std::vector<double>> inputs;
  };
  const Case cases[] = {
      {"def main(x: f32[4096]) -> (y: f32) = sum(x)\n", {square}},
      {"def main(x: f32[64,64], y: f32[64,64]) -> (z: f32[64,64]) = x @ y\n", {square, square}},
      {"def main(x: f32[4096]) -> (y: f32[4097]) = scan(fn(s, a) => s + a, 0.5, x)\n", {square}},
  };
  for (const Case& c : cases) {
    const Program p = program(c.text);
    EXPECT_TRUE(uses(plan_of(p, together), kernel::KOp::Barrier)) << c.text;
    const lower::Plan plan = plan_of(p, alone);
    for (kernel::KOp op : {kernel::KOp::Barrier, kernel::KOp::SharedLoad, kernel::KOp::SharedStore})
      EXPECT_FALSE(uses(plan, op)) << c.text;
    EXPECT_TRUE(test::same_as_interpreter(rewrite::optimise_for_lowering(p), plan, c.inputs)) << c.text;
  }
}

TEST(DeviceFacts, SchedulesOfWorkgroupsAreIllegalThere) {
  Target t;
  schedule::MapFacts map;
  map.domain = {64};
  map.alone = true;
  schedule::MapSchedule grouped = schedule::plain_map(map);
  grouped.group = 64;
  schedule::ReduceFacts reduce;
  reduce.extents = {128};
  reduce.group = 64;
  const schedule::ReduceSchedule local{{{{schedule::Bind::Serial, 2}, {schedule::Bind::Local, 64}}}};
  schedule::ScanFacts scan;
  scan.length = 256;
  const schedule::ScanSchedule tiles{
      {{schedule::Bind::Grid, 1}, {schedule::Bind::Serial, 4}, {schedule::Bind::Local, 64}, {schedule::Bind::Register, 1}}};
  for (const bool shared : {true, false}) {
    t.shared_memory = shared;
    EXPECT_EQ(!check(map, grouped, t), shared);
    EXPECT_EQ(!check(reduce, local, t), shared);
    EXPECT_EQ(!check(scan, tiles, t), shared);
  }
}

TEST(DeviceFacts, GridsThatMustNotBeFoldedAreRefusedWithBothNumbers) {
  const Program p = program("def main(x: f32[100000]) -> (y: f32[100000]) = x + 1.0\n");
  Target t = test::cpu_target();
  t.price = Prices();
  t.max_groups = 100;
  EXPECT_TRUE(compile(p, t));
  t.folded_grids = false;
  const auto refused = compile(p, t);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "SG0303");
  EXPECT_NE(refused.error().message.find("has 100 (maxComputeWorkGroupCount)"), std::string::npos) << refused.error().str();
}

}  // namespace device_facts_test
}  // namespace spirograd
