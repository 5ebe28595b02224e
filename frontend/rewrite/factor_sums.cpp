#include "frontend/rewrite/factor_sums.h"

#include <algorithm>
#include <cmath>

#include "frontend/ir/algebra.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"

namespace spirograd::rewrite {

using ir::Expr;
using ir::NodeId;
using ir::Op;

namespace {

constexpr size_t kMostFactors = 8;

// Factors of a product, left to right; a negated factor gives up its sign to `negative`.
void collect(Expr e, std::vector<Expr>& factors, bool& negative) {
  std::vector<Expr> stack = {e};
  while (!stack.empty()) {
    const Expr x = stack.back();
    stack.pop_back();
    if (x.op() == Op::Neg) {
      negative = !negative;
      stack.push_back(x.in(0));
    } else if (x.op() == Op::Mul && factors.size() + stack.size() + 2 <= kMostFactors) {
      stack.push_back(x.in(1));
      stack.push_back(x.in(0));
    } else {
      factors.push_back(x);
    }
  }
}

// An infinite constant stays: times each term it is NaN where terms of both signs are added, times their sum it is not.
bool constant_along(Expr e, int64_t axis) {
  if (e.op() != Op::Broadcast) return false;
  const std::vector<double>& data = e.in(0).node().data;
  if (!std::all_of(data.begin(), data.end(), [](double x) { return std::isfinite(x); })) return false;
  return std::find(e.node().attr.begin(), e.node().attr.end(), axis) == e.node().attr.end();
}

// A broadcast without one of the axes that it adds.
Expr without_axis(Expr e, int64_t axis) {
  std::vector<int64_t> axes;
  for (int64_t a : e.node().attr) axes.push_back(a > axis ? a - 1 : a);
  const Shape s = e.shape().erased(static_cast<int>(axis));
  return s == e.in(0).shape() ? e.in(0) : ir::broadcast(e.in(0), s, axes);
}

Expr product(const std::vector<Expr>& factors) {
  Expr p = factors[0];
  for (size_t j = 1; j < factors.size(); ++j) p = p * factors[j];
  return p;
}

}  // namespace

Expr factor_out(Expr sum) {
  if (sum.op() != Op::Sum || !is_float(sum.dtype())) return {};
  const Expr body = sum.in(0);
  if (body.op() == Op::Neg) return -ir::reduce(Op::Sum, body.in(0), sum.node().attr);
  if (body.op() != Op::Mul) return {};
  std::vector<Expr> factors;
  bool negative = false;
  collect(body, factors, negative);
  for (int64_t axis : sum.node().attr) {
    std::vector<Expr> inside, outside;
    for (Expr f : factors) (constant_along(f, axis) ? outside : inside).push_back(f);
    if (outside.empty() || inside.empty()) continue;
    for (Expr& f : outside) f = without_axis(f, axis);
    std::vector<int64_t> rest;
    for (int64_t a : sum.node().attr)
      if (a != axis) rest.push_back(a > axis ? a - 1 : a);
    outside.push_back(ir::sum(product(inside), static_cast<int>(axis)));
    const Expr result = ir::reduce(Op::Sum, product(outside), rest);
    return negative ? -result : result;
  }
  if (!negative) return {};
  return -ir::reduce(Op::Sum, product(factors), sum.node().attr);
}

Program factor_sums(const Program& p, RuleLog* rules) {
  if (!ir::reaches(p, {Op::Sum})) return p;
  Program out = p;
  for (int round = 0; round < 4; ++round) {
    ir::Graph& g = *ir::make_graph_private(out);
    std::vector<NodeId> roots;
    for (const ProgramResult& r : out.results) roots.push_back({r.node});
    ir::Memo memo;
    bool changed = false;
    const std::vector<NodeId> made = ir::rebuild(g, roots, memo, [&](NodeId, NodeId built) {
      const Expr factored = factor_out({&g, built});
      changed = changed || factored;
      return factored ? factored.id : built;
    });
    if (!changed) break;
    for (size_t j = 0; j < made.size(); ++j) out.results[j].node = made[j].v;
    out = simplify(out, rules);
  }
  return out;
}

}  // namespace spirograd::rewrite
