// The reference interpreter, operation by operation, against values worked out by hand; the hostile cases of each rule.
#include "frontend/ir/eval.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <set>

#include "frontend/ir/algebra.h"

namespace spirograd::ir {
namespace eval_test {

using Values = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
constexpr double kLeast = -2147483648.0, kGreatest = 2147483647.0, kTop = 4294967295.0;

struct Fixture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Graph& g = *graph;
  std::vector<Param> params;
  std::vector<Values> inputs;

  Expr in(Type t, Values values) {
    params.push_back({"x" + std::to_string(params.size()), t});
    inputs.push_back(std::move(values));
    return param(g, static_cast<int64_t>(params.size()) - 1, t);
  }
  Expr vec(Values v) { return in(f32({static_cast<int64_t>(v.size())}), v); }
  Expr ivec(Values v) { return in(i32({static_cast<int64_t>(v.size())}), v); }
  Expr i(double v) { return scalar(g, DType::I32, v); }

  Program program(std::vector<Expr> results) {
    Program p{"main", graph, params, {}};
    for (Expr r : results) p.results.push_back({"r", r.id.v, r.type()});
    return p;
  }
  std::vector<Array> run(std::vector<Expr> results) { return evaluate(program(std::move(results)), inputs); }
  Values value(Expr e) { return run({e})[0].data; }
};

// Equal, NaN to NaN, or within 1e-14 relative.
void expect_values(const Values& have, const Values& want, const std::string& what) {
  ASSERT_EQ(have.size(), want.size()) << what;
  for (size_t i = 0; i < have.size(); ++i) {
    const bool same = have[i] == want[i] || (std::isnan(have[i]) && std::isnan(want[i])) ||
                      std::fabs(have[i] - want[i]) <= 1e-14 * std::fabs(want[i]);
    EXPECT_TRUE(same) << what << " at " << i << ": " << have[i] << ", expected " << want[i];
  }
}

// A new operation needs a row here. Cast has a test of its own.
void expect_all_of_arity(int arity, const std::set<Op>& seen) {
  for (const OpInfo& i : kOps) {
    const bool wanted = i.kind == Kind::Pointwise && i.arity == arity && i.op != Op::Cast;
    EXPECT_TRUE(!wanted || seen.contains(i.op)) << i.name << " has no case";
  }
}

struct UnaryCase {
  Op op;
  DType dtype;
  Values in, out;
};

TEST(Eval, UnaryOperations) {
  const double tiny = 1e-300;
  const UnaryCase cases[] = {
      {Op::Neg, DType::F32, {1.5, 0, -kInf, kNan}, {-1.5, 0, kInf, kNan}},
      {Op::Neg, DType::I32, {5, 0, kLeast, kGreatest}, {-5, 0, kLeast, -kGreatest}},
      {Op::Neg, DType::U32, {0, 1, kTop}, {0, kTop, 1}},
      {Op::Abs, DType::F32, {-2, 3, -kInf, kNan}, {2, 3, kInf, kNan}},
      {Op::Abs, DType::I32, {-7, 7, kLeast}, {7, 7, kLeast}},
      {Op::Abs, DType::U32, {7, kTop}, {7, kTop}},
      {Op::Sign, DType::F32, {-2, 0, 0.25, kNan, -kInf}, {-1, 0, 1, kNan, -1}},
      {Op::Sign, DType::I32, {kLeast, 0, 9}, {-1, 0, 1}},
      {Op::Sign, DType::U32, {0, kTop}, {0, 1}},
      {Op::Not, DType::Bool, {0, 1}, {1, 0}},
      {Op::Floor, DType::F32, {-0.5, 1.75, -3, kInf, kNan}, {-1, 1, -3, kInf, kNan}},
      {Op::Sqrt, DType::F32, {4, 0, -1, kInf}, {2, 0, kNan, kInf}},
      {Op::Exp, DType::F32, {0, 1, -kInf, 1000}, {1, 2.718281828459045, 0, kInf}},
      {Op::Log, DType::F32, {1, 2.718281828459045, 0, -1}, {0, 1, -kInf, kNan}},
      {Op::Sin, DType::F32, {0, 1.5707963267948966, kInf}, {0, 1, kNan}},
      {Op::Cos, DType::F32, {0, 3.141592653589793}, {1, -1}},
      {Op::Tan, DType::F32, {0, 0.7853981633974483}, {0, 1}},
      {Op::Asin, DType::F32, {0, 1, 2}, {0, 1.5707963267948966, kNan}},
      {Op::Acos, DType::F32, {1, 0, -2}, {0, 1.5707963267948966, kNan}},
      {Op::Atan, DType::F32, {0, 1, kInf}, {0, 0.7853981633974483, 1.5707963267948966}},
      {Op::Sinh, DType::F32, {0, 1}, {0, 1.1752011936438014}},
      {Op::Cosh, DType::F32, {0, 1}, {1, 1.5430806348152437}},
      {Op::Tanh, DType::F32, {0, 0.5, 1000, -kInf}, {0, 0.46211715726000973, 1, -1}},
      {Op::Asinh, DType::F32, {0, 1}, {0, 0.881373587019543}},
      {Op::Acosh, DType::F32, {1, 2, 0}, {0, 1.3169578969248166, kNan}},
      {Op::Atanh, DType::F32, {0, 0.5, 1, 2}, {0, 0.5493061443340549, kInf, kNan}},
      {Op::Erf, DType::F32, {0, 0.5, kInf}, {0, 0.5204998778130465, 1}},
      {Op::Erfc, DType::F32, {0, 0.5, 10, -kInf, kInf, kNan}, {1, 0.4795001221869535, 2.088487583762545e-45, 2, 0, kNan}},
      {Op::Lgamma,
       DType::F32,
       {0.5, 1, 2, 10, 0, -1, -0.5, kInf, -kInf, kNan, 1e300},
       {0.5723649429247001, 0, 0, 12.801827480081469, kInf, kInf, 1.2655121234846454, kInf, kInf, kNan,
        6.897755278982137e302}},
      {Op::Digamma,
       DType::F32,
       {1, 0.5, 10, 0, -0.0, -3, -0.5, kInf, -kInf, kNan, 1e-320},
       {-0.5772156649015329, -1.9635100260214235, 2.251752589066721, -kInf, kInf, kNan, 0.03648997397857652, kInf, kNan,
        kNan, -kInf}},
      {Op::Logistic, DType::F32, {0, 1000, -1000, kInf, -kInf, kNan, 1}, {0.5, 1, 0, 1, 0, kNan, 0.7310585786300049}},
      {Op::Log1p, DType::F32, {0, 1e-20, -1, -2, kInf, kNan, 1}, {0, 1e-20, -kInf, kNan, kInf, kNan, 0.6931471805599453}},
      {Op::Expm1, DType::F32, {0, 1e-20, -kInf, 1000, kNan, 1}, {0, 1e-20, -1, kInf, kNan, 1.718281828459045}},
      {Op::Bits, DType::F32, {0, -0.0, 1, -2, kInf}, {0, 2147483648.0, 1065353216, 3221225472.0, 2139095040}},
      {Op::FromBits, DType::U32, {0, 1065353216, 4286578688.0, 2143289344}, {0, 1, -kInf, kNan}},
      {Op::StopGradient, DType::F32, {tiny, kNan}, {tiny, kNan}},
      {Op::StopGradient, DType::Bool, {1, 0}, {1, 0}},
      {Op::PreferStore, DType::F32, {tiny, kNan}, {tiny, kNan}},
      {Op::PreferRecompute, DType::I32, {1, -7}, {1, -7}},
  };
  std::set<Op> seen;
  for (const UnaryCase& c : cases) {
    seen.insert(c.op);
    Fixture f;
    const Expr x = f.in({c.dtype, {static_cast<int64_t>(c.in.size())}}, c.in);
    expect_values(f.value(unary(c.op, x)), c.out, std::string(name(c.op)) + " of " + std::string(name(c.dtype)));
  }
  expect_all_of_arity(1, seen);
}

struct BinaryCase {
  Op op;
  DType dtype;
  Values a, b, out;
};

TEST(Eval, BinaryOperations) {
  const BinaryCase cases[] = {
      {Op::Add, DType::F32, {1, kInf, kNan}, {0.5, -kInf, 1}, {1.5, kNan, kNan}},
      {Op::Add, DType::F32, {1}, {1e-12}, {1.000000000001}},  // not rounded to 24 bits
      {Op::Add, DType::I32, {kGreatest, kLeast, 2}, {1, -1, 3}, {kLeast, kGreatest, 5}},
      {Op::Add, DType::U32, {kTop, 3}, {2, 4}, {1, 7}},
      {Op::Sub, DType::F32, {1, kInf}, {2.5, kInf}, {-1.5, kNan}},
      {Op::Sub, DType::I32, {kLeast, 0}, {1, kLeast}, {kGreatest, kLeast}},
      {Op::Sub, DType::U32, {0, 5}, {1, 3}, {kTop, 2}},
      {Op::Mul, DType::F32, {3, 0}, {0.5, kInf}, {1.5, kNan}},
      {Op::Mul, DType::I32, {65536, kLeast, 123456789, -3}, {65536, -1, 987654321, 7}, {0, kLeast, -67153019, -21}},
      {Op::Mul, DType::U32, {kTop, 65537}, {kTop, 65537}, {1, 131073}},
      {Op::Div, DType::F32, {1, -1, 0, 3}, {0, 0, 0, 4}, {kInf, -kInf, kNan, 0.75}},
      {Op::Pow, DType::F32, {2, -2, -2, 0, kNan, 0}, {0.5, 3, 0.5, 0, 0, -1}, {1.4142135623730951, -8, kNan, 1, 1, kInf}},
      {Op::Atan2, DType::F32, {3, 0, 0}, {-4, 0, -1}, {2.498091544796509, 0, 3.141592653589793}},
      {Op::MaskedMul, DType::F32, {0, -0.0, 0, 3, kInf, 2}, {kInf, kNan, 2, 0, 0, kNan}, {0, 0, 0, 0, kNan, kNan}},
      {Op::MaskedDiv, DType::F32, {0, 0, 3, 3, kInf}, {0, kNan, 0, 2, kInf}, {0, 0, kInf, 1.5, kNan}},
      {Op::StrongMul, DType::F32, {0, kNan, kInf, -2, kNan}, {kInf, 0, 0, 3, 1}, {0, 0, 0, -6, kNan}},
      {Op::Min, DType::F32, {1, kNan, 1, -kInf}, {2, 5, kNan, 3}, {1, 5, kNan, -kInf}},
      {Op::Max, DType::F32, {1, kNan, 1, -kInf}, {2, 5, kNan, 3}, {2, 5, kNan, 3}},
      {Op::Min, DType::I32, {kLeast, 4}, {kGreatest, -4}, {kLeast, -4}},
      {Op::Max, DType::U32, {kTop, 0}, {1, 2}, {kTop, 2}},
      {Op::Quot, DType::I32, {7, -7, 7, -7, 5, kLeast, kLeast}, {2, 2, -2, -2, 0, -1, 0}, {3, -3, -3, 3, 5, kLeast, kLeast}},
      {Op::Quot, DType::U32, {kTop, 7}, {2, 0}, {2147483647, 7}},
      {Op::Rem, DType::I32, {7, -7, 7, -7, 5, kLeast}, {2, 2, -2, -2, 0, -1}, {1, -1, 1, -1, 0, 0}},
      {Op::Rem, DType::U32, {kTop, 7}, {10, 0}, {5, 0}},
      {Op::BitAnd, DType::I32, {12, -1, kLeast}, {10, 6, -1}, {8, 6, kLeast}},
      {Op::BitAnd, DType::U32, {kTop, 12}, {10, 0}, {10, 0}},
      {Op::BitOr, DType::I32, {12, -8, kLeast}, {10, 6, 1}, {14, -2, kLeast + 1}},
      {Op::BitXor, DType::U32, {kTop, 12}, {1, 10}, {kTop - 1, 6}},
      {Op::BitXor, DType::I32, {-1, 12}, {0, -1}, {-1, -13}},
      {Op::ShiftLeft, DType::I32, {3, 1, -1, 1}, {2, 31, 1, 33}, {12, kLeast, -2, 2}},
      {Op::ShiftLeft, DType::U32, {kTop, 1}, {31, 32}, {2147483648.0, 1}},
      {Op::ShiftRight, DType::I32, {-5, kLeast, 7, 8}, {1, 31, -31, 32}, {-3, -1, 3, 8}},
      {Op::ShiftRight, DType::U32, {kTop, 5}, {28, 33}, {15, 2}},
      {Op::Rem, DType::F32, {5.5, -5.5, 1, 1}, {2, 2, 0, kInf}, {1.5, -1.5, kNan, 1}},
      {Op::Eq, DType::F32, {1, kNan, 0}, {1, kNan, -0.0}, {1, 0, 1}},
      {Op::Ne, DType::F32, {1, kNan, 0}, {1, kNan, 2}, {0, 1, 1}},
      {Op::Lt, DType::F32, {1, kNan, 2}, {2, 1, 2}, {1, 0, 0}},
      {Op::Le, DType::F32, {1, kNan, 2}, {2, 1, 2}, {1, 0, 1}},
      {Op::Gt, DType::F32, {1, kNan, 3}, {2, 1, 2}, {0, 0, 1}},
      {Op::Ge, DType::F32, {1, kNan, 2}, {2, 1, 2}, {0, 0, 1}},
      {Op::Lt, DType::U32, {kTop, 0}, {0, kTop}, {0, 1}},
      {Op::Eq, DType::Bool, {0, 1}, {0, 0}, {1, 0}},
      {Op::Ne, DType::Bool, {0, 1}, {0, 0}, {0, 1}},
      {Op::And, DType::Bool, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1}},
      {Op::Or, DType::Bool, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 1}},
  };
  std::set<Op> seen;
  for (const BinaryCase& c : cases) {
    seen.insert(c.op);
    Fixture f;
    const Shape s{static_cast<int64_t>(c.a.size())};
    const Expr a = f.in({c.dtype, s}, c.a), b = f.in({c.dtype, s}, c.b);
    expect_values(f.value(binary(c.op, a, b)), c.out, std::string(name(c.op)) + " of " + std::string(name(c.dtype)));
  }
  expect_all_of_arity(2, seen);
}

