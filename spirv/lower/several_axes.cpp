#include "spirv/lower/several_axes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "frontend/base/checked.h"
#include "frontend/ir/algebra.h"
#include "spirv/lower/contractions.h"
#include "spirv/schedule/legal.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

struct Range {
  int64_t least = 0, greatest = 0;
};

// None where machines would wrap around.
std::optional<Range> in_i32(int64_t least, int64_t greatest) {
  using Limits = std::numeric_limits<int32_t>;
  return least < Limits::min() || greatest > Limits::max() ? std::nullopt : std::optional(Range{least, greatest});
}

// Of integers that are made of numbers of elements and constants.
std::optional<Range> range_of(const Graph& g, NodeId id, size_t depth = 0) {
  constexpr size_t kDeepest = 16;
  const Node& n = g[id];
  if (depth == kDeepest) return std::nullopt;
  const auto of = [&](size_t j) { return range_of(g, n.in[j], depth + 1); };
  if (n.op == Op::Iota) return in_i32(0, n.type.shape[static_cast<int>(n.attr[0])] - 1);
  if (n.op == Op::Const && n.type.shape.rank() == 0) {
    const auto value = static_cast<int64_t>(n.data[0]);
    return in_i32(value, value);
  }
  if (n.op == Op::Broadcast || n.op == Op::Transpose || n.op == Op::Reshape) return of(0);
  if (n.op != Op::Add && n.op != Op::Sub && n.op != Op::Mul) return std::nullopt;
  const std::optional<Range> a = of(0), b = of(1);
  if (!a || !b) return std::nullopt;
  if (n.op == Op::Add) return in_i32(a->least + b->least, a->greatest + b->greatest);
  if (n.op == Op::Sub) return in_i32(a->least - b->greatest, a->greatest - b->least);
  const auto [least, greatest] =
      std::minmax({a->least * b->least, a->least * b->greatest, a->greatest * b->least, a->greatest * b->greatest});
  return in_i32(least, greatest);
}

// Gathers of some elements beyond the ends of arrays, as gathers of copies with zeros there.
class Padding {
 public:
  Padding(Graph& g, const NodeSet& stored) : g_(g), stored_(stored) {}

  // None: something else is read beyond its ends, and has to ask where it is read.
  std::optional<NodeId> run(NodeId root) {
    constexpr size_t kMostSteps = 64;
    ir::Memo memo;
    std::vector<NodeId> stack = {root};
    for (size_t visits = 0; !stack.empty(); ++visits) {
      const NodeId id = stack.back();
      stack.pop_back();
      const Node& n = g_[id];
      if (visits == kMostSteps) return std::nullopt;
      if (memo.contains(id.v)) continue;
      if (stored_.contains(id.v)) {
        memo[id.v] = id;  // as it is
      } else if (n.op == Op::Gather) {
        const std::optional<NodeId> other = padded(id);
        if (!other) return std::nullopt;
        memo[id.v] = *other;
      } else if (ir::is_pointwise(n.op) || ir::is_unary_layout(n.op)) {
        stack.insert(stack.end(), n.in.begin(), n.in.end());
      }
    }
    return copies.empty() ? root : ir::substitute(g_, root, std::move(memo));
  }

  std::set<uint32_t> copies;

 private:
  std::optional<NodeId> padded(NodeId id) {
    const Node n = g_[id];
    const Node table = g_[n.in[0]];
    const bool turned = table.op == Op::Transpose && !stored_.contains(n.in[0].v);
    const NodeId array = turned ? table.in[0] : n.in[0];
    Expr copy{&g_, array};
    std::vector<Expr> index;
    for (size_t j = 1; j < n.in.size(); ++j) {
      const std::optional<Range> range = range_of(g_, n.in[j]);
      if (!range) return std::nullopt;
      const int axis = static_cast<int>(turned ? table.attr[j - 1] : static_cast<int64_t>(j - 1));
      const int64_t extent = copy.shape()[axis],
                    beyond = std::max<int64_t>(0, -range->least) + std::max<int64_t>(0, range->greatest - extent + 1);
      index.push_back({&g_, n.in[j]});
      if (beyond == 0) continue;
      if (2 * beyond > extent) return std::nullopt;
      copy = windowed(copy, axis, range->least, range->greatest - range->least + 1);
      index.back() = index.back() - ir::whole_like(index.back(), range->least);
    }
    if (copy.id == array) return id;
    if (!stored_.contains(array.v) && g_[array].op != Op::Param) return std::nullopt;
    copies.insert(copy.id.v);
    return ir::gather(turned ? ir::transpose(copy, table.attr) : copy, index).id;
  }

  Graph& g_;
  const NodeSet& stored_;
};

struct Axes {
  std::vector<int64_t> others, inner;
  int64_t elements = 1;  // of the inner ones
};

// Those of some axes that have the most elements of all that may be added plainly; of equals the later ones.
Axes written_out(const Shape& shape, std::span<const int64_t> axes) {
  uint32_t best = 0;
  int64_t most = 1;
  for (uint32_t set = 1; set < 1u << axes.size(); ++set) {
    int64_t elements = 1;
    for (size_t j = 0; j < axes.size(); ++j)
      if (set >> j & 1) elements = saturating_mul(elements, shape[static_cast<int>(axes[j])]);
    if (elements >= most && elements <= schedule::kPlainSum) most = elements, best = set;
  }
  Axes out{{}, {}, most};
  for (size_t j = 0; j < axes.size(); ++j) (best >> j & 1 ? out.inner : out.others).push_back(axes[j]);
  return out;
}

}  // namespace

std::optional<ShortSums> short_sums(Graph& g, NodeId id, const NodeSet& stored) {
  const Node n = g[id];
  Padding padding(g, stored);
  const std::optional<NodeId> operand = padding.run(n.in[0]);
  if (!operand) return std::nullopt;
  const Expr x{&g, *operand};
  const Axes axes = written_out(x.shape(), n.attr);
  if (axes.inner.empty()) return std::nullopt;
  std::vector<int64_t> order = axes.others;
  for (int64_t a = 0; a < x.rank(); ++a)
    if (std::ranges::find(n.attr, a) == n.attr.end()) order.push_back(a);
  const auto kept = static_cast<int>(order.size());
  order.insert(order.end(), axes.inner.begin(), axes.inner.end());
  const Expr ordered = ir::transpose(x, order);
  const Expr joined = ir::reshape(ordered, ordered.shape().slice(0, kept).inserted(kept, axes.elements));
  return ShortSums{ir::reduce(Op::Sum, joined, {kept}), static_cast<int>(axes.others.size()), std::move(padding.copies)};
}

}  // namespace spirograd::lower
