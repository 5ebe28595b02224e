// Loops inside of a kernel: the state is in variables of the invocations. What others have to read of it goes through memory
// that a workgroup shares.
#include <algorithm>

#include "frontend/ir/traverse.h"
#include "spirv/lower/goes_on.h"
#include "spirv/lower/inline.h"
#include "spirv/lower/loops.h"
#include "spirv/lower/row_axis.h"
#include "spirv/lower/scalar_ops.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;
using kernel::KOp;
using kernel::Value;

namespace {

constexpr int64_t kFewSteps = 8;  // drivers unroll loops of so many, and none that is left early

// All elements of an array.
OwnElements all_elements(kernel::Builder& b, Inliner& inliner, const Shape& shape) {
  OwnElements out;
  for (int64_t k = 0; k < shape.count(); ++k) out.at.push_back(inliner.unlinear(b.i32(k), shape.dims()));
  out.stores.resize(out.at.size());
  return out;
}

}  // namespace

Point among_all_rows(kernel::Builder& b, Point at, int axis, Value first) {
  if (axis == kNoRow) return at;
  Value& row = at[static_cast<size_t>(axis)];
  if (row != kUnknown) row = b.add(row, first);
  return at;
}

int Inliner::open_loop_scope(int scope, const ir::LoopParts& parts, std::span<const RowBlocks::Operand> operands,
                             const StateLayout& layout) {
  Scope inner;
  inner.function = parts.function;
  const auto [arms, fresh] = body_arms_.try_emplace(parts.function);
  if (fresh) arms->second = Arms(graph_, graph_.function(parts.function).results);
  inner.arms = &arms->second;
  inner.whole_behind = layout.whole_behind;
  inner.together = layout.members > 1;
  for (int j = 0; j < static_cast<int>(operands.size()); ++j) {
    const RowBlocks::Operand& operand = operands[static_cast<size_t>(j)];
    ParamSource s;
    s.kind = j < parts.n_acc ? ParamSource::Kind::Register : ParamSource::Kind::Outer;
    s.scope = scope;
    s.node = operand.node;
    s.stacked = j >= parts.n_acc && j < parts.n_acc + parts.n_es;
    if (operand.axis != kNoRow) s.rows = {operand.axis, layout.first_row};
    inner.params.push_back(s);
    inner.varying.push_back(j < parts.n_acc + parts.n_es);
  }
  scopes_.push_back(std::move(inner));
  return static_cast<int>(scopes_.size()) - 1;
}

void Inliner::set_step(int scope, Value step) {
  for (ParamSource& s : scopes_[static_cast<size_t>(scope)].params) s.step = step;
}

void Inliner::for_own(const Shape& shape, const StateLayout& layout, const std::function<void(const Point&, Value)>& visit) {
  const Value e = b_.begin_loop(b_.i32(schedule::divided_up(shape.count(), layout.members)));
  push_block();
  const auto [at, slot] = layout.nth(shape, e);
  visit(at, slot);
  pop_block();
  b_.end_loop();
}

// Gives all members the elements of these nodes.
void Inliner::share(int scope, std::span<const NodeId> nodes, const StateLayout& layout) {
  std::vector<uint32_t> arrays;
  for (NodeId id : nodes) {
    const Shape& shape = node(id).type.shape;
    const int64_t each = schedule::divided_up(shape.count(), layout.members);
    const auto array = [&] {
      return arrays.emplace_back(b_.shared("state" + std::to_string(id.v), scalar_of(node(id).type.dtype),
                                           static_cast<uint32_t>(layout.members * each)));
    };
    if (layout.in_turn.contains(id.v)) {
      const uint32_t to = array();
      hoist(scope, id, anywhere(shape));  // what all elements need, once
      for_own(shape, layout, [&](const Point& at, Value slot) { b_.shared_store(to, slot, eval(scope, id, at)); });
    } else {
      const OwnElements own = layout.own(shape);
      const std::vector<Value> values = eval(scope, id, own.at);
      const uint32_t to = array();
      for (size_t e = 0; e < values.size(); ++e) b_.shared_store(to, own.slots[e], values[e]);
    }
  }
  b_.barrier();
  for (size_t j = 0; j < nodes.size(); ++j) scopes_[static_cast<size_t>(scope)].shared[nodes[j].v] = arrays[j];
}

