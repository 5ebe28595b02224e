#include "tests/property/rounding.h"

#include <algorithm>
#include <array>
#include <random>

#include "frontend/rewrite/vectorise.h"

namespace spirograd::property {
namespace {

constexpr double kUnit = 0x1p-24;         // rounding of one operation in f32, relative
constexpr double kAmplitude = 6 * kUnit;  // elementary functions are up to 4 units off
constexpr int kTrials = 3;
constexpr int kManyTrials = 24;  // which of two equal terms an argmax takes, or on which side of a border, may stay the same
constexpr int64_t kTile = 4093;  // elements after which the same disturbances come again

enum class Rounds : uint8_t { No, Result, SumOfMany };

// Pointwise operations whose results are as exact as their operands.
bool is_exact(ir::Op op) {
  using enum ir::Op;
  constexpr std::array kExact = {Neg, Abs, Sign, Not, Floor, StopGradient, PreferStore, PreferRecompute, Min, Max, Quot, Eq,
                                 Ne,  Lt,  Le,   Gt,  Ge,    And,          Or,          Select};
  return std::find(kExact.begin(), kExact.end(), op) != kExact.end();
}

Rounds rounding_of(ir::Op op) {
  switch (ir::kind(op)) {
    case ir::Kind::Pointwise: return is_exact(op) ? Rounds::No : Rounds::Result;
    case ir::Kind::Reduce: return op == ir::Op::Sum ? Rounds::SumOfMany : op == ir::Op::Prod ? Rounds::Result : Rounds::No;
    case ir::Kind::Indexed: return op == ir::Op::Scatter ? Rounds::SumOfMany : Rounds::No;
    case ir::Kind::Leaf:
    case ir::Kind::Layout:
    case ir::Kind::Binder:
    case ir::Kind::Loop:
    case ir::Kind::Rule: break;
  }
  return Rounds::No;
}

// e with each element scaled by 1 + r, where |r| <= amplitude.
ir::Expr disturbed(ir::Expr e, double amplitude, std::mt19937& random) {
  ir::Graph& g = *e.graph;
  const int64_t n = e.shape().count(), tile = std::min(n, kTile);
  if (n == 0) return e;
  Values data(static_cast<size_t>(tile));
  for (double& x : data) x = 1 + amplitude * (static_cast<double>(random() % 20001) / 10000 - 1);
  ir::Expr factor = ir::constant(g, {e.dtype(), {tile}}, std::move(data));
  if (n > tile) {
    const ir::Expr at = ir::iota(g, {n}, 0);
    const ir::Expr index[] = {ir::binary(ir::Op::Rem, at, ir::full(g, at.type(), static_cast<double>(tile)))};
    factor = ir::gather(factor, index);
  }
  return e * ir::reshape(factor, e.shape());
}

Program with_rounding(const Program& bulk, uint32_t trial) {
  std::mt19937 random(trial);
  return mapped(bulk, [&](ir::Graph& g, ir::Node n) {
    const Rounds rounds = is_float(n.type.dtype) ? rounding_of(n.op) : Rounds::No;
    if (rounds == Rounds::SumOfMany) {
      // Sums on devices are compensated; those of scatters, in any order, are not.
      const ir::Expr terms{&g, n.in[0]};
      const double many = n.op == ir::Op::Scatter ? std::sqrt(static_cast<double>(terms.shape().count())) : 1;
      n.in[0] = disturbed(terms, kAmplitude * std::max(1.0, many), random).id;
    }
    const ir::Expr e{&g, g.intern(std::move(n))};
    return rounds == Rounds::No ? e.id : disturbed(e, kAmplitude, random).id;
  });
}

double mean_of(const Values& v, const std::function<double(double)>& f) {
  double total = 0, n = 0;
  for (double x : v) {
    const double y = f(x);
    if (!std::isfinite(y)) continue;
    total += y;
    ++n;
  }
  return n > 0 ? total / n : 0;
}

// Elements for which `forgiven(result, element)` is not enough; -1 in `result` if there are none.
struct Miss {
  int64_t result = -1;
  size_t element = 0;
};
Miss first_miss(const Program& p, const std::vector<Values>& want, const std::vector<Values>& have, double huge,
                const std::function<double(size_t, size_t)>& forgiven) {
  for (size_t j = 0; j < want.size(); ++j) {
    const bool floats = is_float(p.results[j].type.dtype);
    for (size_t i = 0; i < want[j].size(); ++i) {
      const double a = want[j][i], b = have[j][i];
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      // The sum of a x is a times that of x: where a is infinite terms of both signs are NaN, and the product is not.
      if (floats && std::isnan(a) && std::isinf(b)) continue;
      if (floats && std::abs(a) >= huge && std::abs(b) >= huge && std::signbit(a) == std::signbit(b)) continue;
      const double f = forgiven(j, i);
      if (f == HUGE_VAL || std::abs(a - b) <= f) continue;
      return {static_cast<int64_t>(j), i};
    }
  }
  return {};
}

}  // namespace

std::vector<Values> sensitivity(const Program& bulk, const std::vector<Values>& inputs, const std::vector<Values>& want,
                                int trials) {
  std::vector<Values> moved;
  for (const Values& v : want) moved.emplace_back(v.size(), 0.0);
  for (int trial = 1; trial <= trials; ++trial) {
    const std::vector<Values> other = run(with_rounding(bulk, static_cast<uint32_t>(trial)), inputs);
    for (size_t j = 0; j < want.size(); ++j)
      for (size_t i = 0; i < want[j].size(); ++i) {
        const double a = want[j][i], b = other[j][i];
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        const double change = std::abs(a - b);
        moved[j][i] = std::max(moved[j][i], std::isnan(change) ? HUGE_VAL : change);
      }
  }
  return moved;
}

std::string rounded_difference(const Program& program, const std::vector<Values>& inputs, const std::vector<Values>& want,
                               const std::vector<Values>& have, double huge) {
  if (want.size() != have.size()) return "the number of results differs";
  for (size_t j = 0; j < want.size(); ++j)
    if (want[j].size() != have[j].size()) return "the size of a result differs";
  // Most programs are well conditioned.
  const Miss strict = first_miss(program, want, have, huge, [&](size_t j, size_t i) {
    return is_float(program.results[j].type.dtype) ? 8 * kUnit * std::abs(want[j][i]) : 0;
  });
  if (strict.result < 0) return {};
  const Program bulk = rewrite::vectorise(program);
  std::vector<Values> moved;
  Miss miss;
  for (const int trials : {kTrials, kManyTrials}) {
    moved = sensitivity(bulk, inputs, want, trials);
    std::vector<double> typical;
    for (const Values& v : moved) typical.push_back(mean_of(v, [](double x) { return x; }));
    miss = first_miss(program, want, have, huge, [&](size_t j, size_t i) {
      // What rounding moves at all may also move the other way, over a border.
      if (!is_float(program.results[j].type.dtype)) return moved[j][i] > 0 ? HUGE_VAL : 0;
      constexpr double kLeastNormal = 0x1p-126;
      return 8 * kUnit * std::abs(want[j][i]) + 3 * moved[j][i] + typical[j] + kLeastNormal;
    });
    if (miss.result < 0) return {};
  }
  const auto j = static_cast<size_t>(miss.result);
  std::ostringstream out;
  out.precision(9);
  out << "result " << j << "[" << miss.element << "]: " << want[j][miss.element] << " expected, got "
      << have[j][miss.element];
  if (is_float(program.results[j].type.dtype)) out << " (rounding moves it by " << moved[j][miss.element] << ")";
  return out.str();
}

}  // namespace spirograd::property
