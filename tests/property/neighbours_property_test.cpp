// What a tuner tries is legal, differs, is taken by a compiler that is told to, and gives the same values.
#include <map>
#include <random>
#include <set>

#include "frontend/rewrite/passes.h"
#include "spirv/assemble.h"
#include "spirv/kernel/verify.h"
#include "spirv/lower/evaluate.h"
#include "spirv/schedule/chooser.h"
#include "support/lowered.h"
#include "tests/property/schedules.h"

namespace spirograd::property {
namespace neighbours_property_test {

using schedule::Asked;
using schedule::Chooser;

constexpr uint64_t kPrograms = 370;
constexpr size_t kTried = 6;  // neighbours of each answer, drawn at random

std::vector<Asked> asked_by(const Program& simple, const Target& target, const Choices& choices) {
  std::vector<Asked> asked;
  lower::lower(simple, target, Chooser(choices, &asked));
  return asked;
}

TEST(Neighbours, OfEveryFamilyGiveTheSameValues) {
  std::map<std::string, int> tried;  // by kind of work
  for (uint64_t k = 0; k < kPrograms && !HasFailure(); ++k) {
    const RandomProgram r = scheduled_program(base_seed() * 104729 + k);
    const Program simple = rewrite::optimise_for_lowering(r.program);
    Target target = k % 2 ? test::gpu_target() : test::cpu_target();
    if (k % 4 == 1) target.subgroup_size = 4;
    target.subgroup_operations |= kSubgroupShuffle | kSubgroupBallot;
    const std::vector<HostArray> arrays = host_arrays(r.program, r.inputs);
    const bool same_bits = is_exact(simple);
    const std::vector<Values> want =
        same_bits ? values_of(lower::evaluate(lower::lower(simple, target), arrays)) : run(simple, r.inputs);
    std::mt19937_64 random(k);
    for (const Asked& a : asked_by(simple, target, {})) {
      EXPECT_EQ(a.schedule, a.usual) << "nothing was chosen";
      std::vector<std::string> drawn = a.neighbours;
      EXPECT_EQ(std::set<std::string>(drawn.begin(), drawn.end()).size(), drawn.size()) << a.facts;
      std::shuffle(drawn.begin(), drawn.end(), random);
      for (size_t j = 0; j < std::min(kTried, drawn.size()); ++j) {
        const Choices choices = {{a.facts, drawn[j]}};
        EXPECT_NE(drawn[j], a.schedule) << a.facts;
        // What cannot be read, or is not legal, would not have been taken.
        const std::vector<Asked> now = asked_by(simple, target, choices);
        const auto it = std::find_if(now.begin(), now.end(), [&](const Asked& b) { return b.facts == a.facts; });
        ASSERT_NE(it, now.end());
        EXPECT_EQ(it->schedule, drawn[j]) << a.facts;
        EXPECT_EQ(it->usual, a.usual);
        const lower::Plan plan = lower::lower(simple, target, Chooser(choices));
        for (const kernel::Kernel& kernel : plan.kernels)
          if (const auto defect = kernel::verify(kernel)) ADD_FAILURE() << defect->str();
        const std::vector<Values> have = values_of(lower::evaluate(plan, arrays));
        EXPECT_EQ(difference(want, have, same_bits ? 0 : 2e-5), "")
            << "SPIROGRAD_SEED=" << base_seed() << ", program " << k << "\n"
            << text::print(r.program) << a.facts << "\n"
            << drawn[j];
        ++tried[a.facts.substr(0, a.facts.find(' '))];
      }
    }
  }
  for (const char* kind : {"map", "reduction", "partial", "pack", "scan", "scatter"}) EXPECT_GE(tried[kind], 50) << kind;
  for (const auto& [kind, n] : tried) std::cout << n << " neighbours of a " << kind << "\n";
}

// As one loop this sum is longer than the device has proved to run, and what was chosen cannot be cut any more.
TEST(Neighbours, ChoicesThatLeaveNoWayToCompileAreLeft) {
  const Program p = text::instantiate(text::parse("def f(x: f32[1000000]) -> f32 = sum(x)", "sum.sg").value()).value();
  Target target = test::cpu_target();
  target.max_loop_iterations = 1000;
  CompileOptions options;
  for (const Asked& a : asked_by(rewrite::optimise_for_lowering(p), target, {}))
    if (a.facts.starts_with("partial of 1000000 ")) options.choices = {{a.facts, "k = serial 1000000"}};
  ASSERT_EQ(options.choices.size(), 1u);
  EXPECT_THROW(decide(p, target, options), Error);
  const Result<Executable> chosen = compile(p, target, options), usual = compile(p, target);
  ASSERT_TRUE(chosen && usual);
  ASSERT_EQ(chosen->kernels.size(), usual->kernels.size());
  for (size_t k = 0; k < usual->kernels.size(); ++k) EXPECT_EQ(chosen->kernels[k].words, usual->kernels[k].words);
  target.max_loop_iterations = kNoLoopLimit;
  EXPECT_NE(compile(p, target, options)->steps.size(), compile(p, target)->steps.size()) << "there it is taken";
  EXPECT_GE(decide(p, target, options).iterations, 1'000'000u / 64);
  EXPECT_LT(decide(p, target, {}).iterations, 1'000'000u / 64);
}

}  // namespace neighbours_property_test
}  // namespace spirograd::property