TEST(Eval, CastsSaturateFromFloatsAndWrapBetweenIntegers) {
  struct Case {
    DType from, to;
    Values in, out;
  };
  const Case cases[] = {
      {DType::F32, DType::I32, {1.9, -1.9, 3e9, -3e9, kInf, -kInf, kNan}, {1, -1, kGreatest, kLeast, kGreatest, kLeast, 0}},
      {DType::F32, DType::U32, {1.9, -1.9, 5e9, 3e9, kNan}, {1, 0, kTop, 3e9, 0}},
      {DType::F32, DType::Bool, {0, -0.0, 0.1, kNan}, {0, 0, 1, 1}},
      {DType::F32, DType::F64, {0.1, kNan}, {0.1, kNan}},
      {DType::F64, DType::F32, {0.1, 1e300}, {0.1, 1e300}},  // the oracle does not round
      {DType::I32, DType::U32, {-1, 5, kLeast}, {kTop, 5, 2147483648.0}},
      {DType::U32, DType::I32, {kTop, 5, 2147483648.0}, {-1, 5, kLeast}},
      {DType::I32, DType::F32, {-1, kLeast}, {-1, kLeast}},
      {DType::I32, DType::Bool, {-1, 0}, {1, 0}},
      {DType::Bool, DType::I32, {1, 0}, {1, 0}},
      {DType::Bool, DType::F32, {1, 0}, {1, 0}},
  };
  for (const Case& c : cases) {
    Fixture f;
    const Expr x = f.in({c.from, {static_cast<int64_t>(c.in.size())}}, c.in);
    expect_values(f.value(cast(x, c.to)), c.out, std::string(name(c.from)) + " to " + std::string(name(c.to)));
  }
}

