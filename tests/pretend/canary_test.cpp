// The layer's pretences are seen, and its lies felt, by raw calls and hand-written kernels: else the other tests prove
// nothing.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>

#include "add_exchange.h"
#include "add_native.h"
#include "compare.h"
#include "count_iterations.h"
#include "lanes.h"
#include "tests/gpu/fixture.h"
#include "tests/pretend/fixture.h"
#include "vk_runtime/device.h"

namespace spirograd::pretend {
namespace canary_test {

using vk::Device;

class Canary : public Pretended {
 protected:
  std::shared_ptr<Device> device(std::string_view name) { return open(name).value(); }

  // What a kernel with two bindings writes to so many words, the other binding holding constants.
  std::vector<double> report(const std::shared_ptr<Device>& on, std::span<const uint32_t> kernel, uint32_t workgroup,
                             uint32_t groups, DType dtype, int64_t count, std::vector<uint32_t> constants) {
    Executable e;
    e.form = BindingForm::Descriptors;
    e.kernels = {{"canary", {kernel.begin(), kernel.end()}, workgroup, 2}};
    e.n_outputs = 1;
    e.buffers = {vk::testing::array(Role::Output, "report", {dtype, {count}}),
                 vk::testing::array(Role::Constant, "constants", u32({static_cast<int64_t>(constants.size())}))};
    e.buffers[1].data.resize(e.buffers[1].bytes);
    std::memcpy(e.buffers[1].data.data(), constants.data(), e.buffers[1].bytes);
    Step fill, run;
    fill.kind = Step::Kind::Fill;
    fill.uses = {{0, 0, e.buffers[0].bytes, false, true}};
    run.groups = groups;
    run.uses = {{0, 0, e.buffers[0].bytes, true, true}, {1, 0, e.buffers[1].bytes, true, false}};
    e.steps = {fill, run};
    return vk::Session::create(on, e).value()->run({}).value()[0].values();
  }
};

vk::DeviceFacts facts_of(std::string_view name) {
  ::setenv(kVariable, std::string(name).c_str(), 1);
  const vk::Instance& instance = vk::process_instance({});
  return vk::read_facts(instance.fns, vk::physical_devices(instance).at(0), instance.api_version);
}

// The runtime does not ask for them.
bool has_timelines(std::string_view name) {
  ::setenv(kVariable, std::string(name).c_str(), 1);
  const vk::Instance& instance = vk::process_instance({});
  VkPhysicalDeviceVulkan12Features f12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &f12};
  instance.fns.vkGetPhysicalDeviceFeatures2(vk::physical_devices(instance).at(0), &features);
  return f12.timelineSemaphore;
}

TEST_F(Canary, FactsAreThoseOfTheTable) {
  const vk::DeviceFacts control = facts_of("discrete");
  EXPECT_TRUE(control.buffer_device_address && control.float64 && control.subgroup_size_control);
  for (const PretendedDevice& is : pretended_devices()) {
    const vk::DeviceFacts f = facts_of(is.name);
    const auto as_told = [](auto fact, auto told, auto driver) { return fact == (told ? told : driver); };
    EXPECT_EQ(f.name, "pretended " + std::string(is.name));
    EXPECT_EQ(f.type, is.type) << f.name;
    EXPECT_TRUE(as_told(f.api_version, is.api_version, control.api_version)) << f.name;
    EXPECT_TRUE(as_told(f.limits.maxPerStageDescriptorStorageBuffers, is.storage_buffers,
                        control.limits.maxPerStageDescriptorStorageBuffers))
        << f.name;
    EXPECT_TRUE(
        as_told(f.limits.maxComputeWorkGroupInvocations, is.invocations, control.limits.maxComputeWorkGroupInvocations))
        << f.name;
    EXPECT_TRUE(as_told(f.limits.maxComputeSharedMemorySize, is.shared_bytes, control.limits.maxComputeSharedMemorySize))
        << f.name;
    for (size_t axis = 0; axis < 3; ++axis)
      EXPECT_TRUE(
          as_told(f.limits.maxComputeWorkGroupCount[axis], is.groups[axis], control.limits.maxComputeWorkGroupCount[axis]))
          << f.name;
    EXPECT_EQ(f.portability_subset, is.portability_subset) << f.name;
    EXPECT_EQ(f.limits.timestampPeriod > 0, is.timestamps) << f.name;
    if (f.api_version < VK_API_VERSION_1_1) continue;  // of these no more is asked
    EXPECT_TRUE(as_told(f.subgroup_size, is.subgroup_size, control.subgroup_size)) << f.name;
    EXPECT_EQ(f.subgroup_size_control, is.subgroup_control) << f.name;
    EXPECT_EQ(has_timelines(is.name), is.timelines) << f.name;
    EXPECT_EQ(f.buffer_device_address, is.addresses != Addresses::Missing) << f.name;
    EXPECT_EQ(f.float64, is.doubles) << f.name;
    EXPECT_EQ(f.float16_storage && f.float16_addresses, is.halves) << f.name;
    EXPECT_EQ(f.atomic_float_add && f.atomic_float_extension, is.float_atomics) << f.name;
    EXPECT_EQ(f.signed_zero_inf_nan, is.float_controls) << f.name;
    EXPECT_EQ(f.costly_exactness, is.driver == VK_DRIVER_ID_MOLTENVK) << f.name;
  }
}

TEST_F(Canary, AdditionsAreLost) {
  const std::vector<uint32_t> one = {1};
  const auto sum = [&](std::string_view name, std::span<const uint32_t> kernel) {
    return report(device(name), kernel, 64, 1024, DType::F32, 1, one)[0];
  };
  EXPECT_EQ(sum("discrete", add_native), 65536);
  EXPECT_EQ(sum("discrete", add_exchange), 65536);
  EXPECT_EQ(sum("loses_additions", add_native), 65536 - 65);
  EXPECT_EQ(sum("loses_exchanges", add_exchange), 65536 - 65);
}

TEST_F(Canary, FloatsAreComparedAndAddedAsIfTheyWereReals) {
  const auto all_said = [&](std::string_view name, float x) {
    return static_cast<uint32_t>(report(device(name), compare, 1, 1, DType::U32, 1, {std::bit_cast<uint32_t>(x)})[0]);
  };
  // The driver's compiler has a choice where exactness is not asked for.
  const auto said = [&](std::string_view name, float x) { return all_said(name, x) & 7; };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(said("discrete", nan), 2u);
  EXPECT_EQ(said("fast_math", nan), 1u + 4u);
  EXPECT_EQ(said("discrete", 0.25f), 1u);
  EXPECT_EQ(said("reassociates", 0.25f), 1u + 4u);
  EXPECT_EQ(all_said("metal", 0.25f), 1u + 8u);
}

// Else nothing would hold the runtime to the pretended limits.
TEST_F(Canary, TheValidationLayerSeesThePretendedLimits) {
  const auto on = device("four_buffers");
  Device::Impl& d = Device::Impl::of(*on);
  for (uint32_t n : {4u, 5u}) {
    std::vector<VkDescriptorSetLayoutBinding> bindings(n);
    for (uint32_t i = 0; i < n; ++i)
      bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    info.bindingCount = n;
    info.pBindings = bindings.data();
    VkDescriptorSetLayout set;
    ASSERT_EQ(d.fns.vkCreateDescriptorSetLayout(d.device, &info, nullptr, &set), VK_SUCCESS);
    VkPipelineLayoutCreateInfo pipeline{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    pipeline.setLayoutCount = 1;
    pipeline.pSetLayouts = &set;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    if (d.fns.vkCreatePipelineLayout(d.device, &pipeline, nullptr, &layout) == VK_SUCCESS)
      d.fns.vkDestroyPipelineLayout(d.device, layout, nullptr);
    d.fns.vkDestroyDescriptorSetLayout(d.device, set, nullptr);
    EXPECT_EQ(take_messages().find("torageBuffers") != std::string::npos, n > 4) << n;
  }
}

TEST_F(Canary, LoopsEndEarly) {
  const auto steps = [&](std::string_view name) {
    return report(device(name), count_iterations, 1, 1, DType::U32, 3, {1, 20000})[1];
  };
  EXPECT_EQ(steps("discrete"), 20000);
  EXPECT_LT(steps("short_loops"), 5001);
}

TEST_F(Canary, SubgroupsAreNotAsWideAsPromised) {
  // Sums of the squares of the invocations' numbers, by subgroups.
  const auto first = [&](std::string_view name, uint32_t size) {
    const auto on = device(name);
    EXPECT_EQ(on->target().subgroup_size, size);
    return report(on, lanes, 128, 1, DType::U32, 128, {size})[0];
  };
  const uint32_t real = facts_of("discrete").subgroup_size;
  EXPECT_EQ(first("discrete", real), real * (real - 1) * (2 * real - 1) / 6);
  EXPECT_NE(first("wide_subgroups", 32), 32 * 31 * 63 / 6);
}

TEST_F(Canary, AddressesAreWrong) {
  const auto zero = device("addresses_of_zero");
  const vk::Allocation a = Device::Impl::of(*zero).memory->allocate(vk::MemoryKind::Arrays, 100);
  EXPECT_EQ(a.address, 0u);
  Device::Impl::of(*zero).memory->release(a);
  // The third pointer is that of the result. Whatever the runtime thinks of the device's addresses, it shall use them here.
  const auto two = device("two_pointers");
  Device::Impl::of(*two).info.target.device_address = true;
  const HostArray x = vk::testing::ramp(100);
  const auto session = vk::Session::create(two, vk::testing::affine_program(BindingForm::Address, 100)).value();
  EXPECT_NE(vk::testing::first_wrong(x, session->run(std::vector{x}).value()[0], 2, 1), -1);
}

// A command buffer of our own.
struct Commands {
  Device::Impl& d;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer handle = VK_NULL_HANDLE;

  explicit Commands(Device::Impl& device) : d(device) {
    const VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0, d.queue_family};
    EXPECT_EQ(d.fns.vkCreateCommandPool(d.device, &info, nullptr, &pool), VK_SUCCESS);
    const VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, pool,
                                               VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    EXPECT_EQ(d.fns.vkAllocateCommandBuffers(d.device, &allocate, &handle), VK_SUCCESS);
    const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    EXPECT_EQ(d.fns.vkBeginCommandBuffer(handle, &begin), VK_SUCCESS);
  }
  ~Commands() { d.fns.vkDestroyCommandPool(d.device, pool, nullptr); }
  void end() { EXPECT_EQ(d.fns.vkEndCommandBuffer(handle), VK_SUCCESS); }
  VkResult run() {
    VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &handle;
    const VkResult r = d.fns.vkQueueSubmit(d.queue, 1, &submit, VK_NULL_HANDLE);
    return r == VK_SUCCESS ? d.fns.vkQueueWaitIdle(d.queue) : r;
  }
};

TEST_F(Canary, LongSubmissionsLoseTheDevice) {
  for (const auto& [length, expected] : {std::pair{10, VK_SUCCESS}, std::pair{70000, VK_ERROR_DEVICE_LOST}}) {
    const auto on = device("watchdog");
    Device::Impl& d = Device::Impl::of(*on);
    const auto session = vk::Session::create(on, vk::testing::chain_program(BindingForm::Descriptors, 100, length)).value();
    const vk::Allocation x = d.memory->allocate(vk::MemoryKind::Arrays, 400),
                         y = d.memory->allocate(vk::MemoryKind::Arrays, 400);
    Commands commands(d);
    session
        ->record(commands.handle, std::vector{vk::Slice{x.buffer, x.offset, 400}},
                 std::vector{vk::Slice{y.buffer, y.offset, 400}})
        .value();
    commands.end();
    EXPECT_EQ(commands.run(), expected);
    d.memory->release(x);
    d.memory->release(y);
  }
  take_messages();  // of what was destroyed although nobody knows whether it had ended
}

TEST_F(Canary, PartsOfDispatchesBeginAtTheFirstWorkgroup) {
  constexpr int64_t n = 1000;
  const auto on = device("ignores_base");
  Device::Impl& d = Device::Impl::of(*on);
  EXPECT_FALSE(d.info.target.dispatch_base) << "the self-test saw it";
  for (const bool believed : {true, false}) {  // memory may still hold what was right
    d.info.target.dispatch_base = believed;
    Executable e = vk::testing::affine_program(BindingForm::Descriptors, n);
    e.steps[0].work = 3 * d.info.target.price.submission;
    const HostArray x = vk::testing::ramp(n);
    const HostArray y = vk::Session::create(on, e).value()->run(std::vector{x}).value()[0];
    EXPECT_EQ(vk::testing::first_wrong(x, y, 2, 1) >= 0, believed);
  }
}

// Raw memory: of a type, with a buffer over all of it, mapped where the host sees it.
struct Raw {
  Device::Impl& d;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint32_t* words = nullptr;

