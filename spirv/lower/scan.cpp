// Scans as instructions. Each invocation runs through its chunk, or a workgroup does, a tile at a time.
#include <algorithm>

#include "spirv/lower/compute.h"
#include "spirv/lower/scalar_ops.h"

namespace spirograd::lower {

using ir::NodeId;
using ir::Op;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

namespace {

constexpr int64_t kPlainSteps = 32;  // of f32 sums that need no compensation

// A scan while it is written. Steps are counted as the loop runs; the place of a step in the stacks is another one if it
// runs backwards.
struct ScanKernel {
  Inliner& inliner;
  Builder& b;
  const Compute& s;
  const NodeId start, terms;
  const Type whole;  // of the stacks
  const bool reverse;
  const Op op;
  const size_t before_slot, after_slot;  // results that are stacks of the states before each step, and behind it; 0: none
  const int64_t length = whole.shape[0], chunk_length = schedule::chunk_length(s.scan);
  const bool compensated = op == Op::Add && whole.dtype == DType::F32 && length > kPlainSteps;

  Point row = {};
  Value first = 0;            // step of the chunk,
  std::optional<Value> last;  // whether it is the last chunk; none: there is one chunk
  Value state = 0, lost = 0;  // variables

  void start_chunk(const Point& at, std::optional<NodeId> before_chunks);
  Point place(Value step) const;
  Value stepped(Value from, Value term) const;
  void advance(Value term);
  void store(size_t result, const Point& at, Value v) const;
  void store_last(std::optional<Value> only) const;
  void run_alone();
  void run_together();
  void load_tile(Value base);
  std::vector<Value> own_totals() const;
  struct Totals {
    Value before, all;  // of the invocations before this one: meaningless for the first one; of the tile
  };
  Totals add_up_totals(Value own_total) const;
  Value combined(Value early, Value late) const;
  std::vector<Value> states_of(const std::vector<Value>& sums, Value others) const;
  void store_tile(size_t result, Value base, const std::vector<Value>& values);

  // Of a workgroup:
  const int64_t members = schedule::group(s.scan), own = members > 0 ? s.scan.steps[3].extent : 1;
  Value me = 0;  // number of the invocation
  uint32_t elements = 0, totals = 0;

