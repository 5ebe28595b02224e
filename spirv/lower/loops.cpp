// Which loops run inside one kernel.
#include <unordered_map>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"
#include "spirv/lower/partition.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr double kStepWork = 4000;   // operations of one step that a single invocation may do
constexpr int64_t kStepCode = 1500;  // instructions of a loop body inside a kernel

constexpr size_t kLoopBuffers = 14;  // operands and results, at most one buffer each; 16 addresses fit into push constants

// What a value of the body depends on.
enum class Dependence : uint8_t { None, ScalarState, ArrayState };

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

bool body_is_local(const Graph& g, const ir::Function& f, std::span<const Dependence> params, const Shape& state) {
  const std::vector<NodeId> order = ir::postorder(g, f.results);
  std::unordered_map<uint32_t, Dependence> tint;
  for (NodeId id : order) {
    const Node& n = g[id];
    Dependence t = Dependence::None;
    for (NodeId in : n.in) t = std::max(t, tint[in.v]);
    if (n.op == Op::Param) t = params[static_cast<size_t>(n.attr[0])];
    tint[id.v] = t;
    if (n.op == Op::Scatter) return false;
    if (n.op == Op::Concat || n.op == Op::Stack) {
      if (n.in.size() > 8) return false;
    }
    if (n.op == Op::MapAccum) {
      Shape inner;
      if (!runs_in_kernel(g, id, &inner)) return false;
      if (t != Dependence::None && inner != state) return false;
      // A scalar result is asked for without a point at which array-shaped accumulators beside it could run.
      if (inner.rank() > 0)
        for (size_t j = 0; j < static_cast<size_t>(ir::loop_parts(g, n).n_acc); ++j)
          if (g[n.in[j]].type.shape.rank() == 0) return false;
      // Everything the inner loop is given may carry our state; its own accumulators do.
      const ir::LoopParts parts = ir::loop_parts(g, n);
      std::vector<Dependence> inner_params;
      for (size_t j = 0; j < n.in.size(); ++j) {
        const Dependence given = tint[n.in[j].v];
        const bool stacked = static_cast<int>(j) >= parts.n_acc && static_cast<int>(j) < parts.n_acc + parts.n_es;
        if (stacked && given != Dependence::None) return false;
        const bool scalar = g[n.in[j]].type.shape.rank() == 0;
        inner_params.push_back(
            static_cast<int>(j) < parts.n_acc ? (scalar ? Dependence::ScalarState : Dependence::ArrayState) : given);
      }
      if (t != Dependence::None && !body_is_local(g, g.function(parts.function), inner_params, state)) return false;
    }
    if (n.op == Op::Proj && n.attr[0] >= ir::loop_parts(g, g[n.in[0]]).n_acc) return false;
    if (t == Dependence::ArrayState && n.op != Op::Param && n.op != Op::MapAccum && n.op != Op::Proj &&
        !(ir::is_pointwise(n.op) && n.type.shape == state))
      return false;
    if (t == Dependence::ScalarState && state.rank() > 0 && ir::info(n.op).kind == ir::Kind::Reduce) return false;
  }
  int64_t code = 0;
  for (NodeId id : order) code += op_cost(g[id]);
  return code <= kStepCode && work_of(g, order) <= kStepWork;
}

}  // namespace

bool runs_in_kernel(const Graph& g, NodeId id, Shape* state) {
  const Node& n = g[id];
  const ir::LoopParts parts = ir::loop_parts(g, n);
  const ir::Function& f = g.function(parts.function);
  // The state is the one array shape among accumulators and stacked results; scalars beside it are kept by every invocation.
  Shape common;
  for (NodeId r : f.results) {
    const Shape& s = g[r].type.shape;
    if (s.rank() == 0) continue;
    if (common.rank() > 0 && s != common) return false;
    common = s;
  }
  if (state) *state = common;
  if (common.count() == 0 || parts.length == 0) return false;
  if (n.in.size() + f.results.size() > kLoopBuffers) return false;
  // Stacked scalars beside array state would be written by all invocations at once.
  for (size_t j = static_cast<size_t>(parts.n_acc); j < f.results.size(); ++j)
    if (g[f.results[j]].type.shape != common) return false;
  std::vector<Dependence> params(f.params.size(), Dependence::None);
  for (size_t j = 0; j < static_cast<size_t>(parts.n_acc); ++j)
    params[j] = f.params[j].shape.rank() == 0 ? Dependence::ScalarState : Dependence::ArrayState;
  return body_is_local(g, f, params, common);
}

}  // namespace spirograd::lower
