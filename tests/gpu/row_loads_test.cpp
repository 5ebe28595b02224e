// Reductions of rows that the lanes of a subgroup read together where drivers gather else (kGatheredLoads): parts of rows,
// and what is left over behind them, of every element type, wherever arrays begin.
#include <cmath>
#include <random>

#include "frontend/ir/eval.h"
#include "spirograd/compile.h"
#include "spirograd/text.h"
#include "tests/gpu/fixture.h"

namespace spirograd::vk::testing {
namespace row_loads_test {

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

std::vector<double> values(const Type& t, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> out;
  for (int64_t j = 0; j < t.shape.count(); ++j) {
    const auto n = static_cast<double>(random() % 2001) - 1000;
    out.push_back(t.dtype == DType::Bool ? n > 0 : is_float(t.dtype) ? static_cast<double>(static_cast<float>(n / 700)) : n);
  }
  return out;
}

bool reads_rows(const Executable& e) {
  return std::any_of(e.kernels.begin(), e.kernels.end(),
                     [&](const KernelBinary& k) { return k.needs.push_bytes > k.bindings * push_bytes(e.form); });
}

class RowLoads : public Gpu {
 protected:
  // In both forms; through addresses by rows, on drivers that gather.
  void expect(const std::string& text, bool not_a_number = false, bool by_rows = true) {
    const Program p = program("def f" + text);
    std::vector<HostArray> inputs;
    std::vector<std::vector<double>> arrays;
    for (const Param& param : p.params) {
      arrays.push_back(values(param.type, arrays.size() + 1));
      if (not_a_number) arrays.back()[arrays.back().size() / 2] = NAN;
      inputs.push_back({param.type, arrays.back()});
    }
    const auto want = ir::evaluate(p, arrays);
    for (const BindingForm form : kForms) {
      SCOPED_TRACE(text + ", " + form_name(form));
      CompileOptions options;
      options.form = form;
      const auto executable = compile(p, device->target(), options);
      ASSERT_TRUE(executable) << executable.error().str();
      EXPECT_EQ(reads_rows(*executable), by_rows && on_lavapipe() && form == BindingForm::Address);
      const auto s = session(*executable);
      ASSERT_TRUE(s);
      const auto out = s->run(inputs);
      ASSERT_TRUE(out) << out.error().str();
      ASSERT_EQ(out->size(), want.size());
      for (size_t r = 0; r < want.size(); ++r) expect_near((*out)[r].values(), want[r].data);
    }
  }