  Raw(Device::Impl& device, uint32_t type, VkDeviceSize bytes) : d(device) {
    VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    EXPECT_EQ(d.fns.vkCreateBuffer(d.device, &info, nullptr, &buffer), VK_SUCCESS);
    VkMemoryRequirements needs{};
    d.fns.vkGetBufferMemoryRequirements(d.device, buffer, &needs);
    const VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, nullptr, needs.size, type};
    if (d.fns.vkAllocateMemory(d.device, &allocate, nullptr, &memory) != VK_SUCCESS) return;
    EXPECT_EQ(d.fns.vkBindBufferMemory(d.device, buffer, memory, 0), VK_SUCCESS);
  }
  void map() {
    void* data = nullptr;
    ASSERT_EQ(d.fns.vkMapMemory(d.device, memory, 0, VK_WHOLE_SIZE, 0, &data), VK_SUCCESS);
    words = static_cast<uint32_t*>(data);
  }
  template <class Call>
  void synchronise(const char* name) {
    const auto call = reinterpret_cast<Call>(d.instance_fns.vkGetDeviceProcAddr(d.device, name));
    const VkMappedMemoryRange range{VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, nullptr, memory, 0, VK_WHOLE_SIZE};
    ASSERT_EQ(call(d.device, 1, &range), VK_SUCCESS);
  }
  ~Raw() {
    d.fns.vkDestroyBuffer(d.device, buffer, nullptr);
    d.fns.vkFreeMemory(d.device, memory, nullptr);
  }
};

