// Arrays that stay on a device: bound to sessions, fed from step to step, written in place; runs that nobody waits for.
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "spirograd/compile.h"
#include "spirograd/text.h"
#include "tests/gpu/fixture.h"
#include "vk_runtime/session_impl.h"

namespace spirograd::vk {
namespace device_array_test {

using namespace testing;

const char* const kStep =
    "def loss(w: f32[N], x: f32[M,N], y: f32[M]) -> f32 = mean(square(x @ w - y))\n"
    "def step(w: f32[N], x: f32[M,N], y: f32[M]) -> (loss: f32, w_next: f32[N]) {\n"
    "  let (l, g) = value_and_grad(loss)(w, x, y)\n"
    "  (l, w - 0.1 * g)\n}\n";
const char* const kTurned = "def turned(w: f32[N]) -> (w_next: f32[N]) = reverse(w)\n";
const char* const kMoved = "def moved(w: f32[N], g: f32[N]) -> (w_next: f32[N]) = w - 0.5 * g\n";
const char* const kSame = "def same(w: f32[N], v: f32[N]) -> (w: f32[N], u: f32[2,N]) = (reverse(v), [w, v])\n";

class DeviceArrays : public Gpu {
 protected:
  Executable compiled(const char* source, const text::ShapeVariables& sizes, BindingForm form = BindingForm::Address) {
    const Program p = text::instantiate(text::parse(source, "test.sg").value(), "", sizes).value();
    CompileOptions how;
    how.form = form;
    return compile(p, device->target(), how).value();
  }
  std::unique_ptr<Session> made(const char* source, const text::ShapeVariables& sizes,
                                BindingForm form = BindingForm::Address) {
    return session(compiled(source, sizes, form));
  }
  DeviceArray array(const HostArray& contents) { return DeviceArray::create(device, contents).value(); }
  DeviceArray array(int64_t n, double first = 0) { return array(vector_of(n, first)); }
  static HostArray vector_of(int64_t n, double first = 0) {
    HostArray out(f32({n}));
    for (int64_t i = 0; i < n; ++i) {
      const auto v = static_cast<float>(std::sin(first + 1.7 * static_cast<double>(i)));
      std::memcpy(out.bytes.data() + 4 * i, &v, 4);
    }
    return out;
  }
  static HostArray matrix_of(int64_t m, int64_t n) {
    HostArray out = vector_of(m * n, 5);
    out.type = f32({m, n});
    return out;
  }
  Device::Impl& inside() { return Device::Impl::of(*device); }
  // What devices do that have memory of their own: the host reaches no array.
  void hide_arrays() {
    MemoryConfig config = inside().memory->config();
    config.direct = false;
    inside().memory = std::make_unique<Memory>(inside().fns, inside().device, config);
  }
  void use_fences() { inside().timeline = std::make_unique<Timeline>(inside().fns, inside().device); }
  static bool is_in_place(Session& s) { return !Session::Impl::of(s).donated.empty(); }
  static std::string told(const Result<void>& r) { return r ? "" : r.error().code + " " + r.error().message; }
};

TEST_F(DeviceArrays, HoldWhatIsPutIntoThem) {
  for (const bool hidden : {false, true}) {
    if (hidden) hide_arrays();
    const HostArray cases[] = {vector_of(1000),
                               HostArray(i32({2, 2}), {1, -2, 3, -4}),
                               HostArray(boolean({5}), {1, 0, 1, 1, 0}),
                               HostArray(u32()),
                               HostArray(f32({0, 3})),
                               HostArray(f64({2}), {0.1, -1e300})};
    for (const HostArray& contents : cases) {
      if (contents.type.dtype == DType::F64 && !device->target().float64) continue;
      DeviceArray a = array(contents);
      EXPECT_EQ(a.type(), contents.type);
      EXPECT_EQ(a.download().value().bytes, contents.bytes) << to_string(contents.type);
      auto zeros = DeviceArray::create(device, contents.type);
      ASSERT_TRUE(zeros) << zeros.error().str();
      EXPECT_EQ(zeros->download().value().bytes, HostArray(contents.type).bytes);
      ASSERT_TRUE(zeros->upload(contents));
      EXPECT_EQ(zeros->download().value().bytes, contents.bytes);
    }
  }
}

TEST_F(DeviceArrays, MovedOnesAndOtherTypesAreRefused) {
  DeviceArray a = array(3), b = std::move(a);
  EXPECT_EQ(b.type(), f32({3}));
  EXPECT_EQ(a.type(), Type{});
  EXPECT_EQ(told(a.upload(vector_of(3))), "SG0501 DeviceArray::upload: the array was moved from, and is empty");
  EXPECT_EQ(a.download().error().code, "SG0501");
  EXPECT_EQ(told(b.upload(vector_of(4))), "SG0501 DeviceArray::upload: the array is f32[3], and f32[4] is given");
  HostArray torn = vector_of(3);
  torn.bytes.pop_back();
  EXPECT_FALSE(b.upload(torn));
  EXPECT_FALSE(DeviceArray::create(device, torn));
  EXPECT_EQ(DeviceArray::create(nullptr, f32({3})).error().code, "SG0303");
  const auto hosts = DeviceArray::adopt(device, f32({3}), {});
  ASSERT_FALSE(hosts);
  EXPECT_EQ(hosts.error().code, "SG0303") << hosts.error().str();
  const auto s = made(kTurned, {{"N", 3}});
  EXPECT_EQ(told(s->bind("w", a)), "SG0501 bind: the array was moved from, and is empty");
}

// The loop on the device gives the bits of the loop through the host, whether it is cut into parts or not, and whether the
// output is written in place or changes places with the input.
TEST_F(DeviceArrays, StepsOnTheDeviceAreStepsThroughTheHost) {
  constexpr int64_t kN = 40, kM = 25;
  for (const bool hidden : {false, true})
    for (const BindingForm form : kForms)
      for (const uint64_t per_part : {10'000, 3, 1}) {
        if (hidden) hide_arrays();
        inside().commands_per_part = per_part;
        const HostArray x = matrix_of(kM, kN), y = vector_of(kM, 2);
        HostArray w = vector_of(kN, 1), loss;
        const auto alone = made(kStep, {{"N", kN}, {"M", kM}}, form);
        for (int k = 0; k < 7; ++k) {
          auto out = alone->run(std::vector{w, x, y}).value();
          loss = out[0], w = out[1];
        }
        const auto s = made(kStep, {{"N", kN}, {"M", kM}}, form);
        DeviceArray weights = array(kN, 1), data = array(x);
        ASSERT_TRUE(s->bind("w", weights));
        ASSERT_TRUE(s->bind("x", data));
        ASSERT_TRUE(s->write("y", y));
        ASSERT_TRUE(s->feed("w_next", "w"));
        const auto timing = s->run(3);
        ASSERT_TRUE(timing) << timing.error().str();
        EXPECT_GT(timing->host, 0);
        ASSERT_TRUE(s->run(1));
        ASSERT_TRUE(s->run(2));
        ASSERT_TRUE(s->replay());
        EXPECT_EQ(s->read("loss").value().bytes, loss.bytes) << form_name(form);
        EXPECT_EQ(s->read("w_next").value().bytes, w.bytes) << form_name(form);
        EXPECT_EQ(s->read("w").value().bytes, w.bytes);
        EXPECT_EQ(weights.download().value().bytes, w.bytes) << "the array that is bound holds the newest";
        EXPECT_EQ(data.download().value().bytes, x.bytes);
      }
}

TEST_F(DeviceArrays, AnUpdateOfEachElementIsWrittenInPlace) {
  for (const int64_t n : {1, 63, 64, 1000, 7841})
    for (const BindingForm form : kForms) {
      const auto s = made(kMoved, {{"N", n}}, form);
      DeviceArray w = array(n), g = array(n, 3);
      ASSERT_TRUE(s->bind("g", g));
      ASSERT_TRUE(s->bind("w", w));
      const auto donated = s->donate("w", "w_next");
      ASSERT_TRUE(donated) << donated.error().str();
      HostArray now = vector_of(n);
      const auto alone = made(kMoved, {{"N", n}}, form);
      for (int k = 0; k < 3; ++k) now = alone->run(std::vector{now, vector_of(n, 3)}).value()[0];
      ASSERT_TRUE(s->run(3));
      EXPECT_EQ(w.download().value().bytes, now.bytes) << n;
      EXPECT_EQ(s->read("w_next").value().bytes, now.bytes);
      const uint64_t bytes = Session::Impl::of(*alone).bytes - Session::Impl::of(*s).bytes;
      EXPECT_GE(bytes, static_cast<uint64_t>(4 * n)) << "one array less";
    }
}

TEST_F(DeviceArrays, WhatCannotBeInPlaceIsToldAndChangesPlacesInstead) {
  for (const BindingForm form : kForms) {
    const auto s = made(kTurned, {{"N", 101}}, form);
    const auto refused = s->donate("w", "w_next");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "SG0501");
    EXPECT_NE(refused.error().message.find("output 'w_next' cannot be written over input 'w'"), std::string::npos)
        << refused.error().message;
    EXPECT_NE(refused.error().help.find("feed()"), std::string::npos);
    DeviceArray w = array(101);
    ASSERT_TRUE(s->bind("w", w));
    const auto shared = s->bind("w_next", w);
    ASSERT_FALSE(shared);
    EXPECT_NE(shared.error().message.find("share bytes of one buffer"), std::string::npos) << shared.error().message;
    EXPECT_EQ(shared.error().help, "give the output a place of its own and copy afterwards, or donate() the input to it");
    ASSERT_TRUE(s->feed("w_next", "w"));
    EXPECT_FALSE(is_in_place(*s));
    ASSERT_TRUE(s->run(3));
    HostArray turned = vector_of(101);
    for (size_t i = 0; i < 101; ++i)
      std::memcpy(turned.bytes.data() + 4 * i, vector_of(101).bytes.data() + 4 * (100 - i), 4);
    EXPECT_EQ(w.download().value().bytes, turned.bytes);
    ASSERT_TRUE(s->run(5));
    EXPECT_EQ(w.download().value().bytes, vector_of(101).bytes);
  }
}

TEST_F(DeviceArrays, MistakesNameWhatIsWrong) {
  const auto s = made(kStep, {{"N", 4}, {"M", 2}});
  DeviceArray w = array(4), v = array(3), y = array(2);
  EXPECT_EQ(told(s->bind("ww", w)), "SG0503 bind: the program has no input or output 'ww'");
  EXPECT_NE(s->bind("los", w).error().help.find("'loss'"), std::string::npos);
  EXPECT_EQ(told(s->bind("w", v)), "SG0501 bind: input 'w' is f32[4], and the array is f32[3]");
  DeviceArray whole = array(HostArray(i32({4})));
  EXPECT_EQ(told(s->bind("w", whole)), "SG0501 bind: input 'w' is f32[4], and the array is i32[4]");
  EXPECT_EQ(told(s->feed("loss", "w")), "SG0501 feed: output 'loss' is f32, and input 'w' is f32[4]");
  EXPECT_EQ(told(s->feed("w", "w")), "SG0503 feed: the program has no output 'w'");
  EXPECT_EQ(told(s->donate("w", "loss")), "SG0501 donate: output 'loss' is f32, and input 'w' is f32[4]");
  EXPECT_EQ(told(s->write("w", vector_of(3))), "SG0501 input 'w' is f32[4], and f32[3] is given");
  EXPECT_EQ(told(s->write("w_next", vector_of(4))), "SG0503 write: the program has no input 'w_next'");
  EXPECT_EQ(s->read("nothing").error().code, "SG0503");
  EXPECT_EQ(s->read("loss").error().code, "SG0502") << "nothing was run";
  EXPECT_EQ(s->run(1).error().message, "input 'w' was never given");
  EXPECT_EQ(s->run(0).error().code, "SG0501");
  EXPECT_EQ(s->run(-3).error().code, "SG0501");
  EXPECT_EQ(s->submit(0).error().code, "SG0501");
  const SemaphoreValue unknown[] = {{}};
  EXPECT_EQ(s->submit(1, {.wait = unknown}).error().message,
            "submit: semaphores are those of a host's device, and '" + device->info().name + "' is not adopted");
  ASSERT_TRUE(s->bind("w", w));
  ASSERT_TRUE(s->feed("w_next", "w"));
  const std::string again = told(s->feed("w_next", "w"));
  EXPECT_NE(again.find("SG0501 feed: output 'w_next' is"), std::string::npos) << again;
  EXPECT_NE(again.find("input 'w' already"), std::string::npos) << again;
  EXPECT_EQ(s->donate("w", "w_next").error().code, "SG0501") << "twice";
  DeviceArray other = array(4);
  const std::string fed = told(s->bind("w_next", other));
  EXPECT_NE(fed.find("output 'w_next' lies where input 'w' lies"), std::string::npos) << fed;
  EXPECT_EQ(s->run(std::vector{vector_of(4), matrix_of(2, 4), vector_of(2)}).error().code, "SG0501") << "bound";
  const auto twice = made(kMoved, {{"N", 4}});
  ASSERT_TRUE(twice->donate("w", "w_next"));
  EXPECT_EQ(told(twice->donate("g", "w_next")),
            "SG0501 donate: output 'w_next' is written over input 'w' already, so output 'w_next' and input 'g' cannot be a "
            "pair");
  // Another device of the same driver.
  DeviceOptions options;
  options.cache_dir = SPIROGRAD_TEST_CACHE;
  options.cache_pipelines = false;
  const auto second = Device::create(options).value();
  DeviceArray there = DeviceArray::create(second, vector_of(2)).value();
  EXPECT_NE(told(s->bind("y", there)).find("is on another Device"), std::string::npos);
  ASSERT_TRUE(s->bind("y", y));
  ASSERT_TRUE(s->write("x", matrix_of(2, 4)));
  EXPECT_TRUE(s->run(2)) << "mistakes leave the session as it was";
}

TEST_F(DeviceArrays, NamesThatInputsAndOutputsShare) {
  const auto s = made(kSame, {{"N", 6}});
  DeviceArray w = array(6), u = array(matrix_of(2, 6)), out = array(6, 9);
  EXPECT_EQ(s->bind("w", w).error().message, "bind: 'w' is an input and an output");
  ASSERT_TRUE(s->bind("w", w, Role::Input));
  ASSERT_TRUE(s->bind("w", out, Role::Output));
  ASSERT_TRUE(s->bind("u", u));
  ASSERT_TRUE(s->write("v", vector_of(6, 1)));
  ASSERT_TRUE(s->run(1));
  EXPECT_EQ(w.download().value().bytes, vector_of(6).bytes);
  EXPECT_EQ(s->read("w").value().bytes, out.download().value().bytes) << "outputs come first";
  const auto fed = made(kSame, {{"N", 6}});
  ASSERT_TRUE(fed->feed("w", "w"));
  ASSERT_TRUE(fed->bind("w", w)) << "of an output that is fed nobody else can be meant";
  // Inputs may be one array, but not one that runs write.
  const auto written = fed->bind("v", w);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("input 'v' (bytes"), std::string::npos) << written.error().message;
  EXPECT_EQ(written.error().help, "an input that runs write needs a place of its own");
  const auto reads = made(kMoved, {{"N", 6}});
  ASSERT_TRUE(reads->bind("w", w));
  ASSERT_TRUE(reads->bind("g", w));
  EXPECT_NE(told(reads->donate("w", "w_next")).find("share bytes"), std::string::npos);
  EXPECT_NE(told(reads->feed("w_next", "g")).find("share bytes"), std::string::npos);
  ASSERT_TRUE(reads->run(1));
  EXPECT_EQ(reads->read("w_next").value().values()[0], 0.5 * w.download().value().values()[0]);
}

TEST_F(DeviceArrays, SubmissionsAreAsynchronousAndInOrder) {
  constexpr int64_t kMany = 1 << 16;
  for (const bool fences : {false, true})
    for (const BindingForm form : kForms) {
      if (fences) use_fences();
      const auto s = session(chain_program(form, kMany, 101));
      DeviceArray x = array(HostArray(f32({kMany})));
      ASSERT_TRUE(s->bind("x", x));
      Point points[4];
      for (Point& p : points) {
        const auto submitted = s->submit();
        ASSERT_TRUE(submitted) << submitted.error().str();
        p = *submitted;
      }
      for (size_t k = 1; k < 4; ++k) EXPECT_GT(points[k].value, points[k - 1].value);
      ASSERT_TRUE(s->wait(points[3]));
      for (const Point p : points) EXPECT_TRUE(s->done(p).value());
      const auto beyond = s->wait({points[3].value + 100});
      ASSERT_FALSE(beyond);
      EXPECT_EQ(beyond.error().code, "SG0501") << "it would wait for ever";
      EXPECT_FALSE(s->done({points[3].value + 100}));
      const Point busy = s->submit(5).value();
      const bool done = s->done(busy).value();
      ASSERT_TRUE(s->run(1)) << "waits for what was submitted before";
      EXPECT_FALSE(done) << "five hundred dispatches are not over when they are submitted";
      EXPECT_TRUE(s->done(busy).value());
    }
}

// Whoever goes first, memory stays as long as work uses it.
TEST_F(DeviceArrays, WhatIsInUseStays) {
  constexpr int64_t kMany = 1 << 16;
  for (const bool fences : {false, true}) {
    if (fences) use_fences();
    device->trim();
    {
      auto s = session(chain_program(BindingForm::Descriptors, kMany, 401));
      {
        DeviceArray x = array(HostArray(f32({kMany})));
        ASSERT_TRUE(s->bind("x", x));
        ASSERT_TRUE(s->submit());
        DeviceArray other = array(HostArray(f32({kMany})));
        ASSERT_TRUE(s->bind("x", other)) << "the first has work, and nobody else";
      }
      ASSERT_TRUE(s->submit());
      EXPECT_EQ(s->read("y").value().values()[0], std::ldexp(1.0, 401) > 1e38 ? INFINITY : 0) << "arrays that are gone";
      ASSERT_TRUE(s->submit(3));
      s.reset();
      EXPECT_FALSE(inside().left.empty());
    }
    ASSERT_EQ(inside().fns.vkQueueWaitIdle(inside().queue), VK_SUCCESS);
    inside().sweep();
    EXPECT_TRUE(inside().left.empty());
    device->trim();
    EXPECT_EQ(inside().memory->slab_count(), 0u);
  }
  auto s = session(chain_program(BindingForm::Address, kMany, 401));
  DeviceArray x = array(HostArray(f32({kMany})));
  ASSERT_TRUE(s->bind("x", x));
  ASSERT_TRUE(s->submit());
  device.reset();
  s.reset();
  DeviceArray moved(std::move(x));
  x = std::move(moved);
}

TEST_F(DeviceArrays, SessionsShareThem) {
  const auto train = made(kMoved, {{"N", 50}}), look = made(kTurned, {{"N", 50}}), swap = made(kTurned, {{"N", 50}});
  DeviceArray w = array(50), g = array(50, 3);
  ASSERT_TRUE(train->bind("w", w) && train->bind("g", g) && look->bind("w", w) && swap->bind("w", w));
  ASSERT_TRUE(train->feed("w_next", "w"));
  ASSERT_TRUE(swap->feed("w_next", "w"));
  HostArray now = vector_of(50);
  for (int k = 0; k < 8; ++k) {
    ASSERT_TRUE(train->submit(3));
    ASSERT_TRUE(swap->submit(1));
    ASSERT_TRUE(look->submit());
    for (int j = 0; j < 3; ++j) {
      std::vector<double> moved = now.values();
      const std::vector<double> d = vector_of(50, 3).values();
      for (size_t i = 0; i < 50; ++i) moved[i] = static_cast<float>(moved[i] - 0.5 * d[i]);
      now = HostArray(f32({50}), moved);
    }
    EXPECT_EQ(look->read("w_next").value().bytes, now.bytes) << k;
    std::vector<double> turned = now.values();
    std::reverse(turned.begin(), turned.end());
    now = HostArray(f32({50}), turned);
    EXPECT_EQ(w.download().value().bytes, now.bytes) << k;
  }
}

TEST_F(DeviceArrays, ThreadsShareADeviceNotASession) {
  for (const bool fences : {false, true}) {
    if (fences) use_fences();
    std::vector<std::jthread> threads;
    std::atomic<int> right = 0;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (int round = 0; round < 3; ++round) {
          auto s = Session::create(device, affine_program(BindingForm::Descriptors, 500));
          auto x = DeviceArray::create(device, HostArray(f32({500})));
          if (!s || !x || !(*s)->bind("x", *x) || !(*s)->feed("y", "x")) continue;
          Point last;
          for (int k = 0; k < 4; ++k) last = (*s)->submit(5).value();
          while (!(*s)->done(last).value()) std::this_thread::yield();
          const auto y = x->download();
          right += y && y->values() == std::vector<double>(500, (1 << 20) - 1);
        }
      });
    threads.clear();
    EXPECT_EQ(right, 9);
  }
}

