// Maps as instructions: the points that an invocation computes side by side, and where they are stored.
#include <algorithm>
#include <set>

#include "spirv/lower/map_tile.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using kernel::Builder;
using kernel::KOp;
using kernel::Value;

namespace {

void put(Inliner& inliner, Builder& b, const Store& s, const Point& at, Value value) {
  Point p = at;
  if (s.inserted) p.insert(p.begin() + s.axis, b.i32(s.shift));
  if (s.axis >= 0 && !s.inserted) p[static_cast<size_t>(s.axis)] = b.add(p[static_cast<size_t>(s.axis)], b.i32(s.shift));
  const auto [binding, index] = inliner.element(s.to, s.target, kernel::Access::Write, p);
  b.store(binding, index, value);
}

// Where the row of a point has its value.
Point row_of(Builder& b, const Compute& s, const Store& row, Point at) {
  at.pop_back();
  if (row.target.shape.rank() == s.domain.rank()) at.push_back(b.i32(0));
  return at;
}

// Half of a symmetric map: a value goes to both of its places.
void put_mirrored(Inliner& inliner, Builder& b, const Compute& s, const Store& store, Point at, Value value) {
  const auto [row, column] = symmetric_axes(s);
  std::swap(at[row], at[column]);
  put(inliner, b, store, at, value);
}

// The values of rows at each of these points.
std::vector<std::vector<Value>> row_values(Inliner& inliner, Builder& b, const Compute& s, std::span<const Point> points) {
  std::vector<std::vector<Value>> out;
  for (const Store& row : s.rows) {
    std::vector<Point> at;
    for (const Point& p : points) at.push_back(row_of(b, s, row, p));
    out.push_back(inliner.eval(0, row.value, at));
  }
  return out;
}

// Whoever has the first element of a row stores them.
void store_rows(Inliner& inliner, Builder& b, const Compute& s, const Point& at,
                const std::vector<std::vector<Value>>& values, size_t e) {
  const std::optional<uint64_t> known = b.constant_bits(at.back());
  if (known.value_or(0) != 0) return;
  if (!known) b.begin_if(b.op(KOp::Eq, at.back(), b.i32(0)));
  inliner.push_block();
  for (size_t j = 0; j < s.rows.size(); ++j) put(inliner, b, s.rows[j], row_of(b, s, s.rows[j], at), values[j][e]);
  inliner.pop_block();
  if (!known) b.end_if();
}

// Elements of the row that is all that an invocation computes, if its reductions are of such rows; 0: they are not.
int64_t row_of_invocation(const Compute& s) {
  const schedule::MapSchedule& m = s.schedule;
  if (m.flat || m.axes.empty() || s.reductions.empty()) return 0;
  const int64_t length = s.domain[s.domain.rank() - 1];
  const bool row = length <= schedule::kAloneRow && schedule::tile(m) == length &&
                   schedule::extent(m.axes.back(), schedule::Bind::Register) == length;
  const auto reduces = [&](const schedule::Reduction& r) { return schedule::reduces_row(r, length); };
  return row && std::ranges::all_of(s.reductions, reduces) ? length : 0;
}

void store_as_computed(Inliner& inliner, Builder& b, const Compute& s, const Tile& tile) {
  constexpr size_t kTogether = schedule::kStoredTogether;
  for (size_t first = 0; first < tile.points.size(); first += kTogether) {
    const size_t n = std::min(kTogether, tile.points.size() - first);
    std::vector<std::vector<Value>> values;
    for (const Store& store : s.stores)
      values.push_back(inliner.eval(0, store.value, std::span(tile.points).subspan(first, n)));
    for (size_t e = 0; e < n; ++e) {
      // What two tiles have is stored twice, the same: nothing is in place there, and no branch spoils a row.
      const std::optional<Value> inside = tile.moved ? std::nullopt : tile.inside[first + e];
      if (inside) b.begin_if(*inside);
      inliner.push_block();
      for (size_t j = 0; j < s.stores.size(); ++j) put(inliner, b, s.stores[j], tile.points[first + e], values[j][e]);
      inliner.pop_block();
      if (inside) b.end_if();
    }
  }
}

// By the first workgroup.
void store_odd_element(Inliner& inliner, Builder& b, const Compute& s) {
  b.begin_if(b.op(KOp::Eq, b.group_index(), b.constant(kernel::Scalar::U32, 0)));
  inliner.push_block();
  const Point last = inliner.unlinear(b.i32(s.domain.count() - 1), s.domain);
  for (const Store& store : s.stores) put(inliner, b, store, last, inliner.eval(0, store.value, last));
  inliner.pop_block();
  b.end_if();
}

// Each lane stores one of these points, neighbours along an axis of n elements. known: what it stores has been computed.
void store_by_lane(Inliner& inliner, Builder& b, std::span<const Store> stores, std::span<const Point> points, size_t axis,
                   int64_t n, bool known) {
  Point own = points[0];
  std::vector<Value> places;
  for (const Point& p : points) places.push_back(p[axis]);
  own[axis] = b.add(own[axis], b.bitcast(kernel::Scalar::I32, b.lane_index()));
  b.assume(own[axis], {0, n - 1});
  std::vector<ir::NodeId> results;
  for (const Store& store : stores) results.push_back(store.value);
  inliner.set_rows_of_lanes(own[axis], std::move(places), results, known);
  std::vector<Value> values;
  for (const Store& store : stores) values.push_back(inliner.eval(0, store.value, own));
  for (size_t j = 0; j < stores.size(); ++j) put(inliner, b, stores[j], own, values[j]);
}

// Whether the values of rows of elements are stored so, or those of all points.
bool stores_rows_by_lane(const Compute& s, const Target& t) {
  const size_t rank = s.schedule.axes.size();
  return !s.rows.empty() && rank > 1 && is_whole_row(s, rank - 1, t) && has_one_for_each_lane(s, rank - 2, t);
}
bool stores_by_lane(const Compute& s, const Tile& tile, const Target& t) {
  return s.rows.empty() && static_cast<int64_t>(tile.points.size()) == s.schedule.team &&
         has_one_for_each_lane(s, s.schedule.axes.size() - 1, t);
}

void store_rows_by_lane(Inliner& inliner, Builder& b, const Compute& s, const Tile& tile) {
  const size_t rank = s.schedule.axes.size(), own = tile.points.size() / static_cast<size_t>(s.schedule.team);
  for (const Store& row : s.rows) {
    std::vector<Point> points;
    for (size_t e = 0; e < tile.points.size(); e += own) points.push_back(row_of(b, s, row, tile.points[e]));
    store_by_lane(inliner, b, std::span(&row, 1), points, rank - 2, s.domain[static_cast<int>(rank - 2)], true);
  }
}

void store_together(Inliner& inliner, Builder& b, const Compute& s, const Tile& tile) {
  inliner.set_row(row_of_invocation(s));
  std::set<uint32_t> stored;
  for (const auto& [reduction, store] : s.beside) {
    const auto put_beside = [&inliner, &b, &stored, &to = store](const Point& at, Value value, std::optional<Value> inside) {
      stored.insert(to.value.v);
      if (inside) b.begin_if(*inside);
      inliner.push_block();
      put(inliner, b, to, at, value);
      inliner.pop_block();
      if (inside) b.end_if();
    };
    inliner.add_companion({reduction, store.value, put_beside});
  }
  std::vector<ir::NodeId> results;
  for (const Store& store : s.stores) results.push_back(store.value);
  inliner.find_together(results, tile.points);
  std::vector<std::vector<Value>> values;
  for (const Store& store : s.stores)
    values.push_back(s.schedule.staged ? inliner.eval_staged(store.value, tile.points)
                                       : inliner.eval(0, store.value, tile.points));
  const std::vector<std::vector<Value>> of_rows = row_values(inliner, b, s, tile.points);
  for (const auto& [reduction, store] : s.beside)
    if (!stored.contains(store.value.v)) throw Error("SG0900", "internal: an array beside a reduction was not stored");
  // What a whole group, or team, has computed is stored by its first invocation.
  const schedule::MapSchedule& m = s.schedule;
  const schedule::Bind own = m.team > 0 ? schedule::Bind::Lane : schedule::Bind::Local;
  const bool spread = m.group == 0 || std::ranges::any_of(m.axes, [&](const schedule::Split& axis) {
                        return schedule::extent(axis, own) > 1;
                      });
  std::optional<Value> first;
  if (!spread) first = b.op(KOp::Eq, m.team > 0 ? b.lane_index() : b.local_index(), b.constant(kernel::Scalar::U32, 0));
  std::vector<std::optional<Value>> who;  // stores each element; none: whoever has it
  // Elements of two tiles are stored twice, the same.
  const bool rows = spread && m.team > 0 && schedule::stores_rows(inliner.target()) && s.beside.empty();
  const bool values_of_rows = !s.rows.empty() && !stores_rows_by_lane(s, inliner.target());
  for (size_t e = 0; e < tile.points.size(); ++e) {
    who.push_back(both(b, first, rows ? std::nullopt : tile.inside[e]));
    if (!m.half) continue;
    const auto [row, column] = symmetric_axes(s);
    who.back() = both(b, who.back(), b.op(KOp::Le, tile.points[e][row], tile.points[e][column]));
  }
  for (size_t e = 0; e < who.size();) {
    const std::optional<Value> stores = who[e];
    if (stores) b.begin_if(*stores);
    inliner.push_block();
    for (; e < who.size() && who[e] == stores; ++e) {
      for (size_t j = 0; j < s.stores.size(); ++j) {
        put(inliner, b, s.stores[j], tile.points[e], values[j][e]);
        if (m.half) put_mirrored(inliner, b, s, s.stores[j], tile.points[e], values[j][e]);
      }
      if (values_of_rows) store_rows(inliner, b, s, tile.points[e], of_rows, e);
    }
    inliner.pop_block();
    if (stores) b.end_if();
  }
}

}  // namespace

void emit_map(Inliner& inliner, Builder& b, const Compute& s, Value index) {
  const Tile tile = open_tile(inliner, b, s, index);
  if (leaves_odd_element(s, inliner.target())) store_odd_element(inliner, b, s);
  if (stores_as_computed(s, inliner.target()))
    store_as_computed(inliner, b, s, tile);
  else if (stores_by_lane(s, tile, inliner.target()))
    store_by_lane(inliner, b, s.stores, tile.points, s.schedule.axes.size() - 1, s.domain[s.domain.rank() - 1], false);
  else
    for (const Tile& part : stored_together(s, tile, inliner.target())) store_together(inliner, b, s, part);
  if (stores_rows_by_lane(s, inliner.target())) store_rows_by_lane(inliner, b, s, tile);
  if (s.schedule.half) inliner.pop_block(), b.end_if();
  for (const schedule::Split& axis : s.schedule.axes)
    for (const schedule::Part& part : axis)
      if (part.bind == schedule::Bind::Serial) inliner.pop_block(), b.end_loop();
}

}  // namespace spirograd::lower
