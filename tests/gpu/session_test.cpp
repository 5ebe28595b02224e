// Sessions on a device of our own: both binding forms, empty arrays, staging, replay, errors, and the canaries of
// validation.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/gpu/fixture.h"
#include "vk_runtime/device.h"

namespace spirograd::vk {
namespace session_test {

using namespace testing;

class SessionTest : public Gpu {};

TEST_F(SessionTest, RunsAKernelInBothForms) {
  for (BindingForm form : kForms) {
    const auto s = session(affine_program(form, 1000));
    const auto y = s->run(std::vector{ramp(1000)});
    ASSERT_TRUE(y) << y.error().str();
    EXPECT_EQ(first_wrong(ramp(1000), (*y)[0], 2, 1), -1) << form_name(form);
    EXPECT_EQ((*y)[0].type, f32({1000}));
  }
}

TEST_F(SessionTest, RepeatedRunsTakeNewInputs) {
  for (BindingForm form : kForms) {
    const auto s = session(affine_program(form, 3));
    for (int i = 0; i < 20; ++i) {
      const auto y = s->run(std::vector{HostArray(f32({3}), {double(i), -1, 0.5})});
      ASSERT_TRUE(y) << y.error().str();
      EXPECT_EQ((*y)[0].values(), (std::vector<double>{2.0 * i + 1, -1, 2}));
    }
  }
}

TEST_F(SessionTest, ReplayUsesTheInputsThatAreThere) {
  // y is an input of the next replay here: x stays, so y stays; a counter in scratch would not.
  const auto s = session(chain_program(BindingForm::Address, 100, 4));
  Timing timing;
  ASSERT_TRUE(s->run(std::vector{ramp(100)}, &timing));
  EXPECT_GT(timing.host, 0);
  EXPECT_GE(timing.host, timing.device);
  for (int i = 0; i < 5; ++i) {
    const auto t = s->replay();
    ASSERT_TRUE(t) << t.error().str();
    EXPECT_GT(t->host, 0);
  }
  const auto y = s->run(std::vector{ramp(100)});
  EXPECT_EQ(first_wrong(ramp(100), (*y)[0], 16, 15), -1);
}

TEST_F(SessionTest, DependentStepsSeeEachOther) {
  for (BindingForm form : kForms) {
    const auto s = session(chain_program(form, 5000, 11));
    const auto y = s->run(std::vector{ramp(5000)});
    ASSERT_TRUE(y) << y.error().str();
    EXPECT_EQ(first_wrong(ramp(5000), (*y)[0], 2048, 2047), -1) << form_name(form);
  }
}

TEST_F(SessionTest, StagingGivesTheSame) {
  Device::Impl::of(*device).always_stage = true;
  for (BindingForm form : kForms) {
    const auto s = session(chain_program(form, 777, 3));
    for (int i = 0; i < 3; ++i) {
      const auto y = s->run(std::vector{ramp(777)});
      ASSERT_TRUE(y) << y.error().str();
      EXPECT_EQ(first_wrong(ramp(777), (*y)[0], 8, 7), -1);
      ASSERT_TRUE(s->replay());
    }
  }
}

// The drivers here are coherent; what is asked of one that is not must be legal all the same.
TEST_F(SessionTest, MemoryThatIsNotCoherentGivesTheSame) {
  Device::Impl& d = Device::Impl::of(*device);
  static int flushed, invalidated;
  static PFN_vkFlushMappedMemoryRanges flush;
  static PFN_vkInvalidateMappedMemoryRanges invalidate;
  flush = d.fns.vkFlushMappedMemoryRanges, invalidate = d.fns.vkInvalidateMappedMemoryRanges;
  flushed = invalidated = 0;
  d.fns.vkFlushMappedMemoryRanges = [](VkDevice v, uint32_t n, const VkMappedMemoryRange* r) {
    return ++flushed, flush(v, n, r);
  };
  d.fns.vkInvalidateMappedMemoryRanges = [](VkDevice v, uint32_t n, const VkMappedMemoryRange* r) {
    return ++invalidated, invalidate(v, n, r);
  };
  MemoryConfig config = d.memory->config();
  for (VkMemoryType& t : config.properties.memoryTypes)
    t.propertyFlags &= ~VkMemoryPropertyFlags{VK_MEMORY_PROPERTY_HOST_COHERENT_BIT};
  d.memory = std::make_unique<Memory>(d.fns, d.device, config);
  for (const bool stage : {false, true}) {
    d.always_stage = stage;
    auto s = session(chain_program(BindingForm::Address, 777, 3));
    flushed = invalidated = 0;
    const auto y = s->run(std::vector{ramp(777)});
    ASSERT_TRUE(y) << y.error().str();
    EXPECT_EQ(first_wrong(ramp(777), (*y)[0], 8, 7), -1);
    EXPECT_EQ(flushed, 1);
    EXPECT_EQ(invalidated, 1);
  }
}

TEST_F(SessionTest, TrimGivesTheMemoryOfPastSessionsBack) {
  device->trim();
  auto s = session(affine_program(BindingForm::Address, 1000));
  EXPECT_EQ(device->trim(), 0u) << "in use";
  s.reset();
  EXPECT_GT(device->trim(), 0u);
  EXPECT_EQ(Device::Impl::of(*device).memory->slab_count(), 0u);
}

TEST_F(SessionTest, EmptyArraysGiveEmptyArrays) {
  for (const bool stage : {false, true})
    for (BindingForm form : kForms) {
      Device::Impl::of(*device).always_stage = stage;
      Executable e = chain_program(form, 0, 3);
      const auto idle = session(e)->run(std::vector{HostArray(f32({0}))});
      ASSERT_TRUE(idle) << idle.error().str();
      EXPECT_EQ((*idle)[0].count(), 0);
      for (Step& s : e.steps) s.groups = 1;  // kernels run, and their guards hold
      const auto y = session(e)->run(std::vector{HostArray(f32({0}))});
      ASSERT_TRUE(y) << y.error().str();
      EXPECT_EQ((*y)[0].count(), 0);
    }
}

TEST_F(SessionTest, NoInputsNoStepsNoOutputs) {
  const auto s = session(Executable{});
  const auto y = s->run({});
  ASSERT_TRUE(y) << y.error().str();
  EXPECT_TRUE(y->empty());
}

TEST_F(SessionTest, BoolsAreBytesHereAndWordsThere) {
  for (const bool stage : {false, true})
    for (BindingForm form : kForms) {
      Device::Impl::of(*device).always_stage = stage;
      Executable e;
      e.form = form;
      e.kernels = {flip(form)};
      e.buffers = {array(Role::Input, "x", boolean({5})), array(Role::Output, "y", boolean({5})), constant(5)};
      e.n_inputs = e.n_outputs = 1;
      e.steps = {apply(e, 0, 2, 1)};
      HostArray x(boolean({5}));
      x.bytes = {1, 0, 7, 0, 255};  // any byte but 0 is true
      const auto y = session(e)->run(std::vector{x});
      ASSERT_TRUE(y) << y.error().str();
      EXPECT_EQ((*y)[0].bytes, (std::vector<uint8_t>{0, 1, 0, 1, 0}));
    }
}

TEST_F(SessionTest, FillsAndCopiesAreOrderedWithDispatches) {
  for (BindingForm form : kForms) {
    Executable e = chain_program(form, 64, 1);
    e.buffers[0] = array(Role::Scratch, "x", f32({64}), 0);
    std::swap(e.buffers[0], e.buffers[1]);  // output, x, n, a, b
    e.n_inputs = 0;
    const uint32_t three = 0x40400000;
    e.steps = {
        {Step::Kind::Fill, 0, 1, three, {{1, 0, 256, false, true}}, "threes"},
        apply(e, 1, 2, 4),
        {Step::Kind::Copy, 0, 1, 0, {{4, 128, 128, true, false}, {0, 0, 128, false, true}}, "upper half to the lower"},
        {Step::Kind::Fill, 0, 1, 0, {{0, 128, 128, false, true}}, "zeros"},
        {Step::Kind::Fill, 0, 1, 77, {{0, 128, 0, false, true}}, "nothing"}};
    const auto y = session(e)->run({});
    ASSERT_TRUE(y) << y.error().str();
    std::vector<double> expected(64, 0.0);
    std::fill(expected.begin(), expected.begin() + 32, 7.0);
    EXPECT_EQ((*y)[0].values(), expected) << form_name(form);
  }
}

TEST_F(SessionTest, OffsetsIntoArraysReachTheKernel) {
  for (BindingForm form : kForms) {
    Executable e = affine_program(form, 64);
    e.buffers[2] = constant(16);
    e.steps[0].uses[0].offset = 12 * 4;
    e.steps[0].uses[2].offset = 33 * 4;
    e.steps[0].uses[0].bytes = e.steps[0].uses[2].bytes = 16 * 4;
    e.steps.insert(e.steps.begin(), {Step::Kind::Fill, 0, 1, 0, {{1, 0, 256, false, true}}, "zeros"});
    const auto y = session(e)->run(std::vector{ramp(64)});
    ASSERT_TRUE(y) << y.error().str();
    for (int i = 0; i < 64; ++i) {
      EXPECT_EQ((*y)[0].values()[static_cast<size_t>(i)], i >= 33 && i < 49 ? 2 * (i - 33 + 12) + 1 : 0)
          << i << " " << form_name(form);
    }
  }
}

TEST_F(SessionTest, GridsBeyondOneAxisFold) {
  Target& t = Device::Impl::of(*device).info.target;
  t.max_groups = 7;  // 79 workgroups become 7 x 12
  for (BindingForm form : kForms) {
    const auto y = session(affine_program(form, 5000))->run(std::vector{ramp(5000)});
    ASSERT_TRUE(y) << y.error().str();
    EXPECT_EQ(first_wrong(ramp(5000), (*y)[0], 2, 1), -1);
  }
  t.max_groups_y = 11;
  const auto refused = Session::create(device, affine_program(BindingForm::Address, 5000));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("maxComputeWorkGroupCount[1]"), std::string::npos) << refused.error().message;
}

// Two frames in flight are two sessions, the second of which compiles nothing.
TEST_F(SessionTest, SessionsOfOneProgramShareTheirPipelines) {
  static PFN_vkCreateComputePipelines below;
  static std::atomic<uint32_t> made;
  below = Device::Impl::of(*device).fns.vkCreateComputePipelines;
  made = 0;
  Device::Impl::of(*device).fns.vkCreateComputePipelines = [](VkDevice d, VkPipelineCache cache, uint32_t n,
                                                              const VkComputePipelineCreateInfo* infos,
                                                              const VkAllocationCallbacks* allocator, VkPipeline* out) {
    made += n;
    return below(d, cache, n, infos, allocator, out);
  };
  for (const BindingForm form : kForms) {
    made = 0;
    const Executable e = chain_program(form, 300, 3);
    auto first = session(e);
    const uint32_t kernels = made;
    EXPECT_EQ(kernels, e.kernels.size());
    auto second = session(e);
    EXPECT_EQ(made, kernels);
    first.reset();  // the second has what both used
    const auto y = second->run(std::vector{ramp(300)});
    ASSERT_TRUE(y) << y.error().str();
    EXPECT_EQ(first_wrong(ramp(300), (*y)[0], 8, 7), -1);
    session(chain_program(form == BindingForm::Address ? BindingForm::Descriptors : BindingForm::Address, 300, 3));
    EXPECT_EQ(made, 2 * kernels) << "another form";
    second.reset();
    session(e);
    EXPECT_EQ(made, 3 * kernels) << "nothing is kept for nobody";
  }
}

TEST_F(SessionTest, SessionsOnTwoThreadsShareADevice) {
  std::vector<std::jthread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        auto s = Session::create(device, chain_program(BindingForm::Address, 500, 4));
        if (!s) continue;
        const auto y = (*s)->run(std::vector{ramp(500)});
        right += y && first_wrong(ramp(500), (*y)[0], 16, 15) == -1;
      }
    });
  threads.clear();
  EXPECT_EQ(right, 10);
}

