// Loops inside of a kernel as instructions: which elements of the state an invocation keeps, and where they are stored.
#include <algorithm>
#include <limits>

#include "spirv/lower/compute.h"
#include "spirv/lower/row_axis.h"

namespace spirograd::lower {

using kernel::Builder;
using kernel::KOp;
using kernel::Value;

void store_element(Inliner& inliner, Builder& b, const Compute& s, size_t result, Type t, const Point& at, Value v) {
  Point lies = at;
  const Shape shape = t.shape;
  for (int a = 0; a < s.turned[result].rank(); ++a) {
    const int64_t axis = s.turned[result][a];
    lies[static_cast<size_t>(a)] = at[static_cast<size_t>(axis)];
    t.shape[a] = shape[static_cast<int>(axis)];
  }
  const auto [binding, place] = inliner.element(*s.results[result], t, kernel::Access::Write, lies);
  b.store(binding, place, v);
}

namespace {

// One row of each array of the state.
StateLayout rows_of(Inliner& inliner, Builder& b, const LoopForm& form, Value index) {
  const int axes = form.state.rank();
  const Point row = inliner.unlinear(b.op(KOp::Min, index, b.i32(form.state.count() - 1)), form.state.dims());
  StateLayout layout;
  layout.whole_behind = axes;
  layout.own = [&inliner, &b, row, index, axes, rows = form.state.count()](const Shape& shape) {
    OwnElements own;
    const bool scalar = shape.rank() == 0;  // all have it, and one stores it
    const Shape inner = scalar ? shape : shape.slice(axes, shape.rank());
    const Value stores = b.op(KOp::Lt, index, b.i32(scalar ? 1 : rows));
    for (int64_t k = 0; k < inner.count(); ++k) {
      Point at = scalar ? Point{} : row;
      const Point behind = inliner.unlinear(b.i32(k), inner.dims());
      at.insert(at.end(), behind.begin(), behind.end());
      own.at.push_back(std::move(at));
      own.stores.emplace_back(stores);
    }
    return own;
  };
  return layout;
}

// Which elements of the state an invocation keeps: every `apart`th from a first one on; of Elements, to the end of the block
// that it shares with as many neighbours.
StateLayout layout_of(Inliner& inliner, Builder& b, const LoopForm& form, Value index) {
  StateLayout layout;
  layout.members = form.members;
  layout.shared = form.shared;
  layout.in_turn = form.in_turn;
  if (form.blocks) {
    layout.blocks = &*form.blocks;
    layout.first_row = b.mul(b.bitcast(kernel::Scalar::I32, b.group_index()), b.i32(form.blocks->block));
    index = b.bitcast(kernel::Scalar::I32, b.local_index());
  }
  if (form.kind == LoopForm::Kind::Together && form.members == 1) layout.whole_behind = 0;
  if (form.kind == LoopForm::Kind::Rows) return rows_of(inliner, b, form, index);
  const bool elements = form.kind == LoopForm::Kind::Elements;
  const int64_t apart = elements ? form.beside : form.members, blocks = elements ? invocations(form) / apart : 1;
  const int64_t block = elements ? form.own * apart : std::numeric_limits<int64_t>::max();
  const int64_t last = blocks > 1 ? (blocks - 1) * block : 0;  // where the last block begins
  Value first = layout.whole_behind ? b.i32(0) : index;
  if (blocks > 1)
    first = b.add({b.mul(b.op(KOp::Quot, index, b.i32(apart)), b.i32(block)), b.op(KOp::Rem, index, b.i32(apart))});
  const auto place = [&inliner, &b](const Shape& shape, Value number, bool surplus) {
    return inliner.unlinear(surplus ? b.op(KOp::Min, number, b.i32(shape.count() - 1)) : number, shape.dims());
  };
  layout.own = [&b, place, first, apart, block, last](const Shape& shape) {
    OwnElements own;
    const int64_t n = shape.count();
    // Of a scalar beside arrays all have the element, and one stores it.
    for (int64_t further = 0; further < std::min(block, n); further += apart) {
      const Value number = b.add(first, b.i32(further));
      const bool surplus = last + further + apart > n && apart > 1;
      own.slots.push_back(number);
      if (surplus) {
        own.stores.emplace_back(b.op(KOp::Lt, number, b.i32(n)));
      } else {
        own.stores.emplace_back();
      }
      own.at.push_back(place(shape, number, surplus));
    }
    return own;
  };
  layout.nth = [&b, place, first, apart](const Shape& shape, Value e) {
    const Value number = b.add(first, b.mul(e, b.i32(apart)));
    return std::pair(place(shape, number, shape.count() % apart != 0), number);
  };
  return layout;
}

// Stores one element of result j of a loop, of a step or (none) of the state after the last one. `stores`: whether the
// invocation does; none: it does.
void store_result(Inliner& inliner, Builder& b, const ir::Graph& g, const Compute& s, size_t j, std::optional<Value> step,
                  Point at, std::optional<Value> stores, Value value) {
  const ir::LoopParts parts = ir::loop_parts(g, g[s.node]);
  Type t = g[g.function(parts.function).results[j]].type;
  if (const RowBlocks* blocks = s.loop.blocks ? &*s.loop.blocks : nullptr) {
    const Value block = b.bitcast(kernel::Scalar::I32, b.group_index());
    at = among_all_rows(b, std::move(at), blocks->axes[j], b.mul(block, b.i32(blocks->block)));
    if (blocks->axes[j] == kNoRow) {  // all blocks have found the same
      const Value first = b.op(KOp::Lt, block, b.i32(1));
      stores = stores ? b.logical_and(*stores, first) : first;
    }
  }
  if (stores) b.begin_if(*stores);
  if (step) t.shape = t.shape.inserted(0, parts.length), at.insert(at.begin(), *step);
  store_element(inliner, b, s, j, t, at, value);
  if (stores) b.end_if();
}

void emit_loop_in_memory(Inliner& inliner, Builder& b, const ir::Graph& g, const Compute& s, const StateLayout& layout) {
  const ir::Function& f = g.function(parts_of(g, g[s.node], s.loop).function);
  const auto store = [&](size_t j, std::optional<Value> step, const Point& at, Value number, Value value) {
    if (!s.results[j]) return;
    const int64_t n = g[f.results[j]].type.shape.count();
    std::optional<Value> stores;
    if (n % s.loop.members != 0) stores = b.op(KOp::Lt, number, b.i32(n));
    store_result(inliner, b, g, s, j, step, at, stores, value);
  };
  inliner.run_loop_in_memory(0, s.node, layout, store);
}

}  // namespace

void emit_loop(Inliner& inliner, Builder& b, const ir::Graph& g, const Compute& s, Value index) {
  const ir::LoopParts parts = parts_of(g, g[s.node], s.loop);
  const ir::Function& f = g.function(parts.function);
  const StateLayout layout = layout_of(inliner, b, s.loop, index);
  if (s.loop.in_memory) return emit_loop_in_memory(inliner, b, g, s, layout);
  const auto store = [&](size_t j, std::optional<Value> step, std::span<const Value> values) {
    if (!s.results[j]) return;
    const OwnElements own = layout.own(g[f.results[j]].type.shape);
    for (size_t e = 0; e < values.size(); ++e) store_result(inliner, b, g, s, j, step, own.at[e], own.stores[e], values[e]);
  };
  const Inliner::Elements finals = inliner.run_loop(0, s.node, layout, [&](Value step, const Inliner::Elements& values) {
    for (size_t j = static_cast<size_t>(parts.n_acc); j < values.size(); ++j) store(j, step, values[j]);
  });
  for (size_t j = 0; j < finals.size(); ++j) store(j, {}, finals[j]);
}

}  // namespace spirograd::lower
