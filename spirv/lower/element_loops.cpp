#include "spirv/lower/element_loops.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <unordered_map>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"
#include "spirv/lower/access.h"
#include "spirv/lower/extent.h"
#include "spirv/lower/loops.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr double kStepWork = 4000;    // operations of one step that a single invocation may do
constexpr int64_t kRowState = 32;     // elements of state of a row: they are in registers
constexpr size_t kMostPlaces = 4000;  // that are looked at

// What a value of the body depends on. OwnRows: it is what a loop inside of the body has kept, a row for each of its steps,
// of the invocation's own elements.
enum class Dependence : uint8_t { None, ScalarState, ArrayState, OwnRows };

// Operations that a single invocation does for one element of a result, reductions included; large when a result is not one
// element per invocation. Nodes are counted once per element of the widest place they are used at.
double work_of(const Graph& g, std::span<const NodeId> order) {
  double total = 0;
  for (NodeId id : order) {
    const Node& n = g[id];
    double elements = 1;
    if (ir::info(n.op).kind == ir::Kind::Reduce)
      for (int64_t d : g[n.in[0]].type.shape) elements *= static_cast<double>(d);
    double results = 1;
    for (int64_t d : n.type.shape) results *= static_cast<double>(d);
    total += op_cost(n) * std::max(1.0, elements / std::max(1.0, results));
  }
  return total;
}

// Of the parameters of a loop's body inside of a body: everything the loop is given may carry the state around it, its own
// accumulators do. None: it runs over what only others have.
std::optional<std::vector<Dependence>> params_inside(const Graph& g, const Node& loop,
                                                     const std::function<Dependence(NodeId)>& of, Dependence own_state) {
  const ir::LoopParts parts = ir::loop_parts(g, loop);
  std::vector<Dependence> out;
  for (size_t j = 0; j < loop.in.size(); ++j) {
    const Dependence given = of(loop.in[j]);
    const bool state = static_cast<int>(j) < parts.n_acc, stacked = !state && static_cast<int>(j) < parts.n_acc + parts.n_es;
    if (stacked ? given != Dependence::None && given != Dependence::OwnRows : given == Dependence::OwnRows)
      return std::nullopt;
    const bool scalar = g[loop.in[j]].type.shape.rank() == 0;
    out.push_back(state                          ? scalar ? Dependence::ScalarState : Dependence::ArrayState
                  : given == Dependence::OwnRows ? own_state
                                                 : given);
  }
  return out;
}

bool body_is_local(const Graph& g, const ir::Function& f, std::span<const Dependence> params, const Shape& state) {
  const std::vector<NodeId> order = ir::postorder(g, f.results);
  std::unordered_map<uint32_t, Dependence> tint;
  std::set<uint32_t> keep_rows;  // loops, for others beside them
  for (NodeId id : order)
    if (is_stack(g, g[id])) keep_rows.insert(g[id].in[0].v);
  const Dependence own_state = state.rank() > 0 ? Dependence::ArrayState : Dependence::ScalarState;
  // One element for each of the state, at a place that the state may say.
  const auto reads_table = [&](const Node& n) {
    return n.op == Op::Gather && tint[n.in[0].v] == Dependence::None && n.type.shape == state &&
           g[n.in[1]].type.shape == state;
  };
  for (NodeId id : order) {
    const Node& n = g[id];
    Dependence t = Dependence::None;
    for (NodeId in : n.in) t = std::max(t, tint[in.v]);
    if (n.op == Op::Param) t = params[static_cast<size_t>(n.attr[0])];
    tint[id.v] = t;
    if (ir::is_scatter(n.op)) return false;
    if (has_parts(n)) {
      if (n.in.size() > kParts) return false;
    }
    if (n.op == Op::MapAccum) {
      const std::optional<Shape> inner = state_of_elements(g, id);
      // Its invocations write the rows of their own elements, and nobody else may run it there.
      if (keep_rows.contains(id.v) || std::ranges::any_of(arrays_inside(g, id), [&](NodeId a) { return is_stack(g, g[a]); }))
        t = tint[id.v] = own_state;
      if (!inner || (t != Dependence::None && *inner != state)) return false;
      // A scalar result is asked for without a point at which array-shaped accumulators beside it could run.
      const ir::LoopParts parts = ir::loop_parts(g, n);
      if (inner->rank() > 0 && std::ranges::any_of(std::span(n.in).first(static_cast<size_t>(parts.n_acc)),
                                                   [&](NodeId acc) { return g[acc].type.shape.rank() == 0; }))
        return false;
      if (t == Dependence::OwnRows) t = tint[id.v] = own_state;
      const auto given = params_inside(
          g, n, [&](NodeId in) { return tint[in.v]; }, own_state);
      if (!given) return false;
      if (t != Dependence::None && !body_is_local(g, g.function(parts.function), *given, state)) return false;
    }
    if (n.op == Op::Proj) {
      const ir::LoopParts inner = ir::loop_parts(g, g[n.in[0]]);
      if (n.attr[0] >= inner.n_acc) {
        const NodeId row = g.function(inner.function).results[static_cast<size_t>(n.attr[0])];
        if (g[row].type.shape != state) return false;
        tint[id.v] = Dependence::OwnRows;
      }
    } else if (t == Dependence::OwnRows) {
      return false;
    }
    if (t == Dependence::ArrayState && n.op != Op::Param && n.op != Op::MapAccum && n.op != Op::Proj &&
        !(ir::is_pointwise(n.op) && n.type.shape == state) && !reads_table(n))
      return false;
    if (t == Dependence::ScalarState && state.rank() > 0 && ir::info(n.op).kind == ir::Kind::Reduce) return false;
  }
  int64_t code = 0;
  for (NodeId id : order) code += op_cost(g[id]);
  return code <= kStepCode && work_of(g, order) <= kStepWork;
}