TEST_F(SessionTest, WrongInputsAreToldByName) {
  const auto s = session(affine_program(BindingForm::Address, 4));
  const auto none = s->run({});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "SG0501");
  const auto wrong = s->run(std::vector{HostArray(i32({4}))});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "input 'x' is f32[4], and i32[4] is given");
  HostArray torn = ramp(4);
  torn.bytes.pop_back();
  EXPECT_FALSE(s->run(std::vector{torn}));
  EXPECT_TRUE(s->run(std::vector{ramp(4)})) << "an error leaves the session usable";
}

TEST_F(SessionTest, LimitsAreNamedWithWishAndDevice) {
  Executable e = affine_program(BindingForm::Descriptors, 100);
  Device::Impl::of(*device).facts.limits.maxStorageBufferRange = 256;
  const auto range = Session::create(device, e);
  ASSERT_FALSE(range);
  EXPECT_EQ(range.error().code, "SG0303");
  for (const char* part : {"400", "maxStorageBufferRange", "256", device->info().name.c_str()}) {
    EXPECT_NE(range.error().message.find(part), std::string::npos) << range.error().message;
  }
  e.kernels[0].workgroup = 1u << 20;
  EXPECT_NE(Session::create(device, e).error().message.find("maxComputeWorkGroupInvocations"), std::string::npos);
  e.kernels[0].workgroup = 64;
  e.kernels[0].needs.float64 = true;
  e.kernels[0].needs.shared_bytes = uint64_t{1} << 30;
  Device::Impl::of(*device).info.target.float64 = false;
  const Error both = Session::create(device, e).error();
  EXPECT_NE(both.message.find("shaderFloat64"), std::string::npos);
  EXPECT_NE(both.message.find(device->info().name), std::string::npos);
  EXPECT_NE(both.str().find("1073741824 bytes of shared memory"), std::string::npos) << both.str();
}

