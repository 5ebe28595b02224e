// One generic test for every row of the derivative table, on the interpreter in double: forward mode against differences,
// reverse mode against forward mode, both once more on the derivative itself.
#include <set>

#include "ad/deriv_rules.h"
#include "tests/grad/grad_support.h"

namespace spirograd::grad_test {
namespace deriv_table_test {

using ad::DerivRule;
using ad::RuleKind;

struct Case {
  std::string name;
  Op op;
  Program program;
  int order = 2;
};

const std::vector<Shape> kShapes = {{}, {3}, {0}, {2, 3}, {2, 0, 2}};

// Pointwise rows: the table knows the domain.
std::vector<Case> pointwise_cases() {
  std::vector<Case> cases;
  for (const DerivRule& r : ad::rules()) {
    if (!is_pointwise(r.op) || r.kind != RuleKind::Partials || r.op == Op::Select) continue;
    for (const Shape& s : kShapes) {
      const std::vector<Type> params(static_cast<size_t>(info(r.op).arity), f64(s));
      cases.push_back({std::string(name(r.op)) + to_string(s), r.op, make(params, [&](Maker&, const std::vector<Expr>& in) {
                         return in.size() == 1 ? fn(r.op, in[0]) : fn(r.op, in[0], in[1]);
                       })});
    }
  }
  return cases;
}

// Rows of structure, around a sine so that second derivatives are not all zero.
std::vector<Case> structure_cases() {
  std::vector<Case> cases;
  const auto add = [&](Op op, const std::string& label, const std::vector<Type>& params,
                       const std::function<Expr(Maker&, const std::vector<Expr>&)>& f) {
    cases.push_back({std::string(name(op)) + " " + label, op, make(params, [&](Maker& m, const std::vector<Expr>& in) {
                       std::vector<Expr> bent;
                       for (Expr e : in) bent.push_back(fn(Op::Sin, e) * e);
                       const Expr y = f(m, bent);
                       return y * y;
                     })});
  };
  using In = const std::vector<Expr>&;
  const auto mask = [](Maker& m, const Shape& s) {
    Values v;
    for (int64_t j = 0; j < s.count(); ++j) v.push_back(static_cast<double>(j % 2));
    return constant(m.g(), boolean(s), v);
  };
  for (const Shape& s : {Shape{2, 3}, Shape{2, 0}}) {
    const std::string at = to_string(s);
    add(Op::Select, at, {f64(s), f64(s)}, [&](Maker& m, In in) { return select(mask(m, s), in[0], in[1]); });
    add(Op::Select, "one side " + at, {f64(s)},
        [&](Maker& m, In in) { return select(mask(m, s), m.like(in[0], 2), in[0]); });
    add(Op::Broadcast, at, {f64(s)}, [&](Maker&, In in) { return broadcast(in[0], {2, 4, s[1]}, {0, 2}); });
    add(Op::Transpose, at, {f64(s)}, [&](Maker&, In in) { return transpose(in[0], {1, 0}); });
    add(Op::Reshape, at, {f64(s)}, [&](Maker&, In in) { return reshape(in[0], {s[1], 1, 2}); });
    add(Op::Window, "inside " + at, {f64(s)}, [&](Maker&, In in) { return window(in[0], 0, 1, 1); });
    add(Op::Window, "outside " + at, {f64(s)}, [&](Maker&, In in) { return window(in[0], 1, -2, 4); });
    add(Op::Window, "far away " + at, {f64(s)}, [&](Maker&, In in) { return window(in[0], 0, 9, 2); });
    add(Op::Reverse, at, {f64(s)}, [&](Maker&, In in) { return reverse(in[0], 1); });
    add(Op::Sum, "axis 0 " + at, {f64(s)}, [&](Maker&, In in) { return sum(in[0], 0); });
    add(Op::Sum, "axis 1 " + at, {f64(s)}, [&](Maker&, In in) { return sum(in[0], 1); });
    add(Op::Sum, "all " + at, {f64(s)}, [&](Maker&, In in) { return sum_all(in[0]); });
    add(Op::Concat, at, {f64(s), f64({4, s[1]})}, [&](Maker& m, In in) {
      return concat(std::vector<Expr>{in[0], m.like(in[0], 2), in[1], in[0]}, 0);
    });
    add(Op::Stack, at, {f64(s), f64(s)}, [&](Maker& m, In in) {
      return stack(std::vector<Expr>{in[0], in[1], m.like(in[0], 2), in[0]}, 1);
    });
    add(Op::Cast, at, {f64(s)}, [&](Maker&, In in) { return cast(cast(in[0], DType::F32), DType::F64); });
    add(Op::Prod, "axis 0 " + at, {f64(s)}, [&](Maker&, In in) { return reduce(Op::Prod, in[0], {0}); });
    add(Op::Prod, "axis 1 " + at, {f64(s)}, [&](Maker&, In in) { return reduce(Op::Prod, in[0], {1}); });
    add(Op::Prod, "all " + at, {f64(s)}, [&](Maker&, In in) { return reduce(Op::Prod, in[0], {0, 1}); });
    add(Op::Gather, "duplicates and outside " + at, {f64(s)}, [&](Maker& m, In in) {
      return gather(in[0], std::vector<Expr>{m.ints({1, 1, 0, -1, 2, 7})});
    });
    add(Op::Gather, "elements " + at, {f64(s)}, [&](Maker& m, In in) {
      return gather(in[0], std::vector<Expr>{m.ints({1, 1, 0, 3}), m.ints({2, 2, -1, 0})});
    });
    add(Op::Gather, "scalar index " + at, {f64(s)},
        [&](Maker& m, In in) { return gather(in[0], std::vector<Expr>{scalar(m.g(), DType::I32, 1)}); });
    add(Op::Scatter, "duplicates and outside " + at, {f64(s)}, [&](Maker& m, In in) {
      return scatter(in[0], std::vector<Expr>{m.ints({2, 2})}, {3}) +
             scatter(in[0], std::vector<Expr>{m.ints({-1, 5})}, {3});
    });
    add(Op::Scatter, "scalar index " + at, {f64(s)},
        [&](Maker& m, In in) { return scatter(in[0], std::vector<Expr>{scalar(m.g(), DType::I32, 1)}, {3}); });
    add(Op::ReduceMax, "axis 0 " + at, {f64(s)}, [&](Maker&, In in) { return reduce(Op::ReduceMax, in[0], {0}); });
    add(Op::ReduceMin, "axis 0 " + at, {f64(s)}, [&](Maker&, In in) { return reduce(Op::ReduceMin, in[0], {0}); });
  }
  const Shape s3 = {2, 3, 2};
  add(Op::Transpose, "three axes", {f64(s3)}, [&](Maker&, In in) { return transpose(in[0], {2, 0, 1}); });
  add(Op::Sum, "outer axes", {f64(s3)}, [&](Maker&, In in) { return reduce(Op::Sum, in[0], {0, 2}); });
  add(Op::Prod, "outer axes", {f64(s3)}, [&](Maker&, In in) { return reduce(Op::Prod, in[0], {0, 2}); });
  add(Op::Prod, "seven", {f64({7})}, [&](Maker&, In in) { return reduce(Op::Prod, in[0], {0}); });
  for (Op op : {Op::ReduceMax, Op::ReduceMin}) {
    add(op, "outer axes", {f64(s3)}, [&](Maker&, In in) { return reduce(op, in[0], {0, 2}); });
    add(op, "all axes", {f64(s3)}, [&](Maker&, In in) { return reduce(op, in[0], {0, 1, 2}); });
    add(op, "of one", {f64({1})}, [&](Maker&, In in) { return reduce(op, in[0], {0}); });
  }
  return cases;
}

void check(const Case& c) {
  SCOPED_TRACE(c.name);
  std::mt19937 rng(static_cast<unsigned>(c.op) + 1);
  for (int repeat = 0; repeat < 3; ++repeat) {
    Inputs inputs;
    for (size_t j = 0; j < c.program.params.size(); ++j) {
      const ad::Interval domain = ad::rule(c.op).domain[std::min<size_t>(j, 1)];
      inputs.push_back(random_values(rng, c.program.params[j].type.shape.count(), domain.lo, domain.hi));
    }
    check_derivatives(c.program, inputs, rng, c.order);
  }
}

TEST(DerivTable, PointwiseRowsAgreeWithDifferencesToSecondOrder) {
  for (const Case& c : pointwise_cases()) check(c);
}

TEST(DerivTable, StructuralRowsAgreeWithDifferencesToSecondOrder) {
  for (const Case& c : structure_cases()) check(c);
}

TEST(DerivTable, EveryRowIsTestedOrHasNoDerivative) {
  std::set<Op> tested;
  for (const Case& c : pointwise_cases()) tested.insert(c.op);
  for (const Case& c : structure_cases()) tested.insert(c.op);
  const std::set<Op> elsewhere = {Op::Param, Op::Build, Op::MapAccum, Op::Proj, Op::WithJvp, Op::WithVjp, Op::ByKernel};
  for (const DerivRule& r : ad::rules()) {
    EXPECT_FALSE(r.formula.empty()) << name(r.op);
    if (r.kind == RuleKind::Zero)
      EXPECT_FALSE(tested.contains(r.op)) << name(r.op);
    else
      EXPECT_TRUE(tested.contains(r.op) || elsewhere.contains(r.op)) << name(r.op);
  }
}

TEST(DerivTable, ZeroRowsOfFloatsGiveZeroGradients) {
  for (Op op : {Op::Sign, Op::Floor, Op::StopGradient}) {
    const Program p = make({f64({2})}, [&](Maker&, const std::vector<Expr>& in) { return fn(op, in[0]); });
    EXPECT_EQ(gradient(p, {{1.5, -2.5}}), (Inputs{{0, 0}})) << name(op);
  }
  const Program through_int =
      make({f64({2})}, [&](Maker&, const std::vector<Expr>& in) { return cast(cast(in[0], DType::I32), DType::F64); });
  EXPECT_EQ(gradient(through_int, {{1.5, -2.5}}), (Inputs{{0, 0}}));
}

}  // namespace deriv_table_test
}  // namespace spirograd::grad_test
