#include "spirv/lower/kept_rows.h"

#include <algorithm>
#include <unordered_map>

#include "frontend/ir/loop.h"
#include "frontend/ir/traverse.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Kind;
using ir::LoopParts;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

// Bit 0: elements of a loop from the first to the last are computed from it; bit 1: of one from the last to the first.
using ReadBy = std::unordered_map<uint32_t, int>;

int direction(const LoopParts& loop) { return loop.reverse ? 2 : 1; }

ReadBy read_by_loops(const Graph& g, std::span<const NodeId> order) {
  ReadBy out;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& n = g[*id];
    if (n.op == Op::MapAccum) {
      const LoopParts loop = ir::loop_parts(g, n);
      for (int j = 0; j < loop.n_es; ++j) out[n.in[static_cast<size_t>(loop.n_acc + j)].v] |= direction(loop);
    } else if (const auto it = out.find(id->v);
               it != out.end() && (kind(n.op) == Kind::Pointwise || kind(n.op) == Kind::Layout || n.op == Op::Gather)) {
      const int readers = it->second;
      for (NodeId operand : n.in) out[operand.v] |= readers;
    }
  }
  return out;
}

// Whether all that a step does is to run loops.
bool only_runs_loops(const Graph& g, const ir::Function& step) {
  return std::all_of(step.results.begin(), step.results.end(),
                     [&](NodeId r) { return g[r].op == Op::Proj || g[r].op == Op::Param; }) &&
         std::any_of(step.results.begin(), step.results.end(), [&](NodeId r) { return g[r].op == Op::Proj; });
}

// Result `j` of a loop: what value it is, and how often it is kept.
void describe(const Graph& g, const Node& loop, size_t j, KeptRows& rows) {
  const LoopParts parts = ir::loop_parts(g, loop);
  const ir::Function& step = g.function(parts.function);
  const NodeId id = step.results[j];
  const Node& value = g[id];
  rows.times *= parts.length;
  if (value.op == Op::Proj) {  // the rows that a loop inside of the step has kept, or its last state
    const Node& inside = g[value.in[0]];
    if (value.attr[0] >= ir::loop_parts(g, inside).n_acc)
      return describe(g, inside, static_cast<size_t>(value.attr[0]), rows);
  }
  rows.rounds = only_runs_loops(g, step);
  rows.value = value.op == Op::Param || value.op == Op::Proj ? "state" : std::string(ir::name(value.op));
  if (const Loc loc = g.loc(id); value.op != Op::Param && loc.line != 0) rows.at = loc;
}

}  // namespace

void note_kept_rows(Plan& plan, const Graph& g, std::span<const NodeId> order, const Materialised& places) {
  const ReadBy read = read_by_loops(g, order);
  for (NodeId id : order) {
    const Node& n = g[id];
    if (n.op == Op::MapAccum)  // bodies of loops that run inside of a kernel have their rows among these places
      note_kept_rows(plan, g, ir::postorder(g, g.function(ir::loop_parts(g, n).function).results), places);
    if (n.op != Op::Proj) continue;
    const Node& loop = g[n.in[0]];
    const LoopParts parts = ir::loop_parts(g, loop);
    const auto reader = read.find(id.v);
    if (n.attr[0] < parts.n_acc || reader == read.end() || (reader->second & (3 - direction(parts))) == 0) continue;
    const auto place = places.find(id.v);
    if (place == places.end()) continue;
    const BufferRef to = place->second;
    // Rows of what a loop around keeps, or a result of the program.
    if (to.buffer >= plan.buffers.size() || plan.buffers[to.buffer].role != Role::Scratch) continue;
    if (std::ranges::find(plan.kept, to, &KeptRows::place) != plan.kept.end()) continue;  // of a body that two loops have
    KeptRows rows{.place = to, .type = n.type, .value = {}, .at = g.loc(id), .times = 1, .rounds = false};
    describe(g, loop, static_cast<size_t>(n.attr[0]), rows);
    plan.kept.push_back(std::move(rows));
  }
}

std::string value_text(const Graph& g, NodeId id) {
  const Loc at = g.loc(id);
  const Op op = g[id].op;
  return (op == Op::Proj ? "result of a loop" : std::string(ir::name(op))) + (at.line == 0 ? "" : " at " + at.str());
}

}  // namespace spirograd::lower
