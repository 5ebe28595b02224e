// Every legal schedule gives the same values: bit by bit where nothing is added, else as exact as promised.
#include "tests/property/schedules.h"

#include "frontend/rewrite/passes.h"
#include "spirv/kernel/verify.h"
#include "spirv/lower/evaluate.h"
#include "support/lowered.h"

namespace spirograd::property {
namespace schedules_test {

constexpr uint64_t kRuns = 2100;

TEST(Schedules, EveryLegalOneGivesTheSameValues) {
  Drawn drawn;
  int exact = 0;
  for (uint64_t k = 0; k < kRuns && !HasFailure(); ++k) {
    const uint64_t seed = base_seed() * 7919 + k;
    const RandomProgram r = scheduled_program(seed);
    const Program simple = rewrite::optimise_for_lowering(r.program, {.verify = true});
    Target target = test::cpu_target();
    if (k % 2) target.price = {};
    if (k % 7 < 2) target.price.dispatch = 0;
    target.subgroup_size = k % 3 ? 4 : 32;
    target.subgroup_operations |= kSubgroupShuffle | kSubgroupBallot;
    const RandomScheduler scheduler(seed);
    const lower::Plan plan = lower::lower(simple, target, scheduler);
    for (const kernel::Kernel& kernel : plan.kernels)
      if (const auto defect = kernel::verify(kernel)) ADD_FAILURE() << defect->str();
    const std::vector<HostArray> arrays = host_arrays(r.program, r.inputs);
    const std::vector<Values> have = values_of(lower::evaluate(plan, arrays));
    const bool same_bits = is_exact(simple);
    const std::vector<Values> want =
        same_bits ? values_of(lower::evaluate(lower::lower(simple, target), arrays)) : run(simple, r.inputs);
    EXPECT_EQ(difference(want, have, same_bits ? 0 : 2e-5), "") << "SPIROGRAD_SEED=" << base_seed() << ", run " << k << "\n"
                                                                << text::print(r.program) << scheduler.drawn();
    drawn += scheduler.counts();
    exact += same_bits;
  }
  std::cout << kRuns << " programs, " << drawn << "; " << exact << " programs compared bit by bit\n";
  EXPECT_GE(drawn.maps + drawn.reductions, 1000);
  EXPECT_GE(drawn.halves, 30);
  EXPECT_GE(drawn.teams, 30);
  EXPECT_GE(drawn.turned, 30);
  EXPECT_GE(drawn.shared, 50);
  EXPECT_GE(drawn.exchanged, 10);
  EXPECT_GE(drawn.staged, 50);
  EXPECT_GE(drawn.broadcast, 30);
  EXPECT_GE(drawn.packed, 5);
  EXPECT_GE(drawn.partial, 100);
  EXPECT_GE(drawn.scans, 100);
  EXPECT_GE(drawn.copies, 15);
  EXPECT_GE(drawn.ranges, 12);
  EXPECT_GE(drawn.runs, 10);
  EXPECT_GE(drawn.by_teams, 5);
}

}  // namespace schedules_test
}  // namespace spirograd::property