// Nodes of a body that depend on its first parameters: as many as there are arrays of state, or with the elements of a step.
std::set<uint32_t> of_first(const Graph& g, int64_t params, std::span<const NodeId> order) {
  std::set<uint32_t> out;
  for (NodeId id : order) {
    const Node& n = g[id];
    const bool is = n.op == Op::Param && n.attr[0] < params;
    if (is || std::any_of(n.in.begin(), n.in.end(), [&](NodeId in) { return out.contains(in.v); })) out.insert(id.v);
  }
  return out;
}

// Where a node at `place` reads operand j. An index that is a position says more here than the account of all places does.
Place place_below(const Graph& g, const Node& n, size_t j, const Place& place) {
  Place out = operand_place(g, n, j, place);
  if (n.op != Op::Gather || j != 0) return out;
  for (size_t k = 1; k < n.in.size(); ++k) {
    const Node& index = g[n.in[k]];
    if (index.op == Op::Iota) out[k - 1] = place[static_cast<size_t>(index.attr[0])];
  }
  return out;
}

// Whether all state that the results are computed from is that of their own row: at the same place along the first axes.
// Pre: the body has no scatters, loops and kernels of others.
bool reads_own_rows(const Graph& g, const ir::LoopParts& parts, const std::set<uint32_t>& moving, int axes) {
  std::set<std::pair<uint32_t, Place>> seen;
  std::vector<std::pair<NodeId, Place>> stack;
  for (NodeId r : g.function(parts.function).results) stack.emplace_back(r, place_of_point(g[r].type.shape));
  while (!stack.empty()) {
    const auto [id, place] = std::move(stack.back());
    stack.pop_back();
    if (!moving.contains(id.v) || !seen.emplace(id.v, place).second) continue;
    if (seen.size() > kMostPlaces) return false;
    const Node& n = g[id];
    if (has_parts(n) && n.in.size() > kParts) return false;
    if (n.op == Op::Param && n.type.shape.rank() > 0)
      for (int a = 0; a < axes; ++a)
        if (place[static_cast<size_t>(a)].same_as != a) return false;
    for (size_t j = 0; j < n.in.size(); ++j) stack.emplace_back(n.in[j], place_below(g, n, j, place));
  }
  return true;
}

