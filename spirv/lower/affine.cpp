#include "spirv/lower/affine.h"

#include <set>

#include "frontend/ir/algebra.h"
#include "frontend/ir/index_map.h"
#include "frontend/ir/reshape_groups.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

using rewrite::Affine;
using Closed = std::optional<Affine>;  // none: not affine

Affine number(int64_t c) { return {.c = c}; }

Closed sum(const Closed& x, int64_t factor, const Closed& y) {
  return x && y ? rewrite::combined(*x, factor, *y) : std::nullopt;
}

struct AffineArithmetic {
  Closed reversed(const Closed& x, int64_t extent) const { return sum(number(extent - 1), -1, x); }
  Closed shifted(const Closed& x, int64_t by, int) const { return sum(x, 1, number(by)); }
  // Row-major numbers are sums; where one is taken apart again, only parts that are all of it are, and those of constants:
  // of one beyond the end, the first part is.
  AffinePlace reshaped(const Shape& from, const Shape& to, std::span<const Closed> p) const {
    AffinePlace out(static_cast<size_t>(from.rank()), Affine{});
    for (const ir::ReshapeGroup& group : ir::reshape_groups(from, to)) {
      Closed linear = Affine{};
      for (int c = group.to.first; c < group.to.end; ++c) linear = sum(p[static_cast<size_t>(c)], to[c], linear);
      int longer = 0;  // axes of more than one element
      for (int a = group.from.first; a < group.from.end; ++a) longer += from[a] > 1;
      const bool constant = linear && linear->constant();
      int64_t rest = constant ? linear->c : 0;
      for (int a = group.from.end; a-- > group.from.first;) {
        if (from[a] <= 1) continue;
        Closed& part = out[static_cast<size_t>(a)];
        if (longer == 1) {
          part = constant ? Closed(number(rest)) : linear;
        } else {
          part = constant ? Closed(number(rest % from[a])) : std::nullopt;
          if (constant) rest /= from[a], --longer;
        }
      }
    }
    return out;
  }
};

// The element of an array of integers at a place, where a few operations on positions compute it and nothing wraps around
// while the place's own coordinates run over `extents`.
class AffineValues {
 public:
  AffineValues(const ir::Graph& g, const Shape& extents) : g_(g), extents_(extents) {}

  Closed at(NodeId id, const AffinePlace& p) {
    if (--left_ < 0) return std::nullopt;
    const Node& n = g_[id];
    const auto operand = [&](size_t j) { return at(n.in[j], p); };
    if (n.op == Op::Const && n.type.shape.rank() == 0) return checked(number(static_cast<int64_t>(n.data[0])));
    if (n.op == Op::Iota) return p[static_cast<size_t>(n.attr[0])];
    if (n.op == Op::Neg) return sum(Affine{}, -1, operand(0));
    if (n.op == Op::Add) return checked(sum(operand(0), 1, operand(1)));
    if (n.op == Op::Sub) return checked(sum(operand(0), -1, operand(1)));
    if (n.op == Op::Mul) return product(operand(0), operand(1));
    // Windows hold zeros as well.
    if (!ir::is_unary_layout(n.op) || n.op == Op::Window || g_[n.in[0]].type.shape.count() == 0) return std::nullopt;
    const Shape& from = g_[n.in[0]].type.shape;
    return at(n.in[0], ir::layout_operand(n, from, std::span<const Closed>(p), AffineArithmetic()));
  }

 private:
  Closed product(const Closed& x, const Closed& y) const {
    if (!x || !y || (!x->constant() && !y->constant())) return std::nullopt;
    return checked(x->constant() ? sum(Affine{}, x->c, y) : sum(Affine{}, y->c, x));
  }
  Closed checked(const Closed& x) const {
    if (!x) return x;
    const rewrite::Range values = rewrite::range_of(*x, extents_), all;
    return values.lo >= all.lo && values.hi <= all.hi ? x : std::nullopt;
  }

  const ir::Graph& g_;
  const Shape& extents_;
  int left_ = 64;  // operations to look at
};

AffinePlace own_place(const Shape& shape) {
  AffinePlace p;
  for (int a = 0; a < shape.rank(); ++a) (*p.emplace_back(Affine{}))[a].a = shape[a] > 1;
  return p;
}

// Where a gather reads its table.
AffinePlace table_place(const ir::Graph& g, const Node& n, const AffinePlace& p, const Shape& extents) {
  const auto m = static_cast<ptrdiff_t>(g[n.in[1]].type.shape.rank());
  const AffinePlace outer(p.begin(), p.begin() + m);
  AffineValues values(g, extents);
  AffinePlace out;
  for (size_t j = 1; j < n.in.size(); ++j) out.push_back(values.at(n.in[j], outer));
  out.insert(out.end(), p.begin() + m, p.end());
  return out;
}

}  // namespace

std::optional<rewrite::Affine> affine_elements(const ir::Graph& g, NodeId id) {
  const Shape& shape = g[id].type.shape;
  return AffineValues(g, shape).at(id, own_place(shape));
}

std::vector<AffineRead> affine_reads(const ir::Graph& g, NodeId root,
                                     const std::function<bool(NodeId, const AffinePlace&)>& is_read) {
  struct Visit {
    NodeId id;
    AffinePlace place;
    std::vector<NodeId> path;
  };
  std::vector<AffineRead> out;
  std::set<std::pair<uint32_t, AffinePlace>> seen;
  std::vector<Visit> stack(1);
  stack[0].id = root;
  stack[0].place = own_place(g[root].type.shape);
  while (!stack.empty()) {
    Visit v = std::move(stack.back());
    stack.pop_back();
    if (!seen.emplace(v.id.v, v.place).second) continue;
    const Node& n = g[v.id];
    if (is_read(v.id, v.place)) {
      AffineRead read{v.id, {}, std::move(v.path)};
      for (Closed& c : v.place)
        if (c) read.place.push_back(*std::move(c));
      if (read.place.size() == v.place.size()) out.push_back(std::move(read));
    } else if (ir::is_pointwise(n.op)) {
      for (size_t j = n.in.size(); j-- > 0;) stack.push_back({n.in[j], v.place, v.path});
    } else if (ir::is_unary_layout(n.op) && g[n.in[0]].type.shape.count() > 0) {
      v.path.push_back(v.id);
      AffinePlace operand =
          ir::layout_operand(n, g[n.in[0]].type.shape, std::span<const Closed>(v.place), AffineArithmetic());
      stack.push_back({n.in[0], std::move(operand), std::move(v.path)});
    } else if (n.op == Op::Gather && g[n.in[0]].type.shape.count() > 0) {
      v.path.push_back(v.id);
      stack.push_back({n.in[0], table_place(g, n, v.place, g[root].type.shape), std::move(v.path)});
    }
  }
  return out;
}

}  // namespace spirograd::lower
