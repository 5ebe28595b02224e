// Every fallible Vulkan call of a session fails once, each time it is made: an error comes back, nothing leaks, the device
// lives on.
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>

#include "tests/faults/calls.h"
#include "tests/gpu/fixture.h"
#include "vk_runtime/device.h"
#include "vk_runtime/session_impl.h"

namespace spirograd::vk {
namespace fault_test {

using namespace testing;
using faults::Faults;
using faults::watch;

constexpr int64_t kElements = 100;

const char* const kFallible[] = {
    "vkQueueSubmit",
    "vkAllocateMemory",
    "vkMapMemory",
    "vkCreateBuffer",
    "vkBindBufferMemory",
    "vkCreateFence",
    "vkResetFences",
    "vkWaitForFences",
    "vkWaitSemaphores",
    "vkCreateShaderModule",
    "vkCreatePipelineLayout",
    "vkCreateComputePipelines",
    "vkCreateDescriptorSetLayout",
    "vkCreateDescriptorPool",
    "vkAllocateDescriptorSets",
    "vkCreateCommandPool",
    "vkAllocateCommandBuffers",
    "vkBeginCommandBuffer",
    "vkEndCommandBuffer",
    "vkCreateQueryPool",
    "vkGetQueryPoolResults",
};

class FaultTest : public Gpu {
 protected:
  FaultTest() { get_instance_proc_addr = faults::get_instance_proc_addr; }
  void SetUp() override {
    Gpu::SetUp();
    if (HasFatalFailure()) return;
    DeviceFns& f = Device::Impl::of(*device).fns;
    // Every allocation gets a slab of its own, so that memory calls happen each time.
    MemoryConfig config = Device::Impl::of(*device).memory->config();
    config.slab_bytes = 1;
    Device::Impl::of(*device).memory = std::make_unique<Memory>(f, Device::Impl::of(*device).device, config);
  }
  void TearDown() override {
    watch(nullptr);
    Gpu::TearDown();
  }
  // What devices without timeline semaphores do, here.
  void use_fences() {
    Device::Impl& d = Device::Impl::of(*device);
    d.timeline = std::make_unique<Timeline>(d.fns, d.device);
  }
  // Every wait for the device fails.
  static void lose(DeviceFns& f) {
    f.vkWaitForFences = [](VkDevice, uint32_t, const VkFence*, VkBool32, uint64_t) { return VK_ERROR_DEVICE_LOST; };
    f.vkWaitSemaphores = [](VkDevice, const VkSemaphoreWaitInfo*, uint64_t) { return VK_ERROR_DEVICE_LOST; };
  }
  // Two kernels, so that threads take part.
  static Executable program(BindingForm form) {
    Executable e = chain_program(form, kElements, 2);
    e.kernels.push_back(affine(form));
    e.steps[1].kernel = 1;
    return e;
  }
  // One life of a session; the error if there was one.
  std::string live(const Executable& e, int runs = 1) {
    auto s = Session::create(device, e);
    if (!s) return s.error().code;
    for (int k = 0; k < runs; ++k) {
      const auto y = (*s)->run(std::vector{ramp(kElements)});
      if (!y) return y.error().code;
    }
    return "";
  }
  // Lives once with each call failing of those that one life makes.
  void fail_each_call(BindingForm form, const std::function<std::string(const Executable&)>& once) {
    const Executable e = program(form);
    const auto live_once = [&](const Executable& program) {
      Device::Impl& d = Device::Impl::of(*device);
      d.pipeline_layouts.destroy(d.fns, d.device);  // made again: they stay with a device otherwise
      return once(program);
    };
    Faults counting;
    watch(&counting);
    ASSERT_EQ(live_once(e), "");
    for (const char* name : kFallible)
      for (int k = 1; k <= counting.calls[name]; ++k) {
        Faults f;
        f.name = name;
        f.countdown = k;
        f.code = VK_ERROR_OUT_OF_DEVICE_MEMORY;
        watch(&f);
        // Where one kind of memory is full others are tried, as far as there are any.
        const bool others = !on_processors() && std::string_view(name) == "vkAllocateMemory";
        const std::string code = live_once(e);
        EXPECT_EQ(code, others && code.empty() ? "" : "SG0601") << name << ", call " << k << ", " << form_name(form);
        ++failed[name];
      }
    watch(nullptr);
    EXPECT_EQ(live_once(e), "") << "the device lives on";
  }
  std::map<std::string, int> failed;  // how often each call did
};

TEST_F(FaultTest, EveryCallMayFailOnce) {
  EXPECT_TRUE(Device::Impl::of(*device).timeline->has_semaphore());
  for (const bool stage : {false, true})
    for (BindingForm form : kForms) {
      Device::Impl::of(*device).always_stage = stage;
      fail_each_call(form, [&](const Executable& e) {
        if (stage) use_fences();  // none of an earlier life
        return live(e, 2);
      });
      if (HasFatalFailure()) return;
    }
  for (const char* name : kFallible) EXPECT_GT(failed[name], 0) << name << " was never tried";
}

// The same with arrays that stay on the device, where the host reaches them and where it does not.
TEST_F(FaultTest, EveryCallOfRunsOnArraysMayFailOnce) {
  Device::Impl& d = Device::Impl::of(*device);
  const auto live_on_arrays = [&](const Executable& e, bool fences) -> std::string {
    if (fences) use_fences();
    const auto s = Session::create(device, e);
    if (!s) return s.error().code;
    auto x = DeviceArray::create(device, ramp(kElements));
    if (!x) return x.error().code;
    for (const Result<void>& r : {(*s)->bind("x", *x), (*s)->feed("y", "x")})
      if (!r) return r.error().code;
    const auto first = (*s)->run(3);
    if (!first) return first.error().code;
    const auto point = (*s)->submit(2);
    if (!point) return point.error().code;
    const auto y = (*s)->read("y");
    if (!y) return y.error().code;
    EXPECT_EQ(first_wrong(ramp(kElements), *y, 1 << 10, (1 << 10) - 1), -1);
    return "";
  };
  for (const bool direct : {true, false}) {
    MemoryConfig config = d.memory->config();
    config.direct = direct;
    d.memory = std::make_unique<Memory>(d.fns, d.device, config);
    for (BindingForm form : kForms) {
      fail_each_call(form, [&](const Executable& e) { return live_on_arrays(e, !direct); });
      if (HasFatalFailure()) return;
    }
  }
}

// Steps again and again are the same commands again, and weights change places without a word to the driver.
TEST_F(FaultTest, StepsInSteadyStateAllocateNothing) {
  for (BindingForm form : kForms) {
    const auto s = session(chain_program(form, kElements, 5));
    auto x = DeviceArray::create(device, ramp(kElements)).value();
    ASSERT_TRUE(s->bind("x", x));
    ASSERT_TRUE(s->feed("y", "x"));
    for (int k = 0; k < 2; ++k) ASSERT_TRUE(s->run(3));
    ASSERT_TRUE(s->run(8));
    Faults counting;
    watch(&counting);
    for (int k = 0; k < 2; ++k) {
      ASSERT_TRUE(s->run(3));
      ASSERT_TRUE(s->run(3));
      ASSERT_TRUE(s->submit(8));
      ASSERT_TRUE(s->submit(8));
    }
    watch(nullptr);
    counting.calls.erase("vkGetQueryPoolResults");
    EXPECT_EQ(counting.calls["vkQueueSubmit"], 8) << "eight steps of five dispatches are one submission";
    counting.calls.erase("vkQueueSubmit");
    counting.calls.erase("vkWaitSemaphores");
    EXPECT_TRUE(counting.calls.empty()) << counting.calls.begin()->first;
  }
}

TEST_F(FaultTest, ALostDeviceIsToldToWhoeverWaits) {
  const auto s = session(affine_program(BindingForm::Address, kElements));
  auto x = DeviceArray::create(device, ramp(kElements)).value();
  ASSERT_TRUE(s->bind("x", x));
  const Point point = s->submit().value();
  lose(Device::Impl::of(*device).fns);
  EXPECT_EQ(s->wait(point).error().code, "SG0310");
  EXPECT_EQ(s->done(point).error().code, "SG0310");
  EXPECT_EQ(s->submit().error().code, "SG0310");
  EXPECT_EQ(x.download().error().code, "SG0310");
  EXPECT_EQ(DeviceArray::create(device, f32({3})).error().code, "SG0310");
}

TEST_F(FaultTest, ALostDeviceIsAnErrorAndStaysOne) {
  const Executable e = affine_program(BindingForm::Address, 4);
  auto s = session(e);
  Faults f;
  f.name = "vkQueueSubmit";
  f.countdown = 1;
  f.code = VK_ERROR_DEVICE_LOST;
  watch(&f);
  for (int i = 0; i < 3; ++i) {
    const auto y = s->run(std::vector{ramp(4)});
    ASSERT_FALSE(y);
    EXPECT_EQ(y.error().code, "SG0310") << y.error().str();
  }
  EXPECT_EQ(f.calls["vkQueueSubmit"], 1) << "a lost device is not asked again";
  EXPECT_EQ(Session::create(device, e).error().code, "SG0310");
}

// The driver says that the device is lost while commands still run. What the session used must not be destroyed before they
// have ended: it is waited for in another way, or where no wait answers, nothing is destroyed at all.
TEST_F(FaultTest, WorkThatRunsWhenTheDeviceIsLostIsNotPulledAway) {
  for (const bool no_wait_answers : {false, true})
    for (BindingForm form : kForms) {
      constexpr int64_t kMany = 1 << 18;
      DeviceFns& f = Device::Impl::of(*device).fns;
      const auto really_wait = f.vkQueueWaitIdle;
      const VkQueue queue = Device::Impl::of(*device).queue;
      auto s = session(chain_program(form, kMany, 200));  // tens of milliseconds
      lose(f);
      if (no_wait_answers) f.vkQueueWaitIdle = [](VkQueue) { return VK_ERROR_DEVICE_LOST; };
      const auto y = s->run(std::vector{ramp(kMany)});
      ASSERT_FALSE(y);
      EXPECT_EQ(y.error().code, "SG0310");
      EXPECT_EQ(Device::Impl::of(*device).abandoned.load(), no_wait_answers);
      EXPECT_EQ(s->run(std::vector{ramp(kMany)}).error().code, "SG0310") << "a lost device is not asked again";
      s.reset();
      device.reset();
      if (no_wait_answers) {
        ASSERT_EQ(really_wait(queue), VK_SUCCESS) << "queue and memory are still there";
      }
      open();
      ASSERT_EQ(live(affine_program(form, kElements)), "") << "a new device works";
    }
}

TEST_F(FaultTest, WorkOfASubmissionThatLosesTheDeviceMayRun) {
  for (const bool no_wait_answers : {false, true}) {
    DeviceFns& f = Device::Impl::of(*device).fns;
    auto s = session(affine_program(BindingForm::Address, kElements));
    f.vkQueueSubmit = [](VkQueue, uint32_t, const VkSubmitInfo*, VkFence) { return VK_ERROR_DEVICE_LOST; };
    if (no_wait_answers) f.vkQueueWaitIdle = [](VkQueue) { return VK_ERROR_DEVICE_LOST; };
    EXPECT_EQ(s->run(std::vector{ramp(kElements)}).error().code, "SG0310");
    EXPECT_EQ(Device::Impl::of(*device).abandoned.load(), no_wait_answers);
    s.reset();
    open();
  }
}

TEST_F(FaultTest, ConstantsThatAreBeingCopiedWhenTheDeviceIsLostStay) {
  DeviceFns& f = Device::Impl::of(*device).fns;
  lose(f);
  MemoryConfig config = Device::Impl::of(*device).memory->config();
  config.direct = false;  // arrays out of the host's reach, so constants are copied
  config.slab_bytes = 1;
  Device::Impl::of(*device).memory = std::make_unique<Memory>(f, Device::Impl::of(*device).device, config);
  EXPECT_EQ(live(affine_program(BindingForm::Address, kElements)), "SG0310");
  EXPECT_FALSE(Device::Impl::of(*device).abandoned) << "the queue was waited for";
}

TEST_F(FaultTest, AddressesOfZeroAreNotUsed) {
  Device::Impl::of(*device).fns.vkGetBufferDeviceAddress = [](VkDevice, const VkBufferDeviceAddressInfo*) {
    return VkDeviceAddress{0};
  };
  const auto refused = Session::create(device, affine_program(BindingForm::Address, kElements));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "SG0303");
  EXPECT_NE(refused.error().message.find(device->info().name), std::string::npos) << refused.error().message;
  EXPECT_EQ(live(affine_program(BindingForm::Descriptors, kElements)), "");
}

TEST_F(FaultTest, SessionsShareTheLayoutsOfADevice) {
  for (BindingForm form : kForms) {
    ASSERT_EQ(live(program(form)), "");
    Faults counting;
    watch(&counting);
    EXPECT_EQ(live(chain_program(form, kElements, 3)), "") << "another program with as many arrays";
    watch(nullptr);
    EXPECT_GT(counting.calls["vkCreateComputePipelines"], 0);
    EXPECT_EQ(counting.calls["vkCreatePipelineLayout"] + counting.calls["vkCreateDescriptorSetLayout"], 0);
  }
}

TEST_F(FaultTest, SteadyStateAllocatesNothing) {
  using Calls = std::map<std::string, int>;
  const Calls semaphores = {{"vkQueueSubmit", 10}, {"vkWaitSemaphores", 10}};
  const Calls fences = {{"vkQueueSubmit", 10}, {"vkResetFences", 10}, {"vkWaitForFences", 10}};
  for (const bool stage : {false, true})
    for (BindingForm form : kForms) {
      Device::Impl::of(*device).always_stage = stage;
      if (stage) use_fences();
      const auto s = session(chain_program(form, 100, 5));
      ASSERT_TRUE(s->replay());
      Faults counting;
      watch(&counting);
      for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(s->run(std::vector{ramp(100)}));
        ASSERT_TRUE(s->replay());
      }
      watch(nullptr);
      counting.calls.erase("vkGetQueryPoolResults");
      EXPECT_EQ(counting.calls, stage ? fences : semaphores);
    }
}

