#include "spirv/lower/row_axis.h"

#include <algorithm>

#include "frontend/ir/index_map.h"
#include "frontend/ir/reshape_groups.h"

namespace spirograd::lower {

using ir::Kind;
using ir::Node;
using ir::Op;

namespace {

// What a coordinate has to do with the row: nothing, it is the row, or it depends on it in some way.
enum class OfRow : uint8_t { Free, Row, Mixed };

struct AlongRow {
  static OfRow moved(OfRow x) { return x == OfRow::Free ? x : OfRow::Mixed; }
  OfRow reversed(OfRow x, int64_t) const { return moved(x); }
  OfRow shifted(OfRow x, int64_t, int) const { return moved(x); }

  // An axis that is a group of its own keeps its coordinate, axes of extent 1 aside.
  std::vector<OfRow> reshaped(const Shape& from, const Shape& to, std::span<const OfRow> p) const {
    std::vector<OfRow> out(static_cast<size_t>(from.rank()), OfRow::Free);
    if (from.count() == 0) return {out.size(), OfRow::Mixed};
    for (const ir::ReshapeGroup& g : ir::reshape_groups(from, to)) {
      const auto long_axis = [](const Shape& s, const ir::AxisRange& r) {
        int found = kNoRow;
        for (int a = r.first; a < r.end; ++a)
          if (s[a] != 1) found = found == kNoRow ? a : kMixed;
        return found;
      };
      const auto row = std::find_if(p.begin() + g.to.first, p.begin() + g.to.end, [](OfRow c) { return c != OfRow::Free; });
      if (row == p.begin() + g.to.end) continue;
      const int at = long_axis(from, g.from), to_axis = long_axis(to, g.to);
      if (at >= 0 && to_axis == row - p.begin())
        out[static_cast<size_t>(at)] = *row;
      else
        return {out.size(), OfRow::Mixed};
    }
    return out;
  }
};

int gather_axis(const ir::Graph& g, const Node& n, size_t j, int a) {
  const int m = g[n.in[1]].type.shape.rank();
  if (j > 0) return a < m ? a : kNoRow;
  return a < m ? kNoRow : static_cast<int>(n.in.size()) - 1 + a - m;
}

int scatter_axis(const ir::Graph& g, const Node& n, size_t j, int a) {
  const int addressed = static_cast<int>(n.attr.size());
  if (a < addressed) return kMixed;
  return j > 0 ? kNoRow : g[n.in[1]].type.shape.rank() + a - addressed;
}

}  // namespace

int row_axis_of_operand(const ir::Graph& g, const Node& n, size_t j, int a) {
  const Kind kind = ir::kind(n.op);
  if (kind == Kind::Pointwise) return a;
  if (n.op == Op::Gather) return gather_axis(g, n, j, a);
  if (ir::is_scatter(n.op)) return scatter_axis(g, n, j, a);
  if (n.op == Op::Stack && a == n.attr[0]) return kMixed;
  if (kind != Kind::Layout && kind != Kind::Reduce) return kMixed;
  std::vector<OfRow> result(static_cast<size_t>(n.type.shape.rank()), OfRow::Free);
  result[static_cast<size_t>(a)] = OfRow::Row;
  const Shape& from = g[n.in[j]].type.shape;
  const std::span<const OfRow> p = result;
  const std::vector<OfRow> at =
      kind == Kind::Layout ? ir::layout_operand(n, from, p, AlongRow()) : ir::reduced_operand(n, from, p, OfRow::Free);
  if (std::find(at.begin(), at.end(), OfRow::Mixed) != at.end()) return kMixed;
  const auto row = std::find(at.begin(), at.end(), OfRow::Row);
  return row == at.end() ? kNoRow : static_cast<int>(row - at.begin());
}

int row_axis_of_result(const ir::Graph& g, const Node& n, size_t j, int b) {
  for (int a = 0; a < n.type.shape.rank(); ++a)
    if (row_axis_of_operand(g, n, j, a) == b) return a;
  const bool updates = ir::is_scatter(n.op) && b < g[n.in[1]].type.shape.rank();
  return n.op == Op::Sum || updates ? kSummed : kMixed;
}

}  // namespace spirograd::lower