// Whether no step changes what the invocation keeps any more.
Value Inliner::has_ended(int scope, std::span<const GoesOn> conditions) {
  std::optional<Value> goes_on;
  for (const GoesOn& c : conditions) {
    const std::vector<Point> at = scopes_[static_cast<size_t>(scope)].params[c.slot].at;
    for (Value v : eval(scope, c.condition, at)) {
      if (!c.value) v = b_.op(KOp::Not, v);
      goes_on = goes_on ? b_.op(KOp::Or, *goes_on, v) : v;
    }
  }
  return b_.op(KOp::Not, *goes_on);
}

Inliner::Elements Inliner::run_loop(int scope, NodeId loop, const StateLayout& layout, const AfterStep& after_step) {
  const Node& n = node(loop);
  const ir::LoopParts parts = layout.blocks ? layout.blocks->parts : ir::loop_parts(graph_, n);
  const std::vector<RowBlocks::Operand> operands = operands_of(n, layout.blocks);
  const ir::Function& body = graph_.function(parts.function);
  const auto n_acc = static_cast<size_t>(parts.n_acc);
  std::vector<OwnElements> own;  // by result
  for (NodeId r : body.results) own.push_back(layout.own(node(r).type.shape));
  // What loops beside this one keep for it.
  for (size_t j = n_acc; scope > 0 && j < n_acc + static_cast<size_t>(parts.n_es); ++j)
    if (is_stack(graph_, node(operands[j].node))) loop_inside(scope, node(operands[j].node).in[0], own[0].at);
  std::vector<std::vector<Value>> initial;
  for (size_t j = 0; j < n_acc; ++j) {
    std::vector<Point> at;
    for (const Point& p : own[j].at) at.push_back(among_all_rows(b_, p, operands[j].axis, layout.first_row));
    initial.push_back(eval(scope, operands[j].node, at));
  }
  const int inner = open_loop_scope(scope, parts, operands, layout);
  for (size_t j = own.size(); j-- > 0;)
    if (node(body.results[j]).type.shape.rank() > 0) scopes_[static_cast<size_t>(inner)].own = own[j];
  const auto state = [&] { return std::span(scopes_[static_cast<size_t>(inner)].params).first(n_acc); };
  for (size_t j = 0; j < n_acc; ++j) {
    state()[j].at = own[j].at;
    for (Value v : initial[j]) state()[j].vars.push_back(b_.var(v));
  }
  for (size_t j = 0; j < own.size(); ++j)
    for (const Point& p : own[j].at) hoist(inner, body.results[j], p, inner);
  for (const std::vector<NodeId>& level : layout.shared)
    for (NodeId id : level)
      if (!layout.in_turn.contains(id.v))
        for (const Point& p : layout.own(node(id).type.shape).at) hoist(inner, id, p, inner);
  const std::vector<RunningSum> sums = running_sums(body, parts, state());
  // Members of a workgroup wait for each other, so that none of them may leave alone.
  const bool alone = layout.members == 1 && layout.shared.empty();
  const std::vector<GoesOn> going_on = alone && parts.length > kFewSteps ? goes_on(graph_, n) : std::vector<GoesOn>{};
  const Value count = trips(b_.i32(parts.length), holds(scope, conditions(scope, loop)), !alone);
  const Value counter = b_.begin_loop(count, !going_on.empty());
  push_block();
  const int64_t around = repeat(parts.length);
  const Value step = parts.reverse ? b_.sub(b_.i32(parts.length - 1), counter) : counter;
  set_step(inner, step);
  if (!going_on.empty()) b_.break_if(has_ended(inner, going_on));
  for (const std::vector<NodeId>& level : layout.shared) share(inner, level, layout);
  for (const RunningSum& s : sums) add_to_sum(inner, s, state()[s.slot]);
  Elements results;
  for (size_t j = 0; j < own.size(); ++j) results.push_back(eval(inner, body.results[j], own[j].at));
  after_step(step, results);
  for (size_t j = 0; j < n_acc; ++j)
    for (size_t e = 0; e < results[j].size(); ++e) b_.set(state()[j].vars[e], results[j][e]);
  if (!layout.shared.empty()) b_.barrier();  // the next step writes what others may still read
  points_ = around;
  pop_block();
  b_.end_loop();
  Elements finals(n_acc);
  for (size_t j = 0; j < n_acc; ++j)
    for (Value v : state()[j].vars) finals[j].push_back(b_.get(v));
  return finals;
}

