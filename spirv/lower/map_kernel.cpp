// Maps as instructions: the points that an invocation computes side by side, and where they are stored.
#include <algorithm>
#include <numeric>
#include <set>

#include "spirv/lower/compute.h"
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

// The points of the domain that an invocation computes side by side, and whether each is inside of the domain.
struct Tile {
  std::vector<Point> points;
  std::vector<std::optional<Value>> inside;  // none: always
  bool moved = false;                        // the last one begins earlier, and has elements of the one before it
};

// Of two conditions; none: always.
std::optional<Value> both(Builder& b, std::optional<Value> x, std::optional<Value> y) {
  return x && y ? b.logical_and(*x, *y) : x ? x : y;
}

// What a group computes together along each axis, if that is a range: nothing but its own parts is inside of its own parts.
GroupTile tile_of(const schedule::MapSchedule& m, std::span<const Value> origin) {
  using schedule::Bind;
  GroupTile tile;
  for (size_t a = 0; a < m.axes.size(); ++a) {
    GroupTile::Axis& axis = tile.axes.emplace_back();
    axis.origin = origin[a];
    bool inside = false, range = true;
    for (const schedule::Part& p : m.axes[a]) {
      const bool own = p.bind == Bind::Local || p.bind == Bind::Register;
      range = range && (own || !inside || p.extent == 1);
      inside = inside || (own && p.extent > 1);
      if (own) axis.extent *= p.extent;
    }
    if (!range) axis.extent = 1;  // its coordinates are not among those of the tile
  }
  return tile;
}

