// How devices prove themselves: all probes on every driver, and what happens when one fails, hangs, or is remembered.
#include "vk_runtime/self_test.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/gpu/fixture.h"
#include "vk_runtime/device.h"

namespace spirograd::vk {
namespace self_test_test {

using namespace testing;

Verdict verdict(const DeviceInfo& info, uint32_t number) {
  return info.verdicts.size() == 31 ? info.verdicts[number - 1] : Verdict{};
}

class SelfTestTest : public Gpu {
 protected:
  Device::Impl& inside() { return Device::Impl::of(*device); }
  // What is found is wanted from the device, not from a file.
  void SetUp() override {
    Gpu::SetUp();
    if (device) inside().options.cache_dir.clear();
  }
  static std::string driver() {
    const char* name = std::getenv("SPIROGRAD_TEST_DRIVER");
    return name ? name : "";
  }
  // In both forms, each program in a session of its own.
  static SelfTest all_alone() {
    SelfTest test;
    test.thorough = test.one_by_one = true;
    return test;
  }
};

TEST_F(SelfTestTest, EveryProbeIsRightInBothForms) {
  SelfTest test = all_alone();
  ASSERT_TRUE(prove(device, test));
  for (const Finding& f : test.findings.list) {
    EXPECT_NE(f.outcome, Outcome::Failed) << f.number << ": " << f.text;
    EXPECT_NE(f.outcome, Outcome::Hung) << f.number;
    const bool known = (f.number == 5 && driver() == "lavapipe") || (f.number == 21 && driver() == "swiftshader");
    EXPECT_TRUE(f.outcome != Outcome::Wrong || known || driver().empty()) << f.number << ": " << f.text;
  }
  for (const Verdict& v : device->info().verdicts) EXPECT_NE(v.outcome, Outcome::NotRun) << v.name << ": " << v.text;
  EXPECT_EQ(device->info().unusable, "");
  EXPECT_GT(device->info().speeds.iterations, 0);
  EXPECT_GT(device->info().speeds.compile, 0);
  EXPECT_GT(device->info().speeds.read, 0);
}

TEST_F(SelfTestTest, TogetherTheyFindTheSame) {
  SelfTest together, alone;
  alone.one_by_one = true;
  ASSERT_TRUE(prove(device, together));
  const Target target = device->target();
  ASSERT_TRUE(prove(device, alone));
  EXPECT_TRUE(device->target() == target);
  ASSERT_EQ(together.findings.list.size(), alone.findings.list.size());
  for (const Finding& f : together.findings.list)
    EXPECT_NE(std::find(alone.findings.list.begin(), alone.findings.list.end(), f), alone.findings.list.end()) << f.number;
}

VkResult times_out(VkDevice, uint32_t, const VkFence*, VkBool32, uint64_t limit) {
  EXPECT_EQ(limit, 5'000'000'000u);
  return VK_TIMEOUT;
}

VkResult no_signal(VkDevice, const VkSemaphoreWaitInfo*, uint64_t limit) {
  EXPECT_EQ(limit, 5'000'000'000u);
  return VK_TIMEOUT;
}

// What hangs keeps its memory for good; here it ends after all, so that nothing leaks.
TEST_F(SelfTestTest, AHangingProbeEndsTheDeviceAndNotTheTest) {
  if (!on_processors()) GTEST_SKIP() << "what is pretended to hang would be a copy to the device, before the probe";
  const auto hang = [&] { inside().fns.vkWaitForFences = times_out, inside().fns.vkWaitSemaphores = no_signal; };
  const auto leave = [&] {
    EXPECT_EQ(inside().fns.vkQueueWaitIdle(inside().queue), VK_SUCCESS);
    device.reset();
    open();
    inside().options.cache_dir.clear();
  };
  SelfTest test;
  hang();
  EXPECT_FALSE(prove(device, test));
  EXPECT_TRUE(test.one_by_one) << "nobody knows which one it was";
  EXPECT_EQ(test.hangs, 0u);
  leave();
  hang();
  EXPECT_FALSE(prove(device, test));
  EXPECT_EQ(test.hangs, 1u);
  EXPECT_EQ(test.findings.list.back().outcome, Outcome::Hung);
  leave();
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("spirograd_hung_" + std::to_string(getpid()))).string();
  inside().options.cache_dir = folder;
  EXPECT_TRUE(prove(device, test)) << "goes on behind the one that hung";
  inside().options.cache_dir.clear();
  EXPECT_FALSE(std::filesystem::exists(folder)) << "on the host's processors the next process asks again";
  EXPECT_EQ(test.hangs, 1u);
  EXPECT_EQ(verdict(device->info(), 1).outcome, Outcome::Hung);
  EXPECT_EQ(verdict(device->info(), 12).outcome, Outcome::Passed);
  EXPECT_EQ(verdict(device->info(), 12).text, "by descriptors") << "addresses are given up";
  EXPECT_FALSE(device->target().device_address) << "the first probe is that of addresses";
  EXPECT_EQ(device->preferred_form(), BindingForm::Descriptors);
  EXPECT_EQ(device->info().unusable, "");
  EXPECT_EQ(session(affine_program(BindingForm::Descriptors, 4))->run(std::vector{ramp(4)})->size(), 1u);
  EXPECT_EQ(Session::create(device, affine_program(BindingForm::Address, 4)).error().code, "SG0303");
}

int failures = 0;
PFN_vkCreateComputePipelines real_create = nullptr;
VKAPI_ATTR VkResult VKAPI_CALL fail_some(VkDevice d, VkPipelineCache c, uint32_t n, const VkComputePipelineCreateInfo* i,
                                         const VkAllocationCallbacks* a, VkPipeline* p) {
  if (failures > 0 && failures-- > 0) return VK_ERROR_UNKNOWN;
  return real_create(d, c, n, i, a, p);
}

TEST_F(SelfTestTest, ACompilerThatFailsOnceIsAskedAgainAndOneThatAlwaysDoesIsUnusable) {
  real_create = inside().fns.vkCreateComputePipelines;
  inside().fns.vkCreateComputePipelines = fail_some;
  failures = 1;
  SelfTest once;
  EXPECT_TRUE(prove(device, once));
  EXPECT_EQ(device->info().unusable, "");
  for (const Verdict& v : device->info().verdicts) EXPECT_NE(v.outcome, Outcome::Failed) << v.name << ": " << v.text;
  failures = 1'000'000;
  SelfTest always;
  EXPECT_TRUE(prove(device, always));
  failures = 0;
  EXPECT_EQ(verdict(device->info(), 1).outcome, Outcome::Failed);
  EXPECT_NE(device->info().unusable.find("binding form"), std::string::npos) << device->info().unusable;
}

std::atomic<bool> compiler_hangs = false;
VKAPI_ATTR VkResult VKAPI_CALL hang_for_a_while(VkDevice d, VkPipelineCache c, uint32_t n,
                                                const VkComputePipelineCreateInfo* i, const VkAllocationCallbacks* a,
                                                VkPipeline* p) {
  compiler_hangs.wait(true);
  return real_create(d, c, n, i, a, p);
}

TEST_F(SelfTestTest, ACompilerThatHangsEndsTheDeviceAndNotTheTest) {
  const auto hang = [&] {
    real_create = inside().fns.vkCreateComputePipelines;
    inside().fns.vkCreateComputePipelines = hang_for_a_while;
    compiler_hangs = true;
  };
  // The thread that hangs is the last one to use the device.
  const auto leave = [&] {
    const std::weak_ptr<Device> old = device;
    device.reset();
    EXPECT_FALSE(old.expired());
    compiler_hangs = false;
    compiler_hangs.notify_all();
    while (!old.expired()) std::this_thread::yield();
    open();
    inside().options.cache_dir.clear();
  };
  SelfTest test;
  test.compile_patience = test.compile_patience_for_all = 50'000'000;
  hang();
  EXPECT_FALSE(prove(device, test));
  EXPECT_TRUE(test.one_by_one) << "nobody knows which one it was";
  leave();
  hang();
  EXPECT_FALSE(prove(device, test));
  EXPECT_EQ(test.hangs, 1u);
  EXPECT_EQ(test.findings.list.back().outcome, Outcome::Hung);
  EXPECT_EQ(test.findings.list.back().text.find("the driver's compiler had not ended"), 0u)
      << test.findings.list.back().text;
  leave();
  test.compile_patience = SelfTest().compile_patience;
  EXPECT_TRUE(prove(device, test)) << "goes on behind the one that hung";
  EXPECT_EQ(device->info().unusable, "");
}

// A folder of one test.
class CacheTest : public SelfTestTest {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / ("spirograd_self_test_" + std::to_string(getpid()))).string();
    cache_dir = folder_;
    Gpu::SetUp();
  }
  void TearDown() override {
    Gpu::TearDown();
    std::filesystem::remove_all(folder_);
  }
  std::string path() { return cache_path(folder_, "verdicts", inside().facts.identity); }
  // What the next device reads.
  void plant(const Findings& findings, uint64_t key) {
    ASSERT_TRUE(save_cache(path(), inside().facts.identity, encode(findings, key)));
  }
  static Findings invented(uint32_t number, std::vector<BindingForm> forms) {
    Findings out;
    for (BindingForm form : forms) out.list.push_back({number, kWholeProbe, form, Outcome::Wrong, 0, "an invented reason"});
    return out;
  }
  Result<std::shared_ptr<Device>> create(const std::string& select) {
    DeviceOptions options;
    options.select = select;
    options.cache_dir = folder_;
    return Device::create(options);
  }
  std::string folder_;
};

int submissions = 0;
PFN_vkQueueSubmit real_submit = nullptr;
VKAPI_ATTR VkResult VKAPI_CALL count_submit(VkQueue q, uint32_t n, const VkSubmitInfo* i, VkFence f) {
  ++submissions;
  return real_submit(q, n, i, f);
}

TEST_F(CacheTest, WhatIsKnownIsNotRunAgain) {
  real_submit = inside().fns.vkQueueSubmit;
  inside().fns.vkQueueSubmit = count_submit;
  const DeviceInfo first = device->info();
  submissions = 0;
  SelfTest again;
  ASSERT_TRUE(prove(device, again));
  EXPECT_EQ(submissions, 0);
  EXPECT_TRUE(device->info().verdicts == first.verdicts);
  EXPECT_TRUE(device->info().target == first.target);
  // Of other probes, or of a device that offers something else.
  plant(again.findings, findings_key(inside()) + 1);
  SelfTest other;
  ASSERT_TRUE(prove(device, other));
  EXPECT_GT(submissions, 0);
  EXPECT_TRUE(other.findings == again.findings);
  // Both are kept for the next one.
  submissions = 0;
  SelfTest last;
  ASSERT_TRUE(prove(device, last));
  EXPECT_EQ(submissions, 0);
}

TEST_F(CacheTest, AFormThatWentWrongIsNotPreferred) {
  plant(invented(1, {BindingForm::Address}), findings_key(inside()));
  const auto other = create("0").value();
  EXPECT_EQ(other->preferred_form(), BindingForm::Descriptors);
  EXPECT_EQ(Session::create(other, affine_program(BindingForm::Address, 4)).error().code, "SG0303");
  EXPECT_TRUE(Session::create(other, affine_program(BindingForm::Descriptors, 4)));
}

TEST_F(CacheTest, AnUnusableDeviceIsRefusedByName) {
  plant(invented(12, {BindingForm::Address, BindingForm::Descriptors}), findings_key(inside()));
  for (const std::string select : {"0", device->info().name.c_str()}) {
    const auto refused = create(select);
    ASSERT_FALSE(refused) << select;
    EXPECT_EQ(refused.error().code, "SG0303");
    for (const char* word : {"quotients and remainders", "probe 12", "an invented reason"})
      EXPECT_NE(refused.error().message.find(word), std::string::npos) << refused.error().message;
  }
}

TEST_F(CacheTest, WhereEveryCommandWaitsResultsAreTheSame) {
  plant(invented(10, {BindingForm::Address, BindingForm::Descriptors}), findings_key(inside()));
  const auto other = create("0").value();
  EXPECT_TRUE(Device::Impl::of(*other).plan.full_barriers);
  for (BindingForm form : kForms) {
    const auto s = Session::create(other, chain_program(form, 1000, 5)).value();
    const std::vector<HostArray> y = s->run(std::vector{ramp(1000)}).value();
    EXPECT_EQ(first_wrong(ramp(1000), y[0], 32, 31), -1) << form_name(form);
  }
}

TEST_F(CacheTest, ExaminingTellsItsProgressAndIsRemembered) {
  std::vector<std::string> heard;
  DeviceOptions options;
  options.select = "0";
  options.cache_dir = folder_;
  const auto info = examine(options, [&](std::string_view name) { heard.emplace_back(name); });
  ASSERT_TRUE(info) << info.error().str();
  EXPECT_GE(heard.size(), 31u);
  EXPECT_GT(info->speeds.read, 0);
  EXPECT_EQ(verdict(*info, 23).outcome, Outcome::Passed) << verdict(*info, 23).text;
  const auto later = create("0").value();
  EXPECT_TRUE(later->info().verdicts == info->verdicts);
  EXPECT_TRUE(later->info().speeds == info->speeds);
}

}  // namespace self_test_test
}  // namespace spirograd::vk
