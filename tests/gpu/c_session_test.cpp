// The C interface on every driver: runs, arrays that stay, bundles, and what it says of mistakes.
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "tests/support/c_handles.h"

namespace spirograd::c_test {
namespace c_session_test {

using Floats = std::vector<float>;

/// A device under validation. Its end must be silent, too.
class CSession : public testing::Test {
 protected:
  void SetUp() override {
    sg_device_options o = {};
    o.struct_size = sizeof o;
    o.on_message = take;
    o.user = this;
    o.validation = 1;
    device = made<sg_device>([&](sg_device** out) { return sg_device_create(&o, out); });
    ASSERT_NE(device, nullptr);
  }
  void TearDown() override {
    device.reset();
    EXPECT_EQ(messages, "");
  }
  static void take(void* user, const char* id, const char* text) {
    if (std::strstr(id, "Loader Message") || std::strstr(id, "status-message")) return;
    auto& self = *static_cast<CSession*>(user);
    const std::lock_guard lock(self.mutex);
    self.messages += std::string(id) + ": " + text + "\n";
  }

  Handle<sg_session> session_of(const Handle<sg_program>& p, const sg_compile_options* options = nullptr) {
    return made<sg_session>([&](sg_session** out) { return sg_session_create(device.get(), p.get(), options, out); });
  }
  Handle<sg_array> array(std::vector<int64_t> extents, sg_dtype dtype = SG_F32) {
    sg_type type = {dtype, static_cast<int32_t>(extents.size()), {}};
    std::copy(extents.begin(), extents.end(), type.extents);
    return made<sg_array>([&](sg_array** out) { return sg_array_create(device.get(), &type, out); });
  }