  Value slot(Value element) const { return b.add(element, b.op(KOp::Quot, element, b.i32(own))); }
  Value element(int64_t j) const { return b.add(b.i32(j * members), me); }
};

// `at`: the chunk and the row.
void ScanKernel::start_chunk(const Point& at, std::optional<NodeId> before_chunks) {
  row.assign(at.begin() + 1, at.end());
  first = b.mul(at[0], b.i32(chunk_length));
  state = b.var(before_chunks ? inliner.eval(0, *before_chunks, at) : inliner.eval(0, start, row));
  if (compensated) lost = b.var(b.constant(Scalar::F32, 0));
  if (before_chunks) last = b.op(KOp::Eq, at[0], b.i32(s.domain[0] - 1));
  Point any = row;
  any.insert(any.begin(), kUnknown);
  inliner.hoist(0, terms, any);
}

Point ScanKernel::place(Value step) const {
  const Value at = reverse ? b.sub(b.i32(length - 1), step) : step;
  if (!b.constant_bits(at)) b.assume(at, {0, length - 1});
  Point p = row;
  p.insert(p.begin(), at);
  return p;
}

Value ScanKernel::stepped(Value from, Value term) const {
  const Value in[] = {op == Op::Add ? from : term, op == Op::Add ? term : from};
  return pointwise(b, op, whole.dtype, in);
}

void ScanKernel::advance(Value term) {
  const Value before = b.get(state);
  b.set(state, compensated ? add_compensated(b, before, term, lost) : stepped(before, term));
}

void ScanKernel::store(size_t result, const Point& at, Value v) const {
  if (!s.results[result]) return;
  const uint32_t to = inliner.binding(*s.results[result], whole, kernel::Access::Write);
  b.store(to, inliner.linear(at, whole.shape), v);
}

void ScanKernel::store_last(std::optional<Value> only) const {
  if (!s.results[0]) return;
  const std::optional<Value> when = last && only ? b.logical_and(*last, *only) : last ? last : only;
  const Type t{whole.dtype, whole.shape.erased(0)};
  if (when) b.begin_if(*when);
  b.store(inliner.binding(*s.results[0], t, kernel::Access::Write), inliner.linear(row, t.shape), b.get(state));
  if (when) b.end_if();
}

void ScanKernel::run_alone() {
  Value count = b.i32(chunk_length);
  if (s.domain[0] * chunk_length > length) count = b.op(KOp::Min, count, b.sub(b.i32(length), first));
  const Value counter = b.begin_loop(count);
  inliner.push_block();
  const Point at = place(b.add(first, counter));
  const Value before = b.get(state), term = inliner.eval(0, terms, at);
  if (before_slot > 0) store(before_slot, at, before);
  advance(term);
  if (after_slot > 0) store(after_slot, at, b.get(state));
  inliner.pop_block();
  b.end_loop();
  store_last({});
}

// Two terms as one, which is NaN only if both are: stepped() ignores such a term.
Value ScanKernel::combined(Value early, Value late) const {
  const Value v = stepped(early, late);
  return op == Op::Add || !is_float(whole.dtype) ? v : b.select(is_nan(b, early), late, v);
}

// Behind the end the last term counts again where that changes nothing, and else 0.
void ScanKernel::load_tile(Value base) {
  const bool surplus = s.domain[0] * chunk_length > length;
  std::vector<Point> points;
  std::vector<Value> inside;
  for (int64_t j = 0; j < own; ++j) {
    const Value step = b.add(base, element(j));
    inside.push_back(b.op(KOp::Lt, step, b.i32(length)));
    points.push_back(place(surplus ? b.op(KOp::Min, step, b.i32(length - 1)) : step));
  }
  const std::vector<Value> values = inliner.eval(0, terms, points);
  for (int64_t j = 0; j < own; ++j) {
    const auto k = static_cast<size_t>(j);
    const Value v = surplus && op == Op::Add ? b.select(inside[k], values[k], zero(b, b.type(values[k]))) : values[k];
    b.shared_store(elements, slot(element(j)), v);
  }
}

// The terms of the invocation's row of the tile up to each one.
std::vector<Value> ScanKernel::own_totals() const {
  std::vector<Value> sums;
  for (int64_t j = 0; j < own; ++j) {
    const Value v = b.shared_load(elements, b.add(b.mul(me, b.i32(own + 1)), b.i32(j)));
    sums.push_back(j == 0 ? v : combined(sums.back(), v));
  }
  return sums;
}

// In each round an invocation adds what twice as many before it have added up, to the other half of the array.
ScanKernel::Totals ScanKernel::add_up_totals(Value own_total) const {
  const Value sum = b.var(own_total);
  int64_t half = 0;
  b.shared_store(totals, me, own_total);
  for (int64_t distance = 1; distance < members; distance *= 2) {
    b.barrier();
    b.begin_if(b.op(KOp::Ge, me, b.i32(distance)));
    b.set(sum, combined(b.shared_load(totals, b.add(me, b.i32(half - distance))), b.get(sum)));
    b.end_if();
    half = members - half;
    b.shared_store(totals, b.add(me, b.i32(half)), b.get(sum));
  }
  b.barrier();
  const Value before = b.op(KOp::Max, b.add(me, b.i32(half - 1)), b.i32(half));
  return {b.shared_load(totals, before), b.shared_load(totals, b.i32(half + members - 1))};
}

// The states of the invocation's row: the first one before it. `others`: the total of the invocations before this one.
std::vector<Value> ScanKernel::states_of(const std::vector<Value>& sums, Value others) const {
  const Value before = b.get(state), is_first = b.op(KOp::Eq, me, b.i32(0));
  if (!compensated) {
    std::vector<Value> states = {b.select(is_first, before, stepped(before, others))};
    for (Value v : sums) states.push_back(stepped(states[0], v));
    return states;
  }
  // What the first addition rounds away the second one takes into account.
  const Value rounded = b.var(b.get(lost));
  const Value with_others = add_compensated(b, before, others, rounded), from = b.select(is_first, before, with_others),
              rest = b.select(is_first, b.get(lost), b.get(rounded));
  std::vector<Value> states = {from};
  for (Value v : sums) states.push_back(b.add(from, b.sub(v, rest)));
  return states;
}

// `values`: of the steps of the invocation's row.
void ScanKernel::store_tile(size_t result, Value base, const std::vector<Value>& values) {
  for (int64_t j = 0; j < own; ++j)
    b.shared_store(elements, b.add(b.mul(me, b.i32(own + 1)), b.i32(j)), values[static_cast<size_t>(j)]);
  b.barrier();
  const bool surplus = s.domain[0] * chunk_length > length;
  for (int64_t j = 0; j < own; ++j) {
    const Value step = b.add(base, element(j));
    if (surplus) b.begin_if(b.op(KOp::Lt, step, b.i32(length)));
    store(result, place(step), b.shared_load(elements, slot(element(j))));
    if (surplus) b.end_if();
  }
}

// A tile: neighbours load neighbouring terms and lay them into shared memory, from where each takes a row of its own, adds
// it up, and learns from the others' totals what comes before it. The states go the same way back.
void ScanKernel::run_together() {
  const Scalar t = scalar_of(whole.dtype);
  me = b.bitcast(Scalar::I32, b.local_index());
  elements = b.shared("elements", t, static_cast<uint32_t>(members * (own + 1)));
  totals = b.shared("totals", t, static_cast<uint32_t>(2 * members));
  const int64_t tile = members * own, tiles = chunk_length / tile;
  Value count = b.i32(tiles);
  if (s.domain[0] * chunk_length - length >= tile)
    count = b.op(KOp::Min, count, b.op(KOp::Quot, b.sub(b.i32(length + tile - 1), first), b.i32(tile)));
  const Value base = b.add(first, b.mul(b.begin_loop(count), b.i32(tile)));
  inliner.push_block();
  load_tile(base);
  b.barrier();
  const std::vector<Value> sums = own_totals();
  const Totals others = add_up_totals(sums.back());
  const std::vector<Value> states = states_of(sums, others.before);
  if (before_slot > 0) store_tile(before_slot, base, {states.begin(), states.end() - 1});
  if (before_slot > 0 && after_slot > 0) b.barrier();
  if (after_slot > 0) store_tile(after_slot, base, {states.begin() + 1, states.end()});
  advance(others.all);
  inliner.pop_block();
  b.end_loop();
  store_last(b.op(KOp::Eq, me, b.i32(0)));
}

}  // namespace

void emit_scan(Inliner& inliner, Builder& b, const ir::Graph& g, const Compute& s, Value index) {
  const ir::Node& n = g[s.node];
  const ir::LoopParts parts = ir::loop_parts(g, n);
  const ir::Function& f = g.function(parts.function);
  const auto stack_of = [&](NodeId state) {
    const auto at = std::find(f.results.begin() + 1, f.results.end(), state);
    return at == f.results.end() ? 0 : static_cast<size_t>(at - f.results.begin());
  };
  const auto state = std::find_if(f.results.begin() + 1, f.results.end(), [&](NodeId r) { return g[r].op == Op::Param; });
  ScanKernel scan{.inliner = inliner,
                  .b = b,
                  .s = s,
                  .start = n.in[0],
                  .terms = n.in[1],
                  .whole = g[n.in[1]].type,
                  .reverse = parts.reverse,
                  .op = g[f.results[0]].op,
                  .before_slot = state == f.results.end() ? 0 : stack_of(*state),
                  .after_slot = stack_of(f.results[0])};
  const std::optional<NodeId> before_chunks = n.in.size() > 2 ? std::optional(n.in[2]) : std::nullopt;
  const bool together = scan.members > 0;
  if (together) index = b.bitcast(Scalar::I32, b.group_index());
  scan.start_chunk(inliner.unlinear(index, s.domain), before_chunks);
  together ? scan.run_together() : scan.run_alone();
}

}  // namespace spirograd::lower
