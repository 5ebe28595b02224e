#include "tools/gradbench/outputs.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace spirograd::gradbench {
namespace {

using nlohmann::json;

std::vector<double> finite_values(const NamedArray& a) {
  std::vector<double> out = a.array.values();
  for (size_t i = 0; i < out.size(); ++i)
    if (!std::isfinite(out[i]))
      throw Error("SG0501", "element " + std::to_string(i) + " of the result '" + a.name + "', " + to_string(a.array.type) +
                                ", is " + (std::isnan(out[i]) ? "NaN" : "infinite") + ", which JSON cannot hold");
  return out;
}

json nested(const Shape& shape, int axis, const double*& next) {
  if (axis == shape.rank()) return *next++;
  json out = json::array();
  out.get_ref<json::array_t&>().reserve(static_cast<size_t>(shape[axis]));
  for (int64_t i = 0; i < shape[axis]; ++i) out.push_back(nested(shape, axis + 1, next));
  return out;
}

json nested(const NamedArray& a) {
  const std::vector<double> values = finite_values(a);
  const double* next = values.data();
  return nested(a.array.type.shape, 0, next);
}

int64_t size_named(const Inputs& inputs, std::string_view name) {
  for (const auto& [known, value] : inputs.sizes)
    if (known == name) return value;
  throw Error("SG0900", "internal: no size '" + std::string(name) + "'");
}

json ba_residuals(const std::vector<NamedArray>& results) {
  const std::vector<double> at = finite_values(results[0]), weight = finite_values(results[1]);
  return {{"reproj_error", {{"elements", {at[0], at[1]}}, {"repeated", weight.size()}}},
          {"w_err", {{"element", weight[0]}, {"repeated", weight.size()}}}};
}

// A sparse matrix by rows: 15 elements in each of the two rows of an observation (its camera, its point, its weight), then
// one in each row of a weight. `rows` says where each row begins, and in the end how many elements there are.
json ba_jacobian(const std::vector<NamedArray>& results, const Inputs& inputs) {
  constexpr int64_t kCamera = 11, kPoint = 3, kRow = kCamera + kPoint + 1, kShown = 2 * kRow;
  const int64_t n = size_named(inputs, "N"), m = size_named(inputs, "M"), p = size_named(inputs, "P");
  const std::vector<double> by_all = finite_values(results[0]), by_weight = finite_values(results[1]);
  json rows = json::array(), cols = json::array(), vals = json::array();
  for (int64_t i = 0; i < kShown; ++i) {
    const int64_t column = i % kRow, full = std::min(i, 2 * p);
    rows.push_back(kRow * full + std::min(i - full, p));
    cols.push_back(column < kCamera + kPoint ? column + (column < kCamera ? 0 : kCamera * (n - 1))
                                             : kCamera * n + kPoint * m);
    vals.push_back(by_all[static_cast<size_t>(i)]);
  }
  rows.push_back(kShown * p + p);
  cols.push_back(kCamera * n + kPoint * m + p - 1);
  vals.push_back(by_weight.back());
  return {{"rows", rows}, {"cols", cols}, {"vals", vals}};
}

}  // namespace

json write_output(Form form, const std::vector<NamedArray>& results, const Inputs& inputs) {
  switch (form) {
    case Form::BaResiduals: return ba_residuals(results);
    case Form::BaJacobian: return ba_jacobian(results, inputs);
    case Form::Nested: break;
  }
  if (results.size() == 1) return nested(results[0]);
  json out = json::object();
  for (const NamedArray& a : results) out[a.name] = nested(a);
  return out;
}

}  // namespace spirograd::gradbench
