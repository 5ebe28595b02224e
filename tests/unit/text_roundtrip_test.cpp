// Any program prints as text that parses back to the same program: the same nodes in the same graph, the same text in a new
// one.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "frontend/ir/algebra.h"
#include "frontend/ir/close_loop.h"
#include "frontend/ir/own_graph.h"
#include "spirograd/text.h"
#include "support/random_program.h"

namespace spirograd {
namespace text_roundtrip_test {

using ir::Expr;
using ir::Op;

// Empty if the round trip holds, else what went wrong.
std::string round_trip(Program p) {
  const auto graph = ir::make_graph_private(p);
  const std::string printed = text::print(p);
  const auto module = text::parse(printed, "printed.sg");
  if (!module) return printed + module.error().str();
  const auto same = text::instantiate(*module, "", text::ShapeVariables{}, graph);
  if (!same) return printed + same.error().str();
  if (same->name != p.name) return printed + "name: " + same->name;
  if (same->params.size() != p.params.size() || same->results.size() != p.results.size()) return printed + "counts differ";
  for (size_t j = 0; j < p.params.size(); ++j)
    if (same->params[j].name != p.params[j].name || same->params[j].type != p.params[j].type)
      return printed + "parameter " + p.params[j].name;
  for (size_t j = 0; j < p.results.size(); ++j) {
    if (same->results[j].name != p.results[j].name) return printed + "result name " + p.results[j].name;
    if (same->results[j].node != p.results[j].node)
      return printed + "result " + p.results[j].name + ": another node\n" + text::print(*same);
  }
  const auto fresh = text::instantiate(*module);
  if (!fresh) return printed + fresh.error().str();
  if (text::print(*fresh) != printed) return printed + "in a new graph:\n" + text::print(*fresh);
  return "";
}

Program program_of(std::shared_ptr<ir::Graph> g, std::vector<Param> params, std::vector<Expr> results) {
  Program p;
  p.graph = std::move(g);
  p.params = std::move(params);
  for (Expr e : results) p.results.push_back({"r" + std::to_string(p.results.size()), e.id.v, e.type()});
  return p;
}

Program from_source(const std::string& source) {
  auto module = text::parse(source, "test.sg");
  if (!module) throw module.error();
  auto p = text::instantiate(*module);
  if (!p) throw p.error();
  return *p;
}

TEST(TextRoundTrip, RandomProgramsGiveTheSameNodes) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const test::RandomProgram r = test::random_program(seed, {.hostile_values = seed % 2 == 0});
    const std::string wrong = round_trip(r.program);
    ASSERT_EQ(wrong, "") << "seed " << seed;
  }
}

