#include "spirv/lower/several_axes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "frontend/base/checked.h"
#include "frontend/ir/algebra.h"
#include "spirv/lower/column_sums.h"
#include "spirv/lower/contractions.h"
#include "spirv/lower/gathered_products.h"
#include "spirv/lower/near_reads.h"

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

bool is_part(int64_t own, int64_t n) { return own > 1 && own < n; }

// So many elements of each axis that together are as many as may be: all of an axis, or a number that leaves whole parts. Of
// equals those that cut fewer axes, then those of the later ones.
std::vector<int64_t> written_out(std::span<const int64_t> axes, int64_t most, int most_cuts) {
  std::vector<int64_t> best(axes.size(), 1), tried = best;
  int64_t found = 1;
  int fewest = most_cuts;
  const std::function<void(size_t, int64_t, int)> choose = [&](size_t left, int64_t elements, int cuts) {
    if (left == 0) {
      if (elements > found || (elements == found && cuts < fewest)) found = elements, fewest = cuts, best = tried;
      return;
    }
    const int64_t n = axes[left - 1];
    for (int64_t own = std::min(n, most / elements); own >= 1; --own) {
      const int more = cuts + is_part(own, n);
      if (n % own != 0 || more > most_cuts) continue;
      tried[left - 1] = own;
      choose(left - 1, elements * own, more);
    }
  };
  choose(axes.size(), 1, 0);
  return best;
}

// The same for all elements of a shape whose axes are those of `order`; the first of them are its own.
Expr among(Expr x, const Shape& shape, std::span<const int64_t> order) {
  std::vector<int64_t> own, axes;
  for (size_t at = 0; at < static_cast<size_t>(shape.rank()); ++at)
    if (order[at] < x.rank()) own.push_back(order[at]), axes.push_back(static_cast<int64_t>(at));
  return ir::broadcast(ir::transpose(x, own), shape, axes);
}

}  // namespace

std::optional<ShortSums> short_sums(Graph& g, NodeId id, const NodeSet& stored, int last, int64_t most) {
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
  const Expr x = read.product;
  // What decides whether a product is left out does so for whole sums.
  const int64_t decide = read.inside ? read.inside->rank() : 0;
  const auto is_summed = [&](int a) { return std::ranges::find(n.attr, a) != n.attr.end(); };
  std::vector<int64_t> lengths;
  for (int a = static_cast<int>(decide); a < x.rank(); ++a)
    if (is_summed(a)) lengths.push_back(x.shape()[a]);
  const std::vector<int64_t> own = written_out(lengths, most, kMaxRank - x.rank());
  Shape cut;
  std::vector<int64_t> order, results, inner;
  int64_t elements = 1;  // of a short sum
  auto next = own.begin();
  const auto add = [&](std::vector<int64_t>& axes, int64_t count) { axes.push_back(cut.rank()), cut.push_back(count); };
  for (int a = 0; a < x.rank(); ++a) {
    const int64_t count = x.shape()[a];
    if (!is_summed(a)) {
      add(results, count);
    } else if (a < decide) {
      add(order, count);
    } else {
      const int64_t mine = *next++;
      if (mine < count) add(order, count / mine);
      if (mine > 1) add(inner, mine), elements *= mine;
    }
  }
  if (inner.empty()) return std::nullopt;
  std::rotate(results.begin() + last, results.begin() + last + 1, results.end());
  out.others = static_cast<int>(order.size());
  order.insert(order.end(), results.begin(), results.end());
  const auto kept = static_cast<int>(order.size());
  order.insert(order.end(), inner.begin(), inner.end());
  const Expr ordered = ir::transpose(ir::reshape(x, cut), order);
  const Shape sums = ordered.shape().slice(0, kept);
  out.products = ir::reshape(ordered, sums.inserted(kept, elements));
  out.stored = std::move(read.copies);
  if (read.inside) out.inside = among(*read.inside, sums, order);
  return out;
}

SumOfShortSums::SumOfShortSums(Graph& g, ShortSums sums, const NodeSet& stored, int64_t most)
    : g_(g), sums_(std::move(sums)), stored_(stored), at_once_(counts()) {
  for (const uint32_t copy : sums_.stored) stored_.insert(copy);
  for (int a = 0; a < sums_.others; ++a) {
    int64_t& own = at_once_[a];
    const int64_t n = own, others = saturating_mul(at_once_.count() / own, results().count());
    while (own > 1 && (saturating_mul(own, others) > most || n % own != 0)) --own;
  }
}

schedule::MapFacts SumOfShortSums::facts() const {
  const std::vector<int64_t> first(static_cast<size_t>(sums_.others), 0);
  return contraction_facts(g_, partial(first).id, stored_);
}

bool SumOfShortSums::steps() const { return steps_along_lanes(g_, sums_.products, stored_); }

int64_t SumOfShortSums::rounds() const { return counts().count() / at_once_.count(); }

Expr SumOfShortSums::total(std::set<uint32_t>& stored) {
  sums_.products = with_near_reads(g_, sums_.products, stored_, sums_.stored);
  stored.insert(sums_.stored.begin(), sums_.stored.end());
  std::vector<int64_t> from(static_cast<size_t>(sums_.others), 0);
  Expr all = sum_from(from, stored);
  for (int64_t round = 1; round < rounds(); ++round) {
    stored.insert(all.id.v);  // before the next ones
    for (int a = sums_.others; a-- > 0;) {
      int64_t& at = from[static_cast<size_t>(a)];
      at += at_once_[a];
      if (at < counts()[a]) break;
      at = 0;
    }
    all = all + sum_from(from, stored);
  }
  return all;
}

Expr SumOfShortSums::cut(Expr x, std::span<const int64_t> from) const {
  for (int a = 0; a < sums_.others; ++a) x = windowed(x, a, from[static_cast<size_t>(a)], at_once_[a]);
  return x;
}

Expr SumOfShortSums::partial(std::span<const int64_t> from) const {
  return ir::reduce(Op::Sum, cut(sums_.products, from), {sums_.products.rank() - 1});
}

Expr SumOfShortSums::sum_from(std::span<const int64_t> from, std::set<uint32_t>& stored) const {
  const Expr sums = partial(from);
  const Expr counted = sums_.inside ? ir::select(cut(*sums_.inside, from), sums, ir::zeros(g_, sums.type())) : sums;
  if (sums_.others == 0) return counted;
  stored.insert(sums.id.v);
  return sum_of_columns(ir::reshape(counted, results().inserted(0, at_once_.count())), stored);
}

}  // namespace spirograd::lower