TEST(Eval, SelectTakesNothingFromTheOtherBranch) {
  Fixture f;
  const Expr m = f.in(boolean({3}), {1, 0, 1});
  expect_values(f.value(select(m, f.vec({1, kNan, 3}), f.vec({kInf, 5, kNan}))), {1, 5, 3}, "select");
}

TEST(Eval, LayoutOperations) {
  Fixture f;
  const Expr v = f.vec({1, 2, 3}), a = f.in(f32({2, 3}), {1, 2, 3, 4, 5, 6});
  expect_values(f.value(iota(f.g, {2, 3}, 0)), {0, 0, 0, 1, 1, 1}, "iota 0");
  expect_values(f.value(iota(f.g, {2, 3}, 1)), {0, 1, 2, 0, 1, 2}, "iota 1");
  expect_values(f.value(iota(f.g, {0, 3}, 1)), {}, "iota of nothing");
  expect_values(f.value(broadcast(v, {2, 3}, {1})), {1, 2, 3, 1, 2, 3}, "rows");
  expect_values(f.value(broadcast(v, {3, 2}, {0})), {1, 1, 2, 2, 3, 3}, "columns");
  expect_values(f.value(broadcast(a, {2, 2, 3}, {0, 2})), {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}, "middle");
  expect_values(f.value(full(f.g, f32({2, 0}), 7)), {}, "broadcast to nothing");
  expect_values(f.value(transpose(a, {1, 0})), {1, 4, 2, 5, 3, 6}, "transpose");
  const Expr c = f.in(f32({2, 1, 3}), {1, 2, 3, 4, 5, 6});
  expect_values(f.value(transpose(c, {2, 0, 1})), {1, 4, 2, 5, 3, 6}, "transpose 3");
  expect_values(f.value(reshape(a, {3, 2})), {1, 2, 3, 4, 5, 6}, "reshape");
  expect_values(f.value(reshape(f.in(f32({1}), {8}), {})), {8}, "reshape to a scalar");
  expect_values(f.value(reverse(a, 0)), {4, 5, 6, 1, 2, 3}, "reverse 0");
  expect_values(f.value(reverse(a, 1)), {3, 2, 1, 6, 5, 4}, "reverse 1");
  const Expr two[] = {a, f.in(f32({2, 1}), {7, 8}), f.in(f32({2, 0}), {})};
  expect_values(f.value(concat(two, 1)), {1, 2, 3, 7, 4, 5, 6, 8}, "concat 1");
  const Expr rows[] = {a, f.in(f32({1, 3}), {7, 8, 9})};
  expect_values(f.value(concat(rows, 0)), {1, 2, 3, 4, 5, 6, 7, 8, 9}, "concat 0");
  const Expr vs[] = {v, f.vec({4, 5, 6})};
  expect_values(f.value(stack(vs, 0)), {1, 2, 3, 4, 5, 6}, "stack 0");
  expect_values(f.value(stack(vs, 1)), {1, 4, 2, 5, 3, 6}, "stack 1");
}

