#include "spirv/lower/shared_state.h"

#include <algorithm>
#include <span>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"
#include "spirv/lower/extent.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

// Nodes of a body that depend on its accumulators.
std::unordered_map<uint32_t, bool> state_dependence(const Graph& g, std::span<const NodeId> order, int n_acc) {
  std::unordered_map<uint32_t, bool> depends;
  for (NodeId id : order) {
    const Node& n = g[id];
    bool d = n.op == Op::Param && n.attr[0] < n_acc;
    for (NodeId in : n.in) d = d || depends.at(in.v);
    depends[id.v] = d;
  }
  return depends;
}

}  // namespace

SharedNodes::SharedNodes(const Graph& g, const ir::LoopParts& parts, int64_t members, int64_t most_own)
    : g_(g),
      results_(g.function(parts.function).results),
      order_(ir::postorder(g, results_)),
      depends_(state_dependence(g, order_, parts.n_acc)),
      members_(members),
      most_own_(most_own) {}

std::optional<std::vector<std::vector<NodeId>>> SharedNodes::levels() {
  for (NodeId r : results_) visit(r, true);
  while (!open_.empty()) {
    const auto [id, own] = open_.back();
    open_.pop_back();
    for (NodeId in : g_[id].in) visit(in, own && ir::is_pointwise(g_[id].op));
  }
  std::vector<std::vector<NodeId>> out;
  std::unordered_map<uint32_t, size_t> level;  // from which a node can be computed
  for (NodeId id : order_) {
    size_t l = 0;
    for (NodeId in : g_[id].in) l = std::max(l, level[in.v]);
    if (shared_.contains(id.v)) {
      if (!shareable(id)) return std::nullopt;
      if (out.size() <= l) out.resize(l + 1);
      out[l++].push_back(id);
    }
    level[id.v] = l;
  }
  return out;
}

std::optional<double> SharedNodes::code_from_memory(NodeId id) const {
  double code = 0;
  std::set<uint32_t> seen;
  std::vector<NodeId> stack = {id};
  while (!stack.empty()) {
    const NodeId at = stack.back();
    stack.pop_back();
    if (!depends_.at(at.v) || (at != id && shared_.contains(at.v)) || !seen.insert(at.v).second) continue;
    if (g_[at].op == Op::Param) return std::nullopt;
    code += op_cost(g_[at]);
    stack.insert(stack.end(), g_[at].in.begin(), g_[at].in.end());
  }
  return code;
}

std::vector<NodeId> SharedNodes::from_memory(double least) const {
  std::vector<NodeId> out;
  std::set<uint32_t> seen;
  std::vector<NodeId> stack = results_;
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (!computed(id) || !depends_.at(id.v) || shared_.contains(id.v) || !seen.insert(id.v).second) continue;
    const Node& n = g_[id];
    if (n.type.shape.count() > members_ && shareable(id) && code_from_memory(id).value_or(0) >= least) {
      out.push_back(id);
    } else if (ir::is_pointwise(n.op)) {
      stack.insert(stack.end(), n.in.begin(), n.in.end());
    }
  }
  return out;
}

bool SharedNodes::shareable(NodeId id) const {
  const int64_t n = g_[id].type.shape.count();
  return n > 0 && n <= most_own_ * members_ && g_[id].type.dtype != DType::Bool;
}

bool SharedNodes::computed(NodeId id) const {
  return ir::is_pointwise(g_[id].op) || ir::info(g_[id].op).kind == ir::Kind::Reduce;
}

// `own`: at the elements that the invocation keeps of an array of this shape.
void SharedNodes::visit(NodeId id, bool own) {
  if (!depends_.at(id.v)) return;
  const Node& n = g_[id];
  if (n.type.shape.rank() == 0) own = true;  // all have it
  if (!own && (n.op == Op::Param || (computed(id) && shareable(id)))) {
    shared_.insert(id.v);
    own = true;
  }
  if (seen_.insert(2 * uint64_t{id.v} + (own ? 1 : 0)).second) open_.emplace_back(id, own);
}

}  // namespace spirograd::lower
