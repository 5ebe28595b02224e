// Loops whose arrays of state are in the memory of a workgroup, each in two places: a step reads the state in one and writes
// the next to the other, element after element. So the code does not grow with the state.
#include <algorithm>

#include "spirv/lower/inline.h"
#include "spirv/lower/scalar_ops.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::NodeId;
using kernel::KOp;
using kernel::Value;

namespace {

struct ByShape {
  std::vector<size_t> scalars;
  std::vector<std::vector<size_t>> arrays;  // those of one shape are computed together: they share what they are made of
};

ByShape by_shape(const ir::Graph& g, std::span<const NodeId> results) {
  ByShape out;
  const auto shape_of = [&](size_t j) -> const Shape& { return g[results[j]].type.shape; };
  for (size_t j = 0; j < results.size(); ++j) {
    if (shape_of(j).rank() == 0) {
      out.scalars.push_back(j);
      continue;
    }
    const auto same = std::ranges::find_if(out.arrays, [&](const auto& those) { return shape_of(those[0]) == shape_of(j); });
    if (same == out.arrays.end()) {
      out.arrays.push_back({j});
    } else {
      same->push_back(j);
    }
  }
  return out;
}

}  // namespace

void Inliner::run_loop_in_memory(int scope, NodeId loop, const StateLayout& layout, const StoreElement& store) {
  const ir::LoopParts parts = layout.blocks ? layout.blocks->parts : ir::loop_parts(graph_, node(loop));
  const std::vector<RowBlocks::Operand> operands = operands_of(node(loop), layout.blocks);
  const ir::Function& body = graph_.function(parts.function);
  const auto n_acc = static_cast<size_t>(parts.n_acc);
  const auto shape_of = [&](size_t j) -> const Shape& { return node(body.results[j]).type.shape; };
  const auto slots = [&](const Shape& shape) {
    return layout.members * schedule::divided_up(shape.count(), layout.members);
  };
  const auto [scalars, arrays] = by_shape(graph_, body.results);

  std::vector<std::optional<Value>> initial(n_acc);  // of scalars
  std::vector<uint32_t> memory(n_acc);               // of arrays
  for (size_t j = 0; j < n_acc; ++j) {
    const auto [from, axis] = operands[j];
    if (shape_of(j).rank() == 0) {
      initial[j] = eval(scope, from, Point{});
      continue;
    }
    memory[j] = b_.shared("resident" + std::to_string(j), scalar_of(node(from).type.dtype),
                          static_cast<uint32_t>(2 * slots(shape_of(j))));
    hoist(scope, from, anywhere(shape_of(j)));
    for_own(shape_of(j), layout, [&, from = from, axis = axis](const Point& at, Value number) {
      b_.shared_store(memory[j], number, eval(scope, from, among_all_rows(b_, at, axis, layout.first_row)));
    });
  }
  b_.barrier();

  const int inner = open_loop_scope(scope, parts, operands, layout);
  const auto state = [&](size_t j) -> ParamSource& { return scopes_[static_cast<size_t>(inner)].params[j]; };
  for (size_t j = 0; j < n_acc; ++j) {
    if (!initial[j]) continue;
    state(j).at = {Point{}};
    state(j).vars = {b_.var(*initial[j])};
  }
  for (size_t j = 0; j < body.results.size(); ++j) hoist(inner, body.results[j], anywhere(shape_of(j)), inner);
  const std::vector<RunningSum> sums =
      running_sums(body, parts, std::span(scopes_[static_cast<size_t>(inner)].params).first(n_acc));

  const Value counter = b_.begin_loop(b_.i32(parts.length));
  push_block();
  const int64_t around = repeat(parts.length);
  const Value step = parts.reverse ? b_.sub(b_.i32(parts.length - 1), counter) : counter;
  set_step(inner, step);
  const Value odd = b_.op(KOp::And, counter, b_.i32(1));
  std::vector<Value> next(n_acc);  // where the state after this step begins
  for (size_t j = 0; j < n_acc; ++j) {
    if (initial[j]) continue;
    const Value size = b_.i32(slots(shape_of(j))), begins = b_.mul(odd, size);
    state(j).memory = ResidentArray{memory[j], begins};
    next[j] = b_.sub(size, begins);
  }
  for (const std::vector<NodeId>& level : layout.shared) share(inner, level, layout);
  for (const RunningSum& s : sums) add_to_sum(inner, s, state(s.slot));
  for (const std::vector<size_t>& those : arrays)  // what all elements need, once
    for (const size_t j : those) hoist(inner, body.results[j], anywhere(shape_of(j)));
  std::vector<Value> after(body.results.size());  // of scalars
  for (const size_t j : scalars) after[j] = eval(inner, body.results[j], Point{});
  for (const std::vector<size_t>& those : arrays)
    for_own(shape_of(those[0]), layout, [&](const Point& at, Value number) {
      for (const size_t j : those) {
        const Value value = eval(inner, body.results[j], at);
        if (j < n_acc)
          b_.shared_store(memory[j], b_.add(next[j], number), value);
        else
          store(j, step, at, number, value);
      }
    });
  for (const size_t j : scalars) {
    if (j < n_acc)
      b_.set(state(j).vars[0], after[j]);
    else
      store(j, step, {}, layout.own({}).slots[0], after[j]);
  }
  b_.barrier();
  points_ = around;
  pop_block();
  b_.end_loop();

  for (size_t j = 0; j < n_acc; ++j) {
    if (initial[j]) {
      store(j, {}, {}, layout.own({}).slots[0], b_.get(state(j).vars[0]));
      continue;
    }
    const Value begins = b_.i32(parts.length % 2 * slots(shape_of(j)));
    for_own(shape_of(j), layout, [&](const Point& at, Value number) {
      store(j, {}, at, number, b_.shared_load(memory[j], b_.add(begins, number)));
    });
  }
}

}  // namespace spirograd::lower