// Instructions of a step of one row, about: what depends on the state is written out, element by element.
double code_of_rows(const Graph& g, std::span<const NodeId> results, std::span<const NodeId> order, double rows) {
  const auto elements = [&](NodeId id) { return static_cast<double>(g[id].type.shape.count()); };
  const auto most = [&](NodeId id) {  // of an array that has as much for each row
    const double all = elements(id), own = all / rows;
    return own >= 1 && own == std::floor(own) ? own : all;
  };
  std::unordered_map<uint32_t, double> asked;  // elements of a node
  for (NodeId r : results) asked[r.v] = std::max(asked[r.v], most(r));
  double code = 0;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& n = g[*id];
    const double here = asked[id->v];
    code += op_cost(n) * here;
    for (NodeId in : n.in) {
      double there = here;
      if (ir::info(n.op).kind == ir::Kind::Reduce) there *= elements(in) / std::max(1.0, elements(*id));
      asked[in.v] = std::max(asked[in.v], std::min(there, most(in)));
    }
  }
  return code;
}

// The axes that all arrays begin with.
Shape common_axes(const Graph& g, std::span<const NodeId> arrays) {
  std::optional<Shape> common;
  for (NodeId id : arrays) {
    const Shape& s = g[id].type.shape;
    if (s.rank() == 0) continue;
    int n = 0;
    while (common && n < common->rank() && n < s.rank() && (*common)[n] == s[n]) ++n;
    common = common ? common->slice(0, n) : s;
  }
  return common.value_or(Shape{});
}

}  // namespace

std::optional<Shape> state_of_elements(const Graph& g, NodeId loop) {
  const Node& n = g[loop];
  const ir::LoopParts parts = ir::loop_parts(g, n);
  const ir::Function& f = g.function(parts.function);
  Shape common;
  for (NodeId r : f.results) {
    const Shape& s = g[r].type.shape;
    if (s.rank() == 0) continue;
    if (common.rank() > 0 && s != common) return std::nullopt;
    common = s;
  }
  if (common.count() == 0 || parts.length == 0) return std::nullopt;
  std::vector<Dependence> params(f.params.size(), Dependence::None);
  for (size_t j = 0; j < static_cast<size_t>(parts.n_acc); ++j)
    params[j] = f.params[j].shape.rank() == 0 ? Dependence::ScalarState : Dependence::ArrayState;
  return body_is_local(g, f, params, common) ? std::optional(common) : std::nullopt;
}

std::optional<Shape> state_of_rows(const Graph& g, NodeId loop) {
  const ir::LoopParts parts = ir::loop_parts(g, g[loop]);
  const std::vector<NodeId>& results = g.function(parts.function).results;
  const std::vector<NodeId> order = ir::postorder(g, results);
  if (parts.length == 0 || std::any_of(order.begin(), order.end(), [&](NodeId id) {
        return ir::is_scatter(g[id].op) || g[id].op == Op::MapAccum || g[id].op == Op::ByKernel;
      }))
    return std::nullopt;
  const std::set<uint32_t> moving = of_first(g, parts.n_acc, order);
  const Shape common = common_axes(g, results);
  for (int axes = common.rank(); axes > 0; --axes) {
    const Shape rows = common.slice(0, axes);
    int64_t state = 0;
    for (NodeId r : std::span(results).first(static_cast<size_t>(parts.n_acc)))
      state += std::max<int64_t>(1, g[r].type.shape.count() / std::max<int64_t>(1, rows.count()));
    if (rows.count() < 2 || state > kRowState) break;
    if (!reads_own_rows(g, parts, moving, axes)) continue;
    if (code_of_rows(g, results, order, static_cast<double>(rows.count())) > kStepCode) break;
    return rows;
  }
  return std::nullopt;
}

std::vector<bool> read_anywhere(const Graph& g, NodeId loop, bool by_step) {
  const ir::LoopParts parts = ir::loop_parts(g, g[loop]);
  const std::vector<NodeId> order = ir::postorder(g, g.function(parts.function).results);
  const std::set<uint32_t> moving = of_first(g, parts.n_acc + (by_step ? parts.n_es : 0), order);
  std::vector<NodeId> tables;
  for (NodeId id : order) {
    const Node& n = g[id];
    if (n.op == Op::Gather && std::any_of(n.in.begin() + 1, n.in.end(), [&](NodeId in) { return moving.contains(in.v); }))
      tables.push_back(n.in[0]);
  }
  std::vector<bool> out(g[loop].in.size(), false);
  for (NodeId id : ir::postorder(g, tables))
    if (g[id].op == Op::Param) out[static_cast<size_t>(g[id].attr[0])] = true;
  return out;
}

}  // namespace spirograd::lower
