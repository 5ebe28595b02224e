// Reductions inside kernels that are loops. Long f32 sums go through blocks whose partial sums are added with compensation
// (Kahan), so that the error does not grow with the length.
#include <algorithm>
#include <utility>

#include "spirv/lower/combine.h"
#include "spirv/lower/inline_lanes.h"
#include "spirv/lower/inline_stage.h"
#include "spirv/lower/partition.h"
#include "spirv/lower/scalar_ops.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/row_rules.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

namespace {

// One loop of a reduction, or the copies of its body.
struct Level {
  size_t axis;  // of the operand
  int64_t extent, stride;
  schedule::Bind bind;
  bool last_axis, first_part;
};

std::vector<Level> levels_of(const Node& n, const schedule::ReduceSchedule& s) {
  std::vector<Level> out;
  for (size_t j = 0; j < s.axes.size(); ++j) {
    bool first = true;
    for (const auto& [part, stride] : schedule::strided(s.axes[j]))
      out.push_back({static_cast<size_t>(n.attr[j]), part.extent, stride, part.bind, j + 1 == s.axes.size(),
                     std::exchange(first, false)});
  }
  return out;
}

}  // namespace

// The loops of a reduction, or of several over the same elements, while they are written: those that are open, the place of
// the element on each axis, and the results. Partial results, as many as the schedule has accumulators, run over the last
// axis, or over a block of it if the sum is compensated; their sum is added to the total, which runs over everything.
struct Inliner::ReductionLoops {
  struct Result {
    const Node& n;
    std::vector<Value> total = {}, lost = {}, partial = {};  // lost: by the compensated additions so far
    std::vector<Value> place = {}, partial_place = {};       // of the extreme, where that is asked for
  };

  Inliner& inliner;
  Builder& b;
  const int scope;
  const Node& n;
  const Shape& from;
  const Scalar t;
  const schedule::ReduceSchedule& s;
  const schedule::Split& last = s.axes.back();
  const size_t inner = static_cast<size_t>(n.attr.back()), chains = static_cast<size_t>(s.accumulators);
  const bool compensated, team, shared = last.back().bind == schedule::Bind::Local;
  const bool direct = !compensated && chains == 1;  // straight into the total
  Staging* const staging;                           // none: nothing is staged
  CommonValues* const common;                       // none: each lane evaluates all that it needs
  const std::optional<Value> wanted;                // whether anybody wants the results; none: always
  const bool jammed;                                // copies are evaluated together, so that loops inside of them are one
  const bool whole;                                 // a row of which lanes read neighbours is written out

  std::vector<Result> results = {{n}};
  std::vector<Point> at = {};
  std::map<size_t, Value> place = {};  // of each axis, as far as its loops are open
  std::optional<Value> inside = {};    // whether the element is one, where the schedule counts further than the axis
  int open = 0, open_around = 0;       // loops; those around the partial results
  int64_t copies = 1, copy_stride = 0;
  std::optional<Value> left = {};  // elements, at the end of the block, that are no whole unrolled body,
  Value left_from = 0;             // and where they begin
  std::vector<const Companion*> companions = {};

  void start(std::span<const Point> points);
  void start_partials();
  void open_loops();
  void open_loop(const Level& l, bool around_copies);
  Value begin_loop(Value count);
  void set_place(size_t axis, Value v);
  void take(const Result& r, size_t partial, Value x, Value at_place);
  void accumulate(size_t chain, std::optional<int64_t> copy = std::nullopt);
  void accumulate_together(Value first, int64_t begin, int64_t end);
  void store_companions(std::span<const Point> points);
  void accumulate_copies();
  void accumulate_left();
  void close(int left_open);
  void add_chains(const Result& r, size_t u);
  void add_to_total(const Result& r, size_t u, Value part);
  void find_in_chains(const Result& r, size_t u);
};

void Inliner::ReductionLoops::start(std::span<const Point> points) {
  for (const Point& p : points) {
    at.push_back(inliner.reduced_operand_point(n, p));
    for (const Result& r : results) inliner.hoist(scope, r.n.in[0], at.back());
  }
  for (Result& r : results) {
    for (size_t u = 0; u < points.size(); ++u) {
      r.total.push_back(b.var(identity(b, r.n.op, t)));
      if (compensated) r.lost.push_back(b.var(b.constant(t, 0)));
      if (finds_place(r.n.op)) r.place.push_back(b.var(b.i32(0)));
    }
    for (const Companion& c : inliner.companions_) {
      if (scope != 0 || &inliner.node(c.of) != &r.n) continue;
      companions.push_back(&c);
      const Shape& shape = inliner.node(c.node).type.shape;
      inliner.hoist(scope, c.node, Point(static_cast<size_t>(shape.rank()), kUnknown));
    }
    if (direct) r.partial = r.total, r.partial_place = r.place;
  }
  for (int64_t a : n.attr) place[static_cast<size_t>(a)] = b.i32(0);
}

