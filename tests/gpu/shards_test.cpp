// One program on several devices is the program on one: two devices of a driver, or those of two drivers side by side.
#include "spirograd/shards.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "tests/gpu/fixture.h"
#include "vk_runtime/device.h"

namespace spirograd {
namespace shards_test {

using vk::Device;

const char* const kSource = R"(
def f(w: f32[3], x: f32[N,3], y: f32[N]) -> (loss: f32, count: i32, residual: f32[N]) {
  let r = tanh(matmul(x, w)) - y
  (mean(square(r)), sum(i32(r > 0)), r)
}
)";
constexpr int64_t kElements = 1001;

MakeProgram make_from(const std::string& source) {
  return [module = text::parse(source, "test.sg").value()](std::span<const Param> params) {
    std::vector<text::NamedType> types;
    for (const Param& p : params) types.push_back({p.name, p.type});
    return value_and_grad(text::instantiate(module, "", types).value(), {"w"});
  };
}

std::vector<Param> params_for(int64_t n) { return {{"w", f32({3})}, {"x", f32({n, 3})}, {"y", f32({n})}}; }

std::vector<HostArray> inputs_for(int64_t n, double at = 0) {
  std::vector<double> x, y;
  for (int64_t i = 0; i < n; ++i) {
    const double t = static_cast<double>(i);
    for (const double k : {0.37, 1.13, 2.71}) x.push_back(std::sin(k * t));
    y.push_back(std::cos(0.9 * t));
  }
  return {HostArray(f32({3}), {0.3 + at, -0.7, 0.2}), HostArray(f32({n, 3}), x), HostArray(f32({n}), y)};
}

ShardOptions usual_options() {
  ShardOptions out;
  out.cut = {{"x", 0}, {"y", 0}};
  out.results = {{"loss", Joined::Mean}, {"count", Joined::Sum}, {"residual", Joined::Concatenate}, {"d_w", Joined::Mean}};
  out.measure = false;
  return out;
}

std::vector<HostArray> on_one(const std::shared_ptr<Device>& device, const std::vector<HostArray>& inputs) {
  CompileOptions how;
  how.form = device->preferred_form();
  const Program program = make_from(kSource)(params_for(inputs[2].count())).value();
  return vk::Session::create(device, compile(program, device->target(), how).value()).value()->run(inputs).value();
}

// Floats to 1e-5, as far as they are large; whole numbers exactly.
void expect_same(const std::vector<HostArray>& got, const std::vector<HostArray>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t j = 0; j < got.size(); ++j) {
    ASSERT_EQ(got[j].type, wanted[j].type);
    const std::vector<double> a = got[j].values(), b = wanted[j].values();
    double scale = 0;
    for (const double v : b) scale = std::max(scale, std::abs(v));
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], is_float(got[j].type.dtype) ? 1e-5 * scale : 0) << "result " << j << ", element " << i;
  }
}

// Calls of the last device until it is lost; less than 0: it stays.
std::atomic<int> until_lost = -1;
PFN_vkQueueSubmit really_submit = nullptr;

class ShardsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    until_lost = -1;
    vk::DeviceOptions options;
    options.validation = true;
    options.on_message = vk::testing::Messages::take;
    options.user = &messages;
    options.cache_dir = SPIROGRAD_TEST_CACHE;
    options.cache_pipelines = false;
    options.inline_little_work = false;
    devices = usable_devices(options).value();
    if (devices.size() == 1) devices.push_back(Device::create(options).value());
  }
  void TearDown() override {
    devices.clear();
    EXPECT_TRUE(messages.lines.empty()) << messages.text();
  }
  std::unique_ptr<Shards> shards(int64_t n, const ShardOptions& options) {
    return Shards::create(devices, make_from(kSource), params_for(n), options).value();
  }
  std::string refused(ShardOptions options, std::vector<Param> params = params_for(kElements)) {
    const auto r = Shards::create(devices, make_from(kSource), std::move(params), std::move(options));
    return r ? "" : r.error().code;
  }
  // The last device is lost at a submission.
  void lose_at_submit(int which) {
    vk::DeviceFns& fns = Device::Impl::of(*devices.back()).fns;
    really_submit = fns.vkQueueSubmit;
    until_lost = which;
    fns.vkQueueSubmit = [](VkQueue queue, uint32_t n, const VkSubmitInfo* info, VkFence fence) {
      return until_lost-- == 0 ? VK_ERROR_DEVICE_LOST : really_submit(queue, n, info, fence);
    };
  }
  void lose_at_wait() {
    vk::DeviceFns& fns = Device::Impl::of(*devices.back()).fns;
    fns.vkWaitForFences = [](VkDevice, uint32_t, const VkFence*, VkBool32, uint64_t) { return VK_ERROR_DEVICE_LOST; };
    fns.vkWaitSemaphores = [](VkDevice, const VkSemaphoreWaitInfo*, uint64_t) { return VK_ERROR_DEVICE_LOST; };
  }

  vk::testing::Messages messages;
  std::vector<std::shared_ptr<Device>> devices;
};

