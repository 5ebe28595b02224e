// Device plans, ranking and selection on invented GPUs.
#include "vk_runtime/device_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "spirograd/result.h"
#include "vk_runtime/dispatch_plan.h"
#include "vk_runtime/instance.h"
#include "vk_runtime/recorder.h"

namespace spirograd::vk {
namespace device_plan_test {

DeviceFacts gpu() {
  DeviceFacts f;
  f.name = "Invented 9000";
  f.type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  f.api_version = VK_API_VERSION_1_3;
  f.queues = {
      {VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT, 1, 64}, {VK_QUEUE_TRANSFER_BIT, 2, 0}, {VK_QUEUE_COMPUTE_BIT, 4, 36}};
  f.buffer_device_address = f.float64 = true;
  f.atomic_float_extension = f.atomic_float_add = true;
  f.subgroup_size = 32;
  f.subgroup_stages = VK_SHADER_STAGE_COMPUTE_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
  f.subgroup_operations = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_QUAD_BIT;
  f.subgroup_size_control = true;
  f.least_subgroup = 32;
  f.greatest_subgroup = 64;
  f.timestamp_period = 1;
  f.limits.maxComputeSharedMemorySize = 49152;
  f.limits.maxComputeWorkGroupInvocations = 1024;
  f.limits.maxComputeWorkGroupSize[0] = 512;
  f.limits.maxComputeWorkGroupCount[0] = 1u << 31;
  f.limits.maxComputeWorkGroupCount[1] = 65535;
  f.limits.maxPerStageDescriptorStorageBuffers = 1000;
  f.limits.maxDescriptorSetStorageBuffers = 500;
  f.limits.maxPerStageResources = 200;
  f.limits.maxPushConstantsSize = 256;
  f.limits.maxStorageBufferRange = 1u << 30;
  f.limits.minStorageBufferOffsetAlignment = 16;
  return f;
}

TEST(DevicePlan, PrefersAQueueForComputeOnly) {
  const DevicePlan p = plan_device(gpu(), 8);
  EXPECT_EQ(p.unusable, "");
  EXPECT_EQ(p.queue_family, 2u);
  EXPECT_EQ(p.timestamp_bits, 36u);
}

TEST(DevicePlan, TakesTheLeastOfRelatedLimits) {
  const Target t = plan_device(gpu(), 8).target;
  EXPECT_EQ(t.max_invocations, 512u);
  EXPECT_EQ(t.max_groups, 1u << 31);
  EXPECT_EQ(t.max_groups_y, 65535u);
  EXPECT_EQ(t.max_buffers, 200u);
  EXPECT_EQ(t.max_push_bytes, 256u);
  EXPECT_EQ(t.max_range, 1u << 30);
  EXPECT_EQ(t.subgroup_size, 32u);
  EXPECT_EQ(t.price, Prices{.workgroup = 256});
  EXPECT_EQ(t.quirks, 0u);
}

TEST(DevicePlan, SubgroupOperationsCountInComputeOnly) {
  DeviceFacts f = gpu();
  EXPECT_EQ(plan_device(f, 8).target.subgroup_operations, uint32_t{kSubgroupBasic | kSubgroupShuffle});
  EXPECT_EQ(plan_device(f, 8).target.shared_bytes, 49152u);
  f.subgroup_stages = VK_SHADER_STAGE_FRAGMENT_BIT;
  EXPECT_EQ(plan_device(f, 8).target.subgroup_operations, 0u);
  EXPECT_FALSE(plan_device(f, 8).enable_subgroup_size);
  EXPECT_EQ(uint32_t{kSubgroupVote}, uint32_t{VK_SUBGROUP_FEATURE_VOTE_BIT});
  EXPECT_EQ(uint32_t{kSubgroupArithmetic}, uint32_t{VK_SUBGROUP_FEATURE_ARITHMETIC_BIT});
  EXPECT_EQ(uint32_t{kSubgroupBallot}, uint32_t{VK_SUBGROUP_FEATURE_BALLOT_BIT});
}

TEST(DevicePlan, LanesAreOfNoUseWhereTheDriverChoosesHowManyThereAre) {
  EXPECT_TRUE(plan_device(gpu(), 8).enable_subgroup_size);
  const auto refused = [](auto change) {
    DeviceFacts f = gpu();
    change(f);
    const DevicePlan p = plan_device(f, 8);
    return !p.enable_subgroup_size && p.target.subgroup_operations == kSubgroupBasic && p.extensions.size() == 1;
  };
  EXPECT_TRUE(refused([](DeviceFacts& f) { f.subgroup_size_control = false; }));
  EXPECT_TRUE(refused([](DeviceFacts& f) { f.least_subgroup = 33; }));
  EXPECT_TRUE(refused([](DeviceFacts& f) { f.greatest_subgroup = 31; }));
  EXPECT_FALSE(refused([](DeviceFacts& f) { f.least_subgroup = f.greatest_subgroup = 32; }));
}

TEST(DevicePlan, FloatAtomicsAreEnabledButNotTrustedBeforeTheSelfTest) {
  const DevicePlan p = plan_device(gpu(), 8);
  EXPECT_TRUE(p.enable_atomic_float_add);
  EXPECT_FALSE(p.target.atomic_float_add);
  ASSERT_EQ(p.extensions.size(), 2u);
  EXPECT_STREQ(p.extensions[0], "VK_EXT_shader_atomic_float");
  EXPECT_STREQ(p.extensions[1], "VK_EXT_subgroup_size_control");
}

TEST(DevicePlan, TheExtensionAloneDoesNotPromiseTheAdd) {
  DeviceFacts f = gpu();
  f.atomic_float_add = false;
  EXPECT_FALSE(plan_device(f, 8).enable_atomic_float_add);
  EXPECT_EQ(plan_device(f, 8).extensions.size(), 1u);
}

TEST(DevicePlan, TimelinesAreEnabledWhereTheyAreThere) {
  DeviceFacts f = gpu();
  const auto named = [&] {
    const DevicePlan p = plan_device(f, 8);
    return std::find(p.extensions.begin(), p.extensions.end(), std::string_view("VK_KHR_timeline_semaphore")) !=
           p.extensions.end();
  };
  EXPECT_FALSE(plan_device(f, 8).enable_timeline);
  f.timeline_semaphore = true;
  EXPECT_TRUE(plan_device(f, 8).enable_timeline);
  EXPECT_FALSE(named()) << "part of Vulkan 1.2";
  f.api_version = VK_API_VERSION_1_1;
  EXPECT_TRUE(named());
  f.timeline_semaphore = false;
  EXPECT_FALSE(named());
}

TEST(DevicePlan, BeforeVulkan12AddressesAndFloatModesAreExtensions) {
  DeviceFacts f = gpu();
  const auto asks_for = [&](std::string_view name) {
    const DevicePlan p = plan_device(f, 8);
    EXPECT_EQ(p.unusable, "");
    return std::find(p.extensions.begin(), p.extensions.end(), name) != p.extensions.end();
  };
  f.signed_zero_inf_nan = true;
  EXPECT_FALSE(asks_for("VK_KHR_buffer_device_address") || asks_for("VK_KHR_shader_float_controls"));
  f.api_version = VK_API_VERSION_1_1;
  EXPECT_TRUE(asks_for("VK_KHR_buffer_device_address") && asks_for("VK_KHR_shader_float_controls"));
  f.buffer_device_address = f.signed_zero_inf_nan = f.round_to_even = f.signed_zero_inf_nan64 = f.round_to_even64 = false;
  EXPECT_FALSE(asks_for("VK_KHR_buffer_device_address") || asks_for("VK_KHR_shader_float_controls"));
}

TEST(DevicePlan, NamesWhatIsMissing) {
  DeviceFacts f = gpu();
  f.api_version = VK_MAKE_API_VERSION(0, 1, 0, 200);
  EXPECT_EQ(plan_device(f, 8).unusable, "Vulkan 1.1");
  f = gpu();
  f.queues = {{VK_QUEUE_TRANSFER_BIT, 1, 0}, {VK_QUEUE_COMPUTE_BIT, 0, 64}};
  EXPECT_EQ(plan_device(f, 8).unusable, "a compute queue");
}

TEST(DevicePlan, WidthsThatMustRoundAlikeDoSoOrNeitherSays) {
  DeviceFacts f = gpu();
  f.signed_zero_inf_nan64 = f.round_to_even = true;
  const auto rounds = [&] {
    const Target t = plan_device(f, 8).target;
    return std::pair(t.round_to_even, t.round_to_even64);
  };
  EXPECT_EQ(rounds(), std::pair(false, false));
  f.float64 = false;
  EXPECT_EQ(rounds(), std::pair(true, false)) << "there is one width only";
  EXPECT_FALSE(plan_device(f, 8).target.signed_zero_inf_nan64);
  f.float64 = f.round_to_even64 = true;
  EXPECT_EQ(rounds(), std::pair(true, true));
  EXPECT_TRUE(plan_device(f, 8).target.signed_zero_inf_nan64);
  f.round_to_even64 = false;
  f.rounding_independence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY;
  EXPECT_EQ(rounds(), std::pair(true, false));
}

TEST(DevicePlan, WorkgroupsAreLargerOnLargeChips) {
  DeviceFacts f = gpu();
  EXPECT_EQ(plan_device(f, 8).target.price.workgroup, 256u);
  f.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  EXPECT_EQ(plan_device(f, 8).target.price.workgroup, 128u);
  f.type = VK_PHYSICAL_DEVICE_TYPE_CPU;
  EXPECT_EQ(plan_device(f, 8).target.price.workgroup, 64u);
}

TEST(DevicePlan, WithoutAddressesTheTargetSaysSo) {
  DeviceFacts f = gpu();
  f.buffer_device_address = false;
  EXPECT_FALSE(plan_device(f, 8).target.device_address);
  EXPECT_FALSE(plan_device(f, 8).enable_device_address);
}

TEST(DeviceInfo, SaysWhatKindOfDeviceItIs) {
  DeviceFacts f = gpu();
  const auto type = [&](VkPhysicalDeviceType t) {
    f.type = t;
    return describe(f, plan_device(f, 8)).type;
  };
  EXPECT_EQ(type(VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU), DeviceType::Discrete);
  EXPECT_EQ(name(type(VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU)), "integrated");
  EXPECT_EQ(name(type(VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU)), "virtual");
  EXPECT_EQ(name(type(VK_PHYSICAL_DEVICE_TYPE_CPU)), "cpu");
  EXPECT_EQ(type(VK_PHYSICAL_DEVICE_TYPE_OTHER), DeviceType::Other);
}

TEST(DevicePlan, SoftwareDriversCountTheHostsCores) {
  DeviceFacts f = gpu();
  f.type = VK_PHYSICAL_DEVICE_TYPE_CPU;
  const Target t = plan_device(f, 6).target;
  EXPECT_EQ(t.price, software_prices(t.subgroup_size, 6));
  EXPECT_EQ(t.price.busy, 6 * t.price.lanes);
  EXPECT_EQ(t.quirks, kSlowLocalIndex);
}

TEST(DevicePlan, LargeChipsTakeMoreToKeepBusy) {
  DeviceFacts f = gpu();
  const Prices usual = plan_device(f, 6).target.price;
  EXPECT_EQ(usual.busy, Prices().busy) << "it does not tell";
  f.resident = 132 * 64 * 32;
  const Prices large = plan_device(f, 6).target.price;
  EXPECT_EQ(large.busy, 132u * 256);
  EXPECT_DOUBLE_EQ(large.dispatch / usual.dispatch, 132 * 256 / 4096.0) << "the same time is more operations";
  EXPECT_DOUBLE_EQ(large.submission / large.iteration, usual.submission / usual.iteration);
  f.resident = 16;
  EXPECT_EQ(plan_device(f, 6).target.price.busy, usual.lanes);
}

TEST(DevicePlan, ExactnessIsCostlyThroughMetalOnly) {
  DeviceFacts f = gpu();
  EXPECT_EQ(plan_device(f, 8).target.quirks, 0u);
  f.costly_exactness = has_costly_exactness(VK_DRIVER_ID_MOLTENVK);
  EXPECT_EQ(plan_device(f, 8).target.quirks, kCostlyExactness);
  for (const VkDriverId other : {VK_DRIVER_ID_MESA_RADV, VK_DRIVER_ID_MESA_LLVMPIPE, VK_DRIVER_ID_NVIDIA_PROPRIETARY,
                                 VK_DRIVER_ID_GOOGLE_SWIFTSHADER})
    EXPECT_FALSE(has_costly_exactness(other)) << other;
}

TEST(DevicePlan, LavapipeGathersLoads) {
  DeviceFacts f = gpu();
  f.gathered_loads = gathers_loads(VK_DRIVER_ID_MESA_LLVMPIPE);
  EXPECT_EQ(plan_device(f, 8).target.quirks, kGatheredLoads);
  for (const VkDriverId other : {VK_DRIVER_ID_MESA_RADV, VK_DRIVER_ID_MOLTENVK, VK_DRIVER_ID_GOOGLE_SWIFTSHADER})
    EXPECT_FALSE(gathers_loads(other)) << other;
}

TEST(DevicePlan, LavapipeOfLateTruncatesByLane) {
  DeviceFacts f = gpu();
  const uint32_t early = VK_MAKE_API_VERSION(0, 1, 3, 230), late = VK_MAKE_API_VERSION(0, 1, 4, 305);
  f.truncates_by_lane = truncates_by_lane(VK_DRIVER_ID_MESA_LLVMPIPE, late);
  EXPECT_EQ(plan_device(f, 8).target.quirks, kTruncatesByLane);
  EXPECT_FALSE(truncates_by_lane(VK_DRIVER_ID_MESA_LLVMPIPE, early));
  EXPECT_FALSE(truncates_by_lane(VK_DRIVER_ID_MESA_RADV, late));
}

TEST(DevicePlan, LavapipeStoresRowsWhereDescriptorsCanBePushed) {
  DeviceFacts f = gpu();
  f.scattered_stores = scatters_stores(VK_DRIVER_ID_MESA_LLVMPIPE);
  EXPECT_EQ(plan_device(f, 8).target.quirks, 0u) << "it lacks the extension";
  f.push_descriptor = true;
  EXPECT_EQ(plan_device(f, 8).target.quirks, kScatteredStores);
  EXPECT_TRUE(plan_device(f, 8).enable_push_descriptor);
  f.scattered_stores = scatters_stores(VK_DRIVER_ID_GOOGLE_SWIFTSHADER);
  EXPECT_EQ(plan_device(f, 8).target.quirks, 0u);
  EXPECT_FALSE(plan_device(f, 8).enable_push_descriptor) << "nobody asks for it";
}

TEST(DevicePlan, SubAllocationsAreAlignedForDescriptors) {
  DeviceFacts f = gpu();
  EXPECT_EQ(plan_device(f, 8).descriptor_alignment, 256u);
  f.limits.minStorageBufferOffsetAlignment = 1024;
  EXPECT_EQ(plan_device(f, 8).descriptor_alignment, 1024u);
}

TEST(RankDevices, DiscreteFirstSoftwareLastUnusableAtTheEnd) {
  std::vector<DeviceFacts> all(5, gpu());
  all[0].type = VK_PHYSICAL_DEVICE_TYPE_CPU;
  all[1].queues.clear();
  all[2].type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  all[4].type = VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU;
  EXPECT_EQ(rank_devices(all), (std::vector<size_t>{3, 2, 4, 0, 1}));
  EXPECT_TRUE(rank_devices({}).empty());
}

TEST(RankDevices, LayeredDriversComeAfterNativeOnesAndLessMemoryAfterMore) {
  std::vector<DeviceFacts> all(5, gpu());
  all[0].layered = true;  // claims to be discrete
  all[1].type = VK_PHYSICAL_DEVICE_TYPE_CPU;
  all[2].type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  all[3].memory_bytes = 8;
  all[4].memory_bytes = 16;
  EXPECT_EQ(rank_devices(all), (std::vector<size_t>{4, 3, 2, 0, 1}));
  EXPECT_TRUE(is_layered(VK_DRIVER_ID_MESA_DOZEN));
  EXPECT_FALSE(is_layered(VK_DRIVER_ID_MESA_RADV));
}

TEST(RankDevices, AGpuThatTwoDriversOfferIsThereOnce) {
  std::vector<DeviceFacts> all(5, gpu());
  for (DeviceFacts& f : all) f.identity.device_uuid[3] = 7;
  all[0].queues.clear();  // its first driver cannot be used
  all[1].layered = true;
  all[3].identity.device_uuid[3] = 8;
  all[4].type = VK_PHYSICAL_DEVICE_TYPE_CPU;
  EXPECT_EQ(rank_devices(all), (std::vector<size_t>{2, 3, 4}));
  for (DeviceFacts& f : all) f.identity.device_uuid[3] = 0;
  EXPECT_EQ(rank_devices(all).size(), 5u) << "drivers without a UUID";
}

std::string code_of(std::span<const Candidate> list, const std::string& select) {
  try {
    select_device(list, select);
    return "";
  } catch (const Error& e) {
    return e.code;
  }
}

TEST(SelectDevice, ByIndexByNameAndByDefault) {
  const std::vector<Candidate> list = {{"Invented 9000", ""}, {"llvmpipe (LLVM 15)", ""}, {"Old 9000", "Vulkan 1.1"}};
  EXPECT_EQ(select_device(list, ""), 0u);
  EXPECT_EQ(select_device(list, "1"), 1u);
  EXPECT_EQ(select_device(list, "LLVMPIPE"), 1u);
  EXPECT_EQ(select_device(list, "vented"), 0u);
  EXPECT_EQ(select_device(list, "9000"), 0u) << "no index, but a part of a name";
}

TEST(SelectDevice, UnknownOnesAreToldAllNames) {
  const std::vector<Candidate> list = {{"Invented 9000", ""}, {"Old 9000", "Vulkan 1.1"}};
  EXPECT_EQ(code_of(list, "radeon"), "SG0304");
  EXPECT_EQ(code_of(list, "7"), "SG0304");
  EXPECT_EQ(code_of(list, "old"), "SG0303");
  EXPECT_EQ(code_of({}, ""), "SG0302");
  try {
    select_device(list, "radeon");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.str().find("device 1: Old 9000"), std::string::npos) << e.str();
  }
}

TEST(Grid, FoldsIntoRowsThatAreEvenAndCoverAllGroups) {
  EXPECT_EQ(folded(0, 65535).x, 0u);
  EXPECT_EQ(folded(1, 65535).x, 1u);
  EXPECT_EQ(folded(65535, 65535).y, 1u);
  EXPECT_EQ(folded(65536, 65535).x, 32768u) << "two rows without a surplus";
  for (const uint32_t max_x : {1u, 3u, 65535u, 2147483647u, 4294967295u})
    for (const uint32_t groups : {1u, 7u, 65535u, 65536u, 65537u, 200000u, 67108864u, 4294967295u}) {
      const Grid g = folded(groups, max_x);
      EXPECT_LE(g.x, max_x);
      EXPECT_GE(uint64_t{g.x} * g.y, groups);
      EXPECT_LT(uint64_t{g.x} * g.y, uint64_t{groups} + g.y);
      EXPECT_EQ(g.y, (groups + uint64_t{max_x} - 1) / max_x);
    }
}

// Every workgroup below the surplus is in one part, and has the number that the kernel computes: y * row + x.
void expect_all_numbers(const DispatchPlan& p, uint32_t groups) {
  std::vector<int> times(uint64_t{p.grid.x} * p.grid.y);
  for (uint32_t i = 0; i < p.parts(); ++i) {
    const Grid base = p.base(i), size = p.size(i);
    ASSERT_TRUE(size.x > 0 && size.y > 0);
    // What NumWorkgroups says is the length of the part's rows.
    ASSERT_TRUE(size.x == p.grid.x || (p.grid.y == 1 && base.y == 0));
    for (uint32_t y = base.y; y < base.y + size.y; ++y)
      for (uint32_t x = base.x; x < base.x + size.x; ++x) ++times.at(uint64_t{y} * size.x + x);
  }
  EXPECT_GE(times.size(), groups);
  EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
}

TEST(DispatchPlan, PartsAreAllWorkgroupsOnceAndKeepTheirNumbers) {
  constexpr uint64_t kMost = uint64_t{1} << 26;
  for (const uint32_t max_x : {1u, 7u, 100u, 65535u})
    for (const uint32_t groups : {1u, 2u, 7u, 8u, 99u, 101u, 1000u, 70001u})
      for (const double wanted : {0.0, 0.5, 1.0, 1.5, 2.0, 3.7, 50.0, 1e9, 1e300}) {
        const DispatchPlan p = plan_dispatch(groups, wanted, max_x, 65535, kMost);
        SCOPED_TRACE(std::to_string(groups) + " in " + std::to_string(wanted) + " by " + std::to_string(max_x));
        expect_all_numbers(p, groups);
        EXPECT_LE(p.grid.x, max_x);
        EXPECT_TRUE(max_x == 1 || p.grid.y <= 65535) << p.grid.y;
        EXPECT_GE(p.parts(), groups < 65535 ? std::min<double>(std::floor(wanted), groups) : 1);
        EXPECT_LE(p.parts(), wanted > 1 ? 2 * wanted + 1 : 1);
      }
}

TEST(DispatchPlan, RowsAreShorterOnlyAsFarAsTheLimitsAllow) {
  const DispatchPlan rows = plan_dispatch(100'000, 10, 65535, 65535, 1u << 26);
  EXPECT_EQ(rows.grid.x, 10'000u);
  EXPECT_EQ(rows.parts(), 10u) << "a row each";
  const DispatchPlan few = plan_dispatch(100'000, 1000, 65535, 4, 1u << 26);
  EXPECT_EQ(few.grid.x, 25'000u);
  EXPECT_EQ(few.parts(), 4u) << "there are no more rows";
  const DispatchPlan full = plan_dispatch(100'003, 10, 65535, 65535, 100'004);
  EXPECT_EQ(full.grid.x, 50'002u) << "shorter rows have a surplus of more than one";
  EXPECT_EQ(full.parts(), 2u);
  const DispatchPlan one = plan_dispatch(1'000'000, 4, 2'000'000, 65535, 1u << 26);
  EXPECT_EQ(one.grid.y, 1u);
  EXPECT_EQ(one.part.x, 250'000u);
}

TEST(DescriptorRange, PutsTheRestOfTheOffsetIntoElements) {
  const DescriptorRange r = descriptor_range({VK_NULL_HANDLE, 1028, 0}, 40, 4, 256);
  EXPECT_EQ(r.offset, 1024u);
  EXPECT_EQ(r.first_element, 1u);
  EXPECT_EQ(r.range, 44u);
  EXPECT_EQ(descriptor_range({VK_NULL_HANDLE, 1032, 0}, 40, 8, 256).first_element, 1u);
  EXPECT_EQ(descriptor_range({VK_NULL_HANDLE, 512, 0}, 0, 4, 256).range, 4u);
}

}  // namespace device_plan_test
}  // namespace spirograd::vk