void Inliner::ReductionLoops::start_partials() {
  open_around = open;
  for (Result& r : results)
    while (r.partial.size() < at.size() * chains) {
      r.partial.push_back(b.var(identity(b, r.n.op, t)));
      if (finds_place(r.n.op)) r.partial_place.push_back(b.var(b.i32(0)));
    }
}

void Inliner::ReductionLoops::open_loops() {
  const int64_t own = schedule::extent(last) / schedule::extent(last, schedule::Bind::Local);
  const int64_t added = schedule::divided_up(std::min(own, from[static_cast<int>(inner)]), whole ? s.accumulators : 1);
  const bool in_blocks = compensated && added > schedule::kPlainSum;
  bool started = false;
  const std::vector<Level> levels = levels_of(n, s);
  for (size_t j = 0; j < levels.size(); ++j) {
    const Level& l = levels[j];
    if (l.last_axis && !started && !(in_blocks && l.first_part)) start_partials(), started = true;
    if (staging && l.last_axis && l.bind == schedule::Bind::Serial && l.extent * l.stride == schedule::staged_elements(s))
      staging->copy(place);
    open_loop(l, j + 1 < levels.size() && levels[j + 1].bind == schedule::Bind::Unroll);
  }
  if (!started) start_partials();
}

void Inliner::ReductionLoops::open_loop(const Level& l, bool around_copies) {
  if (l.bind == schedule::Bind::Unroll) {
    copies = l.extent, copy_stride = l.stride;
    return;
  }
  if (l.bind == schedule::Bind::Local) {
    place[l.axis] = b.add(place[l.axis], b.bitcast(Scalar::I32, team ? b.lane_index() : b.local_index()));
    return;
  }
  const int64_t n_axis = from[static_cast<int>(l.axis)];
  Value count = b.i32(l.extent);
  // The last block may be shorter than the others.
  if (schedule::extent(last) > n_axis && l.last_axis && !shared && (!l.first_part || around_copies)) {
    const Value stride = b.i32(l.stride), behind = b.sub(b.i32(n_axis), place[l.axis]);
    if (around_copies) {
      const Value elements = b.op(KOp::Min, behind, b.i32(l.extent * l.stride));
      count = b.op(KOp::Quot, elements, stride);
      left = b.op(KOp::Rem, elements, stride);
      left_from = b.add(place[l.axis], b.mul(count, stride));
    } else {
      count = b.op(KOp::Min, count, b.op(KOp::Quot, b.add(behind, b.i32(l.stride - 1)), stride));
    }
  }
  const Value counter = begin_loop(count);
  place[l.axis] = b.add(place[l.axis], b.mul(counter, b.i32(l.stride)));
}

Value Inliner::ReductionLoops::begin_loop(Value count) {
  const Value counter = b.begin_loop(open == 0 ? inliner.trips(count, wanted, staging || common) : count);
  inliner.push_block();
  ++open;
  return counter;
}

void Inliner::ReductionLoops::set_place(size_t axis, Value v) {
  const int64_t n_axis = from[static_cast<int>(axis)];
  if (shared && !whole && schedule::extent(last) > n_axis && axis == inner) {
    inside = b.op(KOp::Lt, v, b.i32(n_axis));
    v = b.op(KOp::Min, v, b.i32(n_axis - 1));
  }
  if (!b.constant_bits(v)) b.assume(v, {0, n_axis - 1});
  for (Point& p : at) p[axis] = v;
}

// An element, into a partial result.
void Inliner::ReductionLoops::take(const Result& r, size_t partial, Value x, Value at_place) {
  const Value var = r.partial[partial], before = b.get(var);
  if (!finds_place(r.n.op)) return b.set(var, combine(b, r.n.op, before, x));
  const Value place_var = r.partial_place[partial];
  const Found found = better_in_order(b, r.n.op, {before, b.get(place_var)}, {x, at_place});
  b.set(var, found.value);
  b.set(place_var, found.place);
}

