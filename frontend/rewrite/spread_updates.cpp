#include "frontend/rewrite/spread_updates.h"

#include <optional>
#include <vector>

#include "frontend/ir/algebra.h"
#include "frontend/ir/own_graph.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

// Which index of a scatter is which axis of its updates, [1] of [2]; the one that is none of them is the place in the row.
struct Rows {
  std::vector<int64_t> axes;  // of the result, for each axis of the indices
  int place = -1;             // the number of the index that depends on data
};

std::optional<Rows> rows_of(Expr scatter) {
  const Graph& g = *scatter.graph;
  const Node& n = scatter.node();
  const Shape& updates = g[n.in[1]].type.shape;
  Rows rows;
  rows.axes.assign(static_cast<size_t>(updates.rank()), -1);
  for (size_t j = 1; j < n.in.size(); ++j) {
    const Node& index = g[n.in[j]];
    const auto axis = static_cast<int>(j) - 1;
    const bool own = index.op == Op::Iota && n.attr[j - 1] == updates[static_cast<int>(index.attr[0])];
    if (own && rows.axes[static_cast<size_t>(index.attr[0])] < 0) {
      rows.axes[static_cast<size_t>(index.attr[0])] = axis;
    } else if (rows.place < 0) {
      rows.place = axis;
    } else {
      return std::nullopt;
    }
  }
  const bool all = rows.place >= 0 && static_cast<int>(n.in.size()) == updates.rank() + 2 && updates.rank() > 0;
  return all ? std::optional(rows) : std::nullopt;
}

// The same array, as a choice at each of its places; the scatter where it is none.
Expr spread(Expr e) {
  if (e.op() != Op::Scatter) return e;
  const std::optional<Rows> rows = rows_of(e);
  if (!rows) return e;
  Graph& g = *e.graph;
  const Shape& out = e.shape();
  const Expr place = broadcast(e.in(1 + rows->place), out, rows->axes);
  std::vector<int64_t> axes = rows->axes;
  for (int a = static_cast<int>(e.node().in.size()) - 1; a < out.rank(); ++a) axes.push_back(a);
  return select(binary(Op::Eq, iota(g, out, rows->place), place), broadcast(e.in(0), out, axes), zeros(g, e.type()));
}

}  // namespace

bool is_one_of_each_row(Expr scatter) { return rows_of(scatter).has_value(); }

Program spread_updates(const Program& p, RuleLog*) {
  if (!reaches(p, {Op::Scatter})) return p;
  return with_replaced(p, {Op::Add, Op::Sub}, [](Graph& g, const Node& n) {
    return binary(n.op, spread({&g, n.in[0]}), spread({&g, n.in[1]})).id;
  });
}

}  // namespace spirograd::rewrite
