// How far two computations are apart, and numerical derivatives to compare with.
#pragma once

#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "frontend/ir/eval.h"
#include "spirograd/host_array.h"
#include "spirograd/program.h"

namespace spirograd::ad {

/// Elements of several arrays.
using Values = std::vector<std::vector<double>>;

Values values_of(std::span<const HostArray> arrays);
Values values_of(const std::vector<ir::Array>& arrays);
Values joined(Values a, const Values& b);
/// All but the first `n`.
Values tail(const Values& a, size_t n);
/// `start` + step * dots, where dots has an array per float parameter.
Values moved(Values start, const std::vector<Param>& params, const Values& dots, double step);

/// Uniform in [-1, 1), rounded to f32: an array for each parameter or result that holds floats.
Values random_directions(std::mt19937_64& rng, const auto& list) {
  Values out;
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const auto& item : list) {
    if (!is_float(item.type.dtype)) continue;
    out.emplace_back(static_cast<size_t>(item.type.shape.count()));
    for (double& x : out.back()) x = static_cast<float>(uniform(rng));
  }
  return out;
}

bool all_finite(const Values& a);

struct Deviation {
  double error =
      0;  // |have - want| / max(|want|, root mean square of want, 1e-3); infinite where only one is NaN or infinite
  size_t at = 0;
  double have = 0, want = 0;
};
Deviation deviation(std::span<const double> have, std::span<const double> want);

/// "[3,1]", "" for a scalar.
std::string element_name(const Shape& shape, size_t at);

struct Slope {
  double error = 0;  // of the elements that can be compared
  int64_t kinks =
      0;             // elements at which the differences to the left and to the right do not agree: no slope to compare with
  std::string kink;  // name of the first, "loss" or "y[3,1]"
};
/// Central differences of the float results of f(step) around 0 against `tangents`, at the step that shows the fewest kinks
/// and then fits best.
Slope best_slope(const std::function<Values(double)>& f, const std::vector<ProgramResult>& results, const Values& tangents);

/// | <cts, tangents> - <gradients, dots> |, relative to the sum of the absolute terms.
double inner_product_error(const Values& cts, const Values& tangents, const Values& gradients, const Values& dots);

}  // namespace spirograd::ad
