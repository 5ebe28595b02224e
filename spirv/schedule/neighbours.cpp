// Neighbours of maps, and of reductions inside of kernels.
#include "spirv/schedule/neighbours.h"

#include "spirv/schedule/neighbour_list.h"
#include "spirv/schedule/rules.h"

namespace spirograd::schedule {
namespace {

// An axis of the map in other parts; what counts further than the domain is computed again and not stored.
MapSchedule with_axis(const MapFacts& f, MapSchedule s, size_t axis, Split parts) {
  s.axes[axis] = std::move(parts);
  bool exact = true;
  for (size_t a = 0; a < s.axes.size(); ++a)
    exact = exact && extent(s.axes[a]) == (s.flat ? f.domain.count() : f.domain[static_cast<int>(a)]);
  s.tail = exact ? Tail::Exact : Tail::Recompute;
  return s;
}

int64_t locals(const MapSchedule& s) {
  int64_t n = 1;
  for (const Split& axis : s.axes) n *= extent(axis, Bind::Local);
  return n;
}

// Several elements side by side, at any place behind the grid; or not; or with their neighbours in another order.
std::vector<Split> other_parts(const Split& axis, int64_t n) {
  std::vector<Split> out = with_other_factors(axis, n);
  for (Split& s : with_moved_factors(axis, n)) out.push_back(std::move(s));
  if (extent(axis, Bind::Register) == 1)
    for (size_t at = 1; at <= axis.size(); ++at) {
      Split s = axis;
      s.insert(s.begin() + static_cast<ptrdiff_t>(at), {Bind::Register, 2});
      out.push_back(fitted(std::move(s), n));
    }
  for (size_t j = 2; j < axis.size(); ++j) {
    Split s = axis;
    std::swap(s[j - 1], s[j]);
    out.push_back(std::move(s));
  }
  return out;
}

// Tiles of a workgroup that have another shape.
std::vector<MapSchedule> other_tiles(const MapFacts& f, const MapSchedule& s) {
  std::vector<MapSchedule> out;
  for (size_t wide = 0; wide < s.axes.size(); ++wide)
    for (size_t narrow = 0; narrow < s.axes.size(); ++narrow) {
      const auto local = [&](size_t a) {
        return std::find_if(s.axes[a].begin(), s.axes[a].end(), [](const Part& p) { return p.bind == Bind::Local; });
      };
      if (wide == narrow || local(wide) == s.axes[wide].end() || local(narrow) == s.axes[narrow].end()) continue;
      Split more = s.axes[wide], less = s.axes[narrow];
      if (local(narrow)->extent % 2 != 0) continue;
      more[static_cast<size_t>(local(wide) - s.axes[wide].begin())].extent *= 2;
      less[static_cast<size_t>(local(narrow) - s.axes[narrow].begin())].extent /= 2;
      const MapSchedule first = with_axis(f, s, wide, fitted(std::move(more), f.domain[static_cast<int>(wide)]));
      out.push_back(with_axis(f, first, narrow, fitted(std::move(less), f.domain[static_cast<int>(narrow)])));
    }
  return out;
}

bool has_tiles(const MapSchedule& s) {
  return std::any_of(s.axes.begin(), s.axes.end(), [](const Split& axis) { return axis.size() > 1; });
}

// Copies of the body of a reduction, as its schedule writes them out.
int64_t code_of(const ReduceFacts& f, const ReduceSchedule& s) {
  int64_t unrolled = 1;
  for (const Split& axis : s.axes) unrolled *= extent(axis, Bind::Unroll);
  return unrolled * std::max<int64_t>(1, f.points * f.code * f.copies);
}

// The last axis with its innermost loop written out, in several steps, or shared in another way.
std::vector<Split> other_loops(const ReduceFacts& f, const Split& axis) {
  const int64_t n = f.extents.back();
  std::vector<Split> out = with_other_factors(axis, n);
  for (Split& s : with_moved_factors(axis, n)) out.push_back(std::move(s));
  const bool unrolls = extent(axis, Bind::Unroll) > 1, local = axis.back().bind == Bind::Local;
  if (!unrolls)
    for (const int64_t copies : {2, 4, 8}) {
      Split s = axis;
      s.insert(s.end() - (local ? 1 : 0), {Bind::Unroll, copies});
      if (s[0].bind != Bind::Unroll) out.push_back(fitted(std::move(s), n));
    }
  if (axis.size() > 1) out.push_back({{Bind::Serial, n}});
  if (local && axis.size() > 1) out.push_back(fitted({axis.begin(), axis.end() - 1}, n));
  if (!local && f.group > 0) out.push_back(fitted({{Bind::Serial, 1}, {Bind::Local, f.group}}, n));
  return out;
}

// What is copied to shared memory first.
std::vector<std::vector<Stage>> other_stages(const ReduceFacts& f, const std::vector<Stage>& stages) {
  std::vector<std::vector<Stage>> out;
  for (size_t leaf = 0; leaf < f.leaves.size(); ++leaf) {
    std::vector<Stage> with = stages, without = stages, padded = stages;
    const auto at = [&](const Stage& s) { return s.leaf >= leaf; };
    const auto place = std::find_if(with.begin(), with.end(), at);
    const auto number = place - with.begin();
    if (place == with.end() || place->leaf != leaf) {
      with.insert(place, {leaf, 0});
      out.push_back(std::move(with));
      continue;
    }
    without.erase(without.begin() + number);
    padded[static_cast<size_t>(number)].pad = stages[static_cast<size_t>(number)].pad > 0 ? 0 : 4;
    out.push_back(std::move(without));
    out.push_back(std::move(padded));
  }
  return out;
}

}  // namespace

std::vector<MapSchedule> neighbours(const MapFacts& f, const MapSchedule& given, const Target& t) {
  NeighbourList<MapFacts, MapSchedule> out(f, given, t);
  const int64_t most = std::max(kTileCode, tile(given) * f.code);
  const auto add = [&](MapSchedule s) {
    if (tile(s) * f.code <= most) out.add(std::move(s));
  };
  for (const MapRule& r : map_rules())
    if (r.fits(f, t)) add(r.make(f, t));
  add(plain_map(f));
  for (size_t a = 0; a < given.axes.size(); ++a)
    for (Split& parts : other_parts(given.axes[a], given.flat ? f.domain.count() : f.domain[static_cast<int>(a)])) {
      MapSchedule s = with_axis(f, given, a, std::move(parts));
      if (s.group > 0 && (locals(given) > 1 || s.team > 0)) s.group = locals(s) * std::max<int64_t>(1, s.team);
      add(std::move(s));
    }
  for (MapSchedule& s : other_tiles(f, given)) add(std::move(s));
  if (given.staged) {
    MapSchedule s = given;
    s.staged = false;
    add(std::move(s));
  }
  if (f.symmetric) {
    MapSchedule s = given;
    s.half = !given.half;
    add(std::move(s));
  }
  if (given.group > 0 && given.team == 0 && locals(given) == 1)
    for (const int64_t group : doubled_and_halved(given.group)) {
      MapSchedule s = given;
      s.group = group;
      add(std::move(s));
    }
  if (given.group == 0 && f.reduces) {
    MapSchedule s = plain_map(f);
    s.group = 64;
    add(std::move(s));
  }
  if (given.axes.size() > 1 && has_tiles(given))
    for (int outer = -1; outer < static_cast<int>(given.axes.size()); ++outer) {
      MapSchedule s = given;
      s.outer = outer;
      if (outer != 0) add(std::move(s));  // the first one is what none says
    }
  return std::move(out).list();
}

std::vector<ReduceSchedule> neighbours(const ReduceFacts& f, const ReduceSchedule& given, const Target& t) {
  NeighbourList<ReduceFacts, ReduceSchedule> out(f, given, t);
  const int64_t most = std::max(kTileCode, code_of(f, given));
  const auto add = [&](ReduceSchedule s) {
    if (code_of(f, s) <= most) out.add(std::move(s));
  };
  add(Scheduler().reduction(f, t));
  for (Split& loops : other_loops(f, given.axes.back())) {
    ReduceSchedule s = given;
    s.axes.back() = std::move(loops);
    if (s.axes.back().back().bind != Bind::Local) s.lanes = 1;
    if (s.axes.back().back().bind != Bind::Unroll) s.broadcast = 1;
    const int64_t copies = std::max<int64_t>(1, extent(s.axes.back(), Bind::Unroll));
    while (copies % s.accumulators != 0) s.accumulators /= 2;
    add(s);
    // Written out, elements are added side by side as well.
    if (s.accumulators == 1 && copies % 4 == 0) {
      s.accumulators = 4;
      add(std::move(s));
    }
  }
  for (const int64_t n : doubled_and_halved(given.accumulators)) {
    ReduceSchedule s = given;
    s.accumulators = n;
    add(std::move(s));
  }
  for (std::vector<Stage>& stages : other_stages(f, given.stages)) {
    ReduceSchedule s = given;
    s.stages = std::move(stages);
    add(std::move(s));
  }
  ReduceSchedule joined = given;
  joined.lanes = given.lanes > 1 ? 1 : t.subgroup_size;
  add(std::move(joined));
  ReduceSchedule common = given;
  common.broadcast = given.broadcast > 1 ? 1 : f.lanes;
  if (common.broadcast > 0) add(std::move(common));
  return std::move(out).list();
}

}  // namespace spirograd::schedule