// A run that takes longer than its caller waits goes on. What it uses stays until it has ended, whoever goes first.
TEST_F(FaultTest, WorkThatNobodyWaitedForKeepsWhatItUses) {
  constexpr int64_t kMany = 1 << 18;
  Device::Impl& d = Device::Impl::of(*device);
  for (BindingForm form : kForms) {
    auto s = session(chain_program(form, kMany, 200));  // tens of milliseconds
    const auto late = Session::Impl::of(*s).run(std::vector{ramp(kMany)}, 1);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, "SG0312");
    const auto slabs = d.memory->slab_count();
    s.reset();
    EXPECT_EQ(d.left.size(), 1u);
    EXPECT_EQ(d.memory->slab_count(), slabs) << "its memory is still there";
    EXPECT_EQ(live(affine_program(form, kElements)), "") << "the device lives on";
    ASSERT_EQ(d.fns.vkQueueWaitIdle(d.queue), VK_SUCCESS);
    d.sweep();
    EXPECT_TRUE(d.left.empty());
    EXPECT_LT(d.memory->slab_count(), slabs);

    s = session(chain_program(form, kMany, 20));
    HostArray zeros(f32({kMany}));
    ASSERT_FALSE(Session::Impl::of(*s).run(std::vector{zeros}, 1));
    const auto y = s->run(std::vector{ramp(kMany)});  // waits for the run before
    ASSERT_TRUE(y) << y.error().str();
    EXPECT_EQ(first_wrong(ramp(kMany), (*y)[0], 1 << 20, (1 << 20) - 1), -1);
  }
}

