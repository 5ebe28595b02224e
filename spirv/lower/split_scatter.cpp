#include "spirv/lower/split_scatter.h"

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"
#include "spirv/lower/partition.h"
#include "spirv/schedule/legal.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

// Integers are added in any order with the same result.
bool adds_atomically(const Target& t, DType dtype) {
  if (dtype == DType::F64) return false;
  return dtype == DType::F32 ? t.atomic_float_add || t.exchange_float_add : t.integer_atomics;
}

// The number of the copy for each update, a row of so many elements.
Expr copy_numbers(Graph& g, const Shape& updates, int64_t row, const schedule::ScatterSchedule& s) {
  const int64_t parts = schedule::copies(s);
  const bool ranges = !s.atomic && s.updates[0].bind == schedule::Bind::Grid;
  Expr number = ir::reshape(ir::iota(g, {updates.count()}, 0), updates);
  if (s.lanes > 1) number = ir::binary(Op::Quot, number, ir::full(g, number.type(), static_cast<double>(s.lanes)));
  const int64_t by = ranges ? schedule::extent(s.updates) / (parts * (schedule::team(s) > 0 ? row : 1)) : parts;
  return ir::binary(ranges ? Op::Quot : Op::Rem, number, ir::full(g, number.type(), static_cast<double>(by)));
}

Expr to_copies(Graph& g, const Node& n, const schedule::ScatterSchedule& s) {
  const Shape updates = g[n.in[1]].type.shape;
  std::vector<Expr> index = {copy_numbers(g, updates, g[n.in[0]].type.shape.count() / updates.count(), s)};
  for (size_t j = 1; j < n.in.size(); ++j) index.push_back({&g, n.in[j]});
  return ir::scatter_by(n.op, {&g, n.in[0]}, index, Shape(n.attr).inserted(0, schedule::copies(s)));
}

}  // namespace

schedule::ScatterFacts scatter_facts(const Graph& g, NodeId scatter, ExtentWalk& extent, const Target& target) {
  const Node& n = g[scatter];
  const Type& updates = g[n.in[0]].type;
  const Extent below = extent(scatter);
  schedule::ScatterFacts f;
  f.dtype = n.type.dtype;
  f.updates = g[n.in[1]].type.shape.count();
  f.places = Shape(n.attr).count();
  f.row = updates.shape.slice(g[n.in[1]].type.shape.rank(), updates.shape.rank()).count();
  f.code = below.code;
  f.atomic = adds_atomically(target, n.type.dtype);
  f.copyable = n.type.shape.rank() < kMaxRank;
  f.gathers = below.gathers;
  return f;
}

SplitScatters split_scatters(Graph& g, std::span<const NodeId> roots, const Target& target,
                             const schedule::Scheduler& scheduler) {
  SplitScatters out;
  out.roots.assign(roots.begin(), roots.end());
  if (!g.has(Op::Scatter) && !g.has(Op::ScatterMax)) return out;
  NodeSet stored;  // scatters; of what else is stored, nothing is known yet
  ExtentWalk extent(g, stored);
  out.roots = ir::rebuild(g, roots, out.moved, [&](NodeId, NodeId whole) -> NodeId {
    const Node& n = g[whole];
    if (!ir::is_scatter(n.op)) return whole;
    stored.insert(whole.v);
    if (n.type.shape.count() == 0 || g[n.in[0]].type.shape.count() == 0) return whole;
    const schedule::ScatterFacts facts = scatter_facts(g, whole, extent, target);
    schedule::ScatterSchedule s = schedule::legal(facts, scheduler.scatter(facts, target), target);
    if (schedule::copies(s) == 1) {
      out.scatters[whole.v] = s;
      return whole;
    }
    const Expr parts = to_copies(g, Node(n), s);
    stored.insert(parts.id.v);
    s.among = 1;  // it is one result, where who adds atomically adds anywhere
    out.scatters[parts.id.v] = s;
    return ir::reduce(g[whole].op == Op::Scatter ? Op::Sum : Op::ReduceMax, parts, {0}).id;
  });
  return out;
}

}  // namespace spirograd::lower
