#include "spirv/lower/goes_on.h"

#include <algorithm>
#include <optional>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

bool is_param(const Node& n, size_t slot) { return n.op == Op::Param && n.attr[0] == static_cast<int64_t>(slot); }

GoesOn condition_of(const Graph& g, size_t slot, NodeId condition, bool value) {
  while (g[condition].op == Op::Not) condition = g[condition].in[0], value = !value;
  return {slot, condition, value};
}

// select(go, next, acc), or the counter's acc + i32(go). Floats are not counted: -0 + 0 is another number than -0.
std::optional<GoesOn> changes_where(const Graph& g, size_t slot, const Node& result) {
  const auto is_state = [&](size_t operand) { return is_param(g[result.in[operand]], slot); };
  if (result.op == Op::Select && (is_state(1) || is_state(2))) return condition_of(g, slot, result.in[0], is_state(2));
  if (result.op != Op::Add || is_float(result.type.dtype) || !(is_state(0) || is_state(1))) return {};
  const Node& term = g[result.in[is_state(0) ? 1 : 0]];
  if (term.op != Op::Cast || g[term.in[0]].type.dtype != DType::Bool) return {};
  return condition_of(g, slot, term.in[0], true);
}

}  // namespace

std::vector<GoesOn> goes_on(const Graph& g, const Node& map_accum) {
  const ir::LoopParts parts = ir::loop_parts(g, map_accum);
  const std::vector<NodeId>& results = g.function(parts.function).results;
  if (parts.n_bs > 0) return {};
  std::vector<GoesOn> out;
  std::vector<NodeId> conditions;
  for (size_t j = 0; j < results.size(); ++j) {
    const Node& result = g[results[j]];
    if (is_param(result, j)) continue;
    const std::optional<GoesOn> where = changes_where(g, j, result);
    if (!where) return {};
    out.push_back(*where);
    conditions.push_back(where->condition);
  }
  const auto is_of_the_step = [&](NodeId id) {
    return g[id].op == Op::Param && g[id].attr[0] >= parts.n_acc && g[id].attr[0] < parts.n_acc + parts.n_es;
  };
  const std::vector<NodeId> below = ir::postorder(g, conditions);
  if (std::any_of(below.begin(), below.end(), is_of_the_step)) return {};
  return out;
}

}  // namespace spirograd::lower
