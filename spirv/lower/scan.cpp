// Scans as instructions. Each invocation runs through its chunk, or a workgroup does, a tile at a time.
#include <algorithm>
#include <span>
#include <utility>

#include "spirv/lower/compute.h"
#include "spirv/lower/scalar_ops.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::NodeId;
using ir::Op;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

namespace {

// Steps whose terms are loaded at once; 1 where they take much code.
int64_t block_length(int64_t code) {
  for (int64_t n : {16, 8, 4})
    if (n * code <= schedule::kSideBySideCode) return n;
  return 1;
}

// A state, or a total of terms. What `value` has lost by rounding is to be taken off it, in compensated sums; else there is
// no such thing.
struct Rounded {
  Value value = 0, lost = 0;
};

// A scan while it is written. Steps are counted as the loop runs; the place of a step in the stacks is another one if it
// runs backwards.
struct ScanKernel {
  Inliner& inliner;
  Builder& b;
  const Compute& s;
  const ir::Graph& g;
  const ir::Node& node = g[s.node];
  const ir::LoopParts parts = ir::loop_parts(g, node);
  const std::vector<NodeId>& results = g.function(parts.function).results;
  const size_t n_acc = static_cast<size_t>(parts.n_acc), n_es = static_cast<size_t>(parts.n_es);
  const Type whole = g[node.in[n_acc]].type;  // of the stacks
  const Op op = g[results[0]].op;
  const bool compensated = n_acc == 2;
  const int64_t length = parts.length, chunk_length = schedule::chunk_length(s.scan);
  const bool surplus = s.domain[0] * chunk_length > length;  // the last chunk is shorter

  Point row = {};
  Value first = 0;            // step of the chunk,
  std::optional<Value> last;  // whether it is the last chunk; none: there is one chunk
  Value state = 0, lost = 0;  // variables

  void start_chunk(const Point& at);
  Point place(Value step) const;
  Value stepped(Value from, Value term) const;
  Rounded total(Rounded early, Rounded late) const;
  Rounded settled(Rounded sum) const;
  Rounded advanced(Rounded from, Rounded terms) const;
  Rounded now() const { return {b.get(state), compensated ? b.get(lost) : 0}; }
  void set(Rounded to) const {
    b.set(state, to.value);
    if (compensated) b.set(lost, to.lost);
  }
  void store(size_t result, const Point& at, Value v) const;
  void store_stack(NodeId of, const Point& at, Value v) const;
  void store_last(std::optional<Value> only) const;
  const int64_t block = block_length(s.code);
  bool is_stacked(NodeId of) const;
  void run_steps(Value from, Value count);
  void run_blocks(Value count);
  void run_alone();

  // By a workgroup:
  const int64_t members = schedule::group(s.scan), own = members > 0 ? s.scan.steps[3].extent : 1;
  Value me = 0;  // number of the invocation
  uint32_t elements = 0, totals = 0, lost_totals = 0;
  bool stored = false;  // states from `elements`

