#include "tools/gradbench/evaluations.h"

#include <algorithm>

#include "spirograd/result.h"

namespace spirograd::gradbench {
namespace {

Function plain(const std::string& name, Form form = Form::Nested) { return {name, name, "", form}; }

// The mode of the outer derivative, then of the inner one.
std::vector<Function> nested_modes() { return {plain("ff"), plain("fr"), plain("rf"), plain("rr")}; }

template <class Rows>
auto named(const Rows& rows, std::string_view name, const std::string& lack) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
  if (found != rows.end()) return *found;
  std::string known;
  for (const auto& row : rows) known += (known.empty() ? "" : ", ") + row.name;
  throw Error("SG0503", lack + " '" + std::string(name) + "'").note("there are: " + known);
}

}  // namespace

std::vector<Evaluation> evaluations() {
  using enum Kind;
  // clang-format off
  return {
      {"ba",
       {{"N", "n", Size}, {"M", "m", Size}, {"P", "p", Size},
        {"cam", "cam", Repeated, 2, "n"}, {"x", "x", Repeated, 2, "m"}, {"w", "w", Repeated, 1, "p"}, {"feat", "feat", Repeated, 2, "p"},
        {"by", "n", Positions, 1, "p"}, {"of", "m", Positions, 1, "p"}},
       {plain("objective", Form::BaResiduals), plain("jacobian", Form::BaJacobian)}},
      {"det", {{"L", "ell", Size}, {"P", "ell", PowerOfTwo}, {"A", "A", Floats, 1}}, {plain("primal"), plain("gradient")}},
      {"gmm",
       {{"D", "d", Size}, {"K", "k", Size}, {"N", "n", Size},
        {"alpha", "alpha", Floats, 1}, {"mu", "mu", Floats, 2}, {"q", "q", Floats, 2}, {"l", "l", Floats, 2}, {"x", "x", Floats, 2},
        {"gamma", "gamma", Floats}, {"m", "m", Floats}},
       {plain("objective"), plain("jacobian")}},
      {"hello", {{"x", "", Floats}}, {plain("square"), plain("double")}},
      {"ht",
       {{"theta", "theta", Floats, 1},
        {"data.model.parents", "data.model.parents", Integers, 1},
        {"data.model.base_relatives", "data.model.base_relatives", Floats, 3},
        {"data.model.inverse_base_absolutes", "data.model.inverse_base_absolutes", Floats, 3},
        {"data.model.base_positions", "data.model.base_positions", Floats, 2},
        {"data.model.weights", "data.model.weights", Floats, 2},
        {"data.model.triangles", "data.model.triangles", Integers, 2},
        {"data.model.is_mirrored", "data.model.is_mirrored", Truth},
        {"data.correspondences", "data.correspondences", Integers, 1},
        {"data.points", "data.points", Floats, 2},
        {"us", "us", Floats, 2, "", true}},
       {{"objective", "objective", "objective_within"}, {"jacobian", "jacobian", "jacobian_within"}}},
      {"kmeans", {{"points", "points", Floats, 2}, {"centroids", "centroids", Floats, 2}}, {plain("cost"), plain("dir")}},
      {"llsq", {{"x", "x", Floats, 1}, {"N", "n", Size}}, {plain("primal"), plain("gradient")}},
      {"lse", {{"x", "x", Floats, 1}}, {plain("primal"), plain("gradient")}},
      {"lstm",
       {{"main_params", "main_params", Floats, 2}, {"extra_params", "extra_params", Floats, 2}, {"state", "state", Floats, 2},
        {"sequence", "sequence", Floats, 2}},
       {plain("objective"), plain("jacobian")}},
      {"ode", {{"x", "x", Floats, 1}, {"S", "s", Size}}, {plain("primal"), plain("gradient")}},
      {"particle", {{"w", "w", Floats}}, nested_modes()},
      {"saddle", {{"start", "start", Floats, 1}}, nested_modes()},
  };
  // clang-format on
}

Evaluation evaluation(std::string_view name) { return named(evaluations(), name, "there is no evaluation"); }

Function function(const Evaluation& e, std::string_view name) {
  return named(e.functions, name, "'" + e.name + "' has no function");
}

}  // namespace spirograd::gradbench