TEST_F(ShardsTest, TheSumOfPiecesIsWhatOneDeviceGives) {
  for (const int64_t n : {int64_t{2}, int64_t{64}, kElements}) {
    const auto s = shards(n, usual_options());
    expect_same(s->run(inputs_for(n)).value(), on_one(devices[0], inputs_for(n)));
    int64_t all = 0;
    for (const ShardState& state : s->states()) {
      EXPECT_EQ(state.first, all);
      EXPECT_GE(state.count, 1);
      all += state.count;
    }
    EXPECT_EQ(all, n);
  }
}

TEST_F(ShardsTest, SharesOfAnyKindGiveTheSame) {
  const auto wanted = on_one(devices[0], inputs_for(kElements));
  for (const std::vector<double>& shares : {std::vector<double>{1, 3}, {0, 1}, {1, 0}, {1000, 1}, {0, 0}}) {
    ShardOptions options = usual_options();
    options.shares = shares;
    options.shares.resize(devices.size());
    const auto s = shards(kElements, options);
    for (int step = 0; step < 2; ++step) expect_same(s->run(inputs_for(kElements)).value(), wanted);
  }
}

TEST_F(ShardsTest, FewerElementsThanDevicesUseFewerDevices) {
  const auto s = shards(1, usual_options());
  expect_same(s->run(inputs_for(1)).value(), on_one(devices[0], inputs_for(1)));
  EXPECT_EQ(s->states()[0].count, 1);
  EXPECT_EQ(s->states()[1].count, 0);
  const auto none = shards(0, usual_options())->run(inputs_for(0));
  ASSERT_TRUE(none) << none.error().str();
  EXPECT_EQ(none->at(1).values(), std::vector<double>{0});
}

TEST_F(ShardsTest, TheSameDivisionGivesTheSameBits) {
  const auto a = shards(kElements, usual_options()), b = shards(kElements, usual_options());
  const auto first = a->run(inputs_for(kElements)).value();
  for (int step = 0; step < 3; ++step) {
    const auto again = (step == 1 ? b : a)->run(inputs_for(kElements)).value();
    for (size_t j = 0; j < first.size(); ++j) EXPECT_EQ(again[j].bytes, first[j].bytes) << j;
  }
}

TEST_F(ShardsTest, TwoStepsUnderWayEachHaveTheirInputs) {
  const auto s = shards(kElements, usual_options());
  const auto inputs = inputs_for(kElements);
  ASSERT_TRUE(s->write("x", inputs[1]));
  ASSERT_TRUE(s->write("y", inputs[2]));
  EXPECT_EQ(s->submit().error().code, "SG0502") << "w was never set";
  for (int step = 0; step < 6; ++step) {
    ASSERT_TRUE(s->write("w", inputs_for(1, step)[0]));
    ASSERT_TRUE(s->submit());
    if (step == 1) {
      EXPECT_EQ(s->submit().error().code, "SG0501");
      EXPECT_EQ(s->run().error().code, "SG0501");
    }
    if (step > 0) expect_same(s->wait().value(), on_one(devices[0], inputs_for(kElements, step - 1)));
  }
  expect_same(s->wait().value(), on_one(devices[0], inputs_for(kElements, 5)));
  EXPECT_EQ(s->wait().error().code, "SG0501") << "nothing is under way any more";
}

// A slow one is slow because what it does is measured with a delay in its submissions.
TEST_F(ShardsTest, ASlowDeviceGetsLessAndThenItStaysSo) {
  vk::DeviceFns& fns = Device::Impl::of(*devices.back()).fns;
  really_submit = fns.vkQueueSubmit;
  fns.vkQueueSubmit = [](VkQueue queue, uint32_t n, const VkSubmitInfo* info, VkFence fence) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    return really_submit(queue, n, info, fence);
  };
  ShardOptions options = usual_options();
  options.measure = true;
  const auto s = shards(kElements, options);
  const auto wanted = on_one(devices[0], inputs_for(kElements));
  for (int step = 0; step < 5; ++step) expect_same(s->run(inputs_for(kElements)).value(), wanted);
  EXPECT_EQ(s->divisions(), 1);
  EXPECT_LT(s->states().back().count, kElements / 4);
}

