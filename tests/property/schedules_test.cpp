// Every legal schedule gives the same values: bit by bit where nothing is added, else as exact as promised.
#include "tests/property/schedules.h"

#include "frontend/rewrite/passes.h"
#include "spirv/kernel/verify.h"
#include "spirv/lower/evaluate.h"
#include "support/lowered.h"

namespace spirograd::property {
namespace {

constexpr uint64_t kRuns = 800;

TEST(Schedules, EveryLegalOneGivesTheSameValues) {
  int maps = 0, reductions = 0, shared = 0, staged = 0, scans = 0, exact = 0;
  for (uint64_t k = 0; k < kRuns && !HasFailure(); ++k) {
    const uint64_t seed = base_seed() * 7919 + k;
    const RandomProgram r = scheduled_program(seed);
    const Program simple = rewrite::optimise_for_lowering(r.program, {.verify = true});
    Target target = test::cpu_target();
    if (k % 2) target.price = {};
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
    maps += scheduler.maps();
    reductions += scheduler.reductions();
    shared += scheduler.shared();
    staged += scheduler.staged();
    scans += scheduler.scans();
    exact += same_bits;
  }
  std::cout << kRuns << " programs, " << maps << " schedules of maps, " << reductions << " of reductions, " << shared
            << " shared by workgroups, " << staged << " in shared memory, " << scans << " scans, " << exact
            << " programs compared bit by bit\n";
  EXPECT_GE(maps + reductions, 1000);
  EXPECT_GE(shared, 50);
  EXPECT_GE(staged, 50);
  EXPECT_GE(scans, 100);
}

}  // namespace
}  // namespace spirograd::property