// Of an array whose elements are all in registers.
Value Inliner::picked(std::span<const Value> elements, const Shape& shape, const Point& point) {
  const Value number = linear(point, shape);
  if (const auto bits = b_.constant_bits(number)) return elements[static_cast<size_t>(*bits)];
  Value out = elements.back();
  for (size_t k = elements.size() - 1; k-- > 0;)
    out = b_.select(b_.op(KOp::Eq, number, b_.i32(static_cast<int64_t>(k))), elements[k], out);
  return out;
}

Value Inliner::state_element(int scope, NodeId param, const ParamSource& state, const Point& point) {
  const Scope& s = scopes_[static_cast<size_t>(scope)];
  const Type& type = node(param).type;
  if (s.whole_behind) {
    const int front = std::min(*s.whole_behind, type.shape.rank());
    const Shape shape = type.shape.slice(front, type.shape.rank());
    const Point behind(point.begin() + front, point.end());
    if (const auto bits = b_.constant_bits(linear(behind, shape))) return b_.get(state.vars[static_cast<size_t>(*bits)]);
    std::vector<Value> elements;
    for (Value v : state.vars) elements.push_back(b_.get(v));
    return picked(elements, shape, behind);
  }
  if (state.memory) return b_.shared_load(state.memory->array, b_.add(state.memory->begins, linear(point, type.shape)));
  const auto it = std::find(state.at.begin(), state.at.end(), point);
  if (it != state.at.end()) return b_.get(state.vars[static_cast<size_t>(it - state.at.begin())]);
  if (const auto shared = s.shared.find(param.v); shared != s.shared.end())
    return b_.shared_load(shared->second, linear(point, type.shape));
  throw Error("SG0900", "internal: a loop's state of type " + to_string(type) + " is read where another has it");
}

// Of a loop inside of a loop's body.
std::vector<Value> Inliner::projection(int scope, const Node& n, std::span<const Point> points) {
  if (is_stack(graph_, n)) throw Error("SG0900", "internal: stacked loop result " + to_string(n.type) + " without a buffer");
  const std::vector<Value>& elements = loop_inside(scope, n.in[0], points)[static_cast<size_t>(n.attr[0])];
  if (!scopes_[static_cast<size_t>(scope)].whole_behind) return elements;
  std::vector<Value> out;
  for (const Point& p : points) out.push_back(picked(elements, n.type.shape, p));
  return out;
}