  Handle<sg_device> device;
  std::mutex mutex;
  std::string messages;
};

const Floats kX = {0, 1, 2, 3}, kY = {1, 3, 5, 7};
constexpr const char* kStep =
    "def step(w: f32[2], x: f32[4], y: f32[4]) -> (loss: f32, next: f32[2]) {\n"
    "  let (l, g) = value_and_grad(fn(v) => mean(square(v[0] + v[1] * x - y)))(w)\n"
    "  (l, w - 0.1 * g)\n}\n";

TEST_F(CSession, AllModesAgree) {
  const auto line = from_text(kLine, {{"N", 4}});
  const Floats w = {1, 0}, direction = {0.5f, -2};
  Floats loss(1), d_w(2);
  {
    const sg_input inputs[] = {in(w, SG_F32), in(kX), in(kY)};
    const sg_output outputs[] = {to(loss), to(d_w, SG_F32)};
    const auto s = session_of(derived(line, SG_VALUE_AND_GRAD, {"w"}));
    expect_ok(sg_session_run(s.get(), inputs, 3, outputs, 2));
    EXPECT_EQ(loss[0], 14);
    EXPECT_EQ(d_w, (Floats{-6, -14}));
  }
  const float along = d_w[0] * direction[0] + d_w[1] * direction[1];
  Floats dot(1), again(2);
  const sg_input forward[] = {in(w), in(kX), in(kY), in(direction)};
  const sg_output tangent[] = {to(loss), to(dot)};
  expect_ok(sg_session_run(session_of(derived(line, SG_JVP, {"w"})).get(), forward, 4, tangent, 2));
  EXPECT_FLOAT_EQ(dot[0], along);
  const Floats one = {1};
  const sg_input backward[] = {in(w), in(kX), in(kY), in(one)};
  const sg_output cotangent[] = {to(loss), to(again)};
  expect_ok(sg_session_run(session_of(derived(line, SG_VJP, {"w"})).get(), backward, 4, cotangent, 2));
  EXPECT_EQ(again, d_w);
  const auto value = session_of(line);
  const auto at = [&](float t) {
    const Floats v = {w[0] + t * direction[0], w[1] + t * direction[1]};
    const sg_input inputs[] = {in(v), in(kX), in(kY)};
    const sg_output outputs[] = {to(loss)};
    expect_ok(sg_session_run(value.get(), inputs, 3, outputs, 1));
    return loss[0];
  };
  EXPECT_NEAR((at(0.25f) - at(-0.25f)) / 0.5f, along, 1e-4);  // of a quadratic: exact
}

TEST_F(CSession, EveryElementTypeGoesInAndOut) {
  const auto p = from_text(
      "def f(a: bool[3], b: i32[2], c: u32, d: f32[2], m: bool[3], e: f32[0]) = (a and m, 2 * b, c + u32(1), d, e)\n");
  const std::vector<uint8_t> a = {1, 0, 1}, m = {1, 1, 0};
  const std::vector<int32_t> b = {-1, 2147483647};
  const std::vector<uint32_t> c = {4294967295u};
  const Floats d = {std::numeric_limits<float>::quiet_NaN(), -INFINITY};
  std::vector<uint8_t> a2(3, 9);
  std::vector<int32_t> b2(2);
  std::vector<uint32_t> c2(1, 5);
  Floats d2(2);
  const sg_input inputs[] = {in(a, SG_BOOL), in(b, SG_I32), in(c, SG_U32), in(d, SG_F32), in(m), {nullptr, 0, SG_F32}};
  const sg_output outputs[] = {to(a2, SG_BOOL), to(b2, SG_I32), to(c2, SG_U32), to(d2, SG_F32), {nullptr, 0, 0}};
  expect_ok(sg_session_run(session_of(p).get(), inputs, 6, outputs, 5));
  EXPECT_EQ(a2, (std::vector<uint8_t>{1, 0, 0}));
  EXPECT_EQ(b2, (std::vector<int32_t>{-2, -2}));
  EXPECT_EQ(c2[0], 0u);
  EXPECT_TRUE(std::isnan(d2[0]));
  EXPECT_EQ(d2[1], -INFINITY);
}

TEST_F(CSession, HalvesGoInAndOutWhereTheDeviceHasThem) {
  const auto p = from_text("def f(x: f16[3]) -> f16[3] = 2 * x\n");
  const std::vector<uint16_t> x = {0x3c00, 0xb800, 0x7bff};  // 1, -0.5, 65504
  std::vector<uint16_t> y(3);
  sg_session* made_of_halves = nullptr;
  const int32_t status = sg_session_create(device.get(), p.get(), nullptr, &made_of_halves);
  if (status != SG_OK) return expect_error(status, "SG0303", "storageBuffer16BitAccess");
  const Handle<sg_session> s(made_of_halves);
  const sg_input inputs[] = {in(x, SG_F16)};
  const sg_output outputs[] = {to(y, SG_F16)};
  expect_ok(sg_session_run(s.get(), inputs, 1, outputs, 1));
  EXPECT_EQ(y, (std::vector<uint16_t>{0x4000, 0xbc00, 0x7c00}));
}

TEST_F(CSession, HostileIndicesStayInTheArray) {
  const auto p = from_text("def f(x: f32[3], k: i32[4]) = for i: 4 => x[k[i]]\n");
  const std::vector<int32_t> k = {-1000000, 2147483647, 1, -1};
  const Floats x = {1, 2, 3};
  Floats out(4, -7);
  const sg_input inputs[] = {in(x), in(k)};
  const sg_output outputs[] = {to(out)};
  expect_ok(sg_session_run(session_of(p).get(), inputs, 2, outputs, 1));
  EXPECT_EQ(out[2], 2);
  for (float v : out) EXPECT_TRUE(v == 0 || v == 1 || v == 2 || v == 3) << v;
}

TEST_F(CSession, AFitStaysOnTheDevice) {
  const auto s = session_of(from_text(kStep));
  const auto w = array({2});
  const Floats start = {1, 0};
  const sg_input begin = in(start, SG_F32), x = in(kX), y = in(kY);
  expect_ok(sg_array_write(w.get(), &begin));
  expect_ok(sg_session_bind(s.get(), "w", w.get(), SG_INPUT_ROLE));
  expect_ok(sg_session_feed(s.get(), "next", "w"));
  expect_ok(sg_session_write(s.get(), "x", &x));
  expect_ok(sg_session_write(s.get(), "y", &y));
  Floats loss(1), now(2);
  const sg_output to_loss = to(loss, SG_F32), to_now = to(now);
  expect_ok(sg_session_run_steps(s.get(), 1));
  expect_ok(sg_session_read(s.get(), "loss", &to_loss));
  EXPECT_EQ(loss[0], 14);
  expect_ok(sg_array_read(w.get(), &to_now));
  EXPECT_FLOAT_EQ(now[0], 1.6f);
  EXPECT_FLOAT_EQ(now[1], 1.4f);
  uint64_t point = 0;
  expect_ok(sg_session_submit(s.get(), 500, &point));
  expect_ok(sg_session_wait(s.get(), point));
  int32_t done = 0;
  expect_ok(sg_session_done(s.get(), point, &done));
  EXPECT_EQ(done, 1);
  expect_ok(sg_session_run_steps(s.get(), 499));
  expect_ok(sg_array_read(w.get(), &to_now));
  EXPECT_NEAR(now[0], 1, 1e-4);
  EXPECT_NEAR(now[1], 2, 1e-4);
}

TEST_F(CSession, ADonatedInputIsWrittenInPlace) {
  const auto s = session_of(from_text("def f(x: f32[3]) -> (y: f32[3]) = 2 * x\n"));
  const auto a = array({3});
  Floats x = {1, 2, 3};
  const sg_input from = in(x);
  const sg_output back = to(x);
  expect_ok(sg_array_write(a.get(), &from));
  expect_ok(sg_session_bind(s.get(), "x", a.get(), SG_ANY_ROLE));
  expect_ok(sg_session_donate(s.get(), "x", "y"));
  expect_ok(sg_session_run_steps(s.get(), 2));
  expect_ok(sg_array_read(a.get(), &back));
  EXPECT_EQ(x, (Floats{4, 8, 12}));
  const auto reversing = session_of(from_text("def f(x: f32[3]) -> (y: f32[3]) = for i: 3 => x[2 - i]\n"));
  expect_error(sg_session_donate(reversing.get(), "x", "y"), "SG0501", "'x'");
}

TEST_F(CSession, HandlesMayEndInAnyOrder) {
  auto p = from_text("def f(x: f32[3]) -> (y: f32[3]) = 2 * x\n");
  auto a = array({3});
  const auto s = session_of(p);
  Floats x = {1, 2, 3};
  const sg_input from = in(x);
  const sg_output back = to(x);
  expect_ok(sg_array_write(a.get(), &from));
  expect_ok(sg_session_bind(s.get(), "x", a.get(), SG_ANY_ROLE));
  p.reset();
  device.reset();
  a.reset();
  expect_ok(sg_session_run_steps(s.get(), 1));
  expect_ok(sg_session_read(s.get(), "y", &back));
  EXPECT_EQ(x, (Floats{2, 4, 6}));
}

TEST_F(CSession, ABundleRuns) {
  const auto both = derived(from_text(kLine, {{"N", 4}}), SG_VALUE_AND_GRAD, {"w"});
  sg_compile_options deterministic = {};
  deterministic.struct_size = sizeof deterministic;
  deterministic.deterministic = 1;
  for (const sg_device* on : {static_cast<const sg_device*>(nullptr), static_cast<const sg_device*>(device.get())}) {
    const auto saved = made<sg_bytes>([&](sg_bytes** out) { return sg_program_save(both.get(), on, &deterministic, out); });
    const void* data = nullptr;
    size_t size = 0;
    expect_ok(sg_bytes_get(saved.get(), &data, &size));
    const auto p = made<sg_program>([&](sg_program** out) { return sg_program_from_bundle(data, size, "x", out); });
    const auto s = session_of(p);
    const Floats w = {1, 0};
    Floats loss(1), d_w(2);
    const sg_input inputs[] = {in(w), in(kX), in(kY)};
    const sg_output outputs[] = {to(loss), to(d_w)};
    expect_ok(sg_session_run(s.get(), inputs, 3, outputs, 2));
    EXPECT_EQ(loss[0], 14);
    EXPECT_EQ(d_w, (Floats{-6, -14}));
    sg_session* none = nullptr;
    expect_error(sg_session_create(device.get(), p.get(), &deterministic, &none), "SG0509", "compiled already");
    EXPECT_EQ(none, nullptr);
  }
}

TEST_F(CSession, DeterministicSumsHaveTheSameBits) {
  const auto p = from_text("def f(v: f32[N], k: i32[N]) = segment_sum(v, k, 3)\n", {{"N", 3000}});
  sg_compile_options how = {};
  how.struct_size = sizeof how;
  how.deterministic = 1;
  const auto s = session_of(p, &how);
  Floats v(3000);
  std::vector<int32_t> k(3000);
  double exact[3] = {};
  for (size_t i = 0; i < v.size(); ++i) {
    v[i] = std::sin(static_cast<float>(i)) * (i % 7 == 0 ? 1e4f : 1.0f);
    k[i] = static_cast<int32_t>(i % 3);
    exact[i % 3] += v[i];
  }
  Floats first(3), again(3);
  const sg_input inputs[] = {in(v), in(k)};
  const sg_output a[] = {to(first)}, b[] = {to(again)};
  expect_ok(sg_session_run(s.get(), inputs, 2, a, 1));
  for (int j = 0; j < 3; ++j) EXPECT_NEAR(first[static_cast<size_t>(j)], exact[j], 1);
  for (int n = 0; n < 5; ++n) {
    expect_ok(sg_session_run(s.get(), inputs, 2, b, 1));
    EXPECT_EQ(first, again);
  }
}

TEST_F(CSession, WrongArraysAreRefused) {
  const auto s = session_of(from_text("def f(x: f32[4], k: i32[4]) = sum(x) + f32(sum(k))\n"));
  const std::vector<int32_t> k(4);
  Floats out(1, -7), two(2);
  const auto run = [&](sg_input x, sg_output y, size_t n = 2) {
    const sg_input inputs[] = {x, in(k)};
    return sg_session_run(s.get(), inputs, n, &y, 1);
  };
  expect_error(run(in(two), to(out)), "SG0501", "input 'x' is f32[4], which has 16 bytes, and 8 bytes are given");
  expect_error(run(in(k, SG_I32), to(out)), "SG0501", "input 'x' is f32[4], and its elements are given as i32");
  expect_error(run({nullptr, 16, 0}, to(out)), "SG0509", "the data of input 'x' is NULL");
  expect_error(run({kX.data(), 16, 17}, to(out)), "SG0509", "17 is no element type");
  expect_error(run(in(kX), to(two)), "SG0501", "is f32, which has 4 bytes, and 8 bytes are given");
  expect_error(run(in(kX), to(out, SG_F64)), "SG0501", "its elements are given as f64");
  expect_error(run(in(kX), {nullptr, 4, 0}), "SG0509", "is NULL");
  expect_error(run(in(kX), to(out), 1), "SG0501", "2 inputs, and 1 are given");
  expect_error(sg_session_run(s.get(), nullptr, 2, nullptr, 1), "SG0509", "inputs is NULL");
  const sg_input inputs[] = {in(kX), in(k)};
  expect_error(sg_session_run(s.get(), inputs, 2, nullptr, 1), "SG0509", "outputs is NULL");
  expect_error(sg_session_run(s.get(), inputs, 2, nullptr, 0), "SG0501", "1 outputs, and 0 are given");
  EXPECT_EQ(out[0], -7);
  expect_ok(run(in(kX), to(out)));
  EXPECT_EQ(out[0], 6);
}

TEST_F(CSession, NamesThatThereAreNotAreTold) {
  const auto s = session_of(from_text(kStep));
  const auto a = array({2});
  Floats w = {1, 0};
  const sg_input from = in(w);
  const sg_output back = to(w);
  expect_error(sg_session_write(s.get(), "v", &from), "SG0503", "'v'");
  expect_error(sg_session_write(s.get(), "loss", &from), "SG0503", "'loss'");
  expect_error(sg_session_read(s.get(), "v", &back), "SG0503", "'v'");
  expect_error(sg_session_bind(s.get(), "v", a.get(), SG_ANY_ROLE), "SG0503", "'v'");
  expect_error(sg_session_bind(s.get(), "w", a.get(), SG_OUTPUT_ROLE), "SG0503", "'w'");
  expect_error(sg_session_bind(s.get(), "x", a.get(), SG_ANY_ROLE), "SG0501", "f32[4]");
  expect_error(sg_session_bind(s.get(), "w", a.get(), 3), "SG0509", "3 is no role");
  expect_error(sg_session_feed(s.get(), "v", "w"), "SG0503", "'v'");
  expect_error(sg_session_feed(s.get(), "loss", "w"), "SG0501", "'loss'");
  expect_error(sg_session_run_steps(s.get(), 1), "SG0502", "'w'");
  expect_error(sg_session_read(s.get(), "loss", &back), "SG0502", "'loss'");
  expect_error(sg_session_run_steps(s.get(), 0), "SG0501", "steps");
  int32_t done = 0;
  expect_error(sg_session_wait(s.get(), 1u << 30), "SG0501", "nothing was submitted");
  expect_error(sg_session_done(s.get(), 1u << 30, &done), "SG0501", "nothing was submitted");
}

TEST_F(CSession, NullIsAnErrorHereToo) {
  const auto expect_null = [](sg_status status, const std::string& words) {
    expect_error(status, "SG0509", words + " is NULL");
  };
  const auto p = from_text("def f(x: f32[3]) -> (y: f32[3]) = 2 * x\n");
  const auto s = session_of(p);
  const auto a = array({3});
  const sg_type type = {SG_F32, 0, {}};
  sg_session* session = nullptr;
  expect_null(sg_device_name(device.get(), nullptr), "sg_device_name: out");
  expect_null(sg_array_create(device.get(), nullptr, nullptr), "sg_array_create: type");
  expect_null(sg_array_create(device.get(), &type, nullptr), "sg_array_create: out");
  expect_null(sg_array_type(a.get(), nullptr), "sg_array_type: out");
  expect_null(sg_array_write(a.get(), nullptr), "sg_array_write: contents");
  expect_null(sg_array_read(a.get(), nullptr), "sg_array_read: contents");
  expect_null(sg_session_create(device.get(), nullptr, nullptr, &session), "sg_session_create: program");
  expect_null(sg_session_create(device.get(), p.get(), nullptr, nullptr), "sg_session_create: out");
  expect_null(sg_session_write(s.get(), nullptr, nullptr), "sg_session_write: input");
  expect_null(sg_session_write(s.get(), "x", nullptr), "sg_session_write: contents");
  expect_null(sg_session_read(s.get(), nullptr, nullptr), "sg_session_read: name");
  expect_null(sg_session_read(s.get(), "y", nullptr), "sg_session_read: contents");
  expect_null(sg_session_bind(s.get(), nullptr, a.get(), SG_ANY_ROLE), "sg_session_bind: name");
  expect_null(sg_session_bind(s.get(), "x", nullptr, SG_ANY_ROLE), "sg_session_bind: array");
  expect_null(sg_session_feed(s.get(), nullptr, "x"), "sg_session_feed: output");
  expect_null(sg_session_feed(s.get(), "y", nullptr), "sg_session_feed: input");
  expect_null(sg_session_donate(s.get(), nullptr, "y"), "sg_session_donate: input");
  expect_null(sg_session_donate(s.get(), "x", nullptr), "sg_session_donate: output");
  expect_null(sg_session_submit(s.get(), 1, nullptr), "sg_session_submit: point");
  expect_null(sg_session_done(s.get(), 0, nullptr), "sg_session_done: out");
}

TEST_F(CSession, ArraysKnowTheirTypeAndBeginWithZeros) {
  const auto a = array({2, 3});
  sg_type type = {};
  expect_ok(sg_array_type(a.get(), &type));
  EXPECT_EQ(type.dtype, SG_F32);
  EXPECT_EQ(type.rank, 2);
  EXPECT_EQ(type.extents[1], 3);
  Floats six(6, 9), five(5);
  const sg_output back = to(six), few = to(five), other = to(six, SG_I32);
  const sg_input little = in(five);
  expect_ok(sg_array_read(a.get(), &back));
  EXPECT_EQ(six, Floats(6, 0));
  expect_error(sg_array_read(a.get(), &few), "SG0501", "24 bytes, and 20 bytes");
  expect_error(sg_array_read(a.get(), &other), "SG0501", "elements are given as i32");
  expect_error(sg_array_write(a.get(), &little), "SG0501", "24 bytes, and 20 bytes");
  const auto none = array({0, 3}, SG_BOOL);
  const sg_output nothing = {nullptr, 0, SG_BOOL};
  expect_ok(sg_array_read(none.get(), &nothing));
}

TEST_F(CSession, DevicesAreListedAndChosen) {
  const auto list = made<sg_device_list>([](sg_device_list** out) { return sg_device_list_create(out); });
  size_t n = 0;
  expect_ok(sg_device_list_count(list.get(), &n));
  ASSERT_GE(n, 1u);
  const char *name = nullptr, *driver = nullptr, *lacks = nullptr, *mine = nullptr;
  expect_ok(sg_device_list_name(list.get(), 0, &name));
  expect_ok(sg_device_list_driver(list.get(), 0, &driver));
  expect_ok(sg_device_list_lacks(list.get(), 0, &lacks));
  expect_ok(sg_device_name(device.get(), &mine));
  EXPECT_STREQ(name, mine);
  EXPECT_STRNE(driver, "");
  EXPECT_STREQ(lacks, "");
  expect_error(sg_device_list_name(list.get(), n, &name), "SG0509", "there is no number");
  expect_error(sg_device_list_driver(list.get(), n, &name), "SG0509", "there is no number");
  expect_error(sg_device_list_lacks(list.get(), n, &name), "SG0509", "there is no number");
  expect_error(sg_device_list_name(list.get(), 0, nullptr), "SG0509", "out is NULL");
  sg_device_options o = {};
  o.struct_size = sizeof o;
  for (const char* select : {"0", mine}) {
    o.select = select;
    const auto chosen = made<sg_device>([&](sg_device** out) { return sg_device_create(&o, out); });
    const char* its = nullptr;
    expect_ok(sg_device_name(chosen.get(), &its));
    EXPECT_STREQ(its, mine);
  }
  o.select = "no such device";
  sg_device* none = nullptr;
  expect_error(sg_device_create(&o, &none), "SG0304", "'no such device'");
  EXPECT_EQ(none, nullptr);
}

}  // namespace c_session_test
}  // namespace spirograd::c_test
