#include "spirv/lower/known_zeros.h"

#include <algorithm>
#include <bit>

#include "frontend/ir/eval_ops.h"
#include "frontend/ir/index_map.h"
#include "frontend/ir/reshape_groups.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

using Known = std::optional<int64_t>;

constexpr int kMostWalked = 64;  // of which a value is made

struct KnownArithmetic {
  Known reversed(const Known& x, int64_t extent) const { return x ? Known(extent - 1 - *x) : x; }
  Known shifted(const Known& x, int64_t by, int) const { return x ? Known(*x + by) : x; }
  // Axes of one element aside, an axis that stays one keeps its coordinate; others are known if all of their group are.
  KnownPlace reshaped(const Shape& from, const Shape& to, std::span<const Known> p) const {
    KnownPlace out(static_cast<size_t>(from.rank()), 0);
    for (const ir::ReshapeGroup& group : ir::reshape_groups(from, to)) {
      Known linear = 0;
      for (int c = group.to.first; c < group.to.end; ++c) {
        const Known& x = p[static_cast<size_t>(c)];
        if (to[c] > 1) linear = linear && x ? Known(*linear * to[c] + *x) : std::nullopt;
      }
      for (int a = group.from.end; a-- > group.from.first;) {
        out[static_cast<size_t>(a)] = linear ? Known(*linear % from[a]) : std::nullopt;
        if (linear) *linear /= from[a];
      }
    }
    return out;
  }
};

std::optional<double> pointwise_value(const ir::Graph& g, const Node& n, const KnownPlace& at, int& steps);

std::optional<double> value_of(const ir::Graph& g, NodeId id, const KnownPlace& at, int& steps) {
  const Node& n = g[id];
  if (--steps < 0) return std::nullopt;
  if (n.op == Op::Const && n.type.shape.rank() == 0) return n.data[0];
  if (n.op == Op::Iota) {
    const Known& x = at[static_cast<size_t>(n.attr[0])];
    return x ? std::optional(static_cast<double>(*x)) : std::nullopt;
  }
  if (ir::is_pointwise(n.op)) return pointwise_value(g, n, at, steps);
  if (!ir::is_unary_layout(n.op)) return std::nullopt;
  const Shape& from = g[n.in[0]].type.shape;
  if (from.count() == 0) return 0;
  const KnownPlace below = ir::layout_operand(n, from, std::span<const Known>(at), KnownArithmetic());
  if (n.op == Op::Window) {
    const auto axis = static_cast<size_t>(n.attr[0]);
    if (!below[axis]) return std::nullopt;
    if (*below[axis] < 0 || *below[axis] >= from[static_cast<int>(axis)]) return 0;
  }
  return value_of(g, n.in[0], below, steps);
}

std::optional<double> pointwise_value(const ir::Graph& g, const Node& n, const KnownPlace& at, int& steps) {
  if (n.op == Op::Select) {
    const std::optional<double> chosen = value_of(g, n.in[0], at, steps);
    return chosen ? value_of(g, n.in[*chosen != 0 ? 1 : 2], at, steps) : std::nullopt;
  }
  std::vector<Type> types;
  std::vector<double> values;
  for (NodeId in : n.in) {
    const std::optional<double> x = value_of(g, in, at, steps);
    if (!x) return std::nullopt;
    types.push_back({g[in].type.dtype, {}});
    values.push_back(*x);
  }
  std::vector<ir::View> views;
  for (size_t j = 0; j < values.size(); ++j) views.push_back({&types[j], &values[j]});
  Node scalar;
  scalar.op = n.op, scalar.type = {n.type.dtype, {}}, scalar.attr = n.attr;
  double out = 0;
  ir::eval_pointwise(scalar, views, &out);
  return out;
}

bool is_known_zero_term(const ir::Graph& g, NodeId id, const KnownPlace& at) {
  const Node& n = g[id];
  if (n.op != Op::Mul) return is_known_zero(g, id, at);
  return std::ranges::any_of(n.in, [&](NodeId in) { return is_known_zero(g, in, at); });
}

// Of the terms of sums inside of the sum `outer`.
double terms_left(const ir::Graph& g, NodeId outer) {
  constexpr int64_t kMostTerms = 1 << 12;
  const Node& n = g[outer];
  const int64_t length = g[n.in[0]].type.shape.count() / std::max<int64_t>(1, n.type.shape.count());
  int64_t all = 0, left = 0;
  for (int64_t k = 0; k < length; ++k) {
    struct Visit {
      NodeId id;
      KnownPlace at;
    };
    const KnownPlace own(static_cast<size_t>(n.type.shape.rank()));
    std::vector<Visit> stack = {
        {n.in[0], ir::reduced_operand(n, g[n.in[0]].type.shape, std::span<const Known>(own), Known(k))}};
    for (int visits = 0; !stack.empty() && visits < kMostWalked; ++visits) {
      const Visit v = std::move(stack.back());
      stack.pop_back();
      const Node& at = g[v.id];
      if (ir::is_pointwise(at.op)) {
        for (NodeId in : at.in) stack.push_back({in, v.at});
      } else if (ir::is_unary_layout(at.op)) {
        stack.push_back(
            {at.in[0], ir::layout_operand(at, g[at.in[0]].type.shape, std::span<const Known>(v.at), KnownArithmetic())});
      } else if (at.op == Op::Sum && at.attr.size() == 1) {
        const Shape& from = g[at.in[0]].type.shape;
        for (int64_t j = 0; j < from[static_cast<int>(at.attr[0])] && all < kMostTerms; ++j, ++all)
          left += !is_known_zero_term(g, at.in[0], ir::reduced_operand(at, from, std::span<const Known>(v.at), Known(j)));
      }
    }
  }
  return all == 0 || all >= kMostTerms ? 1 : static_cast<double>(left) / static_cast<double>(all);
}

}  // namespace

bool is_known_zero(const ir::Graph& g, NodeId id, const KnownPlace& at) {
  int steps = kMostWalked;
  const std::optional<double> value = value_of(g, id, at, steps);
  return value && std::bit_cast<uint64_t>(*value) == 0;
}

bool chooses_by_place(const ir::Graph& g, NodeId id) {
  while (ir::is_unary_layout(g[id].op)) {
    if (g[id].op == Op::Window) return true;
    id = g[id].in[0];
  }
  return g[id].op == Op::Select;
}

void count_terms_left(const ir::Graph& g, Accesses& found) {
  for (size_t j = 0; j < found.reductions.size(); ++j)
    if (found.reductions[j].loops) found.reductions[j].left = terms_left(g, found.reduced[j]);
}

}  // namespace spirograd::lower