TEST_F(ShardsTest, ALostDeviceLeavesItsPartToTheOthersInTheSameCall) {
  const auto inputs = inputs_for(kElements);
  const auto wanted = on_one(devices[0], inputs);
  for (const bool at_submit : {true, false}) {
    ShardOptions options = usual_options();
    std::vector<std::string> told;
    options.tell = [&](std::string_view text) { told.emplace_back(text); };
    const auto s = shards(kElements, options);
    expect_same(s->run(inputs).value(), wanted);
    EXPECT_TRUE(told.empty());
    if (at_submit)
      lose_at_submit(0);
    else
      lose_at_wait();
    for (int step = 0; step < 3; ++step) expect_same(s->run(inputs).value(), wanted);
    ASSERT_EQ(told.size(), 1u) << "once, not at each step";
    EXPECT_NE(told[0].find("was lost in step 1: the others do its 500 of 1001 elements"), std::string::npos) << told[0];
    EXPECT_TRUE(s->states().back().lost);
    EXPECT_FALSE(s->states()[0].lost);
    EXPECT_EQ(s->states()[0].count, kElements);
    TearDown();
    SetUp();
  }
}

TEST_F(ShardsTest, ADeviceLostWithTwoStepsUnderWayLosesNeither) {
  const auto s = shards(kElements, usual_options());
  const auto inputs = inputs_for(kElements);
  for (size_t i = 0; i < 3; ++i) ASSERT_TRUE(s->write(params_for(kElements)[i].name, inputs[i]));
  ASSERT_TRUE(s->run());
  lose_at_submit(1);  // the second of these
  ASSERT_TRUE(s->submit());
  ASSERT_TRUE(s->write("w", inputs_for(1, 1)[0]));
  ASSERT_TRUE(s->submit());
  expect_same(s->wait().value(), on_one(devices[0], inputs));
  expect_same(s->wait().value(), on_one(devices[0], inputs_for(kElements, 1)));
  EXPECT_TRUE(s->states().back().lost);
}

TEST_F(ShardsTest, WithoutAnyDeviceLeftThereIsAnError) {
  const std::vector last = {devices.back()};
  const auto s = Shards::create(last, make_from(kSource), params_for(kElements), usual_options()).value();
  ASSERT_TRUE(s->run(inputs_for(kElements)));
  lose_at_submit(0);
  for (int step = 0; step < 2; ++step) EXPECT_EQ(s->run(inputs_for(kElements)).error().code, "SG0310");
}

TEST_F(ShardsTest, WhatCannotBeSharedIsSaid) {
  EXPECT_EQ(refused(usual_options()), "");
  const auto with = [](const std::function<void(ShardOptions&)>& change) {
    ShardOptions out = usual_options();
    change(out);
    return out;
  };
  EXPECT_EQ(refused(with([](auto& o) { o.cut.clear(); })), "SG0511");
  EXPECT_EQ(refused(with([](auto& o) { o.cut[1].input = "z"; })), "SG0503");
  EXPECT_EQ(refused(with([](auto& o) { o.cut[1].input = "x"; })), "SG0503") << "cut twice";
  EXPECT_EQ(refused(with([](auto& o) { o.cut[1].axis = 1; })), "SG0511");
  EXPECT_EQ(refused(with([](auto& o) { o.cut[1].axis = -1; })), "SG0511");
  EXPECT_EQ(refused(with([](auto& o) { o.cut.push_back({"w", 0}); })), "SG0511") << "3 elements, not 1001";
  EXPECT_EQ(refused(with([](auto& o) { o.results.pop_back(); })), "SG0511") << "nothing is said of d_w";
  EXPECT_EQ(refused(with([](auto& o) { o.results.push_back({"sum"}); })), "SG0503");
  EXPECT_EQ(refused(with([](auto& o) { o.results.push_back({"loss"}); })), "SG0503") << "joined twice";
  EXPECT_EQ(refused(with([](auto& o) { o.results[1].how = Joined::Mean; })), "SG0511") << "of whole numbers";
  EXPECT_EQ(refused(with([](auto& o) { o.results[3].how = Joined::Concatenate; })), "SG0511") << "d_w has 3 elements";
  EXPECT_EQ(refused(with([](auto& o) { o.shares.assign(99, 1.0); })), "SG0511");
  EXPECT_EQ(refused(with([](auto& o) { o.shares = {1, NAN}; })), "SG0511");
  devices.clear();
  EXPECT_EQ(refused(usual_options()), "SG0303");
}

// A result that follows the extent without being concatenated shows when the first piece is made.
TEST_F(ShardsTest, AResultWhoseTypeFollowsTheDataIsNoSum) {
  ShardOptions options = usual_options();
  options.results[2].how = Joined::Sum;
  const auto s = shards(kElements, options);
  EXPECT_EQ(s->run(inputs_for(kElements)).error().code, "SG0511");
}

TEST_F(ShardsTest, InputsOfAnotherTypeAreRefused) {
  const auto s = shards(kElements, usual_options());
  EXPECT_EQ(s->run(inputs_for(kElements - 1)).error().code, "SG0501");
  EXPECT_EQ(s->write("v", HostArray(f32())).error().code, "SG0503");
  const std::vector<HostArray> one = {HostArray(f32({3}))};
  EXPECT_EQ(s->run(one).error().code, "SG0501");
}

}  // namespace shards_test
}  // namespace spirograd
