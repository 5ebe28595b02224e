// Rows that the lanes of a subgroup store together, through descriptors beside addresses, where drivers scatter else
// (kScatteredStores): of every element type, with what is left over, in place, and wherever arrays begin.
#include <cmath>

#include "frontend/ir/eval.h"
#include "spirograd/compile.h"
#include "spirograd/text.h"
#include "tests/gpu/host.h"

namespace spirograd::vk::testing {
namespace row_stores_test {

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

bool stores_rows(const Executable& e) {
  return std::ranges::any_of(e.kernels,
                             [&](const KernelBinary& k) { return e.form == BindingForm::Address && k.needs.buffers > 0; });
}

std::vector<double> values(const Type& t, size_t seed) {
  std::vector<double> out;
  for (int64_t j = 0; j < t.shape.count(); ++j) {
    const auto n = static_cast<double>((static_cast<uint64_t>(j) * 7919 + seed * 104729) % 2001) - 1000;
    out.push_back(t.dtype == DType::Bool ? n > 0 : is_float(t.dtype) ? static_cast<double>(static_cast<float>(n / 700)) : n);
  }
  return out;
}

class RowStores : public Gpu {
 protected:
  void expect(const std::string& text, bool by_rows = true) {
    SCOPED_TRACE(text);
    const Program p = program("def f" + text);
    std::vector<HostArray> inputs;
    std::vector<std::vector<double>> arrays;
    for (const Param& param : p.params) {
      arrays.push_back(values(param.type, arrays.size() + 1));
      inputs.push_back({param.type, arrays.back()});
    }
    const auto want = ir::evaluate(p, arrays);
    const auto executable = compile(p, device->target(), {.form = device->preferred_form()});
    ASSERT_TRUE(executable) << executable.error().str();
    EXPECT_EQ(stores_rows(*executable), by_rows && on_lavapipe());
    const auto s = session(*executable);
    ASSERT_TRUE(s);
    for (int round = 0; round < 2; ++round) {
      const auto out = s->run(inputs);
      ASSERT_TRUE(out) << out.error().str();
      ASSERT_EQ(out->size(), want.size());
      for (size_t r = 0; r < want.size(); ++r) {
        const std::vector<double> have = (*out)[r].values();
        ASSERT_EQ(have.size(), want[r].data.size());
        for (size_t j = 0; j < have.size(); ++j)
          ASSERT_NEAR(have[j], want[r].data[j], 2e-5 * std::max(1.0, std::abs(want[r].data[j]))) << r << " " << j;
      }
    }
  }
};

TEST_F(RowStores, OfEveryElementType) {
  expect("(x: f32[1048576]) = x + x");
  expect("(x: i32[1048578]) = x * 3 - 1");
  expect("(x: f32[1048576]) = x > 0.25");
  expect("(x: bool[1048576]) = where(x, 2.5, -1.0)");
  if (device->target().float64) expect("(x: f64[1048576]) = x * x", false);
}

TEST_F(RowStores, OfWhatIsLeftOverAndOfRowsOfSeveralAxes) {
  expect("(x: f32[1048583]) = x * 2.0");  // the last one belongs to no row
  expect("(x: f32[1025, 1025], y: i32[1025, 1025]) = (x * 2.0, f32(y) + x, y > 3)");
  expect("(x: f32[87, 89, 91]) = exp(x) * 0.5");
  expect("(x: f32[1500, 1402]) = max(x, 0.0)");
  expect("(x: f32[1500, 1402], v: f32[1402]) = x * v");
  expect("(x: f32[3, 700, 602]) = exp(x) * 0.5");
  expect("(x: f32[602, 1000], v: f32[602]) = x * v[:, None]");  // workgroups of five parts of rows, and of four
  expect("(x: f32[602, 1000]) = softmax(x, axis=1)");
}

TEST_F(RowStores, OfSeveralShortRows) {
  expect("(x: f32[40000, 32], v: f32[32]) = x * v");
  expect("(x: f32[43700, 24], v: f32[24]) = (for i: 43699, j: 24 => x[i + 1, j] - x[i, j] * v[j])");
  expect("(x: i32[16, 66, 64, 16], v: i32[16]) = max(x + v, 3)");
  expect(
      "(x: f32[9, 128, 128, 48]) = for b: 9, i: 64, j: 64, c: 48 => max(max(x[b, 2 * i, 2 * j, c], x[b, 2 * i + 1, 2 * j, "
      "c]),"
      " max(x[b, 2 * i, 2 * j + 1, c], x[b, 2 * i + 1, 2 * j + 1, c]))");
  expect("(x: f32[9, 65, 65, 32]) = for b: 9, i: 63, j: 63, c: 32 => x[b, i, j, c] + x[b, i + 2, j + 2, c]");
  expect("(x: bool[140000, 8], m: f32[140000]) = for i: 140000, j: 8 => where(x[i, j], m[i], -1.0)");
}

TEST_F(RowStores, OfMapsOverRowsThatTheyReduce) {
  expect("(x: f32[4096, 32]) = softmax(x, axis=1)");
  expect("(x: f32[4099, 30]) = softmax(x, axis=1)");
  expect("(x: f32[3, 700, 54], y: f32[3, 700, 54]) = x * y - sum(x * y, axis=2)[:, :, None]");
  expect(
      "(x: f32[4099, 18], g: f32[18]) = {\n  let m = mean(x, axis=1)[:, None]\n"
      "  let s = sqrt(mean(square(x - m), axis=1) + 0.01)\n  ((x - m) / s[:, None] * g, s, m)\n}");
  expect("(x: f32[1030, 100]) = (x > max(x, axis=1)[:, None] - 0.25, max(x, axis=1))");
}

// A store that drivers scatter, but one for as many rows as there are lanes.
TEST_F(RowStores, OneResultForEachLaneNeedsNone) {
  expect("(x: f32[4096, 32]) = sum(x, axis=1)", false);
  expect("(x: f32[4099, 25]) = (max(x, axis=1), min(x, axis=1))", false);
  expect("(x: f32[4099, 50]) = logsumexp(x, axis=1)", false);
  expect("(x: f32[9, 1100, 16], t: f32[9, 1100]) = (for b: 9, i: 1100 => t[b, i] - sum(x[b, i] * x[b, i]))", false);
  expect("(x: i32[4099, 17]) = sum(x, axis=1)", false);
  expect("(x: f32[4096, 33], t: f32[4096, 33]) = sum(softmax(x, axis=1) * t, axis=1)", false);
}

TEST_F(RowStores, OfTilesOfProducts) {
  expect("(x: f32[130, 33], y: f32[33, 258]) = x @ y");
  expect("(x: f32[130, 33], y: f32[33, 258]) = x @ y > 0.25");
  expect("(x: f32[130, 33], y: f32[33, 258], z: f32[130, 258]) = z - x @ y");
}

TEST_F(RowStores, OfWhatIsReadAlongAnotherAxis) {
  expect("(x: f32[2048, 1024]) = transpose(x, [1, 0])");
  expect("(x: f32[1402, 1511]) = transpose(x, [1, 0])");
  expect("(x: f32[1500, 1402], y: f32[1402, 1500]) = x + 2.0 * transpose(y, [1, 0])");
  expect("(x: i32[130, 130, 130]) = transpose(x, [0, 2, 1])");
  expect("(x: f32[1511, 1402]) = transpose(x, [1, 0])", false);  // rows of odd length begin anywhere
}

TEST_F(RowStores, OfSeveralResultsAndBesideSums) {
  expect("(x: f32[1048576]) = (sin(x), sin(x) * x)");
  expect("(x: f32[1048576]) = (sum(x * x), x * 2.0)");
  expect("(x: f32[2000000]) = (sum(exp(x)), exp(x))");
  expect("(x: f32[1000, 2000], y: f32[1000, 2000]) = (sum(square(x - y)), 2.0 * (x - y))");
  expect("(x: f32[4000, 500]) = sum(abs(x), axis=[0, 1])", false);
  expect("(x: f32[33, 700, 81]) = (sum(x * x, axis=[1, 2]), max(x))", false);
}

// The input is what the output was: what a lane reads has not been written by another one, as it would be where the last
// row, or the last elements of one, begin earlier.
TEST_F(RowStores, InPlace) {
  int in_place = 0;
  for (const std::string text :
       {"(x: f32[1048576]) -> (y: f32[1048576]) = x * 0.75 + 0.5", "(x: f32[1048583]) -> (y: f32[1048583]) = x * 0.75 + 0.5",
        "(x: f32[4096, 32]) -> (y: f32[4096, 32]) = x * 1.5 - 0.5 * max(x, axis=1)[:, None]",
        "(x: f32[4099, 32]) -> (y: f32[4099, 32]) = x * 1.5 - 0.5 * max(x, axis=1)[:, None]",
        "(x: f32[4096, 30]) -> (y: f32[4096, 30]) = x * 1.5 - 0.5 * max(x, axis=1)[:, None]"}) {
    SCOPED_TRACE(text);
    const Program p = program("def f" + text);
    const Executable e = compile(p, device->target(), {.form = device->preferred_form()}).value();
    const auto s = session(e);
    ASSERT_TRUE(s);
    const auto donated = s->donate("x", "y");
    if (!donated) {
      EXPECT_NE(donated.error().str().find("that may be written before as 'y'"), std::string::npos) << donated.error().str();
      continue;
    }
    ++in_place;
    std::vector<std::vector<double>> x = {values(p.params[0].type, 1)};
    ASSERT_TRUE(s->write("x", HostArray(p.params[0].type, x[0])));
    ASSERT_TRUE(s->run(3));
    for (int k = 0; k < 3; ++k) x[0] = ir::evaluate(p, x)[0].data;
    const std::vector<double> y = s->read("y").value().values();
    for (size_t j = 0; j < y.size(); ++j) ASSERT_NEAR(y[j], x[0][j], 1e-4 * std::max(1.0, std::abs(x[0][j]))) << j;
  }
  EXPECT_EQ(in_place, on_lavapipe() ? 1 : 2);  // the others are refused
}

// What a device without the extension is asked for, it refuses by name.
TEST_F(RowStores, OthersSayWhatTheyLack) {
  Executable e = affine_program(BindingForm::Address, 300);
  e.kernels[0].needs.device_address = true, e.kernels[0].needs.buffers = 1;
  Target plain = device->target();
  plain.quirks &= ~uint32_t{kScatteredStores};
  plain.device_address = true;
  const auto lacks = missing(requirements_of(e), plain);
  ASSERT_EQ(lacks.size(), 1u);
  EXPECT_NE(lacks[0].what.find("VK_KHR_push_descriptor"), std::string::npos);
}

class RowStoresOfHosts : public Host {
 protected:
  void SetUp() override {
    make_instance(VK_API_VERSION_1_2);
    const auto w = wanted_features(vkGetInstanceProcAddr, instance, physical, api_version);
    ASSERT_TRUE(w) << w.error().str();
    wanted.emplace(std::move(const_cast<Result<WantedFeatures>&>(w)).value());
    make_device(wanted->chain(), wanted->extensions());
    adopt(wanted->external(host, queue, 0));
  }
  std::optional<WantedFeatures> wanted;
};

TEST_F(RowStoresOfHosts, SlicesMayBeginAtAnyElement) {
  constexpr int64_t n = 1 << 20, bytes = 4 * n;
  const Executable e = compile(program("def f(x: f32[1048576]) -> (y: f32[1048576]) = x + x"), device->target(),
                               {.form = device->preferred_form()})
                           .value();
  auto s = Session::create(device, e);
  ASSERT_TRUE(s) << s.error().str();
  const auto [x, x_data] = host_buffer(bytes + 64);
  const auto [y, y_data] = host_buffer(bytes + 64);
  for (int64_t i = 0; i < n + 16; ++i) x_data[i] = static_cast<float>(i % 1000);
  for (const VkDeviceSize first : {0, 2, 3, 4, 5}) {
    for (int64_t i = 0; i < n + 16; ++i) y_data[i] = -1;
    const VkCommandBuffer commands = begin();
    const auto recorded =
        (*s)->record(commands, std::vector{Slice{x, 4 * first, bytes}}, std::vector{Slice{y, 4 * first, bytes}});
    ASSERT_TRUE(recorded) << recorded.error().str();
    finish(commands);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y_data[first + i], 2 * x_data[first + i]) << first << " " << i;
    if (first > 0) {
      EXPECT_EQ(y_data[first - 1], -1);
    }
    EXPECT_EQ(y_data[first + n], -1);
  }
  // In runs, arrays of the host are bound, and nothing is copied.
  DeviceArray even = DeviceArray::adopt(device, f32({n}), {y, 16, bytes}).value();
  DeviceArray odd = DeviceArray::adopt(device, f32({n}), {y, 12, bytes}).value();
  ASSERT_TRUE((*s)->write("x", HostArray(f32({n}))));
  ASSERT_TRUE((*s)->bind("y", even));
  ASSERT_TRUE((*s)->run(1));
  EXPECT_EQ(y_data[4], 0);
  ASSERT_TRUE((*s)->bind("y", odd));
  const auto ran = (*s)->run(1);
  const bool refused = stores_rows(e);
  EXPECT_EQ(bool(ran), !refused);
  if (refused) {
    EXPECT_NE(ran.error().str().find("the array for output 'y' begins at byte 12 of its buffer"), std::string::npos)
        << ran.error().str();
  }
}

}  // namespace row_stores_test
}  // namespace spirograd::vk::testing
