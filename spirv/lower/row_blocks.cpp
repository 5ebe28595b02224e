#include "spirv/lower/row_blocks.h"

#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"
#include "spirv/lower/row_axis.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr size_t kMostNodes = 4000;  // of a body that is looked at

using At = std::pair<uint32_t, int>;  // a node, and the axis that its rows lie along; kNoRow: all of it

class Blocks {
 public:
  Blocks(Graph& g, NodeId loop, int64_t rows, int64_t block)
      : g_(g),
        loop_(g[loop]),
        parts_(ir::loop_parts(g, loop_)),
        results_(g.function(parts_.function).results),
        order_(ir::postorder(g, results_)) {
    out_.rows = rows;
    out_.block = block;
    for (NodeId id : order_) {
      const Node& n = g[id];
      bool moves = is_state(n) && n.type.shape.rank() > 0;
      for (NodeId in : n.in) moves = moves || has_rows_.contains(in.v);
      if (moves) has_rows_.insert(id.v);
    }
  }

  std::optional<RowBlocks> run() {
    if (order_.size() > kMostNodes || !follow_results()) return std::nullopt;
    number_operands();
    for (NodeId id : order_)
      for (auto at = needed_.lower_bound({id.v, kNoRow}); at != needed_.end() && at->first == id.v; ++at)
        made_.try_emplace(*at, make(id, at->second));
    ir::Function f{types_, {}};
    for (size_t j = 0; j < results_.size(); ++j) f.results.push_back(made_.at({results_[j].v, out_.axes[j]}));
    out_.parts = parts_;
    out_.parts.function = g_.intern(std::move(f));
    out_.parts.n_es = n_es_;
    out_.parts.n_consts = static_cast<int>(out_.operands.size()) - parts_.n_acc - n_es_;
    return std::move(out_);
  }

 private:
  bool is_state(const Node& n) const { return n.op == Op::Param && n.attr[0] < parts_.n_acc; }
  // Rows of what has no operands in the body are read from an array of all of them.
  bool is_read(const Node& n, int axis) const {
    if (n.op == Op::Param) return !is_state(n);
    return axis != kNoRow && ((n.op == Op::Const && n.type.shape.rank() > 0) || counts(n, axis));
  }
  static bool counts(const Node& n, int axis) { return n.op == Op::Iota && n.attr[0] == axis; }

  // State keeps its first axis; other results have their rows along the first axis that will do.
  bool follow_results() {
    for (size_t j = 0; j < results_.size(); ++j) {
      const Shape& shape = g_[results_[j]].type.shape;
      std::vector<int> axes;
      if (static_cast<int>(j) < parts_.n_acc) {
        axes = {shape.rank() > 0 ? 0 : kNoRow};
      } else {
        for (int a = 0; a < shape.rank(); ++a)
          if (shape[a] == out_.rows) axes.push_back(a);
        axes.push_back(kNoRow);
      }
      const auto found = std::ranges::find_if(axes, [&](int a) { return follow({results_[j].v, a}); });
      if (found == axes.end()) return false;
      out_.axes.push_back(*found);
    }
    return true;
  }

  // Adds all that a result is computed from, or nothing.
  bool follow(At result) {
    std::set<At> seen = {result};
    std::vector<At> waiting = {result};
    while (!waiting.empty()) {
      const auto [id, a] = waiting.back();
      waiting.pop_back();
      const Node& n = g_[{id}];
      if (a == kNoRow ? has_rows_.contains(id) : is_state(n) && a != 0) return false;
      if (is_read(n, a)) continue;
      for (size_t j = 0; j < n.in.size(); ++j) {
        const int b = a == kNoRow ? kNoRow : row_axis_of_operand(g_, n, j, a);
        if (b == kMixed) return false;
        if (const At at{n.in[j].v, b}; !needed_.contains(at) && seen.insert(at).second) waiting.push_back(at);
      }
    }
    needed_.merge(seen);
    return true;
  }