TEST(Eval, WindowIsZeroOutside) {
  Fixture f;
  const Expr v = f.vec({1, 2, 3}), a = f.in(f32({2, 3}), {1, 2, 3, 4, 5, 6}), none = f.in(f32({0}), {});
  expect_values(f.value(window(v, 0, 1, 2)), {2, 3}, "slice");
  expect_values(f.value(window(v, 0, -1, 5)), {0, 1, 2, 3, 0}, "pad");
  expect_values(f.value(window(v, 0, 2, 3)), {3, 0, 0}, "shift");
  expect_values(f.value(window(v, 0, -4, 3)), {0, 0, 0}, "before");
  expect_values(f.value(window(v, 0, 3, 2)), {0, 0}, "behind");
  expect_values(f.value(window(v, 0, INT64_MIN, 2)), {0, 0}, "far before");
  expect_values(f.value(window(v, 0, INT64_MAX, 2)), {0, 0}, "far behind");
  expect_values(f.value(window(v, 0, 1, 0)), {}, "of extent 0");
  expect_values(f.value(window(none, 0, -1, 2)), {0, 0}, "of nothing");
  expect_values(f.value(window(a, 0, 1, 2)), {4, 5, 6, 0, 0, 0}, "rows");
  expect_values(f.value(window(a, 1, -1, 3)), {0, 1, 2, 0, 4, 5}, "columns");
}

