// Which schedules of scatters are legal.
#include <algorithm>
#include <string>

#include "frontend/base/checked.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/illegal.h"

namespace spirograd::schedule {
namespace {

std::optional<Error> check_copies(const ScatterFacts& facts, const ScatterSchedule& s) {
  if (!facts.copyable) return illegal(s, "there is no axis left for copies");
  if (saturating_mul(saturating_mul(copies(s), facts.places), facts.row) > kMostInvocations)
    return illegal(s, "more places than can be numbered");
  return std::nullopt;
}

// Lanes are neighbours with an update each, and none is missing.
std::optional<Error> check_lanes(const ScatterFacts& facts, const ScatterSchedule& s, const Target& target) {
  if (!adds_lanes(target) || s.lanes != target.subgroup_size)
    return illegal(s, "subgroups of " + std::to_string(target.subgroup_size) + " lanes, which may not be able to add");
  if (facts.row != 1 || s.updates.size() != 1) return illegal(s, "lanes have an update each, of one element");
  const int64_t n = extent(s.updates), workgroup = kLaneGroup;
  if (n % workgroup != 0 || workgroup % s.lanes != 0 || n / workgroup > target.max_groups ||
      target.max_invocations < workgroup)
    return illegal(s, "lanes would be missing");
  return std::nullopt;
}

// Lanes that put updates to places of their own one behind the other see what the others have put before: where subgroups
// are vectors of processors, without a barrier.
std::optional<Error> check_team(const ScatterFacts& facts, const ScatterSchedule& s, const Target& target) {
  if (s.atomic || s.places.size() != 1) return illegal(s, "lanes that have an element each put it to any place, alone");
  if (team(s) != target.subgroup_size)
    return illegal(s, "neighbouring updates are for the " + std::to_string(target.subgroup_size) + " lanes of a subgroup");
  if (!exchanges_lanes(target) || target.price.coalesces)
    return illegal(s, "subgroups may not be vectors of a processor, whose lanes read each other's values");
  if (extent(s.updates) / copies(s) % facts.row != 0 || !s.row.empty())
    return illegal(s, "lanes have an element each, and copies whole updates");
  return std::nullopt;
}

// Elements of a row that an invocation has side by side, and those that lanes have.
std::optional<Error> check_row(const ScatterFacts& facts, const ScatterSchedule& s) {
  if (s.atomic || s.places.size() != 1) return illegal(s, "who has several elements of a row puts them to any place, alone");
  int grids = 0, lanes = 0;
  for (const Part& p : s.row) {
    if (p.bind != Bind::Grid && p.bind != Bind::Register && p.bind != Bind::Lane)
      return illegal(s, "elements of a row are on the grid, in registers or lanes, not " + std::string(name(p.bind)));
    grids += p.bind == Bind::Grid, lanes += p.bind == Bind::Lane;
  }
  if (grids > 1 || lanes > 1) return illegal(s, "a row has one part on the grid, and one in lanes");
  if (extent(s.row) < facts.row || extent(s.row) >= 2 * facts.row) return illegal(s, counted(extent(s.row), facts.row));
  const int64_t own = extent(s.row, Bind::Register) * extent(s.updates, Bind::Unroll);
  if (own > kMostTile)
    return illegal(s, std::to_string(own) + " elements side by side, at most " + std::to_string(kMostTile));
  return std::nullopt;
}

}  // namespace

std::optional<Error> check(const ScatterFacts& facts, const ScatterSchedule& s, const Target& target) {
  int grids = 0;
  for (const Split* split : {&s.updates, &s.places, &s.row})
    if (!counts(*split)) return illegal(s, "a part has no extent that can be counted");
  const bool in_lanes = !s.updates.empty() && s.updates.back().bind == Bind::Lane;
  for (size_t j = 0; j < s.updates.size(); ++j) {
    const Bind b = s.updates[j].bind;
    grids += b == Bind::Grid;
    if (b != Bind::Grid && b != Bind::Serial && b != Bind::Unroll && b != Bind::Lane)
      return illegal(s, "updates are on the grid, serial, unrolled or in lanes, not " + std::string(name(b)));
    if (b == Bind::Lane && j + 1 < s.updates.size()) return illegal(s, "only the innermost part is in lanes");
    const size_t last = s.updates.size() - (in_lanes ? 1 : 0);
    if (b == Bind::Unroll && (s.atomic || j + 1 < last))
      return illegal(s, "only the innermost part is unrolled, and not if it is atomic");
  }
  if (grids > 1) return illegal(s, "updates have one part on the grid");
  const int64_t counts_to = saturating_mul(facts.updates, in_lanes ? facts.row : 1);
  if (extent(s.updates) < counts_to) return illegal(s, counted(extent(s.updates), counts_to));
  if (extent(s.updates, Bind::Unroll) > kMostUnrolled)
    return illegal(s, std::to_string(extent(s.updates, Bind::Unroll)) + " copies of the body, at most " +
                          std::to_string(kMostUnrolled));
  const int64_t lanes = std::max<int64_t>(1, team(s));
  if (saturating_mul(saturating_mul(invocations(s), lanes), apart(s, facts.row)) > kMostInvocations)
    return illegal(s, "more invocations than can be numbered");
  if (!s.atomic && (s.among > 1 || s.lanes > 1)) return illegal(s, "only atomic additions go to copies in turn or by lanes");
  if (in_lanes)
    if (auto wrong = check_team(facts, s, target)) return wrong;
  if (!s.row.empty())
    if (auto wrong = check_row(facts, s)) return wrong;
  if (s.lanes > 1)
    if (auto wrong = check_lanes(facts, s, target)) return wrong;
  if (s.atomic && !facts.atomic) return illegal(s, "the device does not add such elements atomically");
  if (s.atomic) return copies(s) > 1 ? check_copies(facts, s) : std::nullopt;
  const Split& p = s.places;
  const bool whole = p.size() == 1 && p[0].bind == Bind::Serial;
  const bool ranges = p.size() == 2 && p[0].bind == Bind::Grid && p[1].bind == Bind::Serial;
  if (!whole && !ranges) return illegal(s, "places are serial, or ranges of them on the grid");
  if (extent(p) < facts.places) return illegal(s, counted(extent(p), facts.places));
  if (copies(s) == 1) {
    if (s.updates != Split{{Bind::Serial, facts.updates}})
      return illegal(s, "what is added to the result itself is one serial part");
    return std::nullopt;
  }
  return check_copies(facts, s);
}

}  // namespace spirograd::schedule