TEST(TextRoundTrip, EveryOperationIsWritable) {
  auto g = std::make_shared<ir::Graph>();
  const Expr x = ir::param(*g, 0, f32({3, 4})), n = ir::param(*g, 1, i32({3, 4})), b = ir::param(*g, 2, boolean({3, 4}));
  std::vector<Expr> out;
  int pointwise = 0;
  for (const ir::OpInfo& info : ir::kOps) {
    if (info.kind != ir::Kind::Pointwise || info.op == Op::Cast || info.op == Op::Bits || info.op == Op::FromBits) continue;
    ++pointwise;
    const bool logic = ir::has_flag(info.op, ir::kBoolOk) && !ir::has_flag(info.op, ir::kIntegerOk);
    const Expr a = logic ? b : ir::has_flag(info.op, ir::kIntegerOnly) ? n : x;
    if (info.arity == 1) out.push_back(ir::unary(info.op, a));
    if (info.arity == 2) out.push_back(ir::binary(info.op, a, a));
    if (info.arity == 3) out.push_back(ir::select(b, a, a));
    // Literals alone must not be added up.
    const Expr two = ir::scalar(*g, a.dtype(), a.dtype() == DType::Bool ? 1 : 2);
    const Expr minus = ir::scalar(*g, a.dtype(), a.dtype() == DType::Bool ? 0 : -2);
    if (info.arity == 1) out.push_back(ir::unary(info.op, minus));
    if (info.arity == 2) out.push_back(ir::binary(info.op, minus, two));
  }
  EXPECT_GT(pointwise, 40);
  for (DType from : {DType::Bool, DType::I32, DType::U32, DType::F32, DType::F64})
    for (DType to : {DType::Bool, DType::I32, DType::U32, DType::F32, DType::F64}) {
      if (from == to) continue;
      out.push_back(ir::cast(ir::scalar(*g, from, 1), to));
      out.push_back(ir::cast(ir::full(*g, {from, {2}}, 1), to));
    }
  const int64_t axes[] = {0, 1}, axis[] = {1};
  for (Op op : {Op::Sum, Op::Prod, Op::ReduceMax, Op::ReduceMin}) {
    out.push_back(ir::reduce(op, x, axes));
    out.push_back(ir::reduce(op, n, axis));
  }
  for (Op op : {Op::ArgMax, Op::ArgMin}) out.push_back(ir::arg_reduce(op, x, 1));
  out.push_back(ir::transpose(x, {1, 0}));
  out.push_back(ir::transpose(x, {0, 1}));
  out.push_back(ir::reshape(x, {2, 1, 6}));
  out.push_back(ir::reshape(ir::sum_all(x), {1, 1}));
  out.push_back(ir::window(x, 1, -2, 9));
  out.push_back(ir::window(x, 0, 5, 0));
  out.push_back(ir::reverse(x, 0));
  const Expr parts[] = {x, x};
  out.push_back(ir::concat(parts, 1));
  out.push_back(ir::concat({parts, 1}, 0));
  out.push_back(ir::stack(parts, 2));
  const Expr ones[] = {ir::scalar(*g, DType::F32, 1), ir::scalar(*g, DType::F32, 2)};
  out.push_back(ir::stack(ones, 0));
  out.push_back(ir::broadcast(x, {3, 2, 4}, {0, 2}));
  out.push_back(ir::broadcast(x, {3, 4}, {0, 1}));
  out.push_back(ir::iota(*g, {4, 2}, 1));
  out.push_back(ir::iota(*g, {0}, 0));
  const Expr two_indices[] = {n, n}, scalars[] = {ir::scalar(*g, DType::I32, -1), ir::sum_all(n)};
  out.push_back(ir::gather(x, two_indices));
  out.push_back(ir::gather(x, {two_indices, 1}));
  out.push_back(ir::gather(x, scalars));
  out.push_back(ir::scatter(x, two_indices, {5, 6}));
  out.push_back(ir::scatter(ir::sum_all(x), scalars, {5, 6}));
  out.push_back(ir::from_bits(ir::scatter_max(ir::bits(x), two_indices, {5, 6})));
  out.push_back(ir::build_at(3, 2, ir::cast(ir::index_var(*g, 3, 2), DType::F64)));  // an unusual level
  EXPECT_EQ(round_trip(program_of(g, {{"x", x.type()}, {"n", n.type()}, {"b", b.type()}}, out)), "");
}

TEST(TextRoundTrip, ConstantsKeepEveryBit) {
  auto g = std::make_shared<ir::Graph>();
  std::vector<Expr> out;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (double v :
       {0.0, -0.0, 1.0, 0.1, -2.5, 1e-3, 16777216.0, 1e10, 5e-324, 1.7976931348623157e308, inf, -inf, nan, -nan}) {
    out.push_back(ir::scalar(*g, DType::F64, v));
    out.push_back(ir::unary(Op::Exp, ir::scalar(*g, DType::F64, v)));
    out.push_back(ir::constant(*g, f64({2}), {v, v}));
  }
  for (double v :
       {0.0, -0.0, static_cast<double>(0.1f), static_cast<double>(1e-45f), 3.4028234663852886e38, inf, -inf, nan}) {
    out.push_back(ir::scalar(*g, DType::F32, v));
    out.push_back(ir::unary(Op::Neg, ir::scalar(*g, DType::F32, v)));
    out.push_back(ir::constant(*g, f32({1, 2}), {v, v}));
  }
  out.push_back(ir::scalar(*g, DType::F32, 0.1));  // more than an f32 holds
  out.push_back(ir::constant(*g, f32({1}), {1.1283791670955126}));
  for (double v : {0.0, -2147483648.0, 2147483647.0}) out.push_back(ir::constant(*g, i32({1}), {v}));
  for (double v : {0.0, -2147483648.0, 2147483647.0}) out.push_back(ir::scalar(*g, DType::I32, v));
  out.push_back(ir::scalar(*g, DType::U32, 4294967295.0));
  out.push_back(ir::constant(*g, u32({2}), {0, 4294967295.0}));
  out.push_back(ir::constant(*g, boolean({2}), {0, 1}));
  out.push_back(ir::constant(*g, f32({0, 3}), {}));
  EXPECT_EQ(round_trip(program_of(g, {}, out)), "");
}