// In the order in which they are numbered.
std::vector<size_t> numbered_axes(const schedule::MapSchedule& m, schedule::Bind bind) {
  std::vector<size_t> axes(m.axes.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  const auto outer = axes.begin() + std::max(0, m.outer);
  if (bind == schedule::Bind::Grid && m.outer > 0) std::rotate(axes.begin(), outer, outer + 1);
  return axes;
}

// Surplus elements compute the last one again, and do not store it: the place of which instead, and whether it is one of
// `n`. Of elements that an invocation has in pairs, all that there are being pairs, both are surplus or none.
std::pair<Value, Value> kept_inside(Builder& b, Value at, const schedule::Split& axis, int64_t n) {
  const schedule::Part pair{schedule::Bind::Register, 2};
  const int64_t side = axis.back() == pair && n % 2 == 0 ? 2 : 1;
  const Value number = b.op(KOp::Quot, at, b.i32(side));
  const Value kept = b.mul(b.op(KOp::Min, number, b.i32(n / side - 1)), b.i32(side));
  return {b.add(kept, b.op(KOp::Rem, at, b.i32(side))), b.op(KOp::Lt, number, b.i32(n / side))};
}

// Whether lanes have rows of elements, each computed for itself, that are stored as rows: whatever waits for its store takes
// registers, and each store is a branch to the driver.
bool stores_as_computed(const Compute& s, const Target& t) {
  const schedule::MapSchedule& m = s.schedule;
  return m.team > 0 && schedule::stores_rows(t) && s.reductions.empty() && s.rows.empty() && s.beside.empty() && !m.half &&
         !m.staged;
}

// Elements of an axis that a subgroup has side by side: its lanes, which are read as rows (kGatheredLoads), or each of them,
// where they are stored as rows; 0: none.
int64_t row_of_team(const Compute& s, const schedule::Split& axis, int64_t n, const Target& t) {
  using schedule::Bind;
  if (s.schedule.team == 0 || !schedule::reads_rows(t)) return 0;
  if (schedule::extent(axis, Bind::Lane) == 1 && !(stores_as_computed(s, t) && schedule::extent(axis, Bind::Register) > 1))
    return 0;
  const auto own = [](const schedule::Part& p) { return p.bind == Bind::Lane || p.bind == Bind::Register; };
  const auto first = std::ranges::find_if(axis, own);
  const int64_t width = schedule::extent(axis, Bind::Lane) * schedule::extent(axis, Bind::Register);
  return std::all_of(first, axis.end(), own) && width <= n ? width : 0;
}

// Of an odd number of elements, the last one belongs to no row: those begin at even places, as stores of pairs do.
bool leaves_odd_element(const Compute& s, const Target& t) {
  const int64_t n = s.domain.count();
  return s.schedule.flat && n % 2 == 1 && row_of_team(s, s.schedule.axes[0], n, t) > 0 && stores_as_computed(s, t);
}

// The last row begins earlier where it would end behind the axis.
std::pair<Value, Value> moved_inside(Builder& b, Value first, Value offset, int64_t n, int64_t width) {
  const int64_t side = n % 2 == 0 && width % 2 == 0 ? 2 : 1;  // pairs stay pairs
  const Value number = b.op(KOp::Quot, first, b.i32(side));
  const Value kept = b.mul(b.op(KOp::Min, number, b.i32((n - width) / side)), b.i32(side));
  const Value at = b.add(kept, offset);
  return {at, b.op(KOp::Ge, b.op(KOp::Quot, at, b.i32(side)), number)};
}

std::pair<size_t, size_t> symmetric_axes(const Compute& s) {
  return {static_cast<size_t>(s.symmetric->first), static_cast<size_t>(s.symmetric->second)};
}

// Opens the loops of the schedule; half of a symmetric map, an If around what has points on the diagonal or above it.
// `index` numbers the invocations.
Tile open_tile(Inliner& inliner, Builder& b, const Compute& s, Value index) {
  using schedule::Bind;
  const schedule::MapSchedule& m = s.schedule;
  struct Counter {
    size_t axis;
    int64_t extent, stride;
    bool own;  // told apart inside of what takes the same path
  };
  std::vector<Counter> grid, in_group, in_team, loops, registers;
  std::vector<int64_t> reach(m.axes.size(), 0);
  for (const Bind bind : {Bind::Grid, Bind::Local, Bind::Lane, Bind::Serial, Bind::Register})
    for (const size_t a : numbered_axes(m, bind))
      for (const auto& [part, stride] : schedule::strided(m.axes[a])) {
        if (part.bind != bind) continue;
        const bool local = m.group > 0 && bind == Bind::Local, lane = m.team > 0 && bind == Bind::Lane;
        auto& levels = local                    ? in_group
                       : lane                   ? in_team
                       : bind == Bind::Serial   ? loops
                       : bind == Bind::Register ? registers
                                                : grid;
        const bool own = bind == Bind::Lane || bind == Bind::Register || local;
        levels.push_back({a, part.extent, stride, own});
        if (own) reach[a] += (part.extent - 1) * stride;
      }
  std::vector<Value> origin(m.axes.size(), b.i32(0)), own = origin;  // of the group, or of the invocation; from there
  std::vector<Value> first = origin;                                 // half: of all that takes the same path
  const auto add = [&](std::vector<Value>& to, const Counter& l, Value v) {
    to[l.axis] = b.add(to[l.axis], b.mul(v, b.i32(l.stride)));
  };
  const auto i32 = [&](Value v) { return b.bitcast(kernel::Scalar::I32, v); };
  const auto number = [&](std::vector<Value>& to, const std::vector<Counter>& levels, Value v) {
    std::vector<int64_t> extents;
    for (const Counter& l : levels) extents.push_back(l.extent);
    const std::vector<Value> numbers = inliner.unlinear(v, extents);
    for (size_t j = 0; j < levels.size(); ++j) {
      add(to, levels[j], numbers[j]);
      if (m.half && !levels[j].own) add(first, levels[j], numbers[j]);
    }
  };
  number(origin, grid, m.group > 0 ? i32(b.group_index()) : index);
  if (m.team > 0) {  // teams are the same distance from the origin for all of their lanes
    number(origin, in_group, b.op(KOp::Quot, i32(b.local_index()), b.i32(m.team)));
    if (!in_team.empty()) number(own, in_team, i32(b.lane_index()));
  } else if (!in_group.empty()) {
    number(own, in_group, i32(b.local_index()));
  }
  for (const Counter& l : loops) {
    const Value step = b.begin_loop(b.i32(l.extent));
    add(origin, l, step);
    if (m.half) add(first, l, step);
    inliner.push_block();
  }
  Tile out;
  if (m.half) {
    const auto [row, column] = symmetric_axes(s);
    b.begin_if(b.op(KOp::Le, first[row], b.add(first[column], b.i32(reach[column]))));
    inliner.push_block();
  }
  GroupTile group_tile = tile_of(m, origin);
  const bool odd = leaves_odd_element(s, inliner.target());
  for (int64_t e = 0; e < schedule::tile(m); ++e) {
    Point offset = own, p = origin;
    int64_t rest = e;
    for (auto l = registers.rbegin(); l != registers.rend(); ++l) {
      offset[l->axis] = b.add(offset[l->axis], b.i32(rest % l->extent * l->stride));
      rest /= l->extent;
    }
    for (size_t a = 0; a < p.size(); ++a) p[a] = b.add(p[a], offset[a]);
    std::optional<Value> inside;
    for (size_t a = 0; a < m.axes.size(); ++a) {
      const int64_t n = m.flat ? s.domain.count() : s.domain[static_cast<int>(a)];
      if (schedule::extent(m.axes[a]) > n) {
        const int64_t row = row_of_team(s, m.axes[a], n, inliner.target());
        const auto [at, valid] =
            row > 0 ? moved_inside(b, origin[a], offset[a], odd ? n - 1 : n, row) : kept_inside(b, p[a], m.axes[a], n);
        inside = both(b, inside, valid);
        out.moved = out.moved || row > 0;
        p[a] = at;
      }
      if (b.constant_bits(p[a])) continue;
      b.assume(p[a], {0, n - 1});
      if (group_tile.axes[a].extent > 1) group_tile.own.emplace(p[a], GroupTile::Own{a, offset[a]});
    }
    out.points.push_back(m.flat ? inliner.unlinear(p[0], s.domain) : p);
    if (m.flat && m.team > 0) inliner.number_point(s.domain, out.points.back(), p[0]);
    out.inside.push_back(inside);
  }
  if (m.team > 0) inliner.set_team(m.team);
  if (!in_group.empty() && m.team == 0 && !m.flat) inliner.set_tile(std::move(group_tile));
  return out;
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
std::vector<std::vector<Value>> values_of_rows(Inliner& inliner, Builder& b, const Compute& s,
                                               std::span<const Point> points) {
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
  const std::vector<std::vector<Value>> of_rows = values_of_rows(inliner, b, s, tile.points);
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
  const bool rows = spread && m.team > 0 && schedule::stores_rows(inliner.target()) && s.beside.empty() && s.rows.empty();
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
      if (!s.rows.empty()) store_rows(inliner, b, s, tile.points[e], of_rows, e);
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
  else
    store_together(inliner, b, s, tile);
  if (s.schedule.half) inliner.pop_block(), b.end_if();
  for (const schedule::Split& axis : s.schedule.axes)
    for (const schedule::Part& part : axis)
      if (part.bind == schedule::Bind::Serial) inliner.pop_block(), b.end_loop();
}

}  // namespace spirograd::lower