TEST_F(Canary, HeapsAreFull) {
  for (const char* name : {"carve_out", "crowded"}) {
    const auto on = device(name);
    EXPECT_TRUE(Raw(Device::Impl::of(*on), 0, 1 << 20).memory) << name;
    EXPECT_FALSE(Raw(Device::Impl::of(*on), 0, 48u << 20).memory) << name;
    EXPECT_TRUE(Raw(Device::Impl::of(*on), 1, 24u << 20).memory) << name;
  }
}

TEST_F(Canary, WhatIsNotFlushedIsLost) {
  const auto on = device("flushed");
  Device::Impl& d = Device::Impl::of(*on);
  Raw from(d, 1, 4), to(d, 1, 4);
  from.map();
  to.map();
  Commands commands(d);
  const VkBufferCopy copy{0, 0, 4};
  d.fns.vkCmdCopyBuffer(commands.handle, from.buffer, to.buffer, 1, &copy);
  commands.end();
  // The device copies 7, then 8, of which the host had not told it; what it has copied the host sees when it asks.
  std::vector<uint32_t> seen;
  for (const auto& [value, flushes] : {std::pair{7u, true}, std::pair{8u, false}}) {
    *from.words = value;
    if (flushes) from.synchronise<PFN_vkFlushMappedMemoryRanges>("vkFlushMappedMemoryRanges");
    ASSERT_EQ(commands.run(), VK_SUCCESS);
    seen.push_back(*to.words);
    to.synchronise<PFN_vkInvalidateMappedMemoryRanges>("vkInvalidateMappedMemoryRanges");
    seen.push_back(*to.words);
  }
  EXPECT_NE(seen[0], 7u) << "it was not invalidated";
  EXPECT_EQ(seen[1], 7u);
  EXPECT_EQ(seen[3], 7u) << "8 was not flushed";
}

// Rows that name nothing would expect nothing.
TEST(Expectations, AreOfDevicesAndSlicesThatThereAre) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const Expectation& e : exceptions()) {
    EXPECT_TRUE(find_device(e.device)) << e.device;
    EXPECT_TRUE(e.slice == "*" ||
                std::any_of(slices().begin(), slices().end(), [&](const Slice& s) { return s.name == e.slice; }))
        << e.slice;
    EXPECT_NE(e.outcome, kWrong) << e.device << " " << e.slice;
    EXPECT_TRUE(seen.emplace(e.device, e.slice).second) << e.device << " " << e.slice << " stands twice";
  }
}

}  // namespace canary_test
}  // namespace spirograd::pretend
