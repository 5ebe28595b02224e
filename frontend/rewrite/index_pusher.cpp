// The engine that applies the index rules, iteratively.
#include "frontend/rewrite/index_pusher.h"

#include "frontend/ir/broken_row.h"
#include "frontend/rewrite/index_rules.h"

namespace spirograd::rewrite {

using namespace ir;

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

namespace {

Step wrong_step(Step s) {
  if (s.done)
    s.done = wrong(s.done);
  else
    s.then = [then = std::move(s.then)](std::span<const Expr> got) { return wrong_step(then(got)); };
  return s;
}

}  // namespace

Step IndexPusher::first_step(const Slice& s) {
  const int limit = is_closed_form(s.table.id) ? 16 * kMaxReads : kMaxReads;
  const bool costs = !s.table.node().in.empty();
  if (costs && ++reads_[s.table.id.v] > limit) return {plain_read(s), {}, {}};
  for (const IndexRule& rule : index_rules())
    if (rule.applies(context_, s)) {
      Step step = rule.push(context_, s);
      return is_broken("index", rule.name) ? wrong_step(std::move(step)) : step;
    }
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
      g.copy_loc(g, f.table, value.id);
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
