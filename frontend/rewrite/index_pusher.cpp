// The engine that applies the index rules, iteratively, and what the rules share: guards and plain reads.
#include <algorithm>

#include "frontend/rewrite/index_rules.h"

namespace spirograd::rewrite {

using namespace ir;

Shape Slice::shape() const {
  Shape s;
  for (size_t a = 0; a < at.size(); ++a)
    if (!at[a]) s.push_back(table.shape()[static_cast<int>(a)]);
  return s;
}

bool Slice::is_whole() const {
  return std::none_of(at.begin(), at.end(), [](Expr e) { return static_cast<bool>(e); });
}

bool is_index(Expr e) { return e.op() == Op::Gather && e.in(1).rank() == 0; }

Slice as_slice(Expr index) {
  Slice s{index.in(0), std::vector<Expr>(static_cast<size_t>(index.in(0).rank()))};
  for (size_t a = 0; a + 1 < index.node().in.size(); ++a) s.at[a] = index.in(static_cast<int>(a) + 1);
  return s;
}

Expr plain_read(const Slice& s) {
  size_t used = s.at.size();
  while (used > 0 && !s.at[used - 1]) --used;
  if (used == 0) return s.table;
  Shape m;
  for (size_t a = 0; a < used; ++a)
    if (!s.at[a]) m.push_back(s.table.shape()[static_cast<int>(a)]);
  std::vector<Expr> index;
  int whole = 0;
  for (size_t a = 0; a < used; ++a) {
    if (!s.at[a])
      index.push_back(iota(*s.table.graph, m, whole++));
    else
      index.push_back(m.rank() == 0 ? s.at[a] : broadcast(s.at[a], m, {}));
  }
  return gather(s.table, index);
}

Expr with_index(Expr e, int64_t level, Expr index) {
  Graph& g = *e.graph;
  const uint64_t bit = uint64_t{1} << level;
  std::unordered_map<uint32_t, NodeId> memo;
  const auto replaced = [&](NodeId id) { return (g[id].free_vars & bit) ? memo.at(id.v) : id; };
  std::vector<NodeId> stack;
  if (g[e.id].free_vars & bit) stack.push_back(e.id);
  while (!stack.empty()) {
    const NodeId id = stack.back();
    const Node& n = g[id];
    if (memo.contains(id.v)) {
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    for (NodeId operand : n.in)
      if ((g[operand].free_vars & bit) && !memo.contains(operand.v)) stack.push_back(operand);
    if (stack.size() > before) continue;
    stack.pop_back();
    if (n.op == Op::IndexVar) {
      memo[id.v] = index.id;
      continue;
    }
    Node copy = n;
    for (NodeId& operand : copy.in) operand = replaced(operand);
    const Loc loc = g.loc(id);
    const NodeId made = g.intern(std::move(copy));
    if (loc.line != 0) g.note_loc(made, loc);
    memo[id.v] = made;
  }
  return {&g, replaced(e.id)};
}

Expr IndexContext::guarded(const Slice& s, const std::vector<bool>& axes, Expr value) const {
  Expr inside;
  const auto require = [&](Expr fact) { inside = inside ? binary(Op::And, inside, fact) : fact; };
  for (size_t a = 0; a < s.at.size(); ++a) {
    if (!s.at[a] || !axes[a]) continue;
    const int64_t extent = s.table.shape()[static_cast<int>(a)];
    const Interval range = ranges.of(s.at[a]);
    if (range.lo < 0) require(binary(Op::Ge, s.at[a], scalar(graph, DType::I32, 0)));
    if (range.hi >= extent) require(binary(Op::Lt, s.at[a], scalar(graph, DType::I32, static_cast<double>(extent))));
  }
  if (!inside) return value;
  if (value.rank() > 0) inside = broadcast(inside, value.shape(), {});
  return select(inside, value, zeros(graph, value.type()));
}

Expr IndexContext::guarded(const Slice& s, Expr value) const {
  return guarded(s, std::vector<bool>(s.at.size(), true), value);
}

// Index arithmetic: pointwise integer code over iotas and scalars. Reading it costs as much as computing it.
bool IndexPusher::is_closed_form(NodeId root) {
  const Graph& g = context_.graph;
  std::vector<NodeId> stack = {root};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    if (closed_form_.contains(id.v)) {
      stack.pop_back();
      continue;
    }
    const Node& n = g[id];
    if (n.type.shape.rank() == 0 || n.op == Op::Iota) {
      closed_form_[id.v] = true;
    } else if (is_float(n.type.dtype) || !(is_unary_layout(n.op) || is_pointwise(n.op))) {
      closed_form_[id.v] = false;
    } else {
      const size_t before = stack.size();
      bool all = true;
      for (NodeId operand : n.in) {
        auto it = closed_form_.find(operand.v);
        if (it == closed_form_.end())
          stack.push_back(operand);
        else
          all = all && it->second;
      }
      if (stack.size() > before) continue;
      closed_form_[id.v] = all;
    }
    stack.pop_back();
  }
  return closed_form_.at(root.v);
}

bool IndexPusher::enters(Expr table) {
  return level_ < 0 || (table.node().free_vars >> level_ & 1) || is_closed_form(table.id);
}

// The value if no rule is needed. Writes scalars with only one possible value as constants.
Expr IndexPusher::at_once(Slice& s) {
  Graph& g = context_.graph;
  if (s.is_whole()) return s.table;
  bool empty = s.table.shape().count() == 0;
  for (size_t a = 0; a < s.at.size(); ++a) {
    if (!s.at[a]) continue;
    const Interval range = context_.ranges.of(s.at[a]);
    if (range.is_single()) s.at[a] = scalar(g, DType::I32, static_cast<double>(range.lo));
    empty = empty || range.outside(0, s.table.shape()[static_cast<int>(a)] - 1);
  }
  if (empty) return zeros(g, {s.table.dtype(), s.shape()});
  return enters(s.table) ? Expr{} : plain_read(s);
}

Step IndexPusher::first_step(const Slice& s) {
  const int limit = is_closed_form(s.table.id) ? 16 * kMaxReads : kMaxReads;
  const bool costs = s.table.op() != Op::Iota && !s.table.node().in.empty();
  if (costs && ++reads_[s.table.id.v] > limit) return {plain_read(s), {}, {}};
  for (const IndexRule& rule : index_rules())
    if (rule.applies(context_, s)) return rule.push(context_, s);
  throw Error("SG0901", "internal: no index rule for " + std::string(name(s.table.op())));
}

Expr IndexPusher::push(const Slice& root) {
  struct Frame {
    Key key;
    NodeId table;
    Step step;
    std::vector<Expr> got;
  };
  Graph& g = context_.graph;
  std::vector<Frame> stack;
  Expr value;  // set whenever a read has been answered
  const auto start = [&](Slice s) {
    value = at_once(s);
    if (value) return;
    Key key = {s.table.id.v};
    for (Expr e : s.at) key.push_back(e.id.v);
    auto known = memo_.find(key);
    if (known != memo_.end())
      value = known->second;
    else
      stack.push_back({std::move(key), s.table.id, first_step(s), {}});
  };
  start(root);
  while (!stack.empty()) {
    Frame& f = stack.back();
    if (value) {
      f.got.push_back(value);
      value = {};
    }
    if (f.step.done) {
      value = f.step.done;
      memo_[f.key] = value;
      const Loc loc = g.loc(f.table);
      if (loc.line != 0) g.note_loc(value.id, loc);
      stack.pop_back();
      if (stack.empty()) break;
    } else if (f.got.size() < f.step.below.size()) {
      start(f.step.below[f.got.size()]);
    } else {
      const std::vector<Expr> got = std::move(f.got);
      f.got.clear();
      f.step = Step(f.step.then(got));
    }
  }
  return value;
}

}  // namespace spirograd::rewrite
