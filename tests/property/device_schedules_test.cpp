// Random legal schedules on the device: the bits of the host evaluator, which runs the same kernels.
#include "frontend/rewrite/passes.h"
#include "spirv/assemble.h"
#include "spirv/lower/evaluate.h"
#include "spirv/schedule/cost.h"
#include "tests/gpu/fixture.h"
#include "tests/property/bits.h"
#include "tests/property/schedules.h"

namespace spirograd::property {
namespace device_schedules_test {

constexpr uint64_t kPrograms = 320;

class DeviceSchedules : public vk::testing::Gpu {};

TEST_F(DeviceSchedules, EveryLegalOneRunsAsOnTheHost) {
  Drawn drawn;
  for (uint64_t k = 0; k < kPrograms && !HasFailure(); ++k) {
    const uint64_t seed = (base_seed() + driver_number()) * 104729 + k;
    const RandomProgram r = scheduled_program(seed);
    const Program simple = rewrite::optimise_for_lowering(r.program, {.verify = true});
    Target target = device->target();
    if (k % 2) target.price = {};  // half of them as for a GPU
    const RandomScheduler scheduler(seed, 120);
    const lower::Plan plan = lower::lower(simple, target, scheduler);
    const std::vector<HostArray> arrays = host_arrays(r.program, r.inputs), want = lower::evaluate(plan, arrays);
    const BindingForm form = vk::testing::kForms[k % 2];
    auto session = vk::Session::create(device, assemble(plan, target, {.form = form, .validate = true}));
    ASSERT_TRUE(session) << session.error().str();
    const std::vector<HostArray> have = (*session)->run(arrays).value();
    bool flushed = false;
    std::string wrong = bit_difference(want, have, flushed);
    if (adds_floats_atomically(plan) || !on_processors()) wrong = difference(values_of(want), values_of(have), 1e-5);
    EXPECT_EQ(wrong, "") << "SPIROGRAD_SEED=" << base_seed() << ", run " << k << "\n"
                         << text::print(r.program) << scheduler.drawn();
    EXPECT_TRUE(messages.lines.empty()) << messages.text();
    drawn += scheduler.counts();
  }
  std::cout << kPrograms << " programs, " << drawn << "\n";
  EXPECT_GE(drawn.maps + drawn.reductions, 130);
  EXPECT_GE(drawn.halves, 1);
  EXPECT_GE(drawn.shared, 3);
  // Few groups that are drawn are of 32 invocations or more.
  EXPECT_GE(drawn.exchanged, exchanges_lanes(device->target()) && device->target().subgroup_size <= 8 ? 1 : 0);
  EXPECT_GE(drawn.staged, 1);
  EXPECT_GE(drawn.broadcast, schedule::broadcasts_lanes(device->target()) ? 3 : 0);
  EXPECT_GE(drawn.scans, 10);
  EXPECT_GE(drawn.by_lanes, schedule::adds_lanes(device->target()) ? 1 : 0);
  EXPECT_GE(drawn.by_teams, on_processors() && exchanges_lanes(device->target()) ? 1 : 0);
}

}  // namespace device_schedules_test
}  // namespace spirograd::property