TEST_F(FaultTest, ADeviceMayGoBeforeTheWorkThatNobodyWaitedFor) {
  constexpr int64_t kMany = 1 << 18;
  DeviceFns f = Device::Impl::of(*device).fns;
  const VkQueue queue = Device::Impl::of(*device).queue;
  auto s = session(chain_program(BindingForm::Address, kMany, 200));
  ASSERT_FALSE(Session::Impl::of(*s).run(std::vector{ramp(kMany)}, 1));
  device.reset();
  s.reset();  // the last that held the device
  EXPECT_EQ(f.vkQueueWaitIdle(queue), VK_SUCCESS) << "queue and memory are still there";
}

TEST_F(FaultTest, PipelinesAreCreatedInBatchesAndTheOneThatFailsIsNamed) {
  Executable e = affine_program(BindingForm::Address, kElements);
  e.kernels.assign(size_t{16} * host_cores(), affine(BindingForm::Address));
  Faults counting;
  watch(&counting);
  EXPECT_EQ(live(e), "");
  EXPECT_EQ(counting.calls["vkCreateComputePipelines"], 4 * static_cast<int>(host_cores()));
  watch(nullptr);
  DeviceFns& f = Device::Impl::of(*device).fns;
  f.vkCreateComputePipelines = [](VkDevice, VkPipelineCache, uint32_t, const VkComputePipelineCreateInfo*,
                                  const VkAllocationCallbacks*, VkPipeline*) { return VK_ERROR_INVALID_SHADER_NV; };
  e.kernels[0].name = "the first";
  const auto refused = Session::create(device, e);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().str().find("kernel 'the first'"), std::string::npos) << refused.error().str();
}