void Inliner::ReductionLoops::accumulate(size_t chain, std::optional<int64_t> copy) {
  for (const auto& [axis, v] : place) set_place(axis, v);
  for (size_t u = 0; u < at.size() && staging; ++u) staging->provide(place, u, at[u]);
  if (common && copy) common->provide(at, *copy);
  for (const Result& r : results) {
    const std::vector<Value> values = inliner.eval(scope, r.n.in[0], at);
    for (size_t u = 0; u < at.size(); ++u) {
      const Value x = inside ? b.select(*inside, values[u], identity(b, r.n.op, t)) : values[u];
      take(r, u * chains + chain, x, at[u][inner]);
    }
  }
  store_companions(at);
}

// Of the copies from `begin` to `end`.
void Inliner::ReductionLoops::accumulate_together(Value first, int64_t begin, int64_t end) {
  std::vector<Point> all;  // those of a copy beside each other
  const bool in_pairs =
      whole && schedule::takes_pairs(inliner.target_) && copies % 2 == 0 && !schedule::stores_rows(inliner.target_);
  for (int64_t k = begin; k < end; ++k) {
    const int64_t second = in_pairs ? k % 2 : 0;  // of two neighbours that a lane has
    place[inner] = b.add(in_pairs ? b.mul(first, b.i32(2)) : first, b.i32((k - second) * copy_stride + second));
    for (const auto& [axis, v] : place) set_place(axis, v);
    all.insert(all.end(), at.begin(), at.end());
  }
  for (const Result& r : results) {
    const std::vector<Value> values = inliner.eval(scope, r.n.in[0], all);
    for (size_t e = 0; e < all.size(); ++e)
      take(r, e % at.size() * chains + (static_cast<size_t>(begin) + e / at.size()) % chains, values[e], all[e][inner]);
  }
  store_companions(all);
}

void Inliner::ReductionLoops::store_companions(std::span<const Point> points) {
  for (const Companion* c : companions)
    for (const Point& p : points) {
      const Guarded own = inliner.uncut_point(n, p, inliner.node(c->node).type.shape);
      c->store(own.point, inliner.eval(scope, c->node, own.point), own.inside);
    }
}

void Inliner::ReductionLoops::accumulate_copies() {
  const Value first = place[inner];
  const int64_t beyond = schedule::extent(last) - from[static_cast<int>(inner)];
  const bool stored = whole && beyond == 0 && !companions.empty();
  if (jammed || stored) {
    // What waits for its store takes registers.
    const int64_t together = stored && schedule::stores_rows(inliner.target_) ? schedule::kStoredTogether : copies;
    for (int64_t k = 0; k < copies; k += together) accumulate_together(first, k, std::min(copies, k + together));
    return;
  }
  inliner.copies_ *= copies;
  if (common) {
    for (const auto& [axis, v] : place) set_place(axis, v);
    common->evaluate(at, first, copies);
  }
  for (int64_t k = 0; k < copies; ++k) {
    // A last row that would end behind the axis begins earlier; lanes with what has been taken before take nothing.
    const int64_t early = whole && k + 1 == copies ? beyond : 0;
    if (early > 0) inside = b.op(KOp::Ge, first, b.i32(early));
    place[inner] = b.add(first, b.i32(k * copy_stride - early));
    accumulate(static_cast<size_t>(k) % chains, k);
  }
  inliner.copies_ /= copies;
}

void Inliner::ReductionLoops::accumulate_left() {
  if (!left) return;
  close(open - 1);
  const Value counter = begin_loop(*left);
  place[inner] = b.add(left_from, counter);
  accumulate(0);
}

void Inliner::ReductionLoops::close(int left_open) {
  for (; open > left_open; --open) {
    inliner.pop_block();
    b.end_loop();
  }
}

void Inliner::ReductionLoops::add_chains(const Result& r, size_t u) {
  if (finds_place(r.n.op)) return find_in_chains(r, u);
  std::vector<Value> parts;
  for (size_t j = 0; j < chains; ++j) parts.push_back(b.get(r.partial[u * chains + j]));
  for (; parts.size() > 1; parts.resize(parts.size() / 2))  // a power of two of them, neighbours first
    for (size_t j = 0; 2 * j < parts.size(); ++j) parts[j] = combine(b, r.n.op, parts[2 * j], parts[2 * j + 1]);
  add_to_total(r, u, parts[0]);
}

void Inliner::ReductionLoops::find_in_chains(const Result& r, size_t u) {
  for (size_t j = u * chains; j < (u + 1) * chains; ++j) {
    const Found best = {b.get(r.total[u]), b.get(r.place[u])};
    const Found found = better(b, r.n.op, {b.get(r.partial[j]), b.get(r.partial_place[j])}, best);
    b.set(r.total[u], found.value);
    b.set(r.place[u], found.place);
  }
}

