// Helpers of the derivative tests: programs from algebra expressions, runs on the interpreter, differences.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "frontend/ir/algebra.h"
#include "frontend/ir/eval.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "spirograd/grad.h"

namespace spirograd::grad_test {

using namespace ir;
using Values = std::vector<double>;
using Inputs = std::vector<Values>;

/// Collects parameters and results of a program.
class Maker {
 public:
  Maker() { p_.graph = graph_; }
  Graph& g() { return *graph_; }
  Expr param(const std::string& name, Type type) {
    p_.params.push_back({name, type});
    return ir::param(g(), static_cast<int64_t>(p_.params.size()) - 1, type);
  }
  Expr number(double value) { return scalar(g(), DType::F64, value); }
  Expr like(Expr e, double value) { return full(g(), e.type(), value); }
  Expr ints(const Values& values) { return constant(g(), i32({static_cast<int64_t>(values.size())}), values); }
  Expr reals(const Values& values) { return constant(g(), f64({static_cast<int64_t>(values.size())}), values); }
  Maker& result(const std::string& name, Expr e) {
    p_.results.push_back({name, e.id.v, e.type()});
    return *this;
  }
  Program done() const { return p_; }

 private:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  Program p_;
};

inline Program make(const std::vector<Type>& params, const std::function<Expr(Maker&, const std::vector<Expr>&)>& f) {
  Maker m;
  std::vector<Expr> in;
  for (size_t j = 0; j < params.size(); ++j) in.push_back(m.param(std::string(1, static_cast<char>('a' + j)), params[j]));
  m.result("y", f(m, in));
  return m.done();
}

inline Expr fn(Op op, Expr a) { return unary(op, a); }
inline Expr fn(Op op, Expr a, Expr b) { return binary(op, a, b); }

inline Inputs run(const Program& p, const Inputs& inputs) {
  Inputs out;
  for (ir::Array& a : evaluate(p, inputs)) out.push_back(std::move(a.data));
  return out;
}

/// The program with one result: the sum of all elements of the first result of `p`.
inline Program summed(Program p) {
  const auto g = make_graph_private(p);
  const Expr y = sum_all({g.get(), {p.results[0].node}});
  p.results = {{"sum", y.id.v, y.type()}};
  return p;
}

/// Gradient of the sum of the first result by all float parameters.
inline Inputs gradient(const Program& p, const Inputs& inputs) { return run(grad(summed(p)).value(), inputs); }

inline void expect_near(const Values& have, const Values& want, double tolerance = 1e-8, const char* what = "") {
  ASSERT_EQ(have.size(), want.size()) << what;
  for (size_t j = 0; j < have.size(); ++j)
    EXPECT_NEAR(have[j], want[j], tolerance * std::max(1.0, std::abs(want[j]))) << what << " at " << j;
}
inline void expect_near(const Inputs& have, const Inputs& want, double tolerance = 1e-8, const char* what = "") {
  ASSERT_EQ(have.size(), want.size()) << what;
  for (size_t j = 0; j < have.size(); ++j) expect_near(have[j], want[j], tolerance, what);
}

inline double dot(const Inputs& a, const Inputs& b) {
  double total = 0;
  for (size_t j = 0; j < a.size(); ++j)
    for (size_t k = 0; k < a[j].size(); ++k) total += a[j][k] * b[j][k];
  return total;
}

inline Values random_values(std::mt19937& rng, int64_t n, double lo, double hi) {
  std::uniform_real_distribution<double> uniform(lo, hi);
  Values v(static_cast<size_t>(n));
  for (double& x : v) x = uniform(rng);
  return v;
}
inline Inputs joined(Inputs a, const Inputs& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Tangents of the float results of `p` in direction `dots` (one per float parameter), by central differences.
inline Inputs differences(const Program& p, const Inputs& inputs, const Inputs& dots, double h = 1e-6) {
  Inputs plus = inputs, minus = inputs;
  for (size_t j = 0, d = 0; j < inputs.size(); ++j) {
    if (!is_float(p.params[j].type.dtype)) continue;
    for (size_t k = 0; k < inputs[j].size(); ++k) plus[j][k] += h * dots[d][k], minus[j][k] -= h * dots[d][k];
    ++d;
  }
  const Inputs a = run(p, plus), b = run(p, minus);
  Inputs out;
  for (size_t j = 0; j < a.size(); ++j) {
    if (!is_float(p.results[j].type.dtype)) continue;
    out.emplace_back(a[j]);
    for (size_t k = 0; k < a[j].size(); ++k) out.back()[k] = (a[j][k] - b[j][k]) / (2 * h);
  }
  return out;
}

/// Checks at one point: jvp against differences, <ct, jvp> = <vjp, dot>, primal results unchanged, and for `order` 2 all of
/// it for the vjp program itself (so the second derivative).
inline void check_derivatives(const Program& p, const Inputs& inputs, std::mt19937& rng, int order = 1,
                              double tolerance = 1e-5) {
  Inputs dots, cts;
  for (const Param& q : p.params)
    if (is_float(q.type.dtype)) dots.push_back(random_values(rng, q.type.shape.count(), -1, 1));
  for (const ProgramResult& r : p.results)
    if (is_float(r.type.dtype)) cts.push_back(random_values(rng, r.type.shape.count(), -1, 1));
  const Program forward = jvp(p).value(), backward = vjp(p).value();
  const Inputs primal = run(p, inputs);
  const Inputs f = run(forward, joined(inputs, dots)), b = run(backward, joined(inputs, cts));
  const auto tail = [&](const Inputs& all) {
    return Inputs(all.begin() + static_cast<std::ptrdiff_t>(primal.size()), all.end());
  };
  expect_near(Inputs(f.begin(), f.begin() + static_cast<std::ptrdiff_t>(primal.size())), primal, 1e-12, "primal of jvp");
  expect_near(Inputs(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(primal.size())), primal, 1e-12, "primal of vjp");
  const Inputs tangents = tail(f), grads = tail(b);
  expect_near(tangents, differences(p, inputs, dots), tolerance, "jvp against differences");
  const double left = dot(cts, tangents), right = dot(grads, dots);
  EXPECT_NEAR(left, right, 1e-9 * std::max(1.0, std::abs(left))) << "<ct, jvp> and <vjp, dot>";
  if (order > 1) check_derivatives(backward, joined(inputs, cts), rng, order - 1, tolerance * 10);
}

}  // namespace spirograd::grad_test