TEST(Eval, Reductions) {
  Fixture f;
  const Expr a = f.in(f32({2, 3}), {1, 2, 3, 4, 5, 6}), none = f.in(f32({2, 0}), {});
  expect_values(f.value(sum(a, 0)), {5, 7, 9}, "sum 0");
  expect_values(f.value(sum(a, 1)), {6, 15}, "sum 1");
  expect_values(f.value(sum_all(a)), {21}, "sum all");
  const Expr cube = f.in(f32({2, 2, 2}), {1, 2, 3, 4, 5, 6, 7, 8});
  expect_values(f.value(reduce(Op::Sum, cube, {0, 2})), {14, 22}, "sum 0 2");
  expect_values(f.value(sum(cube, 1)), {4, 6, 12, 14}, "sum middle");
  expect_values(f.value(reduce(Op::Prod, a, {1})), {6, 120}, "prod");
  expect_values(f.value(sum(none, 1)), {0, 0}, "sum of nothing");
  expect_values(f.value(sum(none, 0)), {}, "nothing is left");
  expect_values(f.value(reduce(Op::Prod, none, {1})), {1, 1}, "prod of nothing");
  expect_values(f.value(reduce(Op::ReduceMax, none, {1})), {-kInf, -kInf}, "max of nothing");
  expect_values(f.value(reduce(Op::ReduceMin, none, {1})), {kInf, kInf}, "min of nothing");
  const Expr ints = f.in(i32({0}), {}), naturals = f.in(u32({0}), {});
  expect_values(f.value(reduce(Op::ReduceMax, ints, {0})), {kLeast}, "max of no i32");
  expect_values(f.value(reduce(Op::ReduceMin, ints, {0})), {kGreatest}, "min of no i32");
  expect_values(f.value(reduce(Op::ReduceMax, naturals, {0})), {0}, "max of no u32");
  expect_values(f.value(reduce(Op::ReduceMin, naturals, {0})), {kTop}, "min of no u32");
  expect_values(f.value(sum_all(f.ivec({kGreatest, 1, 1}))), {kLeast + 1}, "sum wraps");
  expect_values(f.value(reduce(Op::Prod, f.in(u32({2}), {65536, 65537}), {0})), {65536}, "prod wraps");
  const Expr holes = f.in(f32({3, 2}), {kNan, kNan, 1, kNan, -kInf, kNan});
  expect_values(f.value(reduce(Op::ReduceMax, holes, {0})), {1, kNan}, "max skips NaN");
  expect_values(f.value(reduce(Op::ReduceMin, holes, {0})), {-kInf, kNan}, "min skips NaN");
  expect_values(f.value(sum(holes, 0)), {kNan, kNan}, "sum keeps NaN");
}

TEST(Eval, ArgReductionsTakeTheFirstExtreme) {
  Fixture f;
  const Expr a = f.in(f32({2, 4}), {1, 3, 3, 0, kNan, -kInf, 2, 2});
  expect_values(f.value(arg_reduce(Op::ArgMax, a, 1)), {1, 2}, "argmax");
  expect_values(f.value(arg_reduce(Op::ArgMin, a, 1)), {3, 1}, "argmin");
  expect_values(f.value(arg_reduce(Op::ArgMax, a, 0)), {0, 0, 0, 1}, "argmax 0");
  const Expr nans = f.vec({kNan, kNan});
  expect_values(f.value(arg_reduce(Op::ArgMax, nans, 0)), {0}, "all NaN");
  expect_values(f.value(arg_reduce(Op::ArgMin, f.vec({kNan, kInf}), 0)), {1}, "infinity beats NaN");
  expect_values(f.value(arg_reduce(Op::ArgMax, f.ivec({kLeast, kLeast}), 0)), {0}, "tie of least integers");
}

