// Removal of builds: complete over all operations, exact for reads out of range, and the promises about time.
#include "frontend/rewrite/vectorise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <ostream>

#include "frontend/ir/algebra.h"
#include "frontend/ir/by_kernel.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/eval.h"
#include "frontend/ir/traverse.h"
#include "frontend/ir/verify.h"
#include "support/same_nodes.h"

namespace spirograd::ir {
void PrintTo(const OpInfo& op, std::ostream* out) { *out << op.name; }  // names of parametric tests
}  // namespace spirograd::ir

namespace spirograd::rewrite {
namespace vectorise_test {

using namespace ir;
using Data = std::vector<double>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A program under construction: parameters with their values.
struct Case {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Graph& g = *graph;
  std::vector<spirograd::Param> params;
  std::vector<Data> inputs;

  Expr input(Type type, Data data) {
    inputs.push_back(std::move(data));
    params.push_back({"p" + std::to_string(params.size()), type});
    return param(g, static_cast<int64_t>(params.size()) - 1, type);
  }
  /// Values that are in range and out of range as indices, and not round as floats.
  Expr input(Type type) {
    Data data;
    for (int64_t k = 0; k < type.shape.count(); ++k) {
      const int64_t v = (k * 7 + static_cast<int64_t>(params.size()) * 5) % 9 - 2;
      data.push_back(type.dtype == DType::Bool  ? v & 1
                     : type.dtype == DType::U32 ? static_cast<double>(v + 2)
                     : type.dtype == DType::I32 ? static_cast<double>(v)
                                                : static_cast<double>(v) * 0.37 + 0.11);
    }
    return input(type, std::move(data));
  }
  Expr number(double v, DType t = DType::I32) { return scalar(g, t, v); }
  Expr build(int64_t n, const std::function<Expr(Expr)>& body) {
    const Expr i = fresh_var(g, i32());
    return ir::build(n, i, body(i));
  }
  Program program(std::vector<Expr> results) const {
    Program p{"main", graph, params, {}};
    for (Expr r : results) p.results.push_back({"r" + std::to_string(p.results.size()), r.id.v, r.type()});
    return p;
  }
};

Expr at(Expr table, std::vector<Expr> index) { return gather(table, index); }
Expr at(Expr table, Expr index) { return at(table, std::vector<Expr>{index}); }

bool uses(const Program& p, Op op) {
  std::vector<NodeId> roots;
  for (const ProgramResult& r : p.results) roots.push_back({r.node});
  for (NodeId id : postorder(*p.graph, roots))
    if ((*p.graph)[id].op == op) return true;
  return false;
}

size_t count_nodes(const Program& p) {
  std::vector<NodeId> roots;
  for (const ProgramResult& r : p.results) roots.push_back({r.node});
  return postorder(*p.graph, roots).size();
}

bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// The bulk form, after checking that it is bulk and means the same.
Program expect_bulk(const Case& c, std::vector<Expr> results, const std::string& what = {}) {
  const Program p = c.program(std::move(results));
  const auto ill = check_well_formed(p);
  EXPECT_FALSE(ill) << what << ": " << ill->str();
  const Program bulk = vectorise(p);
  const auto error = check_bulk(bulk);
  EXPECT_FALSE(error) << what << ": " << error->str();
  if (ill || error) return bulk;
  const auto want = evaluate(p, c.inputs), have = evaluate(bulk, c.inputs);
  for (size_t j = 0; j < want.size(); ++j) {
    EXPECT_EQ(want[j].type, have[j].type) << what;
    for (size_t k = 0; k < want[j].data.size(); ++k)
      EXPECT_TRUE(same_bits(want[j].data[k], have[j].data[k]))
          << what << ": result " << j << ", element " << k << ": " << want[j].data[k] << " became " << have[j].data[k];
  }
  return bulk;
}

void expect_values(const Case& c, Expr result, const Data& want) {
  const Program bulk = expect_bulk(c, {result});
  const Data have = evaluate(bulk, c.inputs)[0].data;
  ASSERT_EQ(have.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k)
    EXPECT_TRUE(std::fabs(have[k] - want[k]) <= 1e-12 * std::fabs(want[k]) || same_bits(have[k], want[k]) ||
                have[k] == want[k])
        << "element " << k << ": " << have[k] << ", not " << want[k];
}

// ---- every operation -------------------------------------------------------------------------------------------------

// One step: (a, n), e, w -> a * e + w, n + 1; and a as an output.
Expr sample_loop(Case& c, bool reverse) {
  Graph& g = c.g;
  const Expr a = fresh_var(g, f64({2})), n = fresh_var(g, i32()), e = fresh_var(g, f64({2})), w = fresh_var(g, f64({2}));
  const Expr vars[] = {a, n, e, w};
  const Expr results[] = {a * e + w, n + c.number(1), a, n};
  Loop loop{close_function(g, vars, results),
            reverse,
            3,
            {c.input(f64({2})), c.input(i32())},
            {c.input(f64({3, 2}))},
            {c.input(f64({2}))}};
  return map_accum(g, loop)[0].in(0);
}

/// One for each element type that the operation takes.
std::vector<Expr> pointwise_samples(Case& c, Op op) {
  const auto x = [&] { return c.input(f64({3, 4})); };
  const auto n = [&] { return c.input(i32({3, 4})); };
  const auto b = [&] { return c.input(boolean({3, 4})); };
  if (op == Op::Cast) return {cast(x(), DType::I32), cast(n(), DType::F32), cast(b(), DType::I32), cast(n(), DType::Bool)};
  if (op == Op::Bits) return {bits(c.input(f32({3, 4})))};
  if (op == Op::FromBits) return {from_bits(c.input(u32({3, 4})))};
  if (op == Op::Select) return {select(b(), x(), x()), select(b(), n(), n())};
  const auto of = [&](auto operand) {
    return info(op).arity == 1 ? unary(op, operand()) : binary(op, operand(), operand());
  };
  std::vector<Expr> out;
  const bool floats = has_flag(op, kFloatOnly | kIntegerOk) && !has_flag(op, kIntegerOnly);
  if (floats) out.push_back(of(x));
  if (has_flag(op, kIntegerOk)) out.push_back(of(n));
  if (has_flag(op, kBoolOk)) out.push_back(of(b));
  return out;
}

std::vector<Expr> layout_samples(Case& c, Op op) {
  const auto x = [&](Shape s = {3, 4}) { return c.input(f64(s)); };
  const auto n = [&](Shape s = {3, 4}) { return c.input(i32(s)); };
  switch (layout_op(op)) {
    case LayoutOp::Broadcast:
      return {broadcast(x({3}), {3, 4}, {0}), broadcast(x({4}), {3, 4}, {1}), broadcast(x({}), {3}, {}),
              broadcast(x({3}), {2, 3, 2}, {1})};
    case LayoutOp::Transpose:
      return {transpose(x(), {1, 0}), transpose(x({2, 3, 4}), {2, 0, 1}), transpose(x({2, 3, 4}), {0, 2, 1})};
    case LayoutOp::Reshape:
      return {reshape(x(), {4, 3}),
              reshape(x(), {12}),
              reshape(x({12}), {3, 4}),
              reshape(x({2, 3, 4}), {2, 2, 6}),
              reshape(x({3}), {1, 3, 1}),
              reshape(x({1, 3}), {3}),
              reshape(x({}), {1, 1}),
              reshape(x({0, 3}), {2, 0}),
              reshape(n({2, 6}), {2, 1, 3, 2})};
    case LayoutOp::Window:
      return {window(x(), 0, 1, 2), window(x(), 1, -1, 3), window(x(), 0, -2, 8),
              window(x(), 1, 1, 6), window(x(), 0, 9, 2),  window(x({0, 2}), 0, 0, 3)};
    case LayoutOp::Reverse: return {reverse(x(), 0), reverse(x(), 1)};
    case LayoutOp::Concat: {
      const Expr rows[] = {x({2, 3}), x({0, 3}), x({1, 3})}, columns[] = {x({2, 1}), x({2, 2})};
      return {concat(rows, 0), concat(columns, 1)};
    }
    case LayoutOp::Stack: {
      const Expr parts[] = {x({2, 3}), x({2, 3})}, scalars[] = {n({}), n({}), n({})};
      return {stack(parts, 0), stack(parts, 1), stack(parts, 2), stack(scalars, 0)};
    }
  }
  return {};
}

/// Terms with that operation at the top, operands being parameters; at least one for each operation but Var.
std::vector<Expr> samples(Case& c, Op op) {
  const auto x = [&](Shape s = {3, 4}) { return c.input(f64(s)); };
  const auto n = [&](Shape s = {3, 4}) { return c.input(i32(s)); };
  switch (kind(op)) {
    case Kind::Leaf:
      if (op == Op::Param) return {x(), n(), c.input(boolean({3, 4}))};
      if (op == Op::Const) return {constant(c.g, f64({2, 2}), {1, 2, 3, 4}), constant(c.g, i32({0}), {})};
      if (op == Op::Iota) return {iota(c.g, {3, 4}, 0), iota(c.g, {3, 4}, 1), iota(c.g, {0}, 0)};
      return {};
    case Kind::Pointwise: return pointwise_samples(c, op);
    case Kind::Layout: return layout_samples(c, op);
    case Kind::Reduce:
      if (op == Op::ArgMax || op == Op::ArgMin)
        return {arg_reduce(op, x(), 0), arg_reduce(op, x(), 1), arg_reduce(op, x({2, 3, 4}), 1), arg_reduce(op, n(), 0)};
      return {reduce(op, x(), {0}),          reduce(op, x(), {1}),          reduce(op, x({2, 3, 4}), {0, 2}),
              reduce(op, n({2, 3, 4}), {1}), reduce(op, x({2, 0, 3}), {1}), reduce(op, n({2, 0}), {1})};
    case Kind::Indexed: {
      if (op == Op::Gather)
        return {at(x(), n({2})),
                at(x(), n({})),
                at(x(), {n({2, 3}), n({2, 3})}),
                at(x({2, 3, 4}), {n({5}), n({5})}),
                at(x({2, 3, 4}), n({2})),
                at(x({0, 2}), n({2}))};
      const auto u = [&](Shape s) { return c.input(u32(s)); };
      const Expr one[] = {n({3})}, two[] = {n({3}), n({3})}, none[] = {n({})};
      if (op == Op::ScatterMax)
        return {scatter_max(u({3, 2}), one, {4}), scatter_max(u({3, 2}), two, {2, 3}), scatter_max(u({2}), none, {3})};
      return {scatter(x({3, 2}), one, {4}), scatter(x({3, 2}), two, {2, 3}), scatter(x({2, 2}), none, {3}),
              scatter(n({3}), one, {2}), scatter(x({3, 2, 2}), one, {3})};
    }
    case Kind::Binder:
      return {c.build(3, [&](Expr i) { return unary(Op::Cos, at(x(), i)); }), c.build(0, [&](Expr i) { return at(x(), i); }),
              c.build(2, [&](Expr i) { return c.build(3, [&](Expr j) {
                                         return at(n(), {j, i}) + i;
                                       }); })};
    case Kind::Rule: {
      if (op == Op::ByKernel) {
        const Expr value = unary(Op::Sin, x()), args[] = {x(), n()};
        return {by_kernel(value, {{{"k", {1, 2}}}, 12}, args)};
      }
      const Expr a = fresh_var(c.g, f64({3, 4})), k = fresh_var(c.g, f64({4})), da = fresh_var(c.g, f64({3, 4}));
      const Expr args[] = {x()}, consts[] = {x({4})}, none[] = {a, da}, all[] = {a, k, da};
      const Expr plain = a * da, stretched = broadcast(k, {3, 4}, {1}) * da;
      return {with_rule(op, x(), close_function(c.g, none, {&plain, 1}), args, {}),
              with_rule(op, x(), close_function(c.g, all, {&stretched, 1}), args, consts)};
    }
    case Kind::Loop: {
      if (op == Op::MapAccum) return {};  // read through Proj
      std::vector<Expr> all = projections(c.g, sample_loop(c, false).id);
      for (Expr e : projections(c.g, sample_loop(c, true).id)) all.push_back(e);
      return all;
    }
  }
  return {};
}

/// The term with its operand j made different for each i: row i of a new parameter. Operands that cannot be read like that
/// (the body of a build, a loop) are made different inside.
Expr moving(Case& c, Expr term, int j, Expr i, int64_t rows) {
  const Expr old = term.in(j);
  Expr made;
  if (old.op() == Op::MapAccum) {
    for (int k = 0; k < static_cast<int>(old.node().in.size()); ++k) made = k == 0 ? moving(c, old, k, i, rows) : made;
  } else {
    const Type type{old.dtype(), old.shape().inserted(0, rows)};
    made = old.node().free_vars ? select_broadcast(binary(Op::Lt, i, c.number(1)), old, old) : at(c.input(type), i);
  }
  std::vector<Expr> in;
  for (int k = 0; k < static_cast<int>(term.node().in.size()); ++k) in.push_back(k == j ? made : term.in(k));
  return with_operands(c.g, term.node(), in);
}

class EveryOp : public testing::TestWithParam<OpInfo> {};

TEST_P(EveryOp, BuildOverItComesOutBulk) {
  const Op op = GetParam().op;
  Case probe;
  const size_t n = samples(probe, op).size();
  ASSERT_TRUE(n > 0 || op == Op::IndexVar || op == Op::Var || op == Op::MapAccum);
  for (size_t k = 0; k < n; ++k) {
    const int operands = static_cast<int>(samples(probe, op)[k].node().in.size());
    for (int64_t rows : {3, 1, 0}) {
      for (int j = -1; j < operands; ++j) {  // -1: no operand moves
        Case c;
        const Expr term = samples(c, op)[k];
        const Expr e = c.build(rows, [&](Expr i) { return j < 0 ? term : moving(c, term, j, i, rows); });
        expect_bulk(c, {e},
                    "sample " + std::to_string(k) + ", operand " + std::to_string(j) + ", rows " + std::to_string(rows));
      }
    }
  }
}

// Reads in range and out of range on each side, of each leading set of axes, outside of builds and inside.
TEST_P(EveryOp, IndexOfItIsExactAlsoOutOfRange) {
  const Op op = GetParam().op;
  Case probe;
  const size_t n = samples(probe, op).size();
  for (size_t k = 0; k < n; ++k) {
    const Shape shape = samples(probe, op)[k].shape();
    for (int axes = 1; axes <= shape.rank(); ++axes) {
      Case c;
      const Expr term = samples(c, op)[k];
      const Expr where = c.input(i32({axes, 7}), [&] {
        Data d;
        for (int a = 0; a < axes; ++a)
          for (int64_t v :
               {int64_t{-1}, shape[a], int64_t{0}, shape[a] - 1, int64_t{1}, int64_t{-2147483647} - 1, int64_t{2147483647}})
            d.push_back(static_cast<double>(a == 0 || v < shape[a] ? v : 0));
        return d;
      }());
      std::vector<Expr> results;
      for (int v = 0; v < 7; ++v) {
        std::vector<Expr> index;
        for (int a = 0; a < axes; ++a) index.push_back(at(where, {c.number(a), c.number(v)}));
        results.push_back(at(term, index));
      }
      results.push_back(c.build(7, [&](Expr i) {
        std::vector<Expr> index;
        for (int a = 0; a < axes; ++a) index.push_back(at(where, {c.number(a), i}));
        return at(term, index);
      }));
      const int operands = static_cast<int>(term.node().in.size());
      for (int j = 0; j < operands; ++j)
        results.push_back(c.build(7, [&](Expr i) {
          std::vector<Expr> index;
          for (int a = 0; a < axes; ++a) index.push_back(at(where, {c.number(a), i}));
          return at(moving(c, term, j, i, 7), index);
        }));
      for (Expr r : results) expect_bulk(c, {r}, "sample " + std::to_string(k) + ", axes " + std::to_string(axes));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vectorise, EveryOp, testing::ValuesIn(kOps),
                         [](const auto& op) { return std::string(op.param.name); });

// ---- guards: each is lost if a rule forgets to ask whether the index is in range --------------------------------------

TEST(VectoriseGuard, PointwiseThatDoesNotKeepZero) {
  Case c;
  const Expr v = c.input(f64({3}), {2, 3, 5});
  const Expr direct = c.build(4, [&](Expr k) { return at(v, k - c.number(1)) * cast(k + c.number(1), DType::F64); });
  const Expr cosine =
      c.build(4, [&](Expr k) { return at(unary(Op::Cos, v), k - c.number(1)) * cast(k + c.number(1), DType::F64); });
  const Expr total[] = {sum_all(direct), sum_all(cosine)};
  expect_values(c, stack(total, 0), {33, -2.667622421042716});
  // The same where the table moves, so that the index is pushed through cos.
  const Expr pushed = c.build(4, [&](Expr k) {
    const Expr row = at(broadcast(v, {4, 3}, {1}), k);
    return at(unary(Op::Cos, row), k - c.number(1)) * cast(k + c.number(1), DType::F64);
  });
  expect_values(c, sum_all(pushed), {-2.667622421042716});
}

TEST(VectoriseGuard, NegativeOfNothingIsPositiveZero) {
  Case c;
  const Expr v = c.input(f64({2}), {2, 3});
  const Expr e = binary(Op::Div, c.number(1, DType::F64), at(-v, c.input(i32(), {5})));
  expect_values(c, e, {std::numeric_limits<double>::infinity()});
}

TEST(VectoriseGuard, ReplicatedAxis) {
  Case c;
  const Expr k = c.input(i32(), {3});
  expect_values(c, at(replicate(c.input(f64({2}), {7, 8}), 0, 3), k), {0, 0});
}

TEST(VectoriseGuard, ReshapedPosition) {
  Case c;
  const Expr x = c.input(f64({6}), {1, 2, 3, 4, 5, 6});
  const Expr j = c.input(i32(), {0}), k = c.input(i32(), {3});
  expect_values(c, at(reshape(x, {2, 3}), {j, k}), {0});  // not the first element of the next row
}

TEST(VectoriseGuard, CutByAWindow) {
  Case c;
  const Expr x = c.input(f64({6}), {1, 2, 3, 4, 5, 6});
  expect_values(c, at(window(x, 0, 2, 2), c.input(i32(), {-1})), {0});
  expect_values(c, at(window(x, 0, 2, 2), c.input(i32(), {2})), {0});
}

TEST(VectoriseGuard, PositionItself) {
  Case c;
  expect_values(c, at(iota(c.g, {3}, 0), c.input(i32(), {5})), {0});
}

TEST(VectoriseGuard, IndexOfAnIndexArray) {
  Case c;
  const Expr x = c.input(f64({2}), {7, 8}), f = c.input(i32({3}), {1, 1, 1});
  expect_values(c, at(at(x, f), c.input(i32(), {3})), {0});
}

TEST(VectoriseGuard, IndexOfAnIndexArrayBesideAnIndexOfTheRest) {
  Case c;
  const Expr x = c.input(f64({2, 3}), {1, 2, 3, 4, 5, 6}), f = c.input(i32({2, 2}), {1, 1, 1, 1});
  const Expr e = transpose(at(x, f), {0, 2, 1});  // element [a, r, b] is x[f[a, b], r]
  expect_values(c, at(e, {c.input(i32(), {2}), c.input(i32(), {1})}), {0, 0});
  expect_values(c, at(e, {c.input(i32(), {1}), c.input(i32(), {1})}), {5, 5});
}

TEST(VectoriseGuard, IndexOfABuildNeverLeavesTheRangeOfItsVariable) {
  Case c;
  const Expr k = c.input(i32(), {-7});
  const Expr e = at(c.build(3, [&](Expr i) { return i + c.number(5); }), k);
  expect_values(c, e, {0});
}

TEST(VectoriseGuard, ProductAndExtremesOfNothing) {
  for (Op op : {Op::Prod, Op::ReduceMax, Op::ReduceMin}) {
    Case c;
    expect_values(c, at(reduce(op, c.input(f64({2, 0})), {1}), c.input(i32(), {2})), {0});
  }
}

TEST(VectoriseGuard, ProvedIndicesAreNotAskedAgain) {
  Case c;
  const Expr x = c.input(f64({4, 5}));
  const Expr e = c.build(4, [&](Expr i) { return at(unary(Op::Cos, at(x, i)), i + c.number(1)); });
  EXPECT_FALSE(uses(expect_bulk(c, {e}), Op::Select));
}

// ---- values ----------------------------------------------------------------------------------------------------------

TEST(VectoriseValues, NestedBuildsAreIndexedThroughEachOther) {
  Case c;
  const Expr v = c.input(f64({5}), {1, 2, 3, 4, 5});
  const Expr e = c.build(2, [&](Expr a) {
    return at(c.build(3, [&](Expr b) { return at(c.build(4, [&](Expr k) { return at(v, k); }), b); }), a);
  });
  expect_values(c, e, {1, 2});
}

TEST(VectoriseValues, ArrayLiteralIsIndexedByAnOuterVariable) {
  Case c;
  const Expr r = c.input(f64(), {3.4});
  const Expr e = c.build(3, [&](Expr a) {
    return c.build(4, [&](Expr b) {
      const Expr parts[] = {cast(b, DType::F64), c.number(7, DType::F64), r, c.number(-0.2, DType::F64)};
      return at(stack(parts, 0), a);
    });
  });
  expect_values(c, e, {0, 1, 2, 3, 7, 7, 7, 7, 3.4, 3.4, 3.4, 3.4});
}

TEST(VectoriseValues, QuotientByZeroIsTheDividend) {
  Case c;
  const Expr r = c.input(f64({1}), {3.4});
  const Expr g = c.build(5, [&](Expr i) { return at(r, binary(Op::Quot, c.number(1), c.number(4) - i)); });
  const Expr e = c.build(7, [&](Expr j) {
    const Expr first = c.build(5, [&](Expr i) {
      return at(r, binary(Op::Quot, c.number(1), c.number(100) * binary(Op::Max, c.number(0), i - j)));
    });
    const Expr parts[] = {first, g};
    return concat(parts, 0);
  });
  // j = 0: i - j is 0 for i = 0 only, so position 0 reads r[1]; each larger j adds a position; then none is left.
  // g: 1 quot 4, 3, 2 are 0, 1 quot 1 = 1 and 1 quot 0 = 1 are out of range.
  Data want;
  for (int j = 0; j < 7; ++j) {
    for (int i = 0; i < 5; ++i) want.push_back(i <= j ? 0 : 3.4);
    for (int i = 0; i < 5; ++i) want.push_back(i < 3 ? 3.4 : 0);
  }
  expect_values(c, e, want);
}

TEST(VectoriseValues, BothBranchesMayReadOutOfRange) {
  Case c;
  const Expr a = c.input(f64({5}), {3.4, 1, 2, 3, 4});
  const auto five = [&](Expr i) { return at(a, i - c.number(5)); };
  expect_values(c, c.build(10, [&](Expr i) { return cond(binary(Op::Lt, i, c.number(5)), at(a, i), five(i)); }),
                {3.4, 1, 2, 3, 4, 3.4, 1, 2, 3, 4});
  expect_values(c, c.build(10, [&](Expr i) { return cond(binary(Op::Lt, i, c.number(5)), five(i), at(a, i)); }),
                Data(10, 0.0));
}

TEST(VectoriseValues, NeighboursAtTheEndsAreGuardedByTheProgram) {
  Case c;
  const auto iota10 = [&](double by) {
    Data d(10);
    std::iota(d.begin(), d.end(), 0);
    for (double& x : d) x *= by;
    return d;
  };
  const Expr x = c.input(f64({10}), iota10(1)), y = c.input(f64({10}), iota10(2)), z = c.input(f64({10}), iota10(3));
  const Expr e = c.build(10, [&](Expr i) {
    const Expr one = c.number(1);
    return cond(binary(Op::Eq, i, c.number(0)), at(x, c.number(0)) + at(y, one),
                cond(binary(Op::Eq, i, c.number(9)), at(x, c.number(9)) + at(z, c.number(8)),
                     at(x, i) + at(y, i + one) + at(z, i - one)));
  });
  expect_values(c, e, {2, 5, 11, 17, 23, 29, 35, 41, 47, 33});
}

TEST(VectoriseValues, MatrixProductOutOfThreeBuilds) {
  Case c;
  const Expr a = c.input(f64({2, 3}), {1, 2, 3, 4, 5, 6}), b = c.input(f64({3, 2}), {7, 8, 9, 10, 11, 12});
  const Expr e = c.build(2, [&](Expr i) {
    return c.build(2, [&](Expr j) { return sum(c.build(3, [&](Expr k) { return at(a, {i, k}) * at(b, {k, j}); }), 0); });
  });
  expect_values(c, e, {58, 64, 139, 154});
}

TEST(VectoriseValues, Convolutions) {
  Case c;
  const Expr x = c.input(f64({5}), {1, 2, 3, 4, 5});
  const auto convolve = [&](Data kernel, int64_t n, int64_t shift) {
    const Expr k = constant(c.g, f64({static_cast<int64_t>(kernel.size())}), kernel);
    return c.build(n, [&](Expr i) {
      return sum(
          c.build(k.shape()[0], [&](Expr j) { return at(x, i + j - c.number(static_cast<double>(shift))) * at(k, j); }), 0);
    });
  };
  expect_values(c, convolve({10, -1}, 4, 0), {8, 17, 26, 35});
  expect_values(c, convolve({1, 2, 4}, 5, 1), {10, 17, 24, 31, 14});
}

TEST(VectoriseValues, SpeculatedBranchesAreNotSelected) {
  Case c;
  const Expr x = c.input(f64({5}), {4, 0, -1, 1, kNaN});
  const Expr e = c.build(5, [&](Expr i) {
    const Expr v = at(x, i);
    return cond(binary(Op::Lt, c.number(0, DType::F64), v), unary(Op::Sqrt, v) + unary(Op::Log, v), c.number(0, DType::F64));
  });
  expect_values(c, e, {2 + std::log(4.0), 0, 0, 1, 0});
}

TEST(VectoriseValues, EmptyBuildsKeepTheirType) {
  Case c;
  const Expr x = c.input(f64({0, 3}), {});
  expect_values(c, c.build(0, [&](Expr i) { return unary(Op::Exp, at(x, i)); }), {});
  expect_values(c, at(c.build(0, [&](Expr i) { return unary(Op::Exp, at(x, i)); }), c.input(i32(), {0})), {0, 0, 0});
}

// ---- loops -----------------------------------------------------------------------------------------------------------

TEST(VectoriseLoop, OperandsMoveOneByOne) {
  for (int j = 0; j < 4; ++j) {
    for (int result = 0; result < 4; ++result) {
      Case c;
      const Expr loop = sample_loop(c, j % 2 == 1);
      const Expr e =
          c.build(3, [&](Expr i) { return projections(c.g, moving(c, loop, j, i, 3).id)[static_cast<size_t>(result)]; });
      expect_bulk(c, {e}, "operand " + std::to_string(j) + ", result " + std::to_string(result));
    }
  }
}

TEST(VectoriseLoop, BodiesWithBuildsComeOutBulk) {
  Case c;
  const Expr a = fresh_var(c.g, f64({3})), w = fresh_var(c.g, f64({3, 3}));
  const Expr next = c.build(3, [&](Expr i) { return sum(c.build(3, [&](Expr j) { return at(w, {i, j}) * at(a, j); }), 0); });
  const Expr vars[] = {a, w}, results[] = {next, at(next, c.number(1))};
  Loop loop{close_function(c.g, vars, results), false, 4, {c.input(f64({3}))}, {}, {c.input(f64({3, 3}))}};
  expect_bulk(c, map_accum(c.g, loop));
}

TEST(VectoriseLoop, LoopsInBodiesOfLoopsAreBatched) {
  Case c;
  const Expr b = fresh_var(c.g, f64()), e = fresh_var(c.g, f64());
  const Expr inner_vars[] = {b, e}, inner_results[] = {b * e + c.number(1, DType::F64)};
  const int64_t inner = close_function(c.g, inner_vars, inner_results);
  const Expr a = fresh_var(c.g, f64()), row = fresh_var(c.g, f64({4}));
  const Expr outer_vars[] = {a, row}, outer_results[] = {map_accum(c.g, {inner, false, 4, {a}, {row}, {}})[0], a};
  const int64_t outer = close_function(c.g, outer_vars, outer_results);
  const Expr x = c.input(f64({5, 3, 4})), start = c.input(f64());
  for (int r = 0; r < 2; ++r)
    expect_bulk(c, {c.build(5, [&](Expr i) {
                  return map_accum(c.g, {outer, r == 1, 3, {start}, {at(x, i)}, {}})[static_cast<size_t>(r)];
                })});
}

TEST(VectoriseLoop, AccumulatorsThatDoNotMoveKeepTheirShape) {
  Case c;
  const Expr e = c.build(6, [&](Expr i) { return projections(c.g, moving(c, sample_loop(c, false), 2, i, 6).id)[0]; });
  const Program bulk = expect_bulk(c, {e});
  const std::vector<NodeId> roots = {{bulk.results[0].node}};
  int loops = 0;
  for (NodeId id : postorder(*bulk.graph, roots)) {
    const Node& n = (*bulk.graph)[id];
    if (n.op != Op::MapAccum) continue;
    ++loops;
    const Function& f = bulk.graph->function(n.attr[0]);
    EXPECT_EQ(f.params[0], f64({6, 2}));
    EXPECT_EQ(f.params[1], i32()) << "the counter";
    EXPECT_EQ(f.params[2], f64({6, 2}));
    EXPECT_EQ(f.params[3], f64({2})) << "the invariant operand";
  }
  EXPECT_EQ(loops, 1);
}

// ---- shape of the result, time ---------------------------------------------------------------------------------------

TEST(Vectorise, BuildOverAllRowsIsTheArray) {
  Case c;
  const Expr x = c.input(f64({3, 2}));
  EXPECT_TRUE(test::same_nodes(vectorise(c.program({c.build(3, [&](Expr i) { return at(x, i); })})), c.program({x})));
}

TEST(Vectorise, FixedTablesAreNotReplicated) {
  Case c;
  const Expr x = c.input(f64({1000}));
  const Program bulk = expect_bulk(c, {c.build(7, [&](Expr i) { return at(unary(Op::Exp, x), i * i); })});
  for (NodeId id : postorder(*bulk.graph, std::vector<NodeId>{{bulk.results[0].node}}))
    EXPECT_LE((*bulk.graph)[id].type.shape.count(), 1000);
}

TEST(Vectorise, IndicesOfArrayLiteralsAndScattersReadABatch) {
  Case c;
  const Expr x = c.input(f64({4, 3})), f = c.input(i32({3})), k = c.input(i32({4}));
  const Program bulk =
      expect_bulk(c, {c.build(4, [&](Expr i) { return at(scatter(at(x, i), std::vector<Expr>{f}, {5}), at(k, i)); })});
  EXPECT_TRUE(uses(bulk, Op::Scatter));
  EXPECT_TRUE(uses(bulk, Op::Gather));
}

// Pushed apart without a limit, the reads double in each round.
TEST(Vectorise, SharedTermsAreNotPushedApartWithoutBound) {
  for (bool inside : {false, true}) {
    Case c;
    const Expr k = c.input(i32()), x = c.input(f64({3, 9}));
    const auto rounds = [&](Expr v) {
      const Expr f = c.input(i32({9})), g = c.input(i32({9}));
      for (int r = 0; r < 40; ++r) v = unary(Op::Tanh, at(v, f) + at(v, g));
      return at(v, k);
    };
    const Expr e = inside ? c.build(3, [&](Expr i) { return rounds(at(x, i)); }) : rounds(at(x, c.number(1)));
    EXPECT_LT(count_nodes(expect_bulk(c, {e})), 3000u);
  }
}

TEST(Vectorise, LongChainsAreFine) {
  Case c;
  const Expr x = c.input(f64({3}));
  const auto chain = [&](Expr v) {
    for (int r = 0; r < 50000; ++r) v = unary(Op::Sin, v);
    return v;
  };
  const Expr inside = c.build(3, [&](Expr i) { return chain(at(x, i)); });
  const Expr read = at(chain(x + x), c.input(i32(), {1}));
  const Expr moving_table = c.build(3, [&](Expr i) { return at(chain(at(broadcast(x, {3, 3}, {1}), i)), i); });
  EXPECT_FALSE(check_bulk(vectorise(c.program({inside, read, moving_table}))));
}

TEST(Vectorise, TooManyAxesAreAnErrorNotACrash) {
  Case c;
  Shape s;
  for (int a = 0; a < kMaxRank; ++a) s.push_back(1);
  const Expr deep = reshape(c.input(f64()), s);
  const Expr e = c.build(2, [&](Expr i) { return sum_all(deep * broadcast(cast(i, DType::F64), s, {})); });
  try {
    vectorise(c.program({e}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, "SG0101");
    EXPECT_NE(error.message.find("13 axes"), std::string::npos) << error.message;
  }
}

TEST(Vectorise, PlacesInTheSourceStayWithTheTerms) {
  Case c;
  const Expr x = c.input(f64({3}));
  const Expr e = c.build(3, [&](Expr i) {
    const Expr s = unary(Op::Sin, at(x, i));
    c.g.note_loc(s.id, {"wave.sg", 7, 3});
    return s;
  });
  const Program bulk = vectorise(c.program({e}));
  EXPECT_EQ((*bulk.graph)[NodeId{bulk.results[0].node}].op, Op::Sin);
  EXPECT_EQ(bulk.graph->loc(NodeId{bulk.results[0].node}).line, 7);
}

TEST(Vectorise, IsTheIdentityOnBulkPrograms) {
  Case c;
  const Expr x = c.input(f64({3, 4})), k = c.input(i32());
  const Program bulk =
      vectorise(c.program({c.build(3, [&](Expr i) { return sum_all(at(x, i)); }), at(unary(Op::Cos, x), k)}));
  EXPECT_TRUE(test::same_nodes(vectorise(bulk), bulk));
}

}  // namespace vectorise_test
}  // namespace spirograd::rewrite