TEST_F(SessionTest, MoreMemoryThanThereIsIsAnError) {
  Executable e = affine_program(BindingForm::Address, 4);
  e.scratch_bytes = uint64_t{1} << 46;
  const auto s = Session::create(device, e);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code, "SG0601") << s.error().str();
  EXPECT_NE(s.error().str().find("64 TiB"), std::string::npos) << s.error().str();
  messages.lines.clear();  // validation remarks on the size, as it should
}

TEST_F(SessionTest, MalformedExecutablesAreRefused) {
  const Executable good = affine_program(BindingForm::Address, 4);
  const auto refused = [&](auto change) {
    Executable e = good;
    change(e);
    const auto s = Session::create(device, e);
    return !s && s.error().code == "SG0900";
  };
  EXPECT_TRUE(refused([](Executable& e) { e.version = 2; }));
  EXPECT_TRUE(refused([](Executable& e) { e.n_inputs = 9; }));
  EXPECT_TRUE(refused([](Executable& e) { e.steps[0].kernel = 1; }));
  EXPECT_TRUE(refused([](Executable& e) { e.steps[0].uses[0].buffer = 3; }));
  EXPECT_TRUE(refused([](Executable& e) { e.steps[0].uses[0].bytes = 20; }));
  EXPECT_TRUE(refused([](Executable& e) { e.steps[0].uses[0].offset = ~uint64_t{0} - 3; }));
  EXPECT_TRUE(refused([](Executable& e) { e.steps[0].uses.pop_back(); }));
  EXPECT_TRUE(refused([](Executable& e) { e.buffers[0].bytes = 12; }));
  EXPECT_TRUE(refused([](Executable& e) { e.buffers[2].data.clear(); }));
  EXPECT_TRUE(refused([](Executable& e) { e.buffers[1].role = Role::Scratch; }));
}

