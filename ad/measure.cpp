#include "ad/measure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace spirograd::ad {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Below this a scale says nothing: the values may all be what is left of cancellation.
constexpr double kLeastScale = 1e-3;
// Relative gaps below this are what rounding leaves.
constexpr double kLeastGap = 1e-6;

double scale_of(std::span<const double> values) {
  double squares = 0;
  size_t finite = 0;
  for (double x : values)
    if (std::isfinite(x)) squares += x * x, ++finite;
  return std::max(finite ? std::sqrt(squares / static_cast<double>(finite)) : 0, kLeastScale);
}

}  // namespace

Values values_of(std::span<const HostArray> arrays) {
  Values out;
  for (const HostArray& a : arrays) out.push_back(a.values());
  return out;
}

Values values_of(const std::vector<ir::Array>& arrays) {
  Values out;
  for (const ir::Array& a : arrays) out.push_back(a.data);
  return out;
}

Values joined(Values a, const Values& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Values tail(const Values& a, size_t n) { return {a.begin() + static_cast<std::ptrdiff_t>(n), a.end()}; }

Values moved(Values start, const std::vector<Param>& params, const Values& dots, double step) {
  size_t d = 0;
  for (size_t j = 0; j < params.size(); ++j) {
    if (!is_float(params[j].type.dtype)) continue;
    for (size_t k = 0; k < start[j].size(); ++k) start[j][k] += step * dots[d][k];
    ++d;
  }
  return start;
}

bool all_finite(const Values& a) {
  return std::all_of(a.begin(), a.end(), [](const auto& x) {
    return std::all_of(x.begin(), x.end(), [](double y) { return std::isfinite(y); });
  });
}

Deviation deviation(std::span<const double> have, std::span<const double> want) {
  const double scale = scale_of(want);
  Deviation worst;
  for (size_t j = 0; j < want.size(); ++j) {
    const double h = have[j], w = want[j];
    if (h == w || (std::isnan(h) && std::isnan(w))) continue;
    const double error = std::isfinite(h) && std::isfinite(w) ? std::abs(h - w) / std::max(std::abs(w), scale) : kInfinity;
    if (error > worst.error) worst = {error, j, h, w};
  }
  return worst;
}

std::string element_name(const Shape& shape, size_t at) {
  std::string out;
  int64_t rest = static_cast<int64_t>(at);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t stride = std::max<int64_t>(shape.stride(axis), 1);
    out += (axis ? "," : "[") + std::to_string(rest / stride);
    rest %= stride;
  }
  return out.empty() ? "" : out + "]";
}

namespace {

// The gap between the slopes to the two sides, at a step and at a quarter of it. In a smooth place it shrinks with the step;
// at a corner or a jump it does not.
bool is_kink(double gap, double quarter_gap, double scale) {
  if (!std::isfinite(gap) || !std::isfinite(quarter_gap)) return false;
  return std::abs(gap) > kLeastGap * scale && std::abs(quarter_gap) > 0.6 * std::abs(gap);
}

}  // namespace

Slope best_slope(const std::function<Values(double)>& f, const std::vector<ProgramResult>& results, const Values& tangents) {
  std::vector<const ProgramResult*> names;
  for (const ProgramResult& r : results)
    if (is_float(r.type.dtype)) names.push_back(&r);
  // f(0) once; arrays that carry no derivative are left out.
  const auto floats = [&](const Values& all) {
    Values out;
    for (size_t j = 0; j < results.size(); ++j)
      if (is_float(results[j].type.dtype)) out.push_back(all[j]);
    return out;
  };
  const Values middle = floats(f(0));
  std::optional<Slope> best;
  for (const double h : {1e-5, 1e-4, 1e-6, 1e-3}) {
    const Values right = floats(f(h)), left = floats(f(-h));
    const Values near_right = floats(f(h / 4)), near_left = floats(f(-h / 4));
    Slope s;
    for (size_t j = 0; j < middle.size(); ++j) {
      std::vector<double> central(middle[j].size());
      for (size_t k = 0; k < central.size(); ++k) central[k] = (right[j][k] - left[j][k]) / (2 * h);
      const double scale = scale_of(central);
      for (size_t k = 0; k < central.size(); ++k) {
        const double here = 2 * middle[j][k], gap = (right[j][k] + left[j][k] - here) / h;
        const double quarter_gap = (near_right[j][k] + near_left[j][k] - here) / (h / 4);
        if (!is_kink(gap, quarter_gap, std::max({scale, std::abs(central[k]), std::abs(gap)}))) continue;
        central[k] = tangents[j][k];
        if (s.kinks++ == 0) s.kink = names[j]->name + element_name(names[j]->type.shape, k);
      }
      s.error = std::max(s.error, deviation(tangents[j], central).error);
    }
    if (!best || s.kinks < best->kinks || (s.kinks == best->kinks && s.error < best->error)) best = s;
    if (best->kinks == 0 && best->error < 1e-7) break;
  }
  return *best;
}

double inner_product_error(const Values& cts, const Values& tangents, const Values& gradients, const Values& dots) {
  double left = 0, right = 0, scale = 1e-12;
  for (size_t j = 0; j < cts.size(); ++j)
    for (size_t k = 0; k < cts[j].size(); ++k)
      left += cts[j][k] * tangents[j][k], scale += std::abs(cts[j][k] * tangents[j][k]);
  for (size_t j = 0; j < dots.size(); ++j)
    for (size_t k = 0; k < dots[j].size(); ++k)
      right += gradients[j][k] * dots[j][k], scale += std::abs(gradients[j][k] * dots[j][k]);
  if (!std::isfinite(left) && !std::isfinite(right)) return 0;
  const double error = std::abs(left - right) / scale;
  return std::isnan(error) ? kInfinity : error;
}

}  // namespace spirograd::ad
