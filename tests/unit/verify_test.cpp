// The verifier rejects what no constructor makes, and bulk form rejects what vectorisation must remove. Broken nodes are
// made by interning them directly.
#include "frontend/ir/verify.h"

#include <gtest/gtest.h>

#include "frontend/ir/algebra.h"

namespace spirograd::ir {
namespace verify_test {

struct Fixture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Graph& g = *graph;
  std::vector<Param> params;

  Expr param(Type t) {
    params.push_back({"x" + std::to_string(params.size()), t});
    return ir::param(g, static_cast<int64_t>(params.size()) - 1, t);
  }
  Program program(Expr result) { return {"main", graph, params, {{"r", result.id.v, result.type()}}}; }
  Expr raw(Node n) { return {&g, g.intern(std::move(n))}; }
};

void expect_rejected(const std::optional<Error>& error, std::string_view part) {
  ASSERT_TRUE(error) << "accepted; expected a message with: " << part;
  EXPECT_EQ(error->code, "SG0900");
  EXPECT_NE(error->message.find(part), std::string::npos) << error->message;
}

TEST(WellFormed, AcceptsAProgramWithABuildAndALoop) {
  Fixture f;
  const Expr x = f.param(f32({4})), i = fresh_var(f.g, i32());
  const Expr at[] = {i + scalar(f.g, DType::I32, 1)};
  const Expr shifted = build(4, i, gather(x, at));
  const Expr a = fresh_var(f.g, f32()), e = fresh_var(f.g, f32());
  const Expr vars[] = {a, e}, results[] = {a * e, a};
  Loop loop{close_function(f.g, vars, results), true, 4, {sum(x, 0)}, {shifted}, {}};
  const auto error = check_well_formed(f.program(map_accum(f.g, loop)[1]));
  EXPECT_FALSE(error) << error->str();
}

TEST(WellFormed, AcceptsAChainOfFiftyThousandNodes) {
  Fixture f;
  Expr x = f.param(f32({2}));
  for (int j = 0; j < 50000; ++j) x = unary(Op::Sin, x) + x;
  EXPECT_FALSE(check_well_formed(f.program(x)));
  EXPECT_FALSE(check_bulk(f.program(x)));
}

TEST(WellFormed, RejectsATypeThatTheOperandsDoNotGive) {
  Fixture f;
  const Expr x = f.param(f32({3}));
  expect_rejected(check_well_formed(f.program(f.raw({Op::Sin, f32({4}), {x.id}, {}, {}}))), "sin : f32[4]");
  expect_rejected(check_well_formed(f.program(f.raw({Op::Lt, f32({3}), {x.id, x.id}, {}, {}}))), "give lt : bool[3]");
  expect_rejected(check_well_formed(f.program(f.raw({Op::And, boolean({3}), {x.id, x.id}, {}, {}}))), "not defined for f32");
  expect_rejected(check_well_formed(f.program(f.raw({Op::Sum, f32({3}), {x.id}, {}, {}}))), "give param");
  expect_rejected(check_well_formed(f.program(f.raw({Op::Window, f32({2}), {x.id}, {1, 0}, {}}))), "axis out of range");
}

TEST(WellFormed, RejectsAWrongNumberOfOperandsOrAttributes) {
  Fixture f;
  const Expr x = f.param(f32({3}));
  expect_rejected(check_well_formed(f.program(f.raw({Op::Add, f32({3}), {x.id}, {}, {}}))), "has 1 operands");
  expect_rejected(check_well_formed(f.program(f.raw({Op::Concat, f32({3}), {}, {0}, {}}))), "has 0 operands");
  expect_rejected(check_well_formed(f.program(f.raw({Op::Gather, f32(), {x.id}, {}, {}}))), "at least one index");
  expect_rejected(check_well_formed(f.program(f.raw({Op::Reverse, f32({3}), {x.id}, {}, {}}))), "is malformed");
  expect_rejected(check_well_formed(f.program(f.raw({Op::Reverse, f32({3}), {x.id}, {0, 0}, {}}))), "is malformed");
}

TEST(WellFormed, RejectsParametersThatTheProgramDoesNotHave) {
  Fixture f;
  f.param(f32({3}));
  expect_rejected(check_well_formed(f.program(param(f.g, 1, f32({3})))), "no parameter 1");
  expect_rejected(check_well_formed(f.program(param(f.g, 0, f32({2})))), "parameter 0 of program main is f32[3]");
}

TEST(WellFormed, RejectsConstantsThatDoNotFit) {
  Fixture f;
  expect_rejected(check_well_formed(f.program(constant(f.g, i32(), {0.5}))), "does not fit");
  expect_rejected(check_well_formed(f.program(constant(f.g, u32(), {-1}))), "does not fit");
  expect_rejected(check_well_formed(f.program(constant(f.g, boolean(), {2}))), "does not fit");
  expect_rejected(check_well_formed(f.program(constant(f.g, i32(), {4294967295.0}))), "does not fit");
  EXPECT_FALSE(check_well_formed(f.program(constant(f.g, u32(), {4294967295.0}))));
}

TEST(WellFormed, RejectsPlaceholdersAndFreeIndexVariables) {
  Fixture f;
  expect_rejected(check_well_formed(f.program(fresh_var(f.g, f32()))), "a placeholder is left");
  const Expr i = index_var(f.g, 0, 3);
  expect_rejected(check_well_formed(f.program(i + i)), "an index variable is free");
  expect_rejected(check_well_formed(f.program(build_at(1, 3, i))), "an index variable is free");
  expect_rejected(check_well_formed(f.program(build_at(0, 4, i))), "has extent 3, its build has 4");
  EXPECT_FALSE(check_well_formed(f.program(build_at(0, 3, i))));
}

TEST(WellFormed, RejectsLoopBodiesThatAreNotClosed) {
  Fixture f;
  const Expr a = fresh_var(f.g, i32()), i = index_var(f.g, 0, 3);
  const Expr vars[] = {a};
  const Expr open[] = {a + i};
  const auto loop = map_accum(f.g, {close_function(f.g, vars, open), false, 2, {scalar(f.g, DType::I32, 0)}, {}, {}});
  expect_rejected(check_well_formed(f.program(build_at(0, 3, loop[0] + i))), "an index variable is free in loop body 1");
  const Expr foreign[] = {a + fresh_var(f.g, i32())};
  const auto other = map_accum(f.g, {close_function(f.g, vars, foreign), false, 2, {scalar(f.g, DType::I32, 0)}, {}, {}});
  expect_rejected(check_well_formed(f.program(other[0])), "a placeholder is left in loop body 1");
  const Expr stray[] = {a + param(f.g, 7, i32())};
  const auto third = map_accum(f.g, {close_function(f.g, vars, stray), false, 2, {scalar(f.g, DType::I32, 0)}, {}, {}});
  expect_rejected(check_well_formed(f.program(third[0])), "loop body 1 has no parameter 7");
}

TEST(WellFormed, RejectsLoopsWhoseOperandsDisagreeWithTheBody) {
  Fixture f;
  const Expr x = f.param(f32({3})), a = fresh_var(f.g, f32());
  const Expr vars[] = {a}, results[] = {a + a};
  const int64_t body = close_function(f.g, vars, results);
  const Expr loop = f.raw({Op::MapAccum, f32(), {x.id}, {body, 0, 2, 1, 0, 0}, {}});
  expect_rejected(check_well_formed(f.program(f.raw({Op::Proj, f32(), {loop.id}, {0}, {}}))), "initial accumulator");
  const Expr missing = f.raw({Op::MapAccum, f32(), {x.id}, {body + 5, 0, 2, 1, 0, 0}, {}});
  expect_rejected(check_well_formed(f.program(f.raw({Op::Proj, f32(), {missing.id}, {0}, {}}))), "has no body");
  const auto good = map_accum(f.g, {body, false, 2, {scalar(f.g, DType::F32, 1)}, {}, {}});
  EXPECT_FALSE(check_well_formed(f.program(good[0])));
  expect_rejected(check_well_formed(f.program(f.raw({Op::Proj, f32(), {good[0].node().in[0]}, {1}, {}}))), "no such result");
  const Expr mistyped = f.raw({Op::Proj, f32({2}), {good[0].node().in[0]}, {0}, {}});
  expect_rejected(check_well_formed(f.program(mistyped)), "give proj : f32");
}

TEST(WellFormed, RejectsWrongRecordsAndTooManyAxes) {
  Fixture f;
  const Expr x = f.param(f32({3}));
  Program p = f.program(x);
  p.results[0].type = f32({2});
  expect_rejected(check_well_formed(p), "recorded as f32[2]");
  p.results[0].node = 0;
  expect_rejected(check_well_formed(p), "has no node");
  expect_rejected(check_well_formed(f.program(broadcast(x, {1, 1, 1, 1, 1, 1, 3}, {6}))), "above the limit");
  EXPECT_FALSE(check_well_formed(f.program(sum(broadcast(x, {1, 1, 1, 1, 1, 1, 3}, {6}), 0))));
}

TEST(Bulk, RejectsBuildsAlsoInLoopBodies) {
  Fixture f;
  const Expr x = f.param(f32({3})), i = fresh_var(f.g, i32()), a = fresh_var(f.g, f32({3}));
  const Expr at[] = {i};
  expect_rejected(check_bulk(f.program(build(3, i, gather(x, at)))), "not allowed in bulk form");
  const Expr vars[] = {a}, results[] = {build(3, i, gather(a, at))};
  const auto loop = map_accum(f.g, {close_function(f.g, vars, results), false, 2, {x}, {}, {}});
  EXPECT_FALSE(check_well_formed(f.program(loop[0])));
  expect_rejected(check_bulk(f.program(loop[0])), "loop body 1");
}

TEST(Bulk, AllowsScalarIndicesOnHeadsOfTheNormalFormOnly) {
  Fixture f;
  const Expr x = f.param(f32({3})), k = f.param(i32()), ks = f.param(i32({3}));
  const Expr at[] = {k}, many[] = {ks};
  EXPECT_FALSE(check_bulk(f.program(gather(x, at))));
  EXPECT_FALSE(check_bulk(f.program(gather(constant(f.g, f32({2}), {1, 2}), at))));
  EXPECT_FALSE(check_bulk(f.program(gather(scatter(x, many, {4}), at))));
  EXPECT_FALSE(check_bulk(f.program(gather(unary(Op::Cos, x), many))));
  expect_rejected(check_bulk(f.program(gather(unary(Op::Cos, x), at))), "indexes cos : f32[3]");
  expect_rejected(check_bulk(f.program(gather(gather(x, many), at))), "indexes gather");
}

}  // namespace verify_test
}  // namespace spirograd::ir
