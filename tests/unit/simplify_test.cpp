// The engine, the loops, and rows whose use is not obvious from their example.
#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/rewrite/simplify_rules.h"
#include "spirograd/text.h"
#include "support/simplified.h"

namespace spirograd::test {
namespace simplify_test {

using namespace ir;

Program parsed(std::string_view source, const std::shared_ptr<Graph>& g) {
  return text::instantiate(text::parse(std::string(source), "row").value(), "", {}, g).value();
}

void check_table(const std::vector<rewrite::Rule>& rules) {
  for (const rewrite::Rule& r : rules) {
    SCOPED_TRACE(std::string(r.name));
    const auto g = std::make_shared<Graph>();
    const Program before = parsed(r.before, g), after = parsed(r.after, g);
    rewrite::Facts facts(*g);
    const Expr e{g.get(), roots_of(before)[0]};
    const Expr out = r.apply(facts, e);
    ASSERT_TRUE(out) << "does not fire";
    EXPECT_TRUE(std::count(r.ops.begin(), r.ops.end(), e.op()) == 1);
    EXPECT_EQ(out.id, roots_of(after)[0]) << text::print(program_of(g,
                                                                    [&] {
                                                                      std::vector<Type> types;
                                                                      for (const Param& p : before.params)
                                                                        types.push_back(p.type);
                                                                      return types;
                                                                    }(),
                                                                    {out}));
    for (uint32_t seed = 1; seed <= 5; ++seed) {
      const auto inputs = random_inputs(before, seed);
      EXPECT_EQ(difference(evaluate(before, inputs), evaluate(after, inputs)), "");
      checked_simplify(before, seed);
    }
  }
}

TEST(SimplifyRows, Algebra) { check_table(rewrite::algebra_rules()); }
TEST(SimplifyRows, Layout) { check_table(rewrite::layout_rules()); }
TEST(SimplifyRows, Reductions) { check_table(rewrite::reduction_rules()); }
TEST(SimplifyRows, Gather) { check_table(rewrite::gather_rules()); }
TEST(SimplifyRows, Scatter) { check_table(rewrite::scatter_rules()); }

TEST(Simplify, WhatIsNotLessIsGreaterOrEqualButForNaN) {
  const auto simple = [](const std::string& type, const std::string& value) {
    const std::string source = "def f(x: " + type + "[3], y: " + type + "[3]) = " + value + "\n";
    return text::print(rewrite::simplify(parsed(source, std::make_shared<Graph>())));
  };
  const std::pair<const char*, const char*> opposites[] = {{"<", ">="}, {"<=", ">"}, {">", "<="}, {">=", "<"}, {"==", "!="}};
  for (const auto& [a, b] : opposites) {
    const std::string one = std::string("x ") + a + " y", other = std::string("x ") + b + " y";
    EXPECT_EQ(simple("i32", "not (" + one + ")"), simple("i32", other));
    const bool equality = std::string(a) == "==";
    EXPECT_EQ(simple("f32", "not (" + one + ")") == simple("f32", other), equality) << one;
  }
}

TEST(Simplify, LongChainsTakeLinearTimeAndNoStack) {
  const auto g = std::make_shared<Graph>();
  const Expr x = param(*g, 0, f32({2}));
  Expr e = x;
  for (int k = 0; k < 50000; ++k) {
    e = k % 3 == 0 ? e * full(*g, f32({2}), 1) : k % 3 == 1 ? unary(Op::Sin, e) : -e;
  }
  const Program s = rewrite::simplify(program_of(g, {f32({2})}, {e}));
  EXPECT_EQ(count_ops(s, Op::Mul), 0);
  EXPECT_GT(count_ops(s, Op::Sin), 16000);
}

TEST(Simplify, NothingIsComputedOfAnEmptyArray) {
  const auto g = std::make_shared<Graph>();
  const Program s =
      checked_simplify(parsed("def f(a: f32[0], b: f32[3,0]) = (sin(a) * a, exp(transpose(b)), sum(tanh(a)))", g));
  for (const Op op : {Op::Sin, Op::Mul, Op::Exp, Op::Transpose, Op::Tanh, Op::Sum})
    EXPECT_EQ(count_ops(s, op), 0) << name(op);
}

TEST(Simplify, SlopesBeyondThirtyTwoBitsWrap) {
  const auto g = std::make_shared<Graph>();
  const Program s =
      checked_simplify(parsed("def f() = { let t = broadcast(const(i32[2], [-2147483648, 1]), [2, 2], [1])\n"
                              " let i = iota([2, 2], axis=0)\n f32(gather(t, i, i)) }",
                              g));
  EXPECT_EQ(evaluate(s, {})[0].data, (std::vector<double>{-2147483648.0, -2147483648.0, 1, 1}));
}

TEST(Simplify, IndicesWithTheMostAxesAreNotSplit) {
  const auto g = std::make_shared<Graph>();
  const Program s =
      rewrite::simplify(parsed("def f(x: f32[2,2]) = { let l = iota([1,1,1,1,1,1,1,1,1,1,1,4], axis=11)\n"
                               " let two = broadcast(2, [1,1,1,1,1,1,1,1,1,1,1,4], [])\n"
                               " gather(x, quot(l, two), rem(l, two)) }",
                               g));
  const std::vector<std::vector<double>> x = {{1, 2, 3, 4}};
  EXPECT_EQ(evaluate(s, x)[0].data, x[0]);
}

TEST(Simplify, FloatsAreNotAssumedFinite) {
  const auto g = std::make_shared<Graph>();
  const Expr x = param(*g, 0, f32({2}));
  const Program p = program_of(g, {f32({2})}, {x - x, x * zeros(*g, f32({2}))});
  EXPECT_TRUE(same_nodes(rewrite::simplify(p), p));
}

TEST(Simplify, BroadcastsAreComputedOnce) {
  const auto g = std::make_shared<Graph>();
  const Expr a = param(*g, 0, f32({3})), b = param(*g, 1, f32({4}));
  const Shape wide = {5, 3, 4};
  const Expr e = unary(Op::Exp, broadcast(a, wide, {1})) * broadcast(b, wide, {2});
  const Program s = checked_simplify(program_of(g, {f32({3}), f32({4})}, {e}));
  int found = 0;
  for (NodeId id : postorder(*s.graph, roots_of(s))) {
    const Node& n = (*s.graph)[id];
    if (n.op == Op::Exp) {
      ++found;
      EXPECT_EQ(n.type.shape, Shape{3});
    }
    if (n.op == Op::Mul) {
      ++found;
      EXPECT_EQ(n.type.shape, (Shape{3, 4}));
    }
  }
  EXPECT_EQ(found, 2);
}

TEST(Simplify, WindowsComposeOnlyWithoutLostClipping) {
  for (int64_t lo1 = -3; lo1 <= 3; ++lo1)
    for (int64_t n1 = 0; n1 <= 4; ++n1)
      for (int64_t lo2 = -3; lo2 <= 3; ++lo2)
        for (int64_t n2 = 0; n2 <= 5; ++n2) {
          const auto g = std::make_shared<Graph>();
          const Expr x = param(*g, 0, f32({3}));
          checked_simplify(program_of(g, {f32({3})}, {window(window(x, 0, lo1, n1), 0, lo2, n2)}));
          if (testing::Test::HasFailure()) FAIL() << lo1 << " " << n1 << " " << lo2 << " " << n2;
        }
}

TEST(Simplify, SumOfCopiesIsAMultiple) {
  const auto g = std::make_shared<Graph>();
  const Expr x = param(*g, 0, f32({3}));
  const Program s = checked_simplify(program_of(g, {f32({3})}, {reduce(Op::Sum, broadcast(x, {4, 3, 5}, {1}), {0, 1, 2})}));
  EXPECT_EQ(count_ops(s, Op::Broadcast), 0);
}

TEST(Simplify, ReductionsOfNothingKeepTheirNeutralElement) {
  const auto g = std::make_shared<Graph>();
  for (Op op : {Op::Sum, Op::Prod, Op::ReduceMax, Op::ReduceMin})
    for (const Shape& s : {Shape{0}, Shape{0, 1}, Shape{1, 0}}) {
      const Expr x = param(*g, 0, f32(s));
      checked_simplify(program_of(
          g, {f32(s)}, {reduce(op, x, {0}), reduce(op, replicate(x, 0, 2), {1}), reduce(op, replicate(x, 0, 0), {0})}));
      const Expr wide = broadcast(scalar(*g, DType::F32, 3), s, {});
      checked_simplify(program_of(g, {f32(s)}, {reduce(op, wide, {0})}));
    }
}

Program loop_program(const std::shared_ptr<Graph>& g, int64_t length, bool use_b) {
  // acc: sum of e * c; dead: feeds itself only; fixed: never changes. bs: e + fixed, and one that nobody reads.
  const Expr acc = fresh_var(*g, f32({2})), dead = fresh_var(*g, f32()), fixed = fresh_var(*g, f32({2}));
  const Expr e = fresh_var(*g, f32({2})), same = fresh_var(*g, f32({2})), c = fresh_var(*g, f32({2})),
             unused = fresh_var(*g, f32());
  const Expr vars[] = {acc, dead, fixed, e, same, c, unused};
  const Expr results[] = {acc + e * c, unary(Op::Sin, dead + unused), fixed, e + fixed + same, unary(Op::Exp, e)};
  Loop loop;
  loop.function = close_function(*g, vars, results);
  loop.length = length;
  const Expr x = param(*g, 0, f32({length, 2})), y = param(*g, 1, f32({2})), z = param(*g, 2, f32());
  loop.acc = {y, z, y};
  loop.es = {x, broadcast(y, {length, 2}, {1})};
  loop.consts = {y, z};
  const std::vector<Expr> r = map_accum(*g, loop);
  std::vector<Expr> out = {r[0], r[2]};
  if (use_b) out.push_back(r[3]);
  return program_of(g, {f32({length, 2}), f32({2}), f32()}, out);
}

TEST(Simplify, LoopsKeepOnlyWhatIsUsed) {
  for (const bool use_b : {false, true}) {
    const auto g = std::make_shared<Graph>();
    const Program s = checked_simplify(loop_program(g, 3, use_b));
    EXPECT_EQ(count_ops(s, Op::Sin), 0);
    EXPECT_EQ(count_ops(s, Op::Exp), 0);
    ASSERT_EQ(count_ops(s, Op::MapAccum), 1);
    for (NodeId id : postorder(*s.graph, roots_of(s))) {
      const Node& n = (*s.graph)[id];
      if (n.op != Op::MapAccum) continue;
      const LoopParts parts = loop_parts(*s.graph, n);
      EXPECT_EQ(parts.n_acc, 1);
      EXPECT_EQ(parts.n_es, 1);
      EXPECT_EQ(parts.n_bs, use_b ? 1 : 0);
    }
  }
}

TEST(Simplify, LoopsOfLengthZeroVanish) {
  const auto g = std::make_shared<Graph>();
  EXPECT_EQ(count_ops(checked_simplify(loop_program(g, 0, true)), Op::MapAccum), 0);
}

TEST(Simplify, EveryRuleIsListed) {
  const std::string table = rewrite::rules_markdown();
  for (const char* name : {"hoist-broadcast", "window-window", "gather-affine", "scatter-affine"})
    EXPECT_NE(table.find(name), std::string::npos) << name;
}

}  // namespace simplify_test
}  // namespace spirograd::test