TEST(Eval, GatherGivesZeroForASliceOutOfRange) {
  Fixture f;
  const Expr a = f.in(f32({2, 3}), {1, 2, 3, 4, 5, 6});
  const Expr rows = f.ivec({1, -1, 2, 0, 1, kGreatest, kLeast}), cols = f.ivec({2, 0, 0, 3, -1, 1, 1});
  const Expr one[] = {rows}, two[] = {rows, cols};
  expect_values(f.value(gather(a, one)), {4, 5, 6, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0}, "rows");
  expect_values(f.value(gather(a, two)), {6, 0, 0, 0, 0, 0, 0}, "elements");
  const Expr at[] = {f.i(1)}, beside[] = {f.i(2)}, none[] = {f.ivec({})};
  expect_values(f.value(gather(a, at)), {4, 5, 6}, "index");
  expect_values(f.value(gather(a, beside)), {0, 0, 0}, "index out of range");
  expect_values(f.value(gather(a, none)), {}, "no index");
  const Expr empty = f.in(f32({0, 2}), {});
  expect_values(f.value(gather(empty, at)), {0, 0}, "empty table");
  const Expr grid[] = {f.in(i32({2, 2}), {0, 1, 1, 0})};
  expect_values(f.value(gather(f.vec({7, 8}), grid)), {7, 8, 8, 7}, "grid");
  const Expr truths = f.in(boolean({1}), {1});
  expect_values(f.value(gather(truths, at)), {0}, "bool out of range");
}

TEST(Eval, ScatterAddsAndDrops) {
  Fixture f;
  const Expr u = f.vec({2, 3, 5, 7, 11});
  const Expr shifted[] = {f.ivec({-1, 0, 1, 2, 3})}, same[] = {f.ivec({1, 1, 1, 1, 9})};
  expect_values(f.value(scatter(u, shifted, {3})), {3, 5, 7}, "shift");
  expect_values(f.value(scatter(u, same, {3})), {0, 17, 0}, "duplicates");
  const Expr rows = f.in(f32({2, 2}), {1, 2, 3, 4}), r[] = {f.ivec({2, 0})};
  expect_values(f.value(scatter(rows, r, {3})), {3, 4, 0, 0, 1, 2}, "rows");
  const Expr point[] = {f.i(1), f.i(0)}, outside[] = {f.i(1), f.i(2)};
  const Expr s = f.in(f32(), {9});
  expect_values(f.value(scatter(s, point, {2, 2})), {0, 0, 9, 0}, "one-hot");
  expect_values(f.value(scatter(s, outside, {2, 2})), {0, 0, 0, 0}, "one-hot outside in one component");
  expect_values(f.value(scatter(s, point, {0, 2})), {}, "into nothing");
  const Expr ints = f.ivec({kGreatest, 1}), zero[] = {f.ivec({0, 0})};
  expect_values(f.value(scatter(ints, zero, {1})), {kLeast}, "integers wrap");
}

TEST(Eval, BuildIsElementByElement) {
  Fixture f;
  const Expr v = f.vec({2, 3, 5}), i = fresh_var(f.g, i32());
  const Expr before[] = {i - f.i(1)};
  // SUM_{i<4} v[i-1] * (i+1)
  const Expr read = gather(v, before) * cast(i + f.i(1), DType::F32);
  expect_values(f.value(build(4, i, read)), {0, 4, 9, 20}, "guarded read");
  const Expr curve = gather(unary(Op::Cos, v), before);
  expect_values(f.value(build(2, i, curve)), {0, std::cos(2)}, "cos is not read outside");
  expect_values(f.value(build(0, i, read)), {}, "empty");
  expect_values(f.value(build(3, i, v)), {2, 3, 5, 2, 3, 5, 2, 3, 5}, "body without the index");
  expect_values(f.value(build(2, i, f.in(f32({0}), {}))), {}, "body of nothing");
}

TEST(Eval, NestedBuildsSeeTheirOwnIndices) {
  Fixture f;
  const Expr a = f.in(f32({2, 3}), {1, 2, 3, 4, 5, 6}), c = f.in(f32({3, 2}), {7, 8, 9, 10, 11, 12});
  const Expr i = fresh_var(f.g, i32()), j = fresh_var(f.g, i32()), k = fresh_var(f.g, i32());
  const Expr ik[] = {i, k}, kj[] = {k, j};
  const Expr element = sum(build(3, k, gather(a, ik) * gather(c, kj)), 0);
  expect_values(f.value(build(2, i, build(2, j, element))), {58, 64, 139, 154}, "matrix product");
  // A build that depends on the outer index only, shared by two positions of the inner one.
  const Expr row = build(3, k, gather(a, ik));
  const Expr twice = build(2, j, sum(row, 0) * cast(j + f.i(1), DType::F32) + sum(row * row, 0));
  expect_values(f.value(build(2, i, twice)), {20, 26, 92, 107}, "shared inner build");
}

