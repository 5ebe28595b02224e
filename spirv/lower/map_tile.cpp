#include "spirv/lower/map_tile.h"

#include <algorithm>
#include <numeric>

#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using kernel::Builder;
using kernel::KOp;
using kernel::Value;

namespace {

// Whether what two subgroups have is stored by both, the same: no branch spoils a row.
bool may_store_twice(const Compute& s, const Target& t) {
  return schedule::stores_rows(t) && s.beside.empty() && !s.schedule.half;
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

// Elements of an axis that a subgroup has side by side: its lanes, which are read as rows (kGatheredLoads), or each of them;
// 0: none.
int64_t row_of_team(const Compute& s, const schedule::Split& axis, int64_t n, const Target& t) {
  using schedule::Bind;
  if (s.schedule.team == 0 || !schedule::reads_rows(t)) return 0;
  if (schedule::extent(axis, Bind::Lane) == 1 && !(may_store_twice(s, t) && schedule::extent(axis, Bind::Register) > 1))
    return 0;
  const auto own = [](const schedule::Part& p) { return p.bind == Bind::Lane || p.bind == Bind::Register; };
  const auto first = std::ranges::find_if(axis, own);
  const int64_t width = schedule::extent(axis, Bind::Lane) * schedule::extent(axis, Bind::Register);
  return std::all_of(first, axis.end(), own) && width <= n ? width : 0;
}

// The last row begins earlier where it would end behind the axis.
std::pair<Value, Value> moved_inside(Builder& b, Value first, Value offset, int64_t n, int64_t width) {
  const int64_t side = n % 2 == 0 && width % 2 == 0 ? 2 : 1;  // pairs stay pairs
  const Value number = b.op(KOp::Quot, first, b.i32(side));
  const Value kept = b.mul(b.op(KOp::Min, number, b.i32((n - width) / side)), b.i32(side));
  const Value at = b.add(kept, offset);
  return {at, b.op(KOp::Ge, b.op(KOp::Quot, at, b.i32(side)), number)};
}

}  // namespace

std::optional<Value> both(Builder& b, std::optional<Value> x, std::optional<Value> y) {
  return x && y ? b.logical_and(*x, *y) : x ? x : y;
}

std::pair<size_t, size_t> symmetric_axes(const Compute& s) {
  return {static_cast<size_t>(s.symmetric->first), static_cast<size_t>(s.symmetric->second)};
}

bool stores_as_computed(const Compute& s, const Target& t) {
  const schedule::MapSchedule& m = s.schedule;
  return m.team > 0 && schedule::stores_rows(t) && s.reductions.empty() && s.rows.empty() && s.beside.empty() && !m.half &&
         !m.staged;
}

bool leaves_odd_element(const Compute& s, const Target& t) {
  const int64_t n = s.domain.count();
  return s.schedule.flat && n % 2 == 1 && row_of_team(s, s.schedule.axes[0], n, t) > 0 && stores_as_computed(s, t);
}

std::pair<Value, Value> kept_inside(Builder& b, Value at, const schedule::Split& axis, int64_t n) {
  const schedule::Part pair{schedule::Bind::Register, 2};
  const int64_t side = axis.back() == pair && n % 2 == 0 ? 2 : 1;
  const Value number = b.op(KOp::Quot, at, b.i32(side));
  const Value kept = b.mul(b.op(KOp::Min, number, b.i32(n / side - 1)), b.i32(side));
  return {b.add(kept, b.op(KOp::Rem, at, b.i32(side))), b.op(KOp::Lt, number, b.i32(n / side))};
}

bool is_whole_row(const Compute& s, size_t axis, const Target& t) {
  const auto own = [](const schedule::Part& p) {
    return p.bind == schedule::Bind::Lane || p.bind == schedule::Bind::Register;
  };
  const schedule::Split& parts = s.schedule.axes[axis];
  return s.schedule.team > 0 && schedule::stores_rows(t) && !s.schedule.flat && std::ranges::all_of(parts, own) &&
         parts.back().bind == schedule::Bind::Lane;
}

bool has_one_for_each_lane(const Compute& s, size_t axis, const Target& t) {
  const schedule::MapSchedule& m = s.schedule;
  const schedule::Part neighbours{schedule::Bind::Register, m.team};
  return m.team > 0 && !m.flat && may_store_twice(s, t) && m.axes[axis].back() == neighbours;
}

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
  std::vector<bool> whole;  // by axis
  for (size_t a = 0; a < m.axes.size(); ++a) whole.push_back(is_whole_row(s, a, inliner.target()));
  for (int64_t e = 0; e < schedule::tile(m); ++e) {
    Point offset = own, p = origin;
    std::vector<int64_t> of_registers(m.axes.size(), 0);
    int64_t rest = e;
    for (auto l = registers.rbegin(); l != registers.rend(); ++l) {
      of_registers[l->axis] += rest % l->extent * l->stride;
      rest /= l->extent;
    }
    for (size_t a = 0; a < p.size(); ++a) {
      // The last elements of a row that is whole begin earlier, so that they end with it.
      const int64_t beyond = whole[a] ? of_registers[a] + m.team - s.domain[static_cast<int>(a)] : 0;
      offset[a] = b.add(offset[a], b.i32(of_registers[a] - std::max<int64_t>(0, beyond)));
      p[a] = b.add(p[a], offset[a]);
    }
    std::optional<Value> inside;
    for (size_t a = 0; a < m.axes.size(); ++a) {
      const int64_t n = m.flat ? s.domain.count() : s.domain[static_cast<int>(a)];
      if (schedule::extent(m.axes[a]) > n && !whole[a]) {
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

std::vector<Tile> stored_together(const Compute& s, const Tile& tile, const Target& t) {
  constexpr int64_t kElements = 16;  // of a lane: so many hide how long reductions take
  if (s.domain.rank() == 0 || !is_whole_row(s, s.schedule.axes.size() - 1, t) || !s.beside.empty()) return {tile};
  const int64_t own = schedule::extent(s.schedule.axes.back(), schedule::Bind::Register);
  const auto n = static_cast<size_t>(own * std::max<int64_t>(1, kElements / own));
  std::vector<Tile> out;
  for (size_t first = 0; first < tile.points.size(); first += n) {
    Tile& part = out.emplace_back(Tile{.moved = tile.moved});
    for (size_t e = first; e < std::min(first + n, tile.points.size()); ++e) {
      part.points.push_back(tile.points[e]);
      part.inside.push_back(tile.inside[e]);
    }
  }
  return out;
}

}  // namespace spirograd::lower
