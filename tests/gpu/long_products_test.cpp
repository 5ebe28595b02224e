// Contractions over long axes in parts, where drivers gather what loops read, against sums in double precision.
#include <cmath>

#include "frontend/ir/eval.h"
#include "spirograd/compile.h"
#include "spirograd/text.h"
#include "tests/gpu/host.h"

namespace spirograd::vk::testing {
namespace long_products_test {

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
      std::vector<double>& x = in.emplace_back();
      for (int64_t j = 0; j < param.type.shape.count(); ++j)
        x.push_back(static_cast<float>(static_cast<double>(j * 7919 % 2003) / 2003 - 0.25));
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
    std::vector<double>& x = in.emplace_back();
    for (int64_t j = 0; j < param.type.shape.count(); ++j)
      x.push_back(static_cast<float>(static_cast<double>(j * 7919 % 2003) / 2003 - 0.25));
    inputs.emplace_back(param.type, x);
  }
  const auto s = session(compile(p, device->target(), {.form = device->preferred_form()}).value());
  ASSERT_TRUE(s);
  const std::vector<double> have = s->run(inputs).value()[0].values(), want = ir::evaluate(p, in)[0].data;
  for (size_t j = 0; j < want.size(); ++j) ASSERT_NEAR(have[j], want[j], 2e-6) << j;
}

}  // namespace long_products_test
}  // namespace spirograd::vk::testing
