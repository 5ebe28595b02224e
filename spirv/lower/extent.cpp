#include "spirv/lower/extent.h"

#include <algorithm>
#include <utility>

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr int64_t kBranchCode = 24;  // what compilers make of a branch, as instructions

}  // namespace

int op_cost(const Node& n) {
  constexpr int kFloatRemainder = 40;  // a loop
  constexpr int kRounding = 16;        // by integers
  if (n.op == Op::Cast && n.type.dtype == DType::F16) return kRounding;
  return n.op == Op::Rem && is_float(n.type.dtype) ? kFloatRemainder : ir::info(n.op).cost;
}

bool reads_f16(const Graph& g, const Node& n) { return n.op == Op::Cast && g[n.in[0]].type.dtype == DType::F16; }

bool selects_parts(const Graph& g, const Node& n, const std::function<bool(NodeId)>& stored) {
  constexpr int kMost = 16;  // instructions
  if (n.in.size() > kInlinedParts) return false;
  int code = 0;
  std::vector<NodeId> stack(n.in.begin(), n.in.end());
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    const Node& part = g[id];
    const bool leaf = ir::kind(part.op) == ir::Kind::Leaf || stored(id);
    if (!leaf && !ir::is_unary_layout(part.op) && !ir::is_pointwise(part.op)) return false;
    code += leaf ? 2 : op_cost(part);
    if (code > kMost) return false;
    if (!leaf) stack.insert(stack.end(), part.in.begin(), part.in.end());
  }
  return true;
}

bool ExtentWalk::see(NodeId id) {
  if (id.v >= seen_.size()) seen_.resize(g_.size(), 0);
  return std::exchange(seen_[id.v], walk_) != walk_;
}

Extent ExtentWalk::operator()(NodeId root, int64_t code_limit) {
  const auto elements = [&](NodeId id) { return static_cast<double>(g_[id].type.shape.count()); };
  Extent e;
  ++walk_;
  stack_.assign(1, root);
  while (!stack_.empty() && e.code <= code_limit) {
    const NodeId id = stack_.back();
    stack_.pop_back();
    if (!see(id)) continue;
    const Node& n = g_[id];
    const bool constant_array = n.op == Op::Const && n.type.shape.rank() > 0;
    const bool stored = id != root && (n.op == Op::Proj || roots_.contains(id.v));
    if (n.op == Op::Param || constant_array || stored) {
      e.leaves.push_back(id);
      e.code += 2;
      continue;
    }
    e.code += op_cost(n);
    e.gathers = e.gathers || n.op == Op::Gather;
    if (has_parts(n) &&
        !selects_parts(g_, n, [&](NodeId part) { return g_[part].op == Op::Proj || roots_.contains(part.v); }))
      e.code += kBranchCode * static_cast<int64_t>(n.in.size());
    if (ir::info(n.op).kind == ir::Kind::Reduce) {
      e.reduces = true;
      e.longest = std::max(e.longest, elements(n.in[0]) / std::max(1.0, elements(id)));
    }
    stack_.insert(stack_.end(), n.in.rbegin(), n.in.rend());
  }
  return e;
}

}  // namespace spirograd::lower
