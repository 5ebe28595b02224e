// Where an operation reads its operands when one element of its result is computed: one account for whoever walks from
// results to operands, over coordinates of any kind - values of a kernel, or which axes they depend on.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::ir {

/// Coordinates in an operand of a layout operation, for coordinates `p` of its result; `start`: where the operand begins in
/// a concatenation. `arithmetic` offers
///   reversed(x, extent)    extent - 1 - x
///   shifted(x, by, axis)   x + by along an axis of the operand, which may lie outside of it
///   reshaped(from, to, p)  coordinates in `from` of what is element p of `to` in row-major order
template <class C, class Arithmetic>
std::vector<C> layout_operand(const Node& n, const Shape& from, std::span<const C> p, Arithmetic&& arithmetic,
                              int64_t start = 0) {
  std::vector<C> out(p.begin(), p.end());
  const auto at = [&](int64_t axis) -> C& { return out[static_cast<size_t>(axis)]; };
  switch (layout_op(n.op)) {
    case LayoutOp::Broadcast:
      out.clear();
      for (int64_t a : n.attr) out.push_back(p[static_cast<size_t>(a)]);
      break;
    case LayoutOp::Transpose:
      for (size_t a = 0; a < p.size(); ++a) at(n.attr[a]) = p[a];
      break;
    case LayoutOp::Reshape: return arithmetic.reshaped(from, n.type.shape, p);
    case LayoutOp::Reverse: at(n.attr[0]) = arithmetic.reversed(at(n.attr[0]), from[static_cast<int>(n.attr[0])]); break;
    case LayoutOp::Window: at(n.attr[0]) = arithmetic.shifted(at(n.attr[0]), n.attr[1], static_cast<int>(n.attr[0])); break;
    case LayoutOp::Concat:
      if (n.in.size() > 1) at(n.attr[0]) = arithmetic.shifted(at(n.attr[0]), -start, static_cast<int>(n.attr[0]));
      break;
    case LayoutOp::Stack: out.erase(out.begin() + static_cast<std::ptrdiff_t>(n.attr[0])); break;
  }
  return out;
}

/// Coordinates in the operand of a reduction: `reduced` along the axes that it runs over.
template <class C>
std::vector<C> reduced_operand(const Node& n, const Shape& from, std::span<const C> p, const C& reduced) {
  std::vector<C> out;
  size_t next = 0;
  for (int a = 0; a < from.rank(); ++a)
    out.push_back(std::find(n.attr.begin(), n.attr.end(), a) != n.attr.end() ? reduced : p[next++]);
  return out;
}

/// Coordinates in operand j of a gather: in an index those of the point `q` among the indices; in the table `index(k, q)` of
/// each index n.in[k], then those that are taken whole.
template <class C, class Index>
std::vector<C> gathered_operand(const Graph& g, const Node& n, size_t j, std::span<const C> p, Index&& index) {
  const auto among = p.begin() + g[n.in[1]].type.shape.rank();
  const std::vector<C> q(p.begin(), among);
  if (j > 0) return q;
  std::vector<C> out;
  for (size_t k = 1; k < n.in.size(); ++k) out.push_back(index(k, q));
  out.insert(out.end(), among, p.end());
  return out;
}

}  // namespace spirograd::ir
