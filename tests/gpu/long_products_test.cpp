// Contractions over long axes in parts, where drivers gather what loops read, against sums in double precision.
#include <cmath>
#include <functional>

#include "frontend/ir/eval.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "tests/gpu/host.h"

namespace spirograd::vk::testing {
namespace long_products_test {

// As many as an array of this type has, in a range of 1, in no order.
std::vector<double> numbers(const Type& type, double least = -0.25) {
  std::vector<double> out;
  for (int64_t j = 0; j < type.shape.count(); ++j)
    out.push_back(static_cast<float>(static_cast<double>(j * 7919 % 2003) / 2003 + least));
  return out;
}

class LongProducts : public Gpu {
 protected:
  // The largest error of x y, of the sum of the absolute values of its terms.
  double error_of(int64_t rows, int64_t length, int64_t columns) {
    const text::ShapeVariables shapes = {{"N", rows}, {"K", length}, {"M", columns}};
    const auto parsed = text::parse("def f(x: f32[N, K], y: f32[K, M]) = x @ y", "test.sg");
    const Program p = text::instantiate(*parsed, "", shapes).value();
    const Executable e = compile(p, device->target(), {.form = device->preferred_form()}).value();
    const auto s = session(e);
    if (!s) return INFINITY;
    std::vector<std::vector<double>> in;
    std::vector<HostArray> inputs;
    for (const Param& param : p.params) {
      std::vector<double>& x = in.emplace_back(numbers(param.type));
      inputs.emplace_back(param.type, x);
    }
    const auto out = s->run(inputs);
    if (!out) {
      ADD_FAILURE() << out.error().str();
      return INFINITY;
    }
    const std::vector<double> have = (*out)[0].values();
    double worst = 0;
    for (int64_t i = 0; i < rows; i += 7)
      for (int64_t j = 0; j < columns; ++j) {
        double want = 0, all = 0;
        for (int64_t k = 0; k < length; ++k) {
          const double term = in[0][static_cast<size_t>(i * length + k)] * in[1][static_cast<size_t>(k * columns + j)];
          want += term, all += std::abs(term);
        }
        worst = std::max(worst, std::abs(have[static_cast<size_t>(i * columns + j)] - want) / all);
      }
    return worst;
  }
};

TEST_F(LongProducts, OfAllSizes) {
  const int64_t sizes[][3] = {{128, 128, 128}, {131, 400, 129}, {97, 789, 300},
                              {512, 100, 512}, {64, 784, 256},  {160, 1027, 161}};
  for (const auto& [rows, length, columns] : sizes)
    EXPECT_LT(error_of(rows, length, columns), 4e-7) << rows << " x " << length << " x " << columns;
}

TEST_F(LongProducts, ErrorsDoNotGrowWithTheLength) {
  EXPECT_LT(error_of(130, 8500, 131), 4e-7) << "parts of parts";
  EXPECT_LT(error_of(40, 20001, 64), 4e-7) << "all at once";
}

// Images and filters of 3 x 3, and what each output counts, as far as the image has it.
struct Convolution {
  int64_t images, height, width, channels, filters;

  Program program() const {
    const text::ShapeVariables shapes = {{"B", images}, {"P", height}, {"Q", width}, {"C", channels}, {"O", filters}};
    const auto parsed = text::parse(
        "def f(x: f32[B, P, Q, C], w: f32[3, 3, C, O], t: f32[B, P, Q, O]) -> f32 =\n"
        "  sum(for b: B, i: P, j: Q, o: O => t[b, i, j, o] * sum(for u: 3, v: 3, c: C =>\n"
        "    x[b, i + u - 1, j + v - 1, c] * w[u, v, c, o]))",
        "test.sg");
    return value_and_grad(text::instantiate(*parsed, "", shapes).value(), {"x", "w"}).value();
  }