// Data of an earlier process may be what a driver stumbles over.
TEST_F(FaultTest, WhatFailsWithCachedDataIsTriedWithout) {
  Device::Impl& d = Device::Impl::of(*device);
  Faults f;
  f.name = "vkCreateComputePipelines";
  f.countdown = 1;
  f.code = VK_ERROR_UNKNOWN;
  watch(&f);
  EXPECT_EQ(live(affine_program(BindingForm::Address, kElements)), "SG0305");
  f.countdown = 1;
  d.cache_was_loaded = true;
  EXPECT_EQ(live(affine_program(BindingForm::Address, kElements)), "");
  watch(nullptr);

  d.options.cache_dir = (std::filesystem::temp_directory_path() / ("spirograd_fault_" + std::to_string(getpid()))).string();
  d.options.cache_pipelines = true;
  d.save_pipeline_cache();
  d.fns.vkDestroyPipelineCache(d.device, d.pipeline_cache, nullptr);
  static PFN_vkCreatePipelineCache real;
  static int refused;
  real = d.fns.vkCreatePipelineCache;
  refused = 0;
  d.fns.vkCreatePipelineCache = [](VkDevice v, const VkPipelineCacheCreateInfo* info, const VkAllocationCallbacks* a,
                                   VkPipelineCache* out) {
    return info->initialDataSize > 0 ? (++refused, VK_ERROR_UNKNOWN) : real(v, info, a, out);
  };
  d.open_pipeline_cache();
  EXPECT_EQ(refused, 1);
  EXPECT_FALSE(d.cache_was_loaded);
  EXPECT_EQ(live(affine_program(BindingForm::Address, kElements)), "");
  std::filesystem::remove_all(d.options.cache_dir);
  d.options.cache_dir.clear();
}

