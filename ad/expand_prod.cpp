// Products become trees of multiplications before they are differentiated: the product rule then is exact at zeros and in
// every order, which "product divided by element" is not. Depth is logarithmic in the extent.
#include "ad/scope.h"
#include "frontend/ir/traverse.h"

namespace spirograd::ad {

using namespace ir;

namespace {

// The product over one axis, by halves; the odd element of a level waits for the end.
Expr product_tree(Expr x, int axis) {
  Expr odd;
  int64_t n = x.shape()[axis];
  const Shape result = x.shape().erased(axis);
  if (n == 0) return number(*x.graph, {x.dtype(), result}, 1);
  while (n > 1) {
    if (n % 2 == 1) {
      const Expr last = window(x, axis, n - 1, 1);
      odd = odd ? last * odd : last;
    }
    x = window(x, axis, 0, n / 2) * window(x, axis, n / 2, n / 2);
    n /= 2;
  }
  return reshape(odd ? x * odd : x, result);
}

Expr expanded(Expr x, const std::vector<int64_t>& axes) {
  if (axes.size() == 1) return product_tree(x, static_cast<int>(axes[0]));
  std::vector<int64_t> perm = axes;
  Shape merged = {1};
  for (int64_t a : axes) merged[0] *= x.shape()[static_cast<int>(a)];
  for (int64_t a = 0, next = 0; a < x.rank(); ++a) {
    if (next < static_cast<int64_t>(axes.size()) && axes[static_cast<size_t>(next)] == a) {
      ++next;
      continue;
    }
    perm.push_back(a);
    merged.push_back(x.shape()[static_cast<int>(a)]);
  }
  return product_tree(reshape(ir::transpose(x, perm), merged), 0);
}

}  // namespace

std::vector<Expr> expand_products(Graph& g, std::span<const Expr> roots, std::span<const Expr> inputs) {
  std::vector<Expr> out(roots.begin(), roots.end());
  std::vector<NodeId> ids = ids_of(roots);
  bool found = false;
  for (NodeId id : postorder(g, ids)) found |= g[id].op == Op::Prod;
  if (!found) return out;
  const Activity active = find_active(g, roots, inputs);
  Memo memo;
  ids = rebuild(g, ids, memo, [&](NodeId old, NodeId built) {
    const Node& n = g[built];
    return n.op == Op::Prod && active[old] ? expanded({&g, n.in[0]}, n.attr).id : built;
  });
  for (size_t j = 0; j < out.size(); ++j) out[j].id = ids[j];
  return out;
}

}  // namespace spirograd::ad