  using Visit = std::function<void(size_t x, size_t w, size_t t)>;
  void each(const Visit& visit) const {
    const auto place = [](std::initializer_list<std::pair<int64_t, int64_t>> axes) {
      int64_t at = 0;
      for (const auto& [extent, coordinate] : axes) at = at * extent + coordinate;
      return static_cast<size_t>(at);
    };
    for (int64_t b = 0; b < images; ++b)
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j)
          for (int64_t u = 0; u < 3; ++u)
            for (int64_t v = 0; v < 3; ++v) {
              const int64_t row = i + u - 1, column = j + v - 1;
              if (row < 0 || row >= height || column < 0 || column >= width) continue;
              for (int64_t c = 0; c < channels; ++c)
                for (int64_t o = 0; o < filters; ++o)
                  visit(place({{images, b}, {height, row}, {width, column}, {channels, c}}),
                        place({{3, u}, {3, v}, {channels, c}, {filters, o}}),
                        place({{images, b}, {height, i}, {width, j}, {filters, o}}));
            }
  }
};

TEST_F(LongProducts, ConvolutionsAndTheirGradientsReadNothingBeyondTheEdges) {
  for (const Convolution& k :
       {Convolution{2, 24, 26, 16, 32}, {1, 28, 30, 32, 32}, {1, 12, 14, 128, 32}, {2, 21, 23, 8, 16}}) {
    const Program p = k.program();
    std::vector<std::vector<double>> in;
    std::vector<HostArray> inputs;
    for (const Param& param : p.params) {
      std::vector<double>& x = in.emplace_back(numbers(param.type));
      if (in.size() == 2) x[0] = INFINITY;  // meets no zero that stands for what lies beyond
      inputs.emplace_back(param.type, x);
    }
    std::vector<double> by_x(in[0].size()), by_w(in[1].size());
    k.each([&](size_t x, size_t w, size_t t) {
      by_x[x] += in[2][t] * in[1][w];
      by_w[w] += in[2][t] * in[0][x];
    });
    const auto s = session(compile(p, device->target(), {.form = device->preferred_form()}).value());
    ASSERT_TRUE(s);
    const std::vector<HostArray> out = s->run(inputs).value();
    size_t finite = 0;
    for (const auto& [have, want] : {std::pair(out[1].values(), &by_x), std::pair(out[2].values(), &by_w)})
      for (size_t j = 0; j < want->size(); ++j) {
        const double w = (*want)[j];
        finite += std::isfinite(w);
        if (!std::isfinite(w))
          EXPECT_EQ(std::isnan(have[j]) ? "nan" : std::to_string(have[j]), std::isnan(w) ? "nan" : std::to_string(w)) << j;
        else
          ASSERT_NEAR(have[j], w, 1e-6 * (4 + std::abs(w))) << k.channels << " " << j;
      }
    EXPECT_GT(finite, by_w.size() + by_x.size() / 2);
  }
}

// Moments of points about several centres: symmetric, and lanes are centres.
TEST_F(LongProducts, SymmetricOnes) {
  for (const auto& [points, centres, axes] : {std::tuple{2003, 46, 12}, {1000, 50, 9}, {2500, 64, 10}}) {
    const text::ShapeVariables shapes = {{"N", points}, {"K", centres}, {"D", axes}};
    const auto parsed = text::parse(
        "def f(w: f32[N, K], m: f32[K, D], x: f32[N, D]) = for j: K, r: D, c: D =>\n"
        "  sum(for i: N => w[i, j] * (x[i, r] - m[j, r]) * (x[i, c] - m[j, c]))",
        "test.sg");
    const Program p = text::instantiate(*parsed, "", shapes).value();
    std::vector<std::vector<double>> in;
    std::vector<HostArray> inputs;
    for (const Param& param : p.params) {
      std::vector<double>& x = in.emplace_back(numbers(param.type, 0.25));
      inputs.emplace_back(param.type, x);
    }
    const auto s = session(compile(p, device->target(), {.form = device->preferred_form()}).value());
    ASSERT_TRUE(s);
    const std::vector<double> have = s->run(inputs).value()[0].values(), want = ir::evaluate(p, in)[0].data;
    for (size_t j = 0; j < want.size(); ++j) ASSERT_NEAR(have[j], want[j], 1e-6 * points) << axes << " " << j;
  }
}

TEST_F(LongProducts, TriangularOnesCountInfinitiesAboveTheDiagonal) {
  const text::ShapeVariables shapes = {{"N", 1003}, {"K", 46}, {"D", 12}};
  const auto parsed = text::parse(
      "def f(l: f32[K, D, D], m: f32[K, D], x: f32[N, D]) -> (f32[N, K], f32) {\n"
      "  let root = for j: K, r: D, c: D => where(c == r, exp(l[j, r, c]), where(c < r, l[j, r, c], 0.0))\n"
      "  (for i: N, j: K => sum(square(root[j] @ (x[i] - m[j]))), sum(root))\n"
      "}",
      "test.sg");
  const Program p = text::instantiate(*parsed, "", shapes).value();
  std::vector<std::vector<double>> in;
  std::vector<HostArray> inputs;
  for (const Param& param : p.params) {
    std::vector<double>& x = in.emplace_back(numbers(param.type));
    // In m: 0 times infinity for all rows but the last one; in x: of no row, for it is the first column.
    if (in.size() == 2) x[12 * 5 + 11] = INFINITY;
    if (in.size() == 3) x[12 * 77] = -INFINITY, x[12 * 78 + 4] = NAN;
    inputs.emplace_back(param.type, x);
  }
  const auto s = session(compile(p, device->target(), {.form = device->preferred_form()}).value());
  ASSERT_TRUE(s);
  const std::vector<double> have = s->run(inputs).value()[0].values(), want = ir::evaluate(p, in)[0].data;
  for (size_t j = 0; j < want.size(); ++j) {
    if (std::isfinite(want[j])) {
      ASSERT_NEAR(have[j], want[j], 2e-6 * (1 + want[j])) << j;
    } else {
      ASSERT_EQ(std::isnan(have[j]), std::isnan(want[j])) << j << ": " << have[j];
    }
  }
  EXPECT_TRUE(std::isnan(want[5])) << "0 times infinity";
  EXPECT_TRUE(std::isinf(want[46 * 77 + 1]));
  EXPECT_TRUE(std::isnan(want[46 * 78 + 1]));
}

TEST_F(LongProducts, OverSeveralAxes) {
  const Program p = text::instantiate(text::parse("def f(x: f32[2, 24, 26, 8], w: f32[3, 3, 8, 16]) =\n"
                                                  "  for b: 2, i: 24, j: 26, o: 16 => sum(for u: 3, v: 3, c: 8 =>\n"
                                                  "    x[b, i + u - 1, j + v - 1, c] * w[u, v, c, o])",
                                                  "test.sg")
                                          .value())
                        .value();
  std::vector<std::vector<double>> in;
  std::vector<HostArray> inputs;
  for (const Param& param : p.params) {
    std::vector<double>& x = in.emplace_back(numbers(param.type));
    inputs.emplace_back(param.type, x);
  }
  const auto s = session(compile(p, device->target(), {.form = device->preferred_form()}).value());
  ASSERT_TRUE(s);
  const std::vector<double> have = s->run(inputs).value()[0].values(), want = ir::evaluate(p, in)[0].data;
  for (size_t j = 0; j < want.size(); ++j) ASSERT_NEAR(have[j], want[j], 2e-6) << j;
}

}  // namespace long_products_test
}  // namespace spirograd::vk::testing