  static void expect_near(const std::vector<double>& have, const std::vector<double>& want) {
    ASSERT_EQ(have.size(), want.size());
    for (size_t j = 0; j < have.size(); ++j) {
      if (std::isnan(want[j])) {
        EXPECT_TRUE(std::isnan(have[j])) << j;
      } else if (std::isinf(want[j])) {
        EXPECT_EQ(have[j], want[j]) << j;
      } else {
        ASSERT_NEAR(have[j], want[j], 2e-5 * std::max(1.0, std::abs(want[j]))) << j;
      }
    }
  }
};

TEST_F(RowLoads, OfAllElements) {
  expect("(x: f32[262144]) = sum(x)");
  expect("(x: f32[200003]) = sum(square(x))");
  expect("(x: f32[1000001], y: f32[1000001]) = sum(x * y)");
  expect("(x: i32[300001]) = sum(x)");
  expect("(x: bool[300001]) = sum(i32(x))");
  expect("(x: i32[131072]) = min(x)");
  if (device->target().float64) expect("(x: f64[200003]) = sum(x)");
  expect("(x: f32[200003]) = logsumexp(x)");
}

TEST_F(RowLoads, OfRows) {
  expect("(x: f32[300, 1003]) = sum(x, axis=1)");
  expect("(x: f32[9, 8192]) = sum(x, axis=1)");
  expect("(x: f32[4099, 256]) = sum(x * x, axis=1)");
  expect("(x: f32[2000, 301]) = sum(x, axis=1)");
  expect("(x: i32[1000, 257]) = min(x, axis=1)");
  expect("(x: f32[7, 5, 4000]) = max(x, axis=2)");
  expect("(x: f32[70, 2000], m: f32[70]) = for i: 70 => sum(for j: 2000 => abs(x[i, j] - m[i]))");
  expect("(x: f32[70, 2000], w: f32[2000]) = x @ w");
  expect("(x: f32[64, 2048]) = logsumexp(x, axis=1)");
}

// One pass: the exponentials of a part are of distances to its own maximum.
TEST_F(RowLoads, OfLongRowsOfExponentials) {
  expect("(x: f32[64, 4096]) = logsumexp(x, axis=1)");
  expect("(x: f32[64, 4096]) = logsumexp(x, axis=1)", true);
  expect("(x: f32[1000000]) = logsumexp(x * 50.0)");
  expect("(x: f32[70, 3200]) = softmax(x, axis=1)");
  expect("(x: f32[64, 4096]) = for i: 64 => sum(for j: 4096 => exp(x[i, j] - max(x[i])))");
  const std::string infinite =
      "where(i == 3, -inf, where(i == 5 and j == 7, inf, where(i == 9 and j < 2048, -inf, "
      "where(i == 11 and j >= 100, -inf, x[i, j] - 1000.0 * f32(i % 2)))))";
  expect("(x: f32[64, 4096]) = logsumexp(for i: 64, j: 4096 => " + infinite + ", axis=1)");
  expect("(x: f32[64, 4096]) = softmax(for i: 64, j: 4096 => " + infinite + ", axis=1)", true);
  expect("(x: f32[2000, 50]) = softmax(for i: 2000, j: 50 => " + infinite + ", axis=1)", true, false);
  expect("(x: f32[2000, 50]) = log_softmax(for i: 2000, j: 50 => " + infinite + ", axis=1)", true, false);
}

TEST_F(RowLoads, OfArraysThatBeginAnywhere) {
  expect("(x: f32[300003]) = sum(x[3:300000])");
  expect("(x: f32[90, 2001]) = sum(x[5:90, 7:2001], axis=1)");
}

TEST_F(RowLoads, NotANumberStays) {
  expect("(x: f32[200003]) = sum(x)", true);
  expect("(x: f32[200003]) = max(x)", true);
  expect("(x: f32[9, 20003]) = min(x, axis=1)", true);
}

TEST_F(RowLoads, OfColumns) {
  expect("(x: f32[1501, 1402]) = sum(x, axis=0)");
  expect("(x: i32[50, 65538]) = max(x, axis=0)");
  expect("(x: f32[1501, 1401], r: f32[1501]) = for j: 1401 => sum(for i: 1501 => x[i, j] * r[i])");
  expect("(x: i32[50, 65537]) = max(x, axis=0)");
  expect("(x: f32[3, 1000, 1000]) = sum(square(x), axis=1)");
  expect("(x: f32[40000, 64]) = logsumexp(x, axis=0)");
}

TEST_F(RowLoads, OfElements) {
  expect("(a: f32, x: f32[2097152], y: f32[2097152]) = a * x + y");
  expect("(x: f32[1500, 1402]) = max(x, 0.0)");
  expect("(x: i32[2048, 1030], y: i32[2048, 1030]) = x * y - x");
}

TEST_F(RowLoads, OfMuchWorkOnElements) {
  expect("(x: f32[1048578]) = exp(sin(x) * 0.5 + x * x * 0.1)");
  expect("(x: i32[3, 350002]) = sin(f32(x) * 1024.0)");
  expect("(x: f32[1500, 1402]) = tanh(x) / (1.0 + exp(-x))", true);
}

TEST_F(RowLoads, OfElementsBesideWhatTheirRowsHaveInCommon) {
  expect("(x: f32[1030, 1030], m: f32[1030]) = for i: 1030, j: 1030 => exp(x[i, j] - m[i])");
  expect("(x: f32[9, 500, 302], m: f32[9], g: f32[302]) = for b: 9, i: 500, j: 302 => (x[b, i, j] - m[b]) * g[j]");
  expect("(x: f32[16400, 66], m: f32[16400]) = for i: 16400, j: 66 => tanh(x[i, j] * m[i])");
  expect("(x: f32[3, 400000], m: f32[3]) = for i: 3, j: 400000 => x[i, j] * m[i]");
}

TEST_F(RowLoads, OfRowsOfOddLength) {
  expect("(x: f32[1500, 1401], v: f32[1401]) = x * v");
  expect("(x: f32[1601, 513], r: f32[1601]) = (x * r[:, None], f32(x > r[:, None]))");
  expect("(x: f32[8197, 65], v: f32[65]) = exp(x) + v");
  expect("(x: i32[3, 701, 601], r: i32[3], v: i32[601]) = x * r[:, None, None] - v");
  expect("(x: f32[1203, 1003]) = for i: 1201, j: 1001 => x[i, j + 1] - x[i + 2, j + 1]");
  expect("(x: f32[3000, 301]) = softmax(x, axis=1)");
}

TEST_F(RowLoads, InTheOppositeOrder) {
  expect("(x: f32[1048576]) = reverse(x, axis=0)");
  expect("(x: f32[1500, 1402]) = for i: 1500, j: 1402 => x[1499 - i, 1401 - j]");
  expect("(x: i32[700, 1003], v: i32[1003]) = for i: 700, j: 1003 => x[i, 1002 - j] * v[j] + v[1002 - j]");
}

TEST_F(RowLoads, OfNeighboursInOneArray) {
  expect("(x: f32[1048579]) = for i: 1048577 => x[i] + x[i + 2] - 2.0 * x[i + 1]");
  expect("(x: f32[1000003]) = for i: 1000003 => 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]");
  expect("(x: i32[1000002]) = for i: 1000001 => x[i + 1] - x[1000000 - i]");
}

TEST_F(RowLoads, OfArraysBesideSums) {
  expect("(x: f32[131072]) = (sum(exp(sin(x))), cos(x) * exp(sin(x)))");
  expect("(x: f32[1000000]) = (sum(x * x), 2.0 * x)");
  expect("(x: f32[2000, 1024], y: f32[2000, 1024]) = (sum(tanh(x * y)), y * (1.0 - square(tanh(x * y))))");
  expect("(x: f32[200003]) = (sum(exp(sin(x))), cos(x) * exp(sin(x)))");  // what is left over is another kernel's
  expect("(x: f32[449, 449], y: f32[449, 449]) = (sum(square(x - y)), 2.0 * (x - y), 2.0 * (y - x))");
}

TEST_F(RowLoads, OfShortProducts) {
  expect("(x: f32[256, 32], y: f32[32, 256]) = x @ y");
  expect("(x: f32[203, 24], y: f32[24, 500]) = x @ y");
  expect("(x: f32[1003, 24], y: f32[300, 24]) = for i: 1003, j: 300 => sum(square(x[i] - y[j]))");
  expect("(x: f32[20, 40], y: f32[40, 2050]) = x @ y");
  expect("(x: f32[5, 64, 32], y: f32[5, 32, 130]) = for b: 5 => x[b] @ y[b]");
}

// More workgroups than fit in a row of the grid.
TEST_F(RowLoads, OfManyShortRows) { expect("(x: i32[131072, 128]) = max(x, axis=1)"); }

}  // namespace row_loads_test
}  // namespace spirograd::vk::testing