TEST_F(FaultTest, PipelinesHaveTheNamesOfTheirKernels) {
  static std::vector<std::string> names;
  names.clear();
  Device::Impl::of(*device).instance_fns.vkSetDebugUtilsObjectNameEXT = [](VkDevice,
                                                                           const VkDebugUtilsObjectNameInfoEXT* info) {
    if (info->objectType == VK_OBJECT_TYPE_PIPELINE) names.push_back(info->pObjectName);
    return VK_SUCCESS;
  };
  EXPECT_EQ(live(affine_program(BindingForm::Address, kElements)), "");
  EXPECT_EQ(names, (std::vector<std::string>{"affine"}));
}

// Long runs are cut into parts, by estimated work and by the number of commands. Few parts are kept; of many, each run
// writes them anew into a few command buffers.
TEST_F(FaultTest, LongRunsAreSeveralSubmissions) {
  Device::Impl& d = Device::Impl::of(*device);
  d.info.target.price.dispatch = 1;
  for (const bool stage : {false, true})
    for (BindingForm form : kForms) {
      d.always_stage = stage;
      if (stage) use_fences();
      Executable e = chain_program(form, kElements, 20);
      for (Step& s : e.steps) s.work = 9;
      e.steps[7].work = 1000;  // more than the limit: each of its two workgroups is alone
      const auto submissions = [&](double work, uint64_t commands) {
        d.info.target.price.submission = work;
        d.commands_per_part = commands;
        const auto s = session(e);
        Faults counting;
        watch(&counting);
        const auto y = s->run(std::vector{ramp(kElements)});
        watch(nullptr);
        EXPECT_TRUE(y) << y.error().str();
        EXPECT_EQ(first_wrong(ramp(kElements), (*y)[0], 1 << 20, (1 << 20) - 1), -1) << form_name(form);
        EXPECT_EQ(counting.calls[stage ? "vkWaitForFences" : "vkWaitSemaphores"],
                  1 + std::max(0, counting.calls["vkBeginCommandBuffer"] - 3));
        EXPECT_EQ(counting.calls["vkAllocateCommandBuffers"], 0);
        EXPECT_TRUE(s->replay());
        EXPECT_TRUE(s->replay());
        return counting.calls["vkQueueSubmit"];
      };
      EXPECT_EQ(submissions(0, 0), 1);
      EXPECT_EQ(submissions(0, 5), 4);
      EXPECT_EQ(submissions(50, 0), 2 + 2 + 3) << "five together, seven before and twelve behind the large one";
      EXPECT_EQ(submissions(0, 1), 20) << "more than are kept";
    }
  d.commands_per_part = 7;
  d.info.target.price.submission = 0;
  Executable e = affine_program(BindingForm::Address, kElements);
  Step repeat;
  repeat.kind = Step::Kind::Repeat;
  repeat.count = 1000;
  repeat.body = 1;
  e.steps.insert(e.steps.begin(), repeat);
  Faults counting;
  watch(&counting);
  EXPECT_EQ(live(e), "");
  const int copies = on_processors() ? 0 : 1;  // to where only the device reaches
  EXPECT_EQ(counting.calls["vkQueueSubmit"], (1000 + 6) / 7 + copies);
  EXPECT_LE(counting.calls["vkAllocateCommandBuffers"], 16 + 3 + copies);
  for (const char* name :
       {"vkBeginCommandBuffer", "vkEndCommandBuffer", "vkResetFences", "vkWaitForFences", "vkQueueSubmit"})
    for (const int k : {17, 40}) {
      Faults f;
      f.name = name;
      f.countdown = k;
      f.code = VK_ERROR_OUT_OF_DEVICE_MEMORY;
      watch(&f);
      EXPECT_EQ(live(e), "SG0601") << name << ", call " << k;
    }
  watch(nullptr);
  auto late = session(e);
  EXPECT_EQ(Session::Impl::of(*late).run(std::vector{ramp(kElements)}, 1).error().code, "SG0312");
  const auto y = late->run(std::vector{ramp(kElements)});
  ASSERT_TRUE(y) << y.error().str();
  EXPECT_EQ(first_wrong(ramp(kElements), (*y)[0], 2, 1), -1);
}

