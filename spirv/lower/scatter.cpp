// Scatters as instructions: an invocation goes through its part of the updates and puts each to its place, atomically or as
// the only one that does: adds it there, or leaves the greater one.
#include <algorithm>
#include <optional>
#include <utility>

#include "spirv/lower/compute.h"
#include "spirv/lower/map_tile.h"
#include "spirv/lower/scalar_ops.h"

namespace spirograd::lower {

using ir::NodeId;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;
using schedule::Bind;

namespace {

// Updates that stand next to each other in the body.
struct Batch {
  std::vector<Point> at;       // in the index arrays
  std::vector<Point> place;    // in the addressed axes of the result
  std::vector<Value> inside;   // of those axes, and of the updates
  std::vector<Point> element;  // of the row, where lanes take one each
};

Point joined(Point p, const Point& element) {
  p.insert(p.end(), element.begin(), element.end());
  return p;
}

struct ScatterKernel {
  Inliner& inliner;
  Builder& b;
  const Compute& s;
  const ir::Graph& g;
  const ir::Node& node = g[s.node];
  const Shape index = g[node.in[1]].type.shape;
  const Shape addressed = Shape(node.attr);
  const Shape row = node.type.shape.slice(addressed.rank(), node.type.shape.rank());
  const bool adds = node.op == ir::Op::Scatter;
  const bool copies = schedule::copies(s.scatter) > 1;
  const bool ranges = !s.scatter.atomic && schedule::extent(s.scatter.places, Bind::Grid) > 1;

  Value part = 0, range = 0;  // positions on the grid
  // Elements of the row; and which of them there are, where some may be surplus.
  std::vector<Point> elements = {};
  std::vector<std::optional<Value>> there = {};
  int loops = 0;  // that are open

  // Parts that an invocation reads as a range, the last one shorter than the others.
  const schedule::Split& parts = s.scatter.updates;  // of updates, or of the elements of all rows where lanes have one each
  const int64_t team = schedule::team(s.scatter);
  const int64_t at_once = schedule::extent(parts, Bind::Unroll) * schedule::extent(parts, Bind::Lane);
  const int64_t count = index.count() * (team > 0 ? row.count() : 1);
  const bool surplus = schedule::extent(parts) > count;
  const bool in_ranges = parts.size() > 1 && std::pair(parts[0].bind, parts[1].bind) == std::pair(Bind::Grid, Bind::Serial);
  const bool shorter = surplus && in_ranges;