TEST(TextRoundTrip, LoopsOfLoopsKeepTheirBodies) {
  EXPECT_EQ(
      round_trip(from_source(
          "def f(w: f64[3,3], x: f64[3], es: f64[5,3]) -> (last: f64[3], all: f64[6,3], n: i32) {\n"
          "  let step = fn(a, e) => fori(2, fn(i, s) => sin(w @ s + e) * f64(i + 1), a)\n"
          "  let (m, rows) = map_accum_r(fn((k, s), e) => ((k + 1, step(s, e)), for i: 3 => s[i] + e[2 - i]), (0, x), es)\n"
          "  let (k, s) = m\n"
          "  (s + sum(rows, axis=0), scan(step, x, es), k)\n}")),
      "");
}

TEST(TextRoundTrip, NamesSurviveEvenWhenTheyAreNoIdentifiers) {
  auto g = std::make_shared<ir::Graph>();
  const std::vector<std::string> names = {"t0", "i0", "let", "d/dx", "exp", "inf", "nan", "f32", "p 1", "for"};
  std::vector<Param> params;
  std::vector<Expr> out;
  for (const std::string& n : names) {
    const Expr x = ir::param(*g, static_cast<int64_t>(params.size()), f32({2}));
    out.push_back(ir::unary(Op::Exp, x) * ir::full(*g, f32({2}), std::numeric_limits<double>::infinity()));
    params.push_back({n, x.type()});
  }
  out.push_back(ir::scalar(*g, DType::F32, std::numeric_limits<double>::quiet_NaN()));
  const Expr v = ir::fresh_var(*g, i32());
  out.push_back(ir::build(2, v, ir::cast(v, DType::F32) + ir::sum_all(out[0])));
  Program p = program_of(g, params, out);
  for (size_t j = 0; j < names.size(); ++j) p.results[j].name = names[j];
  p.name = "exp";  // the name of an operation that the program itself uses
  EXPECT_EQ(round_trip(p), "");
  p.name = "grad of f";
  EXPECT_EQ(round_trip(p), "");
}

TEST(TextRoundTrip, BuildsShareWhatDoesNotDependOnTheirIndex) {
  const Program p = from_source(
      "def f(x: f32[4,5]) = { let s = for i: 4 => sum(exp(x[i])) * sum(exp(x))\n for j: 5 => s * sum(exp(x)) + x[0, j] }");
  EXPECT_EQ(round_trip(p), "");
  const std::string s = text::print(p);
  size_t exps = 0;
  for (size_t at = s.find("exp("); at != std::string::npos; at = s.find("exp(", at + 1)) ++exps;
  EXPECT_EQ(exps, 2u) << s;
}

TEST(TextRoundTrip, ProgramsWithoutParametersOrWithEmptyArrays) {
  auto g = std::make_shared<ir::Graph>();
  EXPECT_EQ(round_trip(program_of(g, {}, {})), "");
  EXPECT_EQ(round_trip(program_of(g, {}, {ir::zeros(*g, f32({0, 2}))})), "");
  EXPECT_EQ(round_trip(from_source("def f(x: f32[0]) = sum(for i: 0 => x[i] * x[i + 1])")), "");
}

TEST(TextRoundTrip, FiftyThousandLetsTakeAboutASecond) {
  auto g = std::make_shared<ir::Graph>();
  const Expr x = ir::param(*g, 0, f32());
  Expr y = x;
  for (int k = 0; k < 25000; ++k) y = ir::unary(Op::Sin, y) * ir::scalar(*g, DType::F32, 0.5);
  const Program p = program_of(g, {{"x", x.type()}}, {y});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(round_trip(p), "");  // prints three times and elaborates twice
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LT(seconds, 10.0) << "even in a debug build on a busy machine";
  RecordProperty("seconds", std::to_string(seconds));
}

}  // namespace text_roundtrip_test
}  // namespace spirograd
