#include "spirv/lower/several_axes.h"

#include <algorithm>
#include <utility>

#include "frontend/base/checked.h"
#include "frontend/ir/algebra.h"
#include "spirv/lower/gathered_products.h"
#include "spirv/schedule/legal.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

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
      const int axis = static_cast<int>(turned ? table.attr[j - 1] : static_cast<int64_t>(j - 1));
      index.push_back({&g_, n.in[j]});
      if (!read_inside(copy, axis, index.back())) return std::nullopt;
    }
    if (copy.id == array) return id;
    if (!is_made_of_arrays(g_, array, stored_)) return std::nullopt;
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

// An axis of more elements than are added plainly becomes two, the second of which has as many as may be. False: it stays.
bool cut_in_two(Expr& x, int axis) {
  constexpr int64_t kLeast = 8;
  const int64_t n = x.shape()[axis];
  if (n <= schedule::kPlainSum || x.rank() >= kMaxRank) return false;
  int64_t part = schedule::kPlainSum;
  while (n % part != 0) --part;
  if (part < kLeast) return false;
  x = ir::reshape(x, x.shape().erased(axis).inserted(axis, part).inserted(axis, n / part));
  return true;
}

// The same for all elements of a shape whose axes are those of `order`; the first of them are its own.
Expr among(Expr x, const Shape& shape, std::span<const int64_t> order) {
  std::vector<int64_t> own, axes;
  for (size_t at = 0; at < static_cast<size_t>(shape.rank()); ++at)
    if (order[at] < x.rank()) own.push_back(order[at]), axes.push_back(static_cast<int64_t>(at));
  return ir::broadcast(ir::transpose(x, own), shape, axes);
}

}  // namespace

std::optional<ShortSums> short_sums(Graph& g, NodeId id, const NodeSet& stored, int last) {
  const Node n = g[id];
  ShortSums out;
  Padding padding(g, stored);
  GatheredProduct read;
  if (const std::optional<NodeId> operand = padding.run(n.in[0])) {
    read.product = {&g, *operand}, read.copies = std::move(padding.copies);
  } else {
    if (g[n.in[0]].op != Op::Gather) return std::nullopt;
    std::optional<GatheredProduct> product = gathered_product(g, n.in[0], stored);
    if (!product) return std::nullopt;
    read = std::move(*product);
  }
  Expr x = read.product;
  // What decides whether a product is left out does so for whole sums.
  const int64_t decide = read.inside ? read.inside->rank() : 0;
  std::vector<int64_t> order, joined, others;
  for (int64_t a = 0, old = 0; a < x.rank(); ++a, ++old) {
    const bool summed = std::ranges::find(n.attr, old) != n.attr.end();
    (!summed ? others : a < decide ? order : joined).push_back(a);
    if (summed && a >= decide && cut_in_two(x, static_cast<int>(a))) joined.push_back(++a);
  }
  std::rotate(others.begin() + last, others.begin() + last + 1, others.end());
  const Axes axes = written_out(x.shape(), joined);
  if (axes.inner.empty()) return std::nullopt;
  order.insert(order.end(), axes.others.begin(), axes.others.end());
  out.others = static_cast<int>(order.size());
  order.insert(order.end(), others.begin(), others.end());
  const auto kept = static_cast<int>(order.size());
  order.insert(order.end(), axes.inner.begin(), axes.inner.end());
  const Expr ordered = ir::transpose(x, order);
  const Expr together = ir::reshape(ordered, ordered.shape().slice(0, kept).inserted(kept, axes.elements));
  out.partial = ir::reduce(Op::Sum, together, {kept});
  out.stored = std::move(read.copies);
  if (read.inside) out.inside = among(*read.inside, out.partial.shape(), order);
  return out;
}

}  // namespace spirograd::lower
