#include "frontend/ir/sign.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "frontend/ir/composite.h"

namespace spirograd::ir {
namespace {

constexpr int kMostVisits = 48;

Sign negated(Sign s) {
  if (s == Sign::NotNegative) return Sign::NotPositive;
  if (s == Sign::NotPositive) return Sign::NotNegative;
  return s == Sign::Zero ? s : Sign::Any;
}

// Of a product.
Sign times(Sign a, Sign b) {
  if (a == Sign::Zero || b == Sign::Zero) return Sign::Zero;
  if (a == Sign::NotNegative) return b == Sign::NotPositiveOrInfinite ? Sign::Any : b;
  return a == Sign::NotPositive ? negated(b) : Sign::Any;
}

Sign both(Sign a, Sign b) {
  if (a == Sign::Zero) return b;
  return a == b || b == Sign::Zero ? a : Sign::Any;
}

// Of the larger one, if `s` is NotNegative, or the smaller one.
Sign bounded(Sign a, Sign b, Sign s) {
  const auto is = [&](Sign x) { return x == s || x == Sign::Zero; };
  return is(a) || is(b) ? s : both(a, b);
}

class Finder {
 public:
  explicit Finder(const Graph& g) : g_(g) {}

  Sign of(NodeId id) {
    if (id == assumed_) return assumption_;
    const Node& n = g_[id];
    if (++visits_ > kMostVisits || !is_float(n.type.dtype)) return Sign::Any;
    if (n.op == Op::Const) return of_constant(n);
    if (is_unary_layout(n.op) || n.op == Op::StopGradient || n.op == Op::Sum) return of_operand(n);
    return kind(n.op) == Kind::Pointwise ? of_pointwise(n) : Sign::Any;
  }

 private:
  Sign in(const Node& n, size_t j) { return of(n.in[j]); }

  static Sign of_constant(const Node& n) {
    const auto is = [&](const auto& holds) { return std::ranges::all_of(n.data, holds); };
    if (is([](double x) { return x == 0; })) return Sign::Zero;
    if (is([](double x) { return x >= 0; })) return Sign::NotNegative;
    return is([](double x) { return x <= 0; }) ? Sign::NotPositive : Sign::Any;
  }

  // Zeros that are put around an array count as of either sign.
  Sign of_operand(const Node& n) {
    const Sign s = in(n, 0);
    return n.op == Op::Sum && s == Sign::NotPositiveOrInfinite ? Sign::Any : s;
  }

  Sign of_pointwise(const Node& n) {
    if (n.op == Op::Abs || n.op == Op::Exp || n.op == Op::Sqrt) return Sign::NotNegative;
    if (n.op == Op::Neg) return negated(in(n, 0));
    if (n.op == Op::Mul) return of_product(n);
    if (n.op == Op::Div) return has_clear_sign(n.in[1]) ? in(n, 0) : Sign::Any;
    if (n.op == Op::Add) return both(in(n, 0), in(n, 1));
    if (n.op == Op::Sub) return of_difference(n);
    if (n.op == Op::Max) return bounded(in(n, 0), in(n, 1), Sign::NotNegative);
    if (n.op == Op::Min) return bounded(in(n, 0), in(n, 1), Sign::NotPositive);
    return n.op == Op::Select ? of_choice(n) : Sign::Any;
  }

  Sign of_product(const Node& n) {
    if (n.in[0] == n.in[1]) return Sign::NotNegative;
    const Node &a = g_[n.in[0]], &b = g_[n.in[1]];
    const bool opposite = a.op == Op::Sub && b.op == Op::Sub && a.in[0] == b.in[1] && a.in[1] == b.in[0];
    return opposite ? Sign::NotPositive : times(in(n, 0), in(n, 1));
  }

  // Where the choice is by the sign of an array, that is known in both of what is chosen.
  Sign of_choice(const Node& n) {
    const Node& mask = g_[n.in[0]];
    const bool by_sign = (mask.op == Op::Ge || mask.op == Op::Gt) && is_float(g_[mask.in[0]].type.dtype) &&
                         of(mask.in[1]) == Sign::Zero && !assumed_;
    if (!by_sign) return both(in(n, 1), in(n, 2));
    assumed_ = mask.in[0];
    assumption_ = Sign::NotNegative;
    const Sign chosen = in(n, 1);
    assumption_ = Sign::NotPositive;
    const Sign other = in(n, 2);
    assumed_ = {};
    return both(chosen, other);
  }

  // Whether it is not even -0: what is divided by it keeps its sign.
  bool has_clear_sign(NodeId id) {
    const Node& n = g_[id];
    if (++visits_ > kMostVisits || !is_float(n.type.dtype)) return false;
    if (n.op == Op::Const) return std::ranges::none_of(n.data, [](double x) { return std::signbit(x); });
    if (n.op == Op::Mul && n.in[0] == n.in[1]) return true;
    if (n.op == Op::Mul || n.op == Op::Add || n.op == Op::Div) return has_clear_sign(n.in[0]) && has_clear_sign(n.in[1]);
    if (is_unary_layout(n.op) || n.op == Op::StopGradient || n.op == Op::Sum || n.op == Op::Sqrt)
      return has_clear_sign(n.in[0]);
    return n.op == Op::Abs || n.op == Op::Exp;
  }

  Sign of_difference(const Node& n) {
    if (g_[n.in[1]].op == Op::Broadcast) {
      const Node& stretched = g_[n.in[1]];
      const std::optional<RowMaximum> m = row_maximum(g_, stretched.in[0]);
      if (m && m->of == n.in[0] && leaves_out(stretched, m->axes))
        return m->finite ? Sign::NotPositiveOrInfinite : Sign::NotPositive;
    }
    return both(in(n, 0), negated(in(n, 1)));
  }

  // Whether it is stretched along these axes, and lies along all others in order.
  static bool leaves_out(const Node& stretched, std::span<const int64_t> axes) {
    const auto left_out = [&](int64_t axis) { return std::ranges::find(axes, axis) != axes.end(); };
    return stretched.attr.size() + axes.size() == static_cast<size_t>(stretched.type.shape.rank()) &&
           std::ranges::is_sorted(stretched.attr) && std::ranges::none_of(stretched.attr, left_out);
  }

  const Graph& g_;
  int visits_ = 0;
  NodeId assumed_;  // whose sign a choice has told
  Sign assumption_ = Sign::Any;
};

}  // namespace

Sign sign_of(const Graph& g, NodeId id) { return Finder(g).of(id); }

}  // namespace spirograd::ir