void Inliner::ReductionLoops::add_to_total(const Result& r, size_t u, Value part) {
  const Value before = b.get(r.total[u]);
  if (!compensated) {
    b.set(r.total[u], combine(b, r.n.op, before, part));
    return;
  }
  b.set(r.total[u], add_compensated(b, before, part, r.lost[u]));
}

std::vector<Value> Inliner::reduce_loop(int scope, NodeId id, std::span<const Point> points, bool by_lane) {
  const Node& n = node(id);
  const Shape& from = node(n.in[0]).type.shape;
  const Scalar t = scalar_of(node(n.in[0]).type.dtype);
  const std::vector<NodeId> others = by_lane ? std::vector<NodeId>{} : reduced_with(scope, n, points);
  schedule::ReduceFacts facts = facts_of(scope, n, others, points);
  facts.alone = others.empty() && companions_.empty() && !finds_place(n.op);
  std::optional<Staging> staging;
  if (tile_ && scope == 0 && facts.group == 0 && b_.uniform_path()) {
    staging.emplace(*this, n, points);
    facts.members = group_;
    facts.leaves = staging->leaves();
  }
  std::optional<CommonValues> common;
  Scope& around = scopes_[static_cast<size_t>(scope)];
  const bool alike = scope == 0 || around.together;  // each lane sees what the others see
  if (lanes_ > 0 && alike && b_.uniform_path_in_subgroup()) {
    common.emplace(*this, scope, n, points);
    facts.lanes = lanes_;
    facts.common = common->count();
    facts.staying = common->staying();
    facts.kept = keeps_ ? around.kept : schedule::kMostKept;
    facts.changing = common->changing();
  }
  const schedule::ReduceSchedule s = schedule::legal(facts, scheduler_.reduction(facts, target_), target_);
  if (schedule::extent(s.axes.back(), schedule::Bind::Unroll) == facts.extents.back())
    around.kept += schedule::kept_elements(facts);
  reductions_.push_back(
      {std::string(ir::name(n.op)) + " of " + to_string(node(n.in[0]).type), s, schedule::loads_per_element(facts, s)});

  const bool lane_row = schedule::reads_lane_row(facts, target_);
  if (facts.rows && lane_row && facts.alone && schedule::is_straight(s)) return reduce_straight(scope, n, points);
  if (!s.stages.empty()) staging->take_arrays(s);
  ir::Conditions wanted = conditions(scope, id);
  for (NodeId other : others) wanted = ir::common(wanted, conditions(scope, other));
  ReductionLoops loops{
      .inliner = *this,
      .b = b_,
      .scope = scope,
      .n = n,
      .from = from,
      .t = t,
      .s = s,
      .compensated = facts.plain > 0,
      .team = facts.team,
      .staging = s.stages.empty() ? nullptr : &*staging,
      .common = s.broadcast > 1 ? &*common : nullptr,
      .wanted = holds(scope, wanted),
      .jammed = schedule::jams_loops(facts, s),
      .whole = lane_row && s.axes.size() == 1 && schedule::extent(s.axes.back(), schedule::Bind::Serial) == 1};
  for (NodeId other : others) {
    loops.results.push_back({node(other)});
    reductions_.push_back({std::string(ir::name(node(other).op)) + " beside it", s, 0});
  }
  loops.start(points);
  const int64_t before = repeat(reduced_length(graph_, n));
  ++open_;
  loops.open_loops();
  loops.accumulate_copies();
  loops.accumulate_left();
  loops.close(loops.open_around);
  --open_;
  points_ = before;
  for (const ReductionLoops::Result& r : loops.results)
    for (size_t u = 0; u < points.size() && !loops.direct; ++u) loops.add_chains(r, u);
  loops.close(0);
  std::vector<std::vector<Value>> out;
  for (const ReductionLoops::Result& r : loops.results) {
    std::vector<Value>& values = out.emplace_back();
    for (Value v : r.total) values.push_back(b_.get(v));
    if (finds_place(r.n.op)) {
      values = places(r.n, values, r.place, loops.shared ? facts.group : 0);
    } else if (by_lane) {
      values = {loops.shared ? joined_by_lane(join_of(r.n.op), std::move(values)) : of_lane(values)};
    } else if (loops.shared) {
      const auto members = static_cast<uint32_t>(facts.group);
      values = joined(join_of(r.n.op), std::move(values), static_cast<uint32_t>(s.lanes), members);
    }
  }
  for (size_t j = 0; j < others.size(); ++j)
    for (size_t u = 0; u < points.size(); ++u) memo_.back()[Key{scope, others[j].v, points[u]}] = out[j + 1][u];
  return out[0];
}

}  // namespace spirograd::lower
