// Small programs for tests of simplification: building, running before and after, counting operations.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "frontend/ir/algebra.h"
#include "frontend/ir/eval.h"
#include "frontend/ir/traverse.h"
#include "frontend/ir/verify.h"
#include "frontend/rewrite/simplify.h"
#include "support/same_nodes.h"

namespace spirograd::test {

/// A program of one result; parameters are p0, p1, ...
inline Program program_of(const std::shared_ptr<ir::Graph>& graph, std::vector<Type> params, std::vector<ir::Expr> results) {
  Program p;
  p.graph = graph;
  for (size_t j = 0; j < params.size(); ++j) p.params.push_back({"p" + std::to_string(j), params[j]});
  for (size_t j = 0; j < results.size(); ++j)
    p.results.push_back({"r" + std::to_string(j), results[j].id.v, results[j].type()});
  return p;
}

inline std::vector<ir::NodeId> roots_of(const Program& p) {
  std::vector<ir::NodeId> roots;
  for (const ProgramResult& r : p.results) roots.push_back({r.node});
  return roots;
}

/// Operations of that kind in the program, loop bodies included.
inline int count_ops(const Program& p, ir::Op op) {
  int n = 0;
  std::vector<std::vector<ir::NodeId>> scopes = {roots_of(p)};
  while (!scopes.empty()) {
    const auto roots = std::move(scopes.back());
    scopes.pop_back();
    for (ir::NodeId id : ir::postorder(*p.graph, roots)) {
      const ir::Node& node = (*p.graph)[id];
      n += node.op == op;
      if (node.op == ir::Op::MapAccum) scopes.push_back(p.graph->function(node.attr[0]).results);
    }
  }
  return n;
}

/// Values for the parameters: small numbers, integers from -3 to 8, so that indices leave their range now and then.
inline std::vector<std::vector<double>> random_inputs(const Program& p, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<double>> inputs;
  for (const Param& q : p.params) {
    std::vector<double> x;
    for (int64_t k = 0; k < q.type.shape.count(); ++k) {
      const int v = static_cast<int>(random() % 12) - 3;
      x.push_back(q.type.dtype == DType::Bool  ? v & 1
                  : q.type.dtype == DType::U32 ? v + 3
                  : is_float(q.type.dtype)     ? v * 0.75
                                               : v);
    }
    inputs.push_back(std::move(x));
  }
  return inputs;
}

/// Empty if the values agree up to the order of sums.
inline std::string difference(const std::vector<ir::Array>& want, const std::vector<ir::Array>& have) {
  if (want.size() != have.size()) return "numbers of results differ";
  for (size_t j = 0; j < want.size(); ++j) {
    if (want[j].type != have[j].type) return to_string(want[j].type) + " became " + to_string(have[j].type);
    for (size_t i = 0; i < want[j].data.size(); ++i) {
      const double a = want[j].data[i], b = have[j].data[i];
      if (a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= 1e-9 * std::max(1.0, std::fabs(a))) continue;
      return "result " + std::to_string(j) + ", element " + std::to_string(i) + ": " + std::to_string(a) + " became " +
             std::to_string(b);
    }
  }
  return {};
}

/// The simplified program, checked: well formed, equal values, a fixed point.
inline Program checked_simplify(const Program& p, uint32_t seed = 1) {
  const Program s = rewrite::simplify(p);
  if (const auto error = ir::check_well_formed(s)) ADD_FAILURE() << error->str();
  const auto inputs = random_inputs(p, seed);
  const std::string d = difference(ir::evaluate(p, inputs), ir::evaluate(s, inputs));
  EXPECT_EQ(d, "");
  EXPECT_TRUE(same_nodes(rewrite::simplify(s), s)) << "not a fixed point";
  return s;
}

}  // namespace spirograd::test