// All results become known at once: all elements of each, or where each invocation keeps its own, those at the points.
const Inliner::Elements& Inliner::loop_inside(int scope, NodeId loop, std::span<const Point> points) {
  const bool whole = scopes_[static_cast<size_t>(scope)].whole_behind.has_value();
  Key key{scope, loop.v, {}};
  if (!whole)
    for (const Point& p : points) key.point.insert(key.point.end(), p.begin(), p.end());
  for (auto block = loops_run_.rbegin(); block != loops_run_.rend(); ++block)
    if (const auto it = block->find(key); it != block->end()) return it->second;
  StateLayout layout;
  if (whole) {
    layout = {.own = [&](const Shape& shape) { return all_elements(b_, *this, shape); }, .whole_behind = 0};
  } else {
    layout.own = [&](const Shape& shape) { return own_elements(scope, shape, points); };
  }
  const std::vector<NodeId> stacks = stacks_read(scope, loop);
  Elements finals = run_loop(scope, loop, layout, [&](Value step, const Elements& values) {
    for (NodeId stack : stacks)
      store_row(stack, step, own_elements(scope, graph_[stack].type.shape.erased(0), points),
                values[static_cast<size_t>(node(stack).attr[0])]);
  });
  return loops_run_.back()[key] = std::move(finals);
}

// At points of the loop around, of which the invocation stores those that it does there.
OwnElements Inliner::own_elements(int scope, const Shape& shape, std::span<const Point> points) const {
  const OwnElements& around = scopes_[static_cast<size_t>(scope)].own;
  if (shape.rank() == 0) return {{Point{}}, {std::nullopt}, {}};
  OwnElements out;
  for (const Point& p : points) {
    const auto at = std::ranges::find(around.at, p);
    const bool own = at != around.at.end();  // else it keeps no rows
    out.at.push_back(p);
    out.stores.push_back(own ? around.stores[static_cast<size_t>(at - around.at.begin())] : std::nullopt);
  }
  return out;
}

void Inliner::store_row(NodeId stack, Value step, const OwnElements& own, std::span<const Value> values) {
  for (size_t e = 0; e < values.size(); ++e) {
    Point at = own.at[e];
    at.insert(at.begin(), step);
    const auto [binding, place] = element(materialised_.at(stack.v), node(stack).type, kernel::Access::Write, at);
    if (own.stores[e]) b_.begin_if(*own.stores[e]);
    b_.store(binding, place, values[e]);
    if (own.stores[e]) b_.end_if();
  }
}

// The rows that a loop inside of a loop's body keeps for others in it: in memory, and each invocation reads its own
// elements.
std::vector<NodeId> Inliner::stacks_read(int scope, NodeId loop) const {
  std::vector<NodeId> out;
  const Scope& s = scopes_[static_cast<size_t>(scope)];
  for (NodeId id : ir::postorder(graph_, graph_.function(s.function).results))
    if (is_stack(graph_, node(id)) && node(id).in[0] == loop) out.push_back(id);
  return out;
}

bool Inliner::varies(int scope, NodeId id) {
  const Scope& s = scopes_[static_cast<size_t>(scope)];
  if (s.function < 0) return false;
  auto [it, fresh] = varies_.try_emplace({scope, id.v}, false);
  if (!fresh) return it->second;
  const Node& n = node(id);
  bool v = n.op == Op::Param && s.varying[static_cast<size_t>(n.attr[0])];
  for (NodeId in : n.in) v = v || varies(scope, in);
  return varies_[{scope, id.v}] = v;
}

// Whether the value depends on state that is in registers as a whole, so that it is had cheaply at constant points only.
bool Inliner::in_registers(int scope, NodeId id) {
  const Scope& s = scopes_[static_cast<size_t>(scope)];
  if (!s.whole_behind) return false;
  const auto [it, fresh] = in_registers_.try_emplace({scope, id.v}, false);
  if (!fresh) return it->second;
  const Node& n = node(id);
  bool is = n.op == Op::Proj;
  if (n.op == Op::Param) {
    const ParamSource& source = s.params[static_cast<size_t>(n.attr[0])];
    is = source.kind == ParamSource::Kind::Register || in_registers(source.scope, source.node);
  }
  for (NodeId in : n.in) is = is || in_registers(scope, in);
  return in_registers_[{scope, id.v}] = is;
}

}  // namespace spirograd::lower