TEST_F(DeviceArrays, StepsCopyNothing) {
  static int copies;
  static PFN_vkCmdCopyBuffer copy;
  copy = inside().fns.vkCmdCopyBuffer;
  hide_arrays();
  const auto s = made(kTurned, {{"N", 500}});
  ASSERT_TRUE(s->write("w", vector_of(500)));
  ASSERT_TRUE(s->feed("w_next", "w"));
  copies = 0;
  inside().fns.vkCmdCopyBuffer = [](VkCommandBuffer c, VkBuffer from, VkBuffer to, uint32_t n, const VkBufferCopy* r) {
    ++copies;
    copy(c, from, to, n, r);
  };
  for (const int n : {1, 2, 5, 1}) ASSERT_TRUE(s->run(n));
  EXPECT_EQ(copies, 0);
  EXPECT_EQ(s->read("w").value().bytes.size(), 2000u);
  EXPECT_EQ(copies, 1) << "of what is read";
}

// On lavapipe little programs run on a device without threads: arrays go where the work is, and stay right.
TEST_F(DeviceArrays, TheyFollowLittleWork) {
  inside().options.inline_little_work = true;
  Executable e = compiled(kMoved, {{"N", 50}});
  for (Step& s : e.steps) s.work = 1;
  const auto little = session(e);
  for (Step& s : e.steps) s.work = 1e12;
  const auto much = session(e);
  EXPECT_EQ(Session::Impl::of(*little).owner != device, on_lavapipe());
  EXPECT_EQ(Session::Impl::of(*much).owner, device);
  DeviceArray w = array(HostArray(f32({50}))), g = array(HostArray(f32({50}), std::vector<double>(50, -2)));
  for (const auto& s : {little.get(), much.get()}) {
    ASSERT_TRUE(s->bind("w", w));
    ASSERT_TRUE(s->bind("g", g));
    ASSERT_TRUE(s->feed("w_next", "w"));
  }
  for (int k = 1; k <= 6; ++k) {
    ASSERT_TRUE((k % 2 ? little : much)->submit(static_cast<uint64_t>(k)));
    if (k % 3 == 0) {
      EXPECT_EQ(w.download().value().values(), std::vector<double>(50, k * (k + 1) / 2));
    }
  }
}

TEST_F(DeviceArrays, EmptyOnesAndOneElement) {
  for (const int64_t n : {0, 1})
    for (const BindingForm form : kForms) {
      const auto s = made(kMoved, {{"N", n}}, form);
      DeviceArray w = array(n), g = array(n, 1);
      ASSERT_TRUE(s->bind("w", w) && s->bind("g", g));
      ASSERT_TRUE(s->feed("w_next", "w"));
      const auto ran = s->run(5);
      ASSERT_TRUE(ran) << ran.error().str();
      EXPECT_EQ(w.download().value().count(), n);
    }
}

}  // namespace device_array_test
}  // namespace spirograd::vk