TEST_F(FaultTest, PartsThatTakeTooLongAreShorterTheNextTime) {
  Device::Impl& d = Device::Impl::of(*device);
  d.info.target.price.submission = 1e30;
  const auto s = session(chain_program(BindingForm::Address, kElements, 20));
  Session::Impl& inside = Session::Impl::of(*s);
  EXPECT_EQ(inside.n_parts, 1u);
  inside.part_limit.work = 21 * d.info.target.price.dispatch;
  inside.adapt(0.1);
  EXPECT_EQ(inside.n_parts, 1u) << "a little too long is no reason";
  inside.adapt(0.5);
  EXPECT_EQ(inside.n_parts, 10u);
  const auto y = s->run(std::vector{ramp(kElements)});
  ASSERT_TRUE(y) << y.error().str();
  EXPECT_EQ(first_wrong(ramp(kElements), (*y)[0], 1 << 20, (1 << 20) - 1), -1);
  // One dispatch of two workgroups.
  Executable one = affine_program(BindingForm::Address, kElements);
  one.steps[0].work = d.info.target.price.submission / 2;
  const auto halves = session(one);
  Session::Impl& cut = Session::Impl::of(*halves);
  EXPECT_EQ(cut.n_parts, 1u);
  cut.adapt(0.3);
  EXPECT_EQ(cut.n_parts, 2u);
  cut.part_limit.work = d.info.target.price.dispatch;
  cut.adapt(3);
  EXPECT_EQ(cut.part_limit.work, d.info.target.price.dispatch) << "there is nothing left to cut";
  const auto z = halves->run(std::vector{ramp(kElements)});
  ASSERT_TRUE(z) << z.error().str();
  EXPECT_EQ(first_wrong(ramp(kElements), (*z)[0], 2, 1), -1);
}

