#include "frontend/rewrite/read_at.h"

#include <algorithm>
#include <map>

#include "frontend/ir/composite.h"
#include "frontend/rewrite/named_axes.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

constexpr size_t kMostVisits = 200;
constexpr int64_t kInside = 1000;  // axes that reductions remove are numbered from here

int64_t index_in(const Axes& axes, int64_t t) { return std::find(axes.begin(), axes.end(), t) - axes.begin(); }

// Axes are named by numbers, the same wherever they are met: those of the array that is read, and one for each that a
// reduction removes.
class Reader {
 public:
  Reader(Graph& g, const PlaceAlong& at) : g_(g), at_(at) {}

  // `axes`: the name of each axis of x. The result has those of result_axes.
  Expr read(Expr x, const Axes& axes) {
    if (!contains(axes, at_.axis)) return x;
    const auto [it, fresh] = known_.try_emplace({x.id, axes});
    if (!fresh) return it->second;
    if (known_.size() > kMostVisits) return {};
    return it->second = computed(x, axes);
  }

 private:
  // Without the axis of the place; first those that the place lies along and x does not.
  Axes result_axes(const Axes& axes) const {
    if (!contains(axes, at_.axis)) return axes;
    Axes out;
    for (int64_t t : at_.by)
      if (!contains(axes, t)) out.push_back(t);
    for (int64_t t : axes)
      if (t != at_.axis) out.push_back(t);
    return out;
  }

  Shape result_shape(Expr x, const Axes& axes) const {
    Shape out;
    for (int64_t t : result_axes(axes))
      out.push_back(contains(at_.by, t) ? at_.place.shape()[static_cast<int>(index_in(at_.by, t))]
                                        : x.shape()[static_cast<int>(index_in(axes, t))]);
    return out;
  }

  Expr computed(Expr x, const Axes& axes) {
    const Node& n = x.node();
    switch (kind(n.op)) {
      case Kind::Leaf: return n.op == Op::Iota ? iota_there(x, axes) : gathered(x, axes);
      case Kind::Pointwise: {
        std::vector<Expr> in;
        for (NodeId operand : n.in) {
          in.push_back(read({&g_, operand}, axes));
          if (!in.back()) return {};
        }
        return with_operands(g_, n, in);
      }
      case Kind::Layout: return n.op == Op::Broadcast ? repeated(x, axes) : gathered(x, axes);
      case Kind::Reduce: return reduced(x, axes);
      case Kind::Indexed:
      case Kind::Binder:
      case Kind::Rule:
      case Kind::Loop: return gathered(x, axes);
    }
    return {};
  }

  Expr iota_there(Expr x, const Axes& axes) const {
    const Axes out = result_axes(axes);
    const Shape shape = result_shape(x, axes);
    const int64_t along = axes[static_cast<size_t>(axis_of(x))];
    if (along == at_.axis) return spread({at_.place, at_.by}, out, shape);
    return iota(g_, shape, static_cast<int>(index_in(out, along)));
  }

  Expr repeated(Expr x, const Axes& axes) {
    const Axes own = names_below(x, axes);
    const Expr in = read(x.in(0), own);
    return in ? spread({in, result_axes(own)}, result_axes(axes), result_shape(x, axes)) : Expr{};
  }

  Expr reduced(Expr x, const Axes& axes) {
    const Node& n = x.node();
    Axes own;
    auto kept = axes.begin();
    for (int t = 0; t < x.in(0).rank(); ++t) own.push_back(contains(n.attr, t) ? inside_++ : *kept++);
    const Expr in = read(x.in(0), own);
    if (!in) return {};
    Axes positions;
    const Axes all = result_axes(own);
    for (size_t j = 0; j < all.size(); ++j)
      if (all[j] >= kInside && !contains(axes, all[j])) positions.push_back(static_cast<int64_t>(j));
    const bool place = finds_place(n.op);
    return place ? arg_reduce(n.op, in, static_cast<int>(positions[0])) : reduce(n.op, in, positions);
  }

  Expr gathered(Expr x, const Axes& axes) const {
    std::vector<Expr> index;
    Axes perm;
    for (size_t j = 0; j < at_.by.size(); ++j) {
      if (!contains(axes, at_.by[j])) continue;
      perm.push_back(index_in(axes, at_.by[j]));
      index.push_back(iota(g_, at_.place.shape(), static_cast<int>(j)));
    }
    perm.push_back(index_in(axes, at_.axis));
    index.push_back(at_.place);
    Axes own = at_.by;
    for (size_t j = 0; j < axes.size(); ++j) {
      if (contains(perm, static_cast<int64_t>(j))) continue;
      perm.push_back(static_cast<int64_t>(j));
      own.push_back(axes[j]);
    }
    const Expr table = std::is_sorted(perm.begin(), perm.end()) ? x : transpose(x, perm);
    return spread({gather(table, index), own}, result_axes(axes), result_shape(x, axes));
  }

  Graph& g_;
  const PlaceAlong& at_;
  std::map<std::pair<NodeId, Axes>, Expr> known_;
  int64_t inside_ = kInside;
};

}  // namespace

Expr read_at(Expr x, const PlaceAlong& at) { return Reader(*x.graph, at).read(x, all_axes(x)); }

}  // namespace spirograd::rewrite