TEST_F(SessionTest, MemoryIsGivenBackAndFewSlabsServeMany) {
  for (int i = 0; i < 50; ++i) {
    const auto s = session(chain_program(BindingForm::Address, 1000, 3));
    EXPECT_GE(s->device_bytes(), 4u * 4000);
    EXPECT_LE(Device::Impl::of(*device).memory->slab_count(), on_processors() ? 2u : 3u) << "and one for copies";
  }
}

TEST_F(SessionTest, SelfTestToldItsVerdicts) {
  const DeviceInfo& i = device->info();
  ASSERT_EQ(i.verdicts.size(), 31u);
  const auto outcome = [&](uint32_t number) { return i.verdicts[number - 1].outcome; };
  EXPECT_EQ(outcome(6), Outcome::Passed) << i.verdicts[5].text;
  const std::string driver = std::getenv("SPIROGRAD_TEST_DRIVER") ? std::getenv("SPIROGRAD_TEST_DRIVER") : "";
  if (driver == "lavapipe") {
    EXPECT_TRUE(i.target.atomic_float_add);
  }
  if (driver == "swiftshader") {
    EXPECT_EQ(outcome(7), Outcome::NotOffered);
  }
  EXPECT_EQ(i.target.atomic_float_add, outcome(7) == Outcome::Passed);
  EXPECT_EQ((i.target.subgroup_operations & kSubgroupShuffle) != 0, outcome(30) == Outcome::Passed);
  EXPECT_TRUE(driver.empty() || outcome(30) == Outcome::Passed) << i.verdicts[29].text;
  EXPECT_NE(i.verdicts[4].text.find(std::to_string(i.target.max_loop_iterations)), std::string::npos) << i.verdicts[4].text;
}

TEST_F(SessionTest, DevicesListsThisOne) {
  const auto all = devices(true);
  ASSERT_TRUE(all) << all.error().str();
  ASSERT_FALSE(all->empty());
  for (size_t i = 0; i < all->size(); ++i) EXPECT_EQ((*all)[i].index, i);
  EXPECT_EQ((*all)[0].name, device->info().name);
  EXPECT_EQ((*all)[0].unusable, "");
  EXPECT_EQ((*all)[0].target, device->info().target);
  DeviceOptions options;
  options.select = "no such thing";
  const auto unknown = Device::create(options);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, "SG0304");
  EXPECT_NE(unknown.error().str().find(device->info().name), std::string::npos);
}