// The same index of the same level bound in a closed build inside: outer values must survive.
TEST(Eval, ClosedInnerBuildOfTheSameLevelDoesNotDisturb) {
  Fixture f;
  const Expr i = index_var(f.g, 0, 3);
  const Expr inner = sum(build_at(0, 3, i * i), 0);
  expect_values(f.value(build_at(0, 3, i * i + inner + i)), {5, 7, 11}, "same level twice");
}

TEST(Eval, LoopsRunInBothDirections) {
  Fixture f;
  const Expr e = f.vec({3, 5, 7}), start = f.in(f32(), {2});
  const Expr a = fresh_var(f.g, f32()), x = fresh_var(f.g, f32()), c = fresh_var(f.g, f32());
  const Expr vars[] = {a, x, c}, results[] = {a * x + c, a};
  const int64_t body = close_function(f.g, vars, results);
  const Expr one = scalar(f.g, DType::F32, 1);
  const auto forward = map_accum(f.g, {body, false, 3, {start}, {e}, {one}});
  const auto backward = map_accum(f.g, {body, true, 3, {start}, {e}, {one}});
  // ((2*3+1)*5+1)*7+1 and ((2*7+1)*5+1)*3+1; states before each step, at the position of its element
  expect_values(f.value(forward[0]), {253}, "left");
  expect_values(f.value(forward[1]), {2, 7, 36}, "left stack");
  expect_values(f.value(backward[0]), {229}, "right");
  expect_values(f.value(backward[1]), {76, 15, 2}, "right stack");
}

TEST(Eval, LoopsOfNoStepsGiveTheirStart) {
  Fixture f;
  const Expr start = f.vec({2, 4}), none = f.in(f32({0}), {});
  const Expr a = fresh_var(f.g, f32({2})), x = fresh_var(f.g, f32());
  const Expr vars[] = {a, x}, results[] = {a + broadcast(x, {2}, {}), a};
  const auto out = map_accum(f.g, {close_function(f.g, vars, results), false, 0, {start}, {none}, {}});
  const auto values = f.run({out[0], out[1]});
  expect_values(values[0].data, {2, 4}, "accumulator");
  EXPECT_EQ(values[1].type, f32({0, 2}));
  EXPECT_TRUE(values[1].data.empty());
}

TEST(Eval, TupleStateMaySwap) {
  Fixture f;
  const Expr a = fresh_var(f.g, i32()), b = fresh_var(f.g, i32());
  const Expr vars[] = {a, b}, fibonacci[] = {b, a + b}, swap[] = {b, a};
  const auto fib = map_accum(f.g, {close_function(f.g, vars, fibonacci), false, 10, {f.i(0), f.i(1)}, {}, {}});
  expect_values(f.value(fib[0]), {55}, "fibonacci");
  const auto swapped = map_accum(f.g, {close_function(f.g, vars, swap), false, 3, {f.i(3), f.i(8)}, {}, {}});
  const auto values = f.run({swapped[0], swapped[1]});
  EXPECT_EQ(values[0].data, Values{8});
  EXPECT_EQ(values[1].data, Values{3});
}

TEST(Eval, LoopsWithoutStateMap) {
  Fixture f;
  const Expr x = fresh_var(f.g, f32());
  const Expr vars[] = {x}, results[] = {x * x};
  const auto out = map_accum(f.g, {close_function(f.g, vars, results), true, 3, {}, {f.vec({1, 2, 3})}, {}});
  expect_values(f.value(out[0]), {1, 4, 9}, "map");
}

TEST(Eval, LoopsInsideBuildsAndBuildsInsideLoops) {
  Fixture f;
  const Expr table = f.in(f32({2, 3}), {1, 2, 3, 4, 5, 6}), i = fresh_var(f.g, i32());
  const Expr a = fresh_var(f.g, f32()), x = fresh_var(f.g, f32());
  const Expr vars[] = {a, x}, results[] = {a * x, a};
  const Expr at[] = {i};
  const Expr row = gather(table, at);
  const auto product =
      map_accum(f.g, {close_function(f.g, vars, results), false, 3, {cast(i + f.i(1), DType::F32)}, {row}, {}});
  expect_values(f.value(build(2, i, product[0])), {6, 240}, "loop in a build");
  expect_values(f.value(build(2, i, product[1])), {1, 1, 2, 2, 8, 40}, "stack of a loop in a build");
  // acc'[i] = acc[1 - i] + e, by a build in the body
  const Expr acc = fresh_var(f.g, f32({2})), swapped[] = {f.i(1) - i};
  const Expr body_vars[] = {acc, x}, body[] = {build(2, i, gather(acc, swapped) + x)};
  const int64_t step = close_function(f.g, body_vars, body);
  const auto out = map_accum(f.g, {step, false, 3, {f.vec({10, 20})}, {f.vec({1, 2, 3})}, {}});
  expect_values(f.value(out[0]), {26, 16}, "build in a loop");
}