  NodeId state_before() const;
  Value slot(Value element) const { return b.add(element, b.op(KOp::Quot, element, b.i32(own))); }
  Value element(int64_t j) const { return b.add(b.i32(j * members), me); }
  Value own_slot(int64_t j) const { return b.add(b.mul(me, b.i32(own + 1)), b.i32(j)); }
  void load_tile(Value base);
  std::vector<Rounded> own_totals(Value base);
  struct Totals {
    Rounded before, all;  // of the invocations before this one: meaningless for the first one; of the tile
  };
  Totals add_up_totals(Rounded own_total) const;
  void store_tile(NodeId of, Value base, std::span<const Value> values);
  void run_together();
};

// `at`: the chunk and the row.
void ScanKernel::start_chunk(const Point& at) {
  row.assign(at.begin() + 1, at.end());
  first = b.mul(at[0], b.i32(chunk_length));
  const bool chunks = parts.n_consts > 0;
  const auto before = [&](size_t j) {
    return b.var(chunks ? inliner.eval(0, node.in[n_acc + n_es + j], at) : inliner.eval(0, node.in[j], row));
  };
  state = before(0);
  if (compensated) lost = before(1);
  if (chunks) last = b.op(KOp::Eq, at[0], b.i32(s.domain[0] - 1));
  Point any = row;
  any.insert(any.begin(), kUnknown);
  for (size_t j = 0; j < n_es; ++j) inliner.hoist(0, node.in[n_acc + j], any);
}

Point ScanKernel::place(Value step) const {
  const Value at = parts.reverse ? b.sub(b.i32(length - 1), step) : step;
  if (!b.constant_bits(at)) b.assume(at, {0, length - 1});
  Point p = row;
  p.insert(p.begin(), at);
  return p;
}

// The body's parameter.
NodeId ScanKernel::state_before() const {
  const ir::Node& step = g[results[0]];
  return step.in[op == Op::Add ? 0 : 1];
}

Value ScanKernel::stepped(Value from, Value term) const {
  const Value in[] = {op == Op::Add ? from : term, op == Op::Add ? term : from};
  return pointwise(b, op, whole.dtype, in);
}

void ScanKernel::store(size_t result, const Point& at, Value v) const {
  if (!s.results[result]) return;
  const Type t{whole.dtype, at.size() == row.size() ? whole.shape.erased(0) : whole.shape};
  store_element(inliner, b, s, result, t, at, v);
}

// To the stack of that result of the body, if there is one.
void ScanKernel::store_stack(NodeId of, const Point& at, Value v) const {
  for (size_t j = n_acc; j < results.size(); ++j)
    if (results[j] == of) store(j, at, v);
}

void ScanKernel::store_last(std::optional<Value> only) const {
  const std::optional<Value> when = last && only ? b.logical_and(*last, *only) : last ? last : only;
  if (when) b.begin_if(*when);
  store(0, row, b.get(state));
  if (compensated) store(1, row, b.get(lost));
  if (when) b.end_if();
}

bool ScanKernel::is_stacked(NodeId of) const {
  for (size_t j = n_acc; j < results.size(); ++j)
    if (results[j] == of && s.results[j]) return true;
  return false;
}

// One after the other, `from` the beginning of the chunk.
void ScanKernel::run_steps(Value from, Value count) {
  const Value counter = b.begin_loop(count);
  inliner.push_block();
  const Point at = place(b.add(first, b.add(from, counter)));
  store_stack(state_before(), at, settled(now()).value);
  Rounded term = {inliner.eval(0, node.in[n_acc], at)};
  if (compensated) term.lost = n_es > 1 ? inliner.eval(0, node.in[n_acc + 1], at) : b.constant(Scalar::F32, 0);
  set(compensated ? total(now(), term) : Rounded{stepped(b.get(state), term.value)});
  const Rounded behind = settled(now());
  store_stack(results[0], at, behind.value);
  if (compensated) store_stack(results[1], at, behind.lost);
  inliner.pop_block();
  b.end_loop();
}

// The totals of a block do not wait for the state before it, which is added to each: rounded once, but for what rounding
// takes from the total of at most a block.
void ScanKernel::run_blocks(Value count) {
  const Value counter = b.begin_loop(count);
  inliner.push_block();
  std::vector<Point> at;
  for (int64_t k = 0; k < block; ++k) at.push_back(place(b.add(first, b.add(b.mul(counter, b.i32(block)), b.i32(k)))));
  std::vector<Rounded> sums;
  for (Value term : inliner.eval(0, node.in[n_acc], at)) sums.push_back({term, b.constant(Scalar::F32, 0)});
  if (n_es > 1) {
    const std::vector<Value> lacks = inliner.eval(0, node.in[n_acc + 1], at);
    for (size_t k = 0; k < sums.size(); ++k) sums[k].lost = lacks[k];
  }
  for (size_t k = 1; k < sums.size(); ++k) sums[k] = total(sums[k - 1], sums[k]);
  const Rounded start = now(), end = advanced(start, sums.back());
  Value before = start.value;
  for (size_t k = 0; k < sums.size(); ++k) {
    const Builder::Exact exact(b);
    const Value rest = b.sub(sums[k].value, b.add(start.lost, sums[k].lost));
    const Value behind = k + 1 < sums.size() ? b.add(start.value, rest) : end.value;
    store_stack(state_before(), at[k], before);
    store_stack(results[0], at[k], behind);
    before = behind;
  }
  set(end);
  inliner.pop_block();
  b.end_loop();
}

void ScanKernel::run_alone() {
  Value count = b.i32(chunk_length);
  if (surplus) count = b.op(KOp::Min, count, b.sub(b.i32(length), first));
  if (compensated && chunk_length >= block && block > 1 && !is_stacked(results[1])) {
    const Value blocks = b.op(KOp::Quot, count, b.i32(block)), in_blocks = b.mul(blocks, b.i32(block));
    set(settled(now()));
    run_blocks(blocks);
    if (chunk_length % block != 0 || (surplus && length % block != 0)) run_steps(in_blocks, b.sub(count, in_blocks));
  } else {
    run_steps(b.i32(0), count);
  }
  set(settled(now()));
  store_last({});
}

// Two totals as one. The sum of two numbers and what it lacks of it, whichever is larger: Knuth 1969. Of extremes it is NaN
// only if both are, for stepped() ignores such a term.
Rounded ScanKernel::total(Rounded early, Rounded late) const {
  const Builder::Exact exact(b, compensated);
  const Value x = early.value, y = late.value, v = stepped(x, y);
  if (op != Op::Add) return {is_float(whole.dtype) ? b.select(is_nan(b, x), y, v) : v};
  if (!compensated) return {v};
  const Value of_y = b.sub(v, x), rest = b.add({b.sub(x, b.sub(v, of_y)), b.sub(y, of_y)});
  return {v, b.select({is_finite(b, v), b.sub(b.add(early.lost, late.lost), rest), b.constant(Scalar::F32, 0)})};
}

// The nearest number, and what that has lost.
Rounded ScanKernel::settled(Rounded sum) const {
  if (!compensated) return sum;
  const Builder::Exact exact(b);
  const Value v = b.sub(sum.value, sum.lost);
  return {v, b.select({is_finite(b, v), b.add(b.sub(v, sum.value), sum.lost), b.constant(Scalar::F32, 0)})};
}

// A state after terms. Unlike a total of extremes it stays NaN.
Rounded ScanKernel::advanced(Rounded from, Rounded terms) const {
  return compensated ? settled(total(from, terms)) : Rounded{stepped(from.value, terms.value)};
}

// Behind the end the last term counts again where that changes nothing, and else 0.
void ScanKernel::load_tile(Value base) {
  std::vector<Point> points;
  std::vector<Value> inside;
  for (int64_t j = 0; j < own; ++j) {
    const Value step = b.add(base, element(j));
    inside.push_back(b.op(KOp::Lt, step, b.i32(length)));
    points.push_back(place(surplus ? b.op(KOp::Min, step, b.i32(length - 1)) : step));
  }
  const std::vector<Value> values = inliner.eval(0, node.in[n_acc], points);
  for (int64_t j = 0; j < own; ++j) {
    const auto k = static_cast<size_t>(j);
    const Value v = surplus && op == Op::Add ? b.select(inside[k], values[k], zero(b, b.type(values[k]))) : values[k];
    b.shared_store(elements, slot(element(j)), v);
  }
}

// The terms of the invocation's row of the tile up to each one. What terms have lost is read from memory, row by row: there
// are few of those.
std::vector<Rounded> ScanKernel::own_totals(Value base) {
  std::vector<Rounded> sums;
  for (int64_t j = 0; j < own; ++j) {
    Rounded term = {b.shared_load(elements, own_slot(j))};
    if (compensated) term.lost = b.constant(Scalar::F32, 0);
    if (n_es > 1) {
      const Value step = b.add(base, b.add(b.mul(me, b.i32(own)), b.i32(j))), inside = b.op(KOp::Lt, step, b.i32(length));
      const Value lacks = inliner.eval(0, node.in[n_acc + 1], place(b.op(KOp::Min, step, b.i32(length - 1))));
      term.lost = surplus ? b.select(inside, lacks, term.lost) : lacks;
    }
    sums.push_back(j == 0 ? term : total(sums.back(), term));
  }
  return sums;
}

// In each round an invocation adds what twice as many before it have added up, to the other half of the array.
ScanKernel::Totals ScanKernel::add_up_totals(Rounded own_total) const {
  const Value sum = b.var(own_total.value), sum_lost = compensated ? b.var(own_total.lost) : 0;
  const auto read = [&](Value at) {
    return Rounded{b.shared_load(totals, at), compensated ? b.shared_load(lost_totals, at) : 0};
  };
  const auto write = [&](Value at) {
    b.shared_store(totals, at, b.get(sum));
    if (compensated) b.shared_store(lost_totals, at, b.get(sum_lost));
  };
  int64_t half = 0;
  write(me);
  for (int64_t distance = 1; distance < members; distance *= 2) {
    b.barrier();
    b.begin_if(b.op(KOp::Ge, me, b.i32(distance)));
    const Rounded mine = {b.get(sum), compensated ? b.get(sum_lost) : 0};
    const Rounded both = total(read(b.add(me, b.i32(half - distance))), mine);
    b.set(sum, both.value);
    if (compensated) b.set(sum_lost, both.lost);
    b.end_if();
    half = members - half;
    write(b.add(me, b.i32(half)));
  }
  b.barrier();
  const Value before = b.op(KOp::Max, b.add(me, b.i32(half - 1)), b.i32(half));
  return {read(before), read(b.i32(half + members - 1))};
}

// `values`: of the steps of the invocation's row.
void ScanKernel::store_tile(NodeId of, Value base, std::span<const Value> values) {
  if (std::find(results.begin() + parts.n_acc, results.end(), of) == results.end()) return;
  if (std::exchange(stored, true)) b.barrier();  // others may still read what is there
  for (int64_t j = 0; j < own; ++j) b.shared_store(elements, own_slot(j), values[static_cast<size_t>(j)]);
  b.barrier();
  for (int64_t j = 0; j < own; ++j) {
    const Value step = b.add(base, element(j));
    if (surplus) b.begin_if(b.op(KOp::Lt, step, b.i32(length)));
    const Point to = place(step);
    store_stack(of, to, b.shared_load(elements, slot(element(j))));
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
  if (compensated) lost_totals = b.shared("lost", t, static_cast<uint32_t>(2 * members));
  const int64_t tile = members * own, tiles = chunk_length / tile;
  Value count = b.i32(tiles);
  if (s.domain[0] * chunk_length - length >= tile)
    count = b.op(KOp::Min, count, b.op(KOp::Quot, b.sub(b.i32(length + tile - 1), first), b.i32(tile)));
  const Value base = b.add(first, b.mul(b.begin_loop(count), b.i32(tile)));
  inliner.push_block();
  load_tile(base);
  b.barrier();
  const std::vector<Rounded> sums = own_totals(base);
  const Totals others = add_up_totals(sums.back());
  const Rounded start = now(), behind_others = advanced(start, others.before);
  const Value is_first = b.op(KOp::Eq, me, b.i32(0));
  Rounded from = {b.select(is_first, start.value, behind_others.value)};
  if (compensated) from.lost = b.select(is_first, start.lost, behind_others.lost);
  std::vector<Value> states = {from.value}, lacks;
  for (Rounded v : sums) {
    const Rounded behind = advanced(from, v);
    states.push_back(behind.value);
    lacks.push_back(behind.lost);
  }
  store_tile(state_before(), base, std::span(states).first(sums.size()));
  store_tile(results[0], base, std::span(states).last(sums.size()));
  if (compensated) store_tile(results[1], base, lacks);
  set(advanced(start, others.all));
  inliner.pop_block();
  b.end_loop();
  store_last(b.op(KOp::Eq, me, b.i32(0)));
}

}  // namespace

void emit_scan(Inliner& inliner, Builder& b, const ir::Graph& g, const Compute& s, Value index) {
  ScanKernel scan{.inliner = inliner, .b = b, .s = s, .g = g};
  const bool together = scan.members > 0;
  if (together) index = b.bitcast(Scalar::I32, b.group_index());
  scan.start_chunk(inliner.unlinear(index, s.domain));
  together ? scan.run_together() : scan.run_alone();
}

}  // namespace spirograd::lower