  void number_operands() {
    std::vector<At> es, consts;
    for (int j = 0; j < parts_.n_acc; ++j) {
      Type t = g_.function(parts_.function).params[static_cast<size_t>(j)];
      const int axis = t.shape.rank() > 0 ? 0 : kNoRow;
      add_operand(loop_.in[static_cast<size_t>(j)], t, axis);
    }
    for (NodeId id : order_)
      for (auto at = needed_.lower_bound({id.v, kNoRow}); at != needed_.end() && at->first == id.v; ++at) {
        const Node& n = g_[id];
        if (!is_read(n, at->second)) continue;
        const bool stacked = n.op == Op::Param && n.attr[0] < parts_.n_acc + parts_.n_es;
        (stacked ? es : consts).push_back(*at);
      }
    n_es_ = static_cast<int>(es.size());
    for (const std::vector<At>& those : {es, consts})
      for (const At& at : those) {
        const Node& n = g_[{at.first}];
        NodeId from = {at.first};
        Type t = n.type;
        if (n.op == Op::Param) from = loop_.in[static_cast<size_t>(n.attr[0])];
        if (n.op == Op::Iota) {  // one number for each row is enough
          t.shape = {out_.rows};
          from = ir::iota(g_, t.shape, 0).id;
        }
        number_[at] = static_cast<int64_t>(out_.operands.size());
        add_operand(from, t, n.op == Op::Iota ? 0 : at.second);
      }
  }

  void add_operand(NodeId from, Type t, int axis) {
    if (axis != kNoRow) t.shape[axis] = out_.block;
    out_.operands.push_back({from, axis});
    types_.push_back(std::move(t));
  }

  NodeId operand(int64_t slot) { return ir::param(g_, slot, types_[static_cast<size_t>(slot)]).id; }

  NodeId make(NodeId id, int a) {
    Node n = g_[id];
    if (is_state(n)) return operand(n.attr[0]);
    if (a != kNoRow) n.type.shape[a] = out_.block;
    if (is_read(n, a)) {
      const NodeId read = operand(number_.at({id.v, a}));
      return n.op == Op::Iota ? ir::broadcast({&g_, read}, n.type.shape, std::vector<int64_t>{a}).id : read;
    }
    for (size_t j = 0; j < n.in.size(); ++j) {
      const int b = a == kNoRow ? kNoRow : row_axis_of_operand(g_, g_[id], j, a);
      n.in[j] = made_.at({n.in[j].v, b});
    }
    const NodeId made = g_.intern(std::move(n));
    g_.copy_loc(g_, id, made);
    return made;
  }

  Graph& g_;
  const Node loop_;
  const ir::LoopParts parts_;
  const std::vector<NodeId> results_, order_;
  std::unordered_set<uint32_t> has_rows_;  // computed from arrays of the state
  std::set<At> needed_;
  std::map<At, int64_t> number_;  // of operands behind the state
  std::map<At, NodeId> made_;
  std::vector<Type> types_;  // of operands
  int n_es_ = 0;
  RowBlocks out_;
};

}  // namespace

std::vector<RowBlocks::Operand> operands_of(const Node& map_accum, const RowBlocks* blocks) {
  if (blocks) return blocks->operands;
  std::vector<RowBlocks::Operand> out;
  for (NodeId in : map_accum.in) out.push_back({in, kNoRow});
  return out;
}

std::optional<int64_t> rows_of_state(const Graph& g, const ir::LoopParts& parts) {
  std::optional<int64_t> rows;
  const std::vector<Type>& params = g.function(parts.function).params;
  for (int j = 0; j < parts.n_acc; ++j) {
    const Shape& s = params[static_cast<size_t>(j)].shape;
    if (s.rank() == 0) continue;
    if (rows && *rows != s[0]) return std::nullopt;
    rows = s[0];
  }
  return rows;
}

std::optional<RowBlocks> in_row_blocks(Graph& g, NodeId loop, int64_t block) {
  const std::optional<int64_t> rows = rows_of_state(g, ir::loop_parts(g, g[loop]));
  return rows ? Blocks(g, loop, *rows, block).run() : std::nullopt;
}

}  // namespace spirograd::lower