TEST(Eval, NestedLoops) {
  Fixture f;
  const Expr a = fresh_var(f.g, i32()), b = fresh_var(f.g, i32());
  const Expr inner_vars[] = {a, b}, inner[] = {a + b};
  const int64_t add = close_function(f.g, inner_vars, inner);
  const Expr outer_vars[] = {a}, outer[] = {map_accum(f.g, {add, false, 4, {a}, {}, {a}})[0]};
  const auto out = map_accum(f.g, {close_function(f.g, outer_vars, outer), false, 3, {f.i(2)}, {}, {}});
  expect_values(f.value(out[0]), {250}, "2 * 5^3");  // each outer step adds a four times to itself
}

TEST(Eval, ResultsMayRepeatAndBeParameters) {
  Fixture f;
  const Expr v = f.vec({1, 2});
  const Expr w = v + v;
  const auto out = f.run({w, v, w, w * v});
  EXPECT_EQ(out[0].data, (Values{2, 4}));
  EXPECT_EQ(out[1].data, (Values{1, 2}));
  EXPECT_EQ(out[2].data, (Values{2, 4}));
  EXPECT_EQ(out[3].data, (Values{2, 8}));
}

TEST(Eval, RejectsInputsThatDoNotFit) {
  Fixture f;
  const Program p = f.program({f.ivec({1, 2}) + f.ivec({3, 4})});
  const auto code = [&](std::vector<Values> inputs) {
    const auto r = try_evaluate(p, inputs);
    return r ? "none" : r.error().code;
  };
  EXPECT_EQ(code({{1, 2}, {3, 4}}), "none");
  EXPECT_EQ(code({{1, 2}}), "SG0501");
  EXPECT_EQ(code({{1, 2}, {3, 4}, {}}), "SG0501");
  EXPECT_EQ(code({{1, 2}, {3}}), "SG0501");
  EXPECT_EQ(code({{1, 2}, {3, 0.5}}), "SG0501");
  EXPECT_EQ(code({{1, 2}, {3, kNan}}), "SG0501");
  EXPECT_EQ(code({{1, 2}, {3, 2147483648.0}}), "SG0501");
}

TEST(Eval, FreePlaceholdersAndIndicesAreReported) {
  Fixture f;
  const auto code = [&](Expr e) {
    const auto r = try_evaluate(f.program({e}), f.inputs);
    return r ? "none" : r.error().code;
  };
  EXPECT_EQ(code(fresh_var(f.g, f32())), "SG0900");
  EXPECT_EQ(code(index_var(f.g, 0, 3)), "SG0900");
}

TEST(Eval, DeepChainsNeedNoStack) {
  Fixture f;
  Expr x = f.in(i32(), {1});
  for (int j = 0; j < 50000; ++j) x = x + x * f.i(2);
  uint32_t want = 1;
  for (int j = 0; j < 50000; ++j) want *= 3;
  expect_values(f.value(x), {static_cast<double>(static_cast<int32_t>(want))}, "3^50000");
  // A chain of builds, each over the one before, all of the same level.
  Expr v = f.vec({1, 2});
  for (int j = 0; j < 5000; ++j) {
    const Expr at[] = {index_var(f.g, 0, 2)};
    v = build_at(0, 2, gather(v, at) + scalar(f.g, DType::F32, 1));
  }
  expect_values(f.value(v), {5001, 5002}, "chain of builds");
}

TEST(Eval, LargeBuildsAndBulkOperationsAreQuickEnough) {
  const auto start = std::chrono::steady_clock::now();
  Fixture f;
  const Expr i = fresh_var(f.g, i32());
  Expr x = cast(i, DType::F32);
  for (int j = 0; j < 20; ++j) x = unary(Op::Sin, x) + x;
  EXPECT_EQ(f.value(build(10000, i, x)).size(), 10000u);
  const Expr big = f.in(f32({1000, 1000}), Values(1000000, 0.5));
  expect_values(f.value(sum_all(transpose(big, {1, 0}) * big + big)), {750000}, "bulk");
  // Milliseconds when optimised; the bound leaves room for debug builds on busy machines.
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5.0);
}

}  // namespace eval_test
}  // namespace spirograd::ir