int barriers_recorded = 0;
PFN_vkCmdPipelineBarrier real_barrier = nullptr;
VKAPI_ATTR void VKAPI_CALL count_barrier(VkCommandBuffer c, VkPipelineStageFlags a, VkPipelineStageFlags b,
                                         VkDependencyFlags d, uint32_t nm, const VkMemoryBarrier* m, uint32_t nb,
                                         const VkBufferMemoryBarrier* bm, uint32_t ni, const VkImageMemoryBarrier* i) {
  ++barriers_recorded;
  real_barrier(c, a, b, d, nm, m, nb, bm, ni, i);
}

TEST_F(FaultTest, RecordingIntoAHostsCommandBufferOnlyRecords) {
  Device::Impl& d = Device::Impl::of(*device);
  const Allocation x = d.memory->allocate(MemoryKind::Arrays, 400), y = d.memory->allocate(MemoryKind::Arrays, 400);
  const VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0, d.queue_family};
  VkCommandPool pool;
  ASSERT_EQ(d.fns.vkCreateCommandPool(d.device, &pool_info, nullptr, &pool), VK_SUCCESS);
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = pool;
  allocate.commandBufferCount = 1;
  const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  real_barrier = d.fns.vkCmdPipelineBarrier;
  // One dispatch needs no barrier; five in a chain have four between them, and one before that guards the scratch memory.
  for (const int length : {1, 5})
    for (BindingForm form : kForms) {
      const auto s = session(chain_program(form, 100, length));
      VkCommandBuffer commands;
      ASSERT_EQ(d.fns.vkAllocateCommandBuffers(d.device, &allocate, &commands), VK_SUCCESS);
      ASSERT_EQ(d.fns.vkBeginCommandBuffer(commands, &begin), VK_SUCCESS);
      Faults counting;
      watch(&counting);
      barriers_recorded = 0;
      d.fns.vkCmdPipelineBarrier = count_barrier;
      EXPECT_TRUE(
          s->record(commands, std::vector{Slice{x.buffer, x.offset, 400}}, std::vector{Slice{y.buffer, y.offset, 400}}));
      watch(nullptr);
      d.fns.vkCmdPipelineBarrier = real_barrier;
      EXPECT_EQ(barriers_recorded, length == 1 ? 0 : 5);
      EXPECT_TRUE(counting.calls.empty()) << "a call that may fail or wait: " << counting.calls.begin()->first;
      ASSERT_EQ(d.fns.vkEndCommandBuffer(commands), VK_SUCCESS);
    }
  d.fns.vkDestroyCommandPool(d.device, pool, nullptr);
  d.memory->release(x);
  d.memory->release(y);
}

}  // namespace fault_test
}  // namespace spirograd::vk