  Point with_row(const Point& p, size_t element = 0) const { return joined(p, elements[element]); }
  std::vector<Value> along(std::span<const Value> numbers, const schedule::StridedPart& l, bool written_out,
                           Value own) const;
  void find_elements(Value number);
  void hoist() const;
  std::vector<Value> open_loops();
  void close_loops();
  Batch batch(std::span<const Value> numbers);
  Value owned(const Point& place) const;
  Value linear(const Point& place, size_t element = 0) const {
    return inliner.linear(with_row(place, element), node.type.shape);
  }
  Value together(Value x, Value y) const { return adds ? b.add(x, y) : b.op(KOp::Max, x, y); }
  void put(Value at, Value update) const;
  void put_row(const Point& place, Value inside, std::span<const Value> updates) const;
  Value own_lane() const { return b.bitcast(Scalar::I32, b.lane_index()); }
  Value lane_behind(int64_t distance) const;
  Value behind(Value x, int64_t distance) const { return b.shuffle(x, b.bitcast(Scalar::U32, lane_behind(distance))); }
  Value some_meet(Value x) const;
  void put_together(Value at, Value update) const;
  void put_atomically(Value at, Value update) const;
  void run_alone();
  void run_team();
  void run_atomic();
  void run_by_lanes();
  void run_in_runs();
};

// The numbers that lie behind these along a part: all that it counts if it is written out, or else the one at `own`.
std::vector<Value> ScatterKernel::along(std::span<const Value> numbers, const schedule::StridedPart& l, bool written_out,
                                        Value own) const {
  std::vector<Value> out;
  for (const Value v : numbers)
    for (int64_t e = 0; e < (written_out ? l.part.extent : 1); ++e)
      out.push_back(b.add(v, b.mul({written_out ? b.i32(e) : own, b.i32(l.stride)})));
  return out;
}

// Those of the invocation with this number among all that a row has.
void ScatterKernel::find_elements(Value number) {
  const schedule::Split& split = s.scatter.row;
  if (split.empty()) {
    elements = {inliner.unlinear(number, row)};
    there = {std::nullopt};
    return;
  }
  const Value lanes = b.i32(schedule::extent(split, Bind::Lane));
  const Value lane = b.op(KOp::Rem, number, lanes), group = b.op(KOp::Quot, number, lanes);
  std::vector<Value> numbers = {b.i32(0)};
  for (const schedule::StridedPart& l : schedule::strided(split))
    numbers = along(numbers, l, l.part.bind == Bind::Register, l.part.bind == Bind::Lane ? lane : group);
  const bool surplus_elements = schedule::extent(split) > row.count();
  for (const Value v : numbers) {
    const auto [kept, inside] = kept_inside(b, v, split, row.count());
    elements.push_back(inliner.unlinear(surplus_elements ? kept : v, row));
    there.push_back(surplus_elements ? std::optional(inside) : std::nullopt);
  }
}

// What does not depend on the update stands before the loops.
void ScatterKernel::hoist() const {
  const Point any(static_cast<size_t>(index.rank()), kUnknown);
  for (size_t e = 0; e < elements.size() && team == 0; ++e) inliner.hoist(0, node.in[0], with_row(any, e));
  if (team > 0) inliner.hoist(0, node.in[0], Point(static_cast<size_t>(index.rank() + row.rank()), kUnknown));
  for (size_t j = copies ? 2 : 1; j < node.in.size(); ++j) inliner.hoist(0, node.in[j], any);
}

// Numbers of the updates of one iteration.
std::vector<Value> ScatterKernel::open_loops() {
  std::vector<Value> numbers = {b.i32(s.first)};
  for (const schedule::StridedPart& l : schedule::strided(parts)) {
    const schedule::Part& p = l.part;
    Value own = part;
    if (p.bind == Bind::Serial && p.extent > 1) {
      Value times = b.i32(s.count > 0 ? s.count : p.extent);
      if (shorter) {
        const Value left = b.op(KOp::Max, b.sub(b.i32(count + at_once - 1), numbers[0]), b.i32(0));
        times = b.op(KOp::Min, times, b.op(KOp::Quot, left, b.i32(at_once)));
      }
      own = b.begin_loop(times);
      inliner.push_block();
      ++loops;
    } else if (p.bind == Bind::Serial) {
      own = b.i32(0);
    } else if (p.bind == Bind::Lane) {
      own = own_lane();
    }
    numbers = along(numbers, l, p.bind == Bind::Unroll, own);
  }
  return numbers;
}

void ScatterKernel::close_loops() {
  for (; loops > 0; --loops) inliner.pop_block(), b.end_loop();
}

// Behind the last update it counts again and goes nowhere.
Batch ScatterKernel::batch(std::span<const Value> numbers) {
  Batch out;
  const bool guarded = surplus && (!shorter || loops == 0 || count % at_once != 0);
  for (Value v : numbers) {
    out.inside.push_back(guarded ? b.op(KOp::Lt, v, b.i32(count)) : b.boolean(true));
    Value at = guarded ? b.op(KOp::Min, v, b.i32(count - 1)) : v;
    if (!b.constant_bits(at)) b.assume(at, {0, count - 1});
    if (team > 0) {
      const Value length = b.i32(row.count());
      out.element.push_back(inliner.unlinear(b.op(KOp::Rem, at, length), row));
      at = b.op(KOp::Quot, at, length);
    }
    out.at.push_back(inliner.unlinear(at, index));
    out.place.push_back(copies ? Point{part} : Point{});
  }
  for (size_t j = copies ? 2 : 1; j < node.in.size(); ++j) {
    const std::vector<Value> i = inliner.eval(0, node.in[j], out.at);
    const auto extent = static_cast<double>(addressed[static_cast<int>(j) - 1]);
    for (size_t e = 0; e < numbers.size(); ++e) {
      const Value below = b.op(KOp::Lt, b.bitcast(Scalar::U32, i[e]), b.constant(Scalar::U32, extent));
      out.inside[e] = b.logical_and(out.inside[e], below);
      out.place[e].push_back(i[e]);
    }
  }
  return out;
}

// Whether the place belongs to the invocation.
Value ScatterKernel::owned(const Point& place) const {
  if (!ranges) return b.boolean(true);
  const size_t from = copies ? 1 : 0;
  const Value number = inliner.linear(Point(place.begin() + static_cast<ptrdiff_t>(from), place.end()),
                                      addressed.slice(static_cast<int>(from), addressed.rank()));
  const int64_t length = s.scatter.places[1].extent;
  const Value offset = b.sub(number, b.mul(range, b.i32(length)));
  return b.op(KOp::Lt, b.bitcast(Scalar::U32, offset), b.constant(Scalar::U32, static_cast<double>(length)));
}

void ScatterKernel::put(Value at, Value update) const {
  const auto [slot, place] = inliner.element(s.to, node.type, kernel::Access::ReadWrite, at);
  b.store(slot, place, together(b.load(slot, place), update));
}

void ScatterKernel::put_atomically(Value at, Value update) const {
  const auto [slot, place] = inliner.element(s.to, node.type, kernel::Access::Atomic, at);
  adds ? b.atomic_add(slot, place, update) : b.atomic_max(slot, place, update);
}

// 0 is put to a place of its own where nothing arrives: cheaper than a branch. All of the row is read before any is stored.
void ScatterKernel::put_row(const Point& place, Value inside, std::span<const Value> updates) const {
  const Value nothing = zero(b, scalar_of(node.type.dtype));
  Point to;
  for (size_t j = 0; j < place.size(); ++j) to.push_back(copies && j == 0 ? part : b.select(inside, place[j], b.i32(0)));
  std::vector<Inliner::Element> at;
  std::vector<Value> totals;
  for (size_t e = 0; e < elements.size(); ++e) {
    at.push_back(inliner.element(s.to, node.type, kernel::Access::ReadWrite, linear(to, e)));
    totals.push_back(together(b.load(at[e].binding, at[e].index), b.select(inside, updates[e], nothing)));
  }
  for (size_t e = 0; e < elements.size(); ++e) {
    const bool first = e == 0 || there[e] != there[e - 1], last = e + 1 == elements.size() || there[e] != there[e + 1];
    if (there[e] && first) b.begin_if(*there[e]);
    b.store(at[e].binding, at[e].index, totals[e]);
    if (there[e] && last) b.end_if();
  }
}

// The number of the lane so far behind, around the subgroup.
Value ScatterKernel::lane_behind(int64_t distance) const {
  return b.op(KOp::And, b.add(own_lane(), b.i32(distance)), b.i32(team - 1));
}

// Whether any two lanes have the same: one of them sees the other in the half of the subgroup behind it. The same for all.
Value ScatterKernel::some_meet(Value x) const {
  Value met = b.boolean(false);
  for (int64_t j = 1; j <= team / 2; ++j) met = b.op(KOp::Or, met, b.op(KOp::Eq, behind(x, j), x));
  Value any = b.select(met, b.i32(1), b.i32(0));
  for (int64_t j = 1; j < team; j *= 2) any = b.op(KOp::Or, any, behind(any, j));
  return b.op(KOp::Ne, b.broadcast(any, b.constant(Scalar::U32, 0)), b.i32(0));
}

// Each lane to a place of its own; of those that meet, the first one puts what they have together. Below 0 is nowhere.
void ScatterKernel::put_together(Value at, Value update) const {
  const Value nowhere = b.op(KOp::Lt, at, b.i32(0));
  const auto leave = [&](Value total, Value when) {
    b.begin_if(b.logical_and(when, b.op(KOp::Not, nowhere)));
    put(at, total);
    b.end_if();
  };
  b.begin_if(some_meet(at));
  Value total = update, first = own_lane();
  for (int64_t j = 1; j < team; ++j) {
    const Value same = b.op(KOp::Eq, behind(at, j), at);
    total = b.select(same, together(total, behind(update, j)), total);
    first = b.select(same, b.op(KOp::Min, first, lane_behind(j)), first);
  }
  leave(total, b.op(KOp::Eq, first, own_lane()));
  b.begin_else();
  leave(update, b.boolean(true));
  b.end_if();
}

// Updates are read together, before anything is stored; but where most go to others, one by one.
void ScatterKernel::run_alone() {
  hoist();
  const std::vector<Value> numbers = open_loops();
  const Batch u = batch(numbers);
  std::vector<Point> points;
  for (const Point& p : u.at)
    for (size_t e = 0; e < elements.size(); ++e) points.push_back(with_row(p, e));
  std::vector<Value> values;
  if (!ranges) values = inliner.eval(0, node.in[0], points);
  for (size_t e = 0; e < numbers.size(); ++e) {
    if (!ranges) {
      put_row(u.place[e], u.inside[e], std::span(values).subspan(e * elements.size(), elements.size()));
      continue;
    }
    b.begin_if(b.logical_and(u.inside[e], owned(u.place[e])));
    inliner.push_block();
    const Value to = linear(u.place[e]);
    put(to, inliner.eval(0, node.in[0], points[e]));
    inliner.pop_block();
    b.end_if();
  }
  close_loops();
}

// The same by lanes, one element each. What is read for the next elements is on its way while those before are put.
void ScatterKernel::run_team() {
  hoist();
  const Value nowhere = b.sub(b.i32(-1), own_lane());  // where no other lane is
  std::vector<Value> places, updates;
  for (int64_t e = 0; e < at_once / team; ++e)
    places.push_back(b.var(nowhere)), updates.push_back(b.var(zero(b, scalar_of(node.type.dtype))));
  const auto put_all = [&] {
    for (size_t e = 0; e < places.size(); ++e) put_together(b.get(places[e]), b.get(updates[e]));
  };
  const std::vector<Value> numbers = open_loops();
  const Batch u = batch(numbers);
  std::vector<Point> points;
  for (size_t e = 0; e < numbers.size(); ++e) points.push_back(joined(u.at[e], u.element[e]));
  const std::vector<Value> values = inliner.eval(0, node.in[0], points);
  put_all();
  for (size_t e = 0; e < numbers.size(); ++e) {
    const Value to = inliner.linear(joined(u.place[e], u.element[e]), node.type.shape);
    b.set(places[e], b.select(u.inside[e], to, nowhere));
    b.set(updates[e], values[e]);
  }
  close_loops();
  put_all();
}

void ScatterKernel::run_atomic() {
  const Batch u = batch(open_loops());
  b.begin_if(u.inside[0]);
  inliner.push_block();
  const Value update = inliner.eval(0, node.in[0], with_row(u.at[0]));
  put_atomically(linear(u.place[0]), update);
  inliner.pop_block();
  b.end_if();
}

// Where all lanes have one place the first one adds what they have together; what arrives outside is nothing, nowhere.
void ScatterKernel::run_by_lanes() {
  b.use_lanes(static_cast<uint32_t>(s.scatter.lanes));
  const Batch u = batch(open_loops());
  const Value nowhere = b.i32(-1), nothing = zero(b, scalar_of(node.type.dtype));
  const Value at = b.select(u.inside[0], linear(u.place[0]), nowhere);
  const Value update = b.select(u.inside[0], inliner.eval(0, node.in[0], with_row(u.at[0])), nothing);
  const auto leave = [&](Value to, Value total, Value when) {
    b.begin_if(when);
    put_atomically(to, total);
    b.end_if();
  };
  const Value least = b.subgroup_reduce(KOp::Min, at), greatest = b.subgroup_reduce(KOp::Max, at);
  b.begin_if(b.op(KOp::Eq, least, greatest));
  const Value together = b.subgroup_reduce(adds ? KOp::Add : KOp::Max, update);
  const Value first = b.op(KOp::Eq, b.lane_index(), b.constant(Scalar::U32, 0));
  leave(least, together, b.logical_and(first, b.op(KOp::Ge, least, b.i32(0))));
  b.begin_else();
  leave(at, update, b.op(KOp::Ge, at, b.i32(0)));
  b.end_if();
}

// What arrives outside is added up too, but stays where it is.
void ScatterKernel::run_in_runs() {
  const Value nowhere = b.i32(-1), nothing = zero(b, scalar_of(node.type.dtype));
  const Value place = b.var(nowhere), sum = b.var(nothing);
  const auto leave = [&](Value to, Value total, Value when) {
    b.begin_if(b.logical_and(when, b.op(KOp::Ge, to, b.i32(0))));
    put_atomically(to, total);
    b.end_if();
  };
  hoist();
  const Batch u = batch(open_loops());
  const Value at = b.select(u.inside[0], linear(u.place[0]), nowhere);
  const Value update = inliner.eval(0, node.in[0], with_row(u.at[0]));
  const Value before = b.get(place), total = b.get(sum), other = b.op(KOp::Ne, at, before);
  leave(before, total, other);
  b.set(place, at);
  b.set(sum, together(b.select(other, nothing, total), update));
  close_loops();
  const Value last = b.get(place);
  leave(last, b.get(sum), b.boolean(true));
}

}  // namespace

void emit_scatter(Inliner& inliner, Builder& b, const ir::Graph& g, const Compute& s, Value index) {
  ScatterKernel scatter{.inliner = inliner, .b = b, .s = s, .g = g};
  const Value own = scatter.team > 0 ? b.bitcast(Scalar::I32, b.group_index()) : index;
  const Point at = inliner.unlinear(own, s.domain);
  scatter.part = at[0];
  scatter.range = at[1];
  scatter.find_elements(at[2]);
  if (scatter.team > 0) return scatter.run_team();
  if (!s.scatter.atomic) return scatter.run_alone();
  if (s.scatter.lanes > 1) return scatter.run_by_lanes();
  const bool runs = schedule::extent(s.scatter.updates, Bind::Serial) > 1;
  runs ? scatter.run_in_runs() : scatter.run_atomic();
}

}  // namespace spirograd::lower
