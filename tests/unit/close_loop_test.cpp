// Closing a traced loop body: what is captured becomes a loop-invariant operand, what belongs to the body stays inside.
#include "frontend/ir/close_loop.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/ir/traverse.h"

namespace spirograd::ir {
namespace close_loop_test {

struct Closed {
  std::vector<Expr> results;
  const Node& loop() const { return (*results[0].graph)[results[0].node().in[0]]; }
  LoopParts parts() const { return loop_parts(*results[0].graph, loop()); }
  // Operand of the loop: accumulators, then elements, then consts.
  NodeId const_operand(int j) const { return loop().in[static_cast<size_t>(parts().n_acc + parts().n_es + j)]; }
};

Expr spread_of(Expr number, Expr like) { return broadcast(number, like.shape(), {}); }

bool uses_op(const Graph& g, NodeId root, Op op) {
  for (NodeId id : postorder(g, {&root, 1}))
    if (g[id].op == op) return true;
  return false;
}

TEST(CloseLoop, ClosedBodyHasNoConsts) {
  Graph g;
  const Expr x = param(g, 0, f32({5})), start = scalar(g, DType::F32, 0);
  const Expr s = fresh_var(g, f32()), e = fresh_var(g, f32());
  const Expr body[] = {s + e * scalar(g, DType::F32, 2)};
  const Expr vars[] = {s, e};
  const Closed c{close_loop(g, {&start, 1}, {&x, 1}, vars, body, false, 5)};
  EXPECT_EQ(c.parts().n_consts, 0);
  EXPECT_EQ(c.parts().n_bs, 0);
  EXPECT_EQ(c.results[0].type(), f32());
  EXPECT_FALSE(c.loop().has_var);
}

TEST(CloseLoop, LargestInvariantTermIsHoistedOnce) {
  Graph g;
  const Expr w = param(g, 0, f32()), start = scalar(g, DType::F32, 0);
  const Expr s = fresh_var(g, f32());
  const Expr invariant = unary(Op::Exp, w * w);
  const Expr body[] = {s * invariant + invariant};
  const Closed c{close_loop(g, {&start, 1}, {}, {&s, 1}, body, false, 3)};
  ASSERT_EQ(c.parts().n_consts, 1);
  EXPECT_EQ(c.const_operand(0), invariant.id);
  const NodeId result = g.function(c.parts().function).results[0];
  EXPECT_FALSE(uses_op(g, result, Op::Exp));
}

TEST(CloseLoop, ConstsStandInTheOrderOfTheBody) {
  Graph g;
  const Expr a = param(g, 0, f32()), b = param(g, 1, f32()), start = scalar(g, DType::F32, 0);
  const Expr s = fresh_var(g, f32());
  const Expr body[] = {(s + b) * a};
  const Closed c{close_loop(g, {&start, 1}, {}, {&s, 1}, body, false, 3)};
  ASSERT_EQ(c.parts().n_consts, 2);
  EXPECT_EQ(c.const_operand(0), b.id);
  EXPECT_EQ(c.const_operand(1), a.id);
}

TEST(CloseLoop, LiteralsStayInside) {
  Graph g;
  const Expr start = zeros(g, i32({4})), s = fresh_var(g, i32({4}));
  const Expr body[] = {(s + iota(g, {4}, 0)) * full(g, i32({4}), 3) + constant(g, i32({4}), {1, 2, 3, 4})};
  const Closed c{close_loop(g, {&start, 1}, {}, {&s, 1}, body, false, 3)};
  EXPECT_EQ(c.parts().n_consts, 0);
}

TEST(CloseLoop, PlacesOfAGatherStayInsideIfTheyAreMadeOfPositions) {
  Graph g;
  const Expr x = param(g, 0, f32({9})), k = param(g, 1, i32({4})), s = fresh_var(g, f32({9}));
  const Expr places = broadcast(iota(g, {4}, 0) * full(g, i32({4}), 2) - full(g, i32({4}), 3), {4, 2}, {0});
  const Expr read = sum_all(gather(s, std::vector{places}));
  const Expr other = sum_all(gather(s, std::vector{k + iota(g, {4}, 0)}));
  const Expr body[] = {s + broadcast(read + other, {9}, {})};
  const Closed c{close_loop(g, {&x, 1}, {}, {&s, 1}, body, false, 3)};
  ASSERT_EQ(c.parts().n_consts, 1) << "what an input says of places is computed once";
  EXPECT_EQ(c.const_operand(0), (k + iota(g, {4}, 0)).id);
  EXPECT_TRUE(uses_op(g, g.function(c.parts().function).results[0], Op::Iota));
}

TEST(CloseLoop, BroadcastsStayInsideAndTheirOperandsAreCaptured) {
  Graph g;
  const Expr w = param(g, 0, f32({4})), s = fresh_var(g, f32({2, 3, 4})), start = zeros(g, f32({2, 3, 4}));
  const Expr stretched = broadcast(broadcast(w, {3, 4}, {1}), {2, 3, 4}, {1, 2});
  const Expr number = broadcast(broadcast(scalar(g, DType::F32, 2), {4}, {}), {2, 3, 4}, {2});
  const Expr body[] = {s * stretched * number + stretched};
  const Closed c{close_loop(g, {&start, 1}, {}, {&s, 1}, body, false, 3)};
  ASSERT_EQ(c.parts().n_consts, 1);
  EXPECT_EQ(c.const_operand(0), w.id);
}

TEST(CloseLoop, ParametersOfTheProgramAreNotTakenForThoseOfTheBody) {
  Graph g;
  const Expr outer0 = param(g, 0, f32()), start = scalar(g, DType::F32, 1);
  const Expr s = fresh_var(g, f32());
  const Expr body[] = {s * outer0};
  const Closed c{close_loop(g, {&start, 1}, {}, {&s, 1}, body, false, 2)};
  const Function& f = g.function(c.parts().function);
  ASSERT_EQ(f.params.size(), 2u);
  EXPECT_EQ(f.results[0], (param(g, 0, f32()) * param(g, 1, f32())).id);
  EXPECT_EQ(c.const_operand(0), outer0.id);
}

TEST(CloseLoop, WholeBuildsAreInvariantTerms) {
  Graph g;
  const Expr x = param(g, 0, f32({7})), k = param(g, 1, i32()), s = fresh_var(g, f32({7})), i = fresh_var(g, i32());
  const Expr read = build(7, i, unary(Op::Exp, gather(x, std::vector{i + k})));
  const Expr places = build(7, i, i * scalar(g, DType::I32, 2) + scalar(g, DType::I32, 1));
  const Expr moved = build(7, i, gather(s, std::vector{i}) * gather(x, std::vector{i}));
  const Expr body[] = {gather(s, std::vector{places}) + read * moved};
  const Closed c{close_loop(g, {&x, 1}, {}, {&s, 1}, body, false, 3)};
  ASSERT_EQ(c.parts().n_consts, 2) << "the array that is read, and that of exponentials; not the places";
  const NodeId result = g.function(c.parts().function).results[0];
  EXPECT_FALSE(uses_op(g, result, Op::Exp));
  EXPECT_TRUE(uses_op(g, result, Op::Build));
  EXPECT_TRUE(c.const_operand(0) == read.id || c.const_operand(1) == read.id);
}

TEST(CloseLoop, WhatIsCheapOfCapturedArraysStaysInside) {
  Graph g;
  const Expr a = param(g, 0, f32({7})), b = param(g, 1, f32({7})), n = param(g, 2, f32()), s = fresh_var(g, f32({7}));
  const Expr known = unary(Op::Exp, a), mask = binary(Op::Ne, known, known), more = b + spread_of(n, b);
  const Expr body[] = {select(mask, s * known, s * unary(Op::Exp, b) + more)};
  const Closed c{close_loop(g, {&a, 1}, {}, {&s, 1}, body, false, 3)};
  std::vector<NodeId> consts;
  for (int j = 0; j < c.parts().n_consts; ++j) consts.push_back(c.const_operand(j));
  const auto is_const = [&](Expr e) { return std::find(consts.begin(), consts.end(), e.id) != consts.end(); };
  EXPECT_TRUE(is_const(known));
  EXPECT_FALSE(is_const(mask)) << "one comparison takes no longer than to read it";
  EXPECT_TRUE(is_const(unary(Op::Exp, b)));
  EXPECT_TRUE(is_const(more)) << "b itself is not read otherwise";
  EXPECT_TRUE(uses_op(g, g.function(c.parts().function).results[0], Op::Ne));
}

TEST(CloseLoop, IndexOfAnEnclosingOpenBuildIsAnOuterTerm) {
  Graph g;
  const Expr x = param(g, 0, f32({7})), i = fresh_var(g, i32());
  const Expr row = gather(x, {&i, 1}), start = scalar(g, DType::F32, 0), s = fresh_var(g, f32());
  const Expr body[] = {s + row};
  const Closed c{close_loop(g, {&start, 1}, {}, {&s, 1}, body, false, 4)};
  ASSERT_EQ(c.parts().n_consts, 1);
  EXPECT_EQ(c.const_operand(0), row.id);
  const Expr built = build(7, i, c.results[0]);
  EXPECT_EQ(built.type(), f32({7}));
  EXPECT_FALSE(built.node().has_var);
  EXPECT_EQ(built.node().free_vars, 0u);
}

TEST(CloseLoop, IndexOfABuildInsideTheBodyStaysInside) {
  Graph g;
  const Expr x = param(g, 0, f32({3})), start = zeros(g, f32({3})), s = fresh_var(g, f32({3}));
  const Expr i = fresh_var(g, i32());
  const Expr inner = build(3, i, gather(s, {&i, 1}) + gather(x, {&i, 1}));
  const Closed c{close_loop(g, {&start, 1}, {}, {&s, 1}, {&inner, 1}, false, 4)};
  ASSERT_EQ(c.parts().n_consts, 1);
  EXPECT_EQ(c.const_operand(0), x.id);
  EXPECT_EQ(g[g.function(c.parts().function).results[0]].free_vars, 0u);
}

TEST(CloseLoop, InnerLoopCapturesTheStateOfTheOuterOne) {
  Graph g;
  const Expr start = scalar(g, DType::F32, 1), outer = fresh_var(g, f32()), inner = fresh_var(g, f32());
  const Expr inner_body[] = {inner + outer};
  const Closed in{close_loop(g, {&start, 1}, {}, {&inner, 1}, inner_body, false, 3)};
  ASSERT_EQ(in.parts().n_consts, 1);
  EXPECT_EQ(in.const_operand(0), outer.id);
  const Closed out{close_loop(g, {&start, 1}, {}, {&outer, 1}, {in.results.data(), 1}, false, 2)};
  EXPECT_EQ(out.parts().n_consts, 0);
  EXPECT_FALSE(out.loop().has_var);
}

TEST(CloseLoop, CapturedTermMayBeAResultItself) {
  Graph g;
  const Expr y = param(g, 0, f32()), start = scalar(g, DType::F32, 1), s = fresh_var(g, f32());
  const Expr body[] = {y, s};
  const Closed c{close_loop(g, {&start, 1}, {}, {&s, 1}, body, true, 0)};
  EXPECT_EQ(c.parts().n_consts, 1);
  EXPECT_TRUE(c.parts().reverse);
  ASSERT_EQ(c.results.size(), 2u);
  EXPECT_EQ(c.results[1].type(), f32({0}));
}

TEST(CloseLoop, StateOfAnotherTypeIsAnError) {
  Graph g;
  const Expr start = scalar(g, DType::F32, 1), s = fresh_var(g, f32());
  const Expr body[] = {replicate(s, 0, 2)};
  EXPECT_THROW(close_loop(g, {&start, 1}, {}, {&s, 1}, body, false, 3), Error);
}

TEST(CloseLoop, LongChainsDoNotRecurse) {
  Graph g;
  const Expr w = param(g, 0, f32()), start = scalar(g, DType::F32, 1), s = fresh_var(g, f32());
  Expr body = s, outer = w;
  for (int j = 0; j < 50000; ++j) {
    body = unary(Op::Sin, body);
    outer = unary(Op::Cos, outer);
  }
  const Expr results[] = {body * outer};
  const Closed c{close_loop(g, {&start, 1}, {}, {&s, 1}, results, false, 3)};
  ASSERT_EQ(c.parts().n_consts, 1);
  EXPECT_EQ(c.const_operand(0), outer.id);
}

}  // namespace close_loop_test
}  // namespace spirograd::ir
