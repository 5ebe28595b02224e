#include "spirv/lower/extent.h"

#include <algorithm>
#include <utility>

#include "frontend/base/hash.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr int64_t kBranchCode = 24;         // what compilers make of a branch, as instructions
constexpr size_t kMostElsewhere = 1 << 12;  // places of nodes beyond the first of each, that are looked at

// Numbers that are added to places.
bool is_slice(const Node& n, const Graph& g) {
  if (n.op != Op::Window) return false;
  const auto axis = static_cast<int>(n.attr[0]);
  return n.attr[1] >= 0 && n.attr[1] + n.type.shape[axis] <= g[n.in[0]].type.shape[axis];
}

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

ExtentWalk::Visit ExtentWalk::visit(Asked a) {
  const uint32_t id = a.node.v;
  if (id >= seen_.size()) {
    seen_.resize(g_.size(), 0);
    first_.resize(g_.size(), 0);
  }
  if (std::exchange(seen_[id], walk_) != walk_) {
    first_[id] = a.at;
    return Visit::First;
  }
  if (first_[id] == a.at || places_[first_[id]] == places_[a.at] || elsewhere_.size() >= kMostElsewhere) return Visit::Again;
  uint64_t h = id;
  for (const uint64_t k : places_[a.at]) h = hash_with(h, k);
  return elsewhere_.insert(h).second ? Visit::Elsewhere : Visit::Again;
}

// Of an operation on what is not stored. Branches are taken once for all places.
int64_t ExtentWalk::code_of(const Node& n, Visit v) const {
  if (v == Visit::Elsewhere) return is_slice(n, g_) ? 0 : op_cost(n);
  const auto loaded = [&](NodeId part) { return g_[part].op == Op::Proj || roots_.contains(part.v); };
  const bool branches = has_parts(n) && !selects_parts(g_, n, loaded);
  return op_cost(n) + (branches ? kBranchCode * static_cast<int64_t>(n.in.size()) : 0);
}

void ExtentWalk::ask_operands(const Node& n, uint32_t at) {
  const size_t first = stack_.size();
  int64_t start = 0;
  for (size_t j = 0; j < n.in.size(); ++j) {
    uint32_t there = at;
    if (!ir::is_pointwise(n.op)) {
      there = static_cast<uint32_t>(places_.size());
      places_.push_back(operand_keys(g_, n, j, places_[at], start));
    }
    if (n.op == Op::Concat) start += g_[n.in[j]].type.shape[static_cast<int>(n.attr[0])];
    stack_.push_back({n.in[j], there});
  }
  std::reverse(stack_.begin() + static_cast<ptrdiff_t>(first), stack_.end());
}

Extent ExtentWalk::operator()(NodeId root, int64_t limit) {
  const auto elements = [&](NodeId id) { return static_cast<double>(g_[id].type.shape.count()); };
  Extent e;
  ++walk_;
  stack_.assign(1, {root, 0});
  places_.assign(1, keys_of_point(g_[root].type.shape));
  if (!elsewhere_.empty()) elsewhere_.clear();
  while (!stack_.empty() && e.written_out <= limit) {
    const Asked asked = stack_.back();
    const NodeId id = asked.node;
    stack_.pop_back();
    const Visit v = visit(asked);
    if (v == Visit::Again) continue;
    const Node& n = g_[id];
    const bool constant_array = n.op == Op::Const && n.type.shape.rank() > 0;
    const bool stored = id != root && (n.op == Op::Proj || roots_.contains(id.v));
    const bool leaf = n.op == Op::Param || constant_array || stored;
    const int64_t code = leaf ? 2 : code_of(n, v);
    e.written_out += code;
    if (!leaf) ask_operands(n, asked.at);
    if (v == Visit::Elsewhere) continue;
    e.code += code;
    if (leaf) {
      e.leaves.push_back(id);
      continue;
    }
    e.gathers = e.gathers || n.op == Op::Gather;
    if (ir::info(n.op).kind == ir::Kind::Reduce) {
      e.reduces = true;
      e.longest = std::max(e.longest, elements(n.in[0]) / std::max(1.0, elements(id)));
    }
  }
  return e;
}

}  // namespace spirograd::lower
