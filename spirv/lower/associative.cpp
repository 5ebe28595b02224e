#include "spirv/lower/associative.h"

#include <algorithm>

#include "frontend/ir/traverse.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr size_t kMaxTerms = 4;  // of one step

bool is_param(const Node& n, int64_t slot) { return n.op == Op::Param && n.attr[0] == slot; }

// Products are not among them: those of a chunk may be beyond the range of the type where all states are inside of it.
bool reorders(Op op) { return op == Op::Add || op == Op::Sub || op == Op::Max || op == Op::Min; }

}  // namespace

bool mentions(const Graph& g, NodeId root, int64_t slot) {
  const std::vector<NodeId> below = ir::postorder(g, std::span(&root, 1));
  return std::any_of(below.begin(), below.end(), [&](NodeId id) { return is_param(g[id], slot); });
}

std::optional<AssociativeStep> associative_step(const Graph& g, const ir::Function& body, int64_t slot) {
  NodeId at = body.results[static_cast<size_t>(slot)];
  AssociativeStep step{g[at].op == Op::Sub ? Op::Add : g[at].op, {}, {}};
  const bool extreme = step.op == Op::Max || step.op == Op::Min, floats = is_float(g[at].type.dtype);
  // From the result down to the accumulator; the other operands are the terms.
  while (!is_param(g[at], slot)) {
    const Node& n = g[at];
    if (!reorders(n.op) || (n.op == Op::Sub ? Op::Add : n.op) != step.op || step.terms.size() == kMaxTerms) return {};
    const bool right = mentions(g, n.in[1], slot);
    if (right && (n.op == Op::Sub || mentions(g, n.in[0], slot))) return {};
    // max(x, y) is y where either is NaN. So max(state, term) forgets the state at a NaN, while max(term, state) ignores it:
    // only that is associative.
    if (extreme && floats && (!right || !step.terms.empty())) return {};
    step.terms.push_back(n.in[right ? 0 : 1]);
    step.negative.push_back(n.op == Op::Sub);
    at = n.in[right ? 1 : 0];
  }
  if (step.terms.empty()) return {};
  return step;
}

}  // namespace spirograd::lower