TEST_F(SessionTest, AHostMayGiveItsWayToVulkan) {
  static PFN_vkGetInstanceProcAddr real;
  static int asked;
  real = load_global().vkGetInstanceProcAddr;
  asked = 0;
  DeviceOptions options;
  options.get_instance_proc_addr = [](VkInstance instance, const char* name) { return ++asked, real(instance, name); };
  const auto mine = Device::create(options);
  ASSERT_TRUE(mine) << mine.error().str();
  EXPECT_GT(asked, 10);
  EXPECT_EQ(devices(false, options.get_instance_proc_addr)->at(0).name, device->info().name);
  options.get_instance_proc_addr = [](VkInstance, const char*) -> PFN_vkVoidFunction { return nullptr; };
  EXPECT_EQ(Device::create(options).error().code, "SG0301");
}

TEST_F(SessionTest, CacheFolderIsUsedAndDamageIsAColdStart) {
  device.reset();
  cache_dir = (std::filesystem::temp_directory_path() / ("spirograd_vk_" + std::to_string(getpid()))).string();
  const auto files = [&] {
    std::vector<std::filesystem::path> list;
    for (const auto& f : std::filesystem::directory_iterator(cache_dir)) list.push_back(f.path());
    return list;
  };
  open();
  const std::vector<Verdict> verdicts = device->info().verdicts;
  ASSERT_TRUE(session(affine_program(BindingForm::Address, 4))->run(std::vector{ramp(4)}));
  device.reset();
  EXPECT_EQ(files().size(), 2u) << "pipelines and verdicts";
  open();
  EXPECT_TRUE(device->info().verdicts == verdicts);
  device.reset();
  for (const auto& path : files()) std::ofstream(path, std::ios::binary | std::ios::in | std::ios::ate) << "damage";
  open();
  EXPECT_TRUE(device->info().verdicts == verdicts);
  ASSERT_TRUE(session(affine_program(BindingForm::Address, 4))->run(std::vector{ramp(4)}));
  device.reset();
  std::filesystem::remove_all(cache_dir);
}

// The canaries: validation that cannot see these sees nothing.

TEST_F(SessionTest, CanaryALeakedFenceIsReported) {
  const VkFenceCreateInfo info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, nullptr, 0};
  VkFence fence;
  ASSERT_EQ(Device::Impl::of(*device).fns.vkCreateFence(Device::Impl::of(*device).device, &info, nullptr, &fence),
            VK_SUCCESS);
  device.reset();
  EXPECT_FALSE(messages.lines.empty());
  messages.lines.clear();
}

TEST_F(SessionTest, CanaryAMissingBarrierIsReported) {
  Executable e = chain_program(BindingForm::Descriptors, 256, 2);
  e.steps.insert(e.steps.begin(), {Step::Kind::Fill, 0, 1, 0, {{3, 0, 1024, false, true}}, "zeros"});
  for (Step& s : e.steps)
    for (BufferUse& u : s.uses) u.read = u.written = false;  // a lie: nothing depends on anything
  const auto s = session(e);
  ASSERT_TRUE(s->run(std::vector{ramp(256)}));
  EXPECT_NE(messages.text().find("HAZARD"), std::string::npos) << messages.text();
  messages.lines.clear();
}

// A forked child has the handles, but none of the driver's threads: whatever it asks for is an error, at once.
TEST_F(SessionTest, AForkedChildGetsErrors) {
  auto s = session(affine_program(BindingForm::Address, 4));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // an end instead of a hang
    const auto is_refused = [](const auto& r) { return !r && r.error().code == "SG0311"; };
    int wrong = 0;
    wrong += !is_refused(s->run(std::vector{ramp(4)}));
    wrong += !is_refused(s->replay());
    wrong += !is_refused(s->record(VK_NULL_HANDLE, {}, {}));
    wrong += !is_refused(Session::create(device, affine_program(BindingForm::Address, 4)));
    wrong += !is_refused(Device::create());
    wrong += !is_refused(devices());
    s.reset();
    device.reset();
    ::_exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "calls that were not refused";
  EXPECT_TRUE(s->run(std::vector{ramp(4)})) << "the parent is none the wiser";
}

TEST_F(SessionTest, WithoutADeviceThereIsNoSession) {
  EXPECT_EQ(Session::create(nullptr, affine_program(BindingForm::Address, 4)).error().code, "SG0303");
}

}  // namespace session_test
}  // namespace spirograd::vk
