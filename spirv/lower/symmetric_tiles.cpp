#include "spirv/lower/symmetric_tiles.h"

#include <algorithm>

#include "frontend/ir/algebra.h"
#include "frontend/ir/symmetric.h"
#include "spirv/lower/contractions.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

Expr plus(Expr x, int64_t by) { return by == 0 ? x : x + ir::whole_like(x, by); }
Expr from(int64_t whole, Expr x) { return ir::whole_like(x, whole) - x; }
Expr quotient(Expr x, int64_t by) { return ir::binary(Op::Quot, x, ir::whole_like(x, by)); }
Expr remainder(Expr x, int64_t by) { return ir::binary(Op::Rem, x, ir::whole_like(x, by)); }

// Tiles of a square on its diagonal or above it, so many rows of them. They fill a rectangle: before those of a row from the
// top come those of a row from the bottom.
struct Triangle {
  int64_t rows;

  int64_t even() const { return rows % 2 == 0 ? 1 : 0; }
  int64_t height() const { return (rows + 1) / 2; }
  int64_t width() const { return rows + even(); }

  struct Place {
    Expr row, column;
  };
  /// Of the tile at a place of the rectangle.
  Place tile(const Place& at) const {
    const Expr upper = ir::binary(Op::Ge, at.column, plus(at.row, even()));
    const Expr column = ir::select(upper, plus(at.column, -even()), from(rows - 1, at.column));
    return {ir::select(upper, at.row, from(rows - even(), at.row)),
            even() == 0 ? column : ir::binary(Op::Max, column, ir::whole_like(column, 0))};  // for bounds to be known
  }
  /// Where a tile is in the rectangle. Pre: its column is not before its row.
  Place of_tile(const Place& tile) const {
    const Expr upper = ir::binary(Op::Lt, tile.row, ir::whole_like(tile.row, height()));
    return {ir::select(upper, tile.row, from(rows - even(), tile.row)),
            ir::select(upper, plus(tile.column, even()), from(rows - 1, tile.column))};
  }
};

// Rows of a tile, which is a square that an invocation has all sums of. Larger ones share more of what one side alone
// decides, until sums have no registers; smaller ones compute fewer points for nothing.
int64_t side_of(int64_t n) {
  constexpr int64_t kRegisters = 18, kSpilled = 2, kOfSide = 5;  // instructions, for an element of what is reduced
  const auto cost = [n](int64_t side) {
    const int64_t rows = schedule::divided_up(n, side), points = side * side;
    return rows * (rows + 1) * (2 * points + kOfSide * side + kSpilled * std::max<int64_t>(0, points - kRegisters));
  };
  int64_t best = 4;
  for (const int64_t side : {5, 6})
    if (cost(side) < cost(best)) best = side;
  return best;
}

}  // namespace

std::optional<SymmetricTiles> SymmetricTiles::of(Graph& g, NodeId sum, int last) {
  constexpr int64_t kLeast = 8;  // rows of the square
  const Node n = g[sum];
  const auto axes = ir::symmetric_axes(g, sum);
  if (n.attr.size() != 1 || !axes || axes->first == last || axes->second == last) return std::nullopt;
  SymmetricTiles out;
  out.results_ = n.type.shape, out.axes_ = *axes, out.last_ = last;
  const int64_t length = n.type.shape[axes->first];
  if (length < kLeast || n.type.shape.rank() + 5 > kMaxRank) return std::nullopt;
  out.side_ = side_of(length);
  // Axes of the operand: those of the square, others, what is reduced, the last one.
  const Expr x{&g, n.in[0]};
  std::vector<int64_t> kept, order;
  for (int64_t a = 0; a < x.rank(); ++a)
    if (a != n.attr[0]) kept.push_back(a);
  const auto operand_axis = [&](int a) { return kept[static_cast<size_t>(a)]; };
  order = {operand_axis(axes->first), operand_axis(axes->second)};
  for (int a = 0; a < n.type.shape.rank(); ++a)
    if (a != axes->first && a != axes->second && a != last) order.push_back(operand_axis(a));
  order.push_back(n.attr[0]);
  order.push_back(operand_axis(last));
  const Triangle tiles{schedule::divided_up(length, out.side_)};
  const Shape place({tiles.height(), tiles.width(), out.side_, out.side_});
  const Triangle::Place tile = tiles.tile({ir::iota(g, place, 0), ir::iota(g, place, 1)});
  const auto coordinate = [&](Expr of_tile, int axis) {
    const Expr at = of_tile * ir::whole_like(of_tile, out.side_) + ir::iota(g, place, axis);
    return tiles.rows * out.side_ == length ? at : ir::binary(Op::Min, at, ir::whole_like(at, length - 1));
  };
  const Expr index[] = {coordinate(tile.row, 2), coordinate(tile.column, 3)};
  const Expr y = ir::gather(ir::transpose(x, order), index);
  out.sums_ = ir::reduce(Op::Sum, y, {y.rank() - 2});
  return out;
}

Expr SymmetricTiles::square_of(Expr sums) const {
  Graph& g = *sums.graph;
  const int64_t length = results_[axes_.first];
  const Shape square({length, length});
  const Expr i = ir::iota(g, square, 0), j = ir::iota(g, square, 1);
  const Expr row = ir::binary(Op::Min, i, j), column = ir::binary(Op::Max, i, j);
  const Triangle tiles{schedule::divided_up(length, side_)};
  const Triangle::Place at = tiles.of_tile({quotient(row, side_), quotient(column, side_)});
  const Expr index[] = {at.row, at.column, remainder(row, side_), remainder(column, side_)};
  const Expr whole = ir::gather(sums, index);  // [rows, columns, others.., last]
  std::vector<int64_t> order(static_cast<size_t>(results_.rank()));
  int64_t other = 2;
  for (int a = 0; a < results_.rank(); ++a)
    order[static_cast<size_t>(a)] = a == axes_.first    ? 0
                                    : a == axes_.second ? 1
                                    : a == last_        ? results_.rank() - 1
                                                        : other++;
  return ir::transpose(whole, order);
}

}  // namespace spirograd::lower
