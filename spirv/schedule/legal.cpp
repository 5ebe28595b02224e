#include "spirv/schedule/legal.h"

#include <algorithm>
#include <bit>

#include "frontend/base/checked.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/illegal.h"
#include "spirv/schedule/row_rules.h"

namespace spirograd::schedule {
namespace {

constexpr int64_t kMostCopied = 32;  // elements of a staged array that one invocation copies; they are written out

bool binds(const Split& s, Bind b) {
  for (const Part& p : s)
    if (p.bind == b) return true;
  return false;
}

constexpr const char* kAlone = "on this device the invocations of a workgroup do not work together";

// Bytes of an array in shared memory, as devices round them.
int64_t rounded(int64_t bytes) { return saturating_add(bytes, 15) / 16 * 16; }

std::optional<Error> check_stages(const ReduceFacts& facts, const ReduceSchedule& s, const Target& target) {
  if (s.stages.empty()) return std::nullopt;
  const Split& last = s.axes.back();
  if (facts.members == 0) return illegal(s, "no workgroup computes a tile of points together that could stage arrays");
  if (!binds(last, Bind::Serial)) return illegal(s, "arrays are staged before a serial loop of the last axis, it has none");
  if (binds(last, Bind::Local)) return illegal(s, "what is local is not staged: each invocation reads elements of its own");
  int64_t bytes = facts.shared;
  for (size_t j = 0; j < s.stages.size(); ++j) {
    const Stage& stage = s.stages[j];
    if (stage.leaf >= facts.leaves.size())
      return illegal(s, "the reduction has " + std::to_string(facts.leaves.size()) + " arrays that can be staged");
    if (j > 0 && stage.leaf <= s.stages[j - 1].leaf) return illegal(s, "staged arrays stand once each, in order");
    const Leaf& leaf = facts.leaves[stage.leaf];
    const int64_t copied = staged_size(leaf, staged_elements(s), 0);
    if (copied > kMostCopied * facts.members)
      return illegal(s, std::to_string(copied) + " elements of an array at a time, more than " +
                            std::to_string(kMostCopied) + " for each of " + std::to_string(facts.members) + " invocations");
    const int64_t size = staged_size(leaf, staged_elements(s), stage.pad);
    bytes = saturating_add(bytes, rounded(saturating_mul(size, static_cast<int64_t>(device_bytes(leaf.dtype)))));
    if (bytes > target.shared_bytes)
      return illegal(s, "it and what else the kernel shares take " + std::to_string(bytes) +
                            " bytes of shared memory, the device has " + std::to_string(target.shared_bytes));
  }
  return std::nullopt;
}

}  // namespace

int64_t staged_size(const Leaf& leaf, int64_t elements, int64_t pad) {
  int64_t size = 1;
  for (size_t c = 0; c < leaf.place.size(); ++c) {
    const auto& [tile, step] = leaf.place[c];
    const bool row = c + 1 == leaf.place.size();
    size = saturating_mul(size, saturating_add(tile + step * (elements - 1), row ? pad : 0));
  }
  return size;
}

bool jams_loops(const ReduceFacts& facts, const ReduceSchedule& s) {
  return facts.loops && !facts.rows && s.broadcast == 1 && s.stages.empty() && s.axes.back().back().bind == Bind::Unroll;
}

double loads_per_element(const ReduceFacts& facts, const ReduceSchedule& s) {
  const auto count = [](int64_t n) { return static_cast<double>(n); };
  double loads = 0;
  for (const Leaf& leaf : facts.leaves) loads += count(leaf.own) / count(facts.points);
  for (const Stage& stage : s.stages) {
    const Leaf& leaf = facts.leaves[stage.leaf];
    const int64_t n = staged_elements(s);
    loads +=
        count(staged_size(leaf, n, 0)) / count(facts.members * facts.points * n) - count(leaf.own) / count(facts.points);
  }
  return loads;
}

namespace {

// Arrays that are read along another axis than the last one may be copied, an element of eight bytes each.
std::optional<Error> check_staged(const MapFacts& facts, const MapSchedule& s, const Target& target) {
  const int last = facts.domain.rank() - 1;
  int64_t local = 1, points = 1, arrays = 0;
  for (const Split& axis : s.axes) local *= extent(axis, Bind::Local), points *= extent(axis, Bind::Register);
  points *= local;
  for (const Read& r : facts.reads) arrays += last >= 0 && !(r.last >> last & 1);
  if (s.flat || last < 1 || s.team > 0 || s.group < 2 || local != s.group)
    return illegal(s, "what a group stages is a tile of two axes");
  if (points > kMostCopied * s.group)
    return illegal(s, "an invocation copies " + std::to_string(kMostCopied) + " elements at most");
  if (saturating_mul(arrays, 2 * 8 * points) > target.shared_bytes)
    return illegal(s, std::to_string(arrays) + " arrays do not fit into shared memory");
  return std::nullopt;
}

std::optional<Error> check_group(const MapFacts& facts, const MapSchedule& s, const Target& target) {
  if (s.group == 0 && (s.team > 0 || s.staged)) return illegal(s, "teams and what is staged are parts of a group");
  if (s.group == 0) return std::nullopt;
  if (!target.shared_memory) return illegal(s, kAlone);
  if (!facts.alone) return illegal(s, "workgroups of its own need a kernel of its own");
  if (s.team == 0 && (s.group & (s.group - 1)) != 0) return illegal(s, "the size of a group is no power of two");
  if (s.team > 0 && (s.team != target.subgroup_size || !exchanges_lanes(target) || s.group % s.team != 0))
    return illegal(s, "a team is a subgroup whose lanes see each other's values, one of several of the group");
  int64_t local = 1, lanes = 1;
  for (const Split& axis : s.axes) local *= extent(axis, Bind::Local), lanes *= extent(axis, Bind::Lane);
  if (s.team == 0 && lanes != 1) return illegal(s, "a group without teams has no lanes");
  if (lanes != 1 && lanes != s.team)
    return illegal(s, "its lanes are " + std::to_string(lanes) + ", those of a team " + std::to_string(s.team));
  const int64_t members = s.team > 0 ? s.group / s.team : s.group;
  if ((local != 1 || s.team > 0) && local != members)
    return illegal(s, "its local parts count " + std::to_string(local) + " of the " + std::to_string(members) +
                          (s.team > 0 ? " teams" : " invocations") + " of a group");
  return s.staged ? check_staged(facts, s, target) : std::nullopt;
}

}  // namespace

std::optional<Error> check(const MapFacts& facts, const MapSchedule& s, const Target& target) {
  const size_t axes = s.flat ? 1 : static_cast<size_t>(facts.domain.rank());
  if (s.axes.size() != axes)
    return illegal(s, "it has " + std::to_string(s.axes.size()) + " axes, the domain has " + std::to_string(axes));
  for (size_t a = 0; a < axes; ++a) {
    const int64_t want = s.flat ? facts.domain.count() : facts.domain[static_cast<int>(a)];
    if (!counts(s.axes[a])) return illegal(s, "a part has no extent that can be counted");
    if (binds(s.axes[a], Bind::Unroll))
      return illegal(s, "the axes of a map are not unrolled: elements side by side are 'register'");
    const int64_t have = extent(s.axes[a]);
    if (s.tail == Tail::Exact ? have != want : have < want) return illegal(s, counted(have, want));
  }
  if (s.outer >= static_cast<int>(axes) || s.outer < -1) return illegal(s, "there is no axis of that name");
  const auto evenly = [&](const Reduction& r) { return s.team > 0 && static_cast<int64_t>(r.length) % s.team == 0; };
  const bool once = s.group == 0 || (s.team > 0 && std::ranges::all_of(facts.reductions, evenly));
  if (facts.stores && (s.tail != Tail::Exact || !once))
    return illegal(s, "arrays are stored in the loops of its reductions, so that each point is computed once");
  if (s.half && !can_be_half(facts, s))
    return illegal(s, "half is computed of a symmetric map whose invocations, or workgroups, have tiles of their own");
  if (auto wrong = check_group(facts, s, target)) return wrong;
  int64_t in_group = std::max<int64_t>(1, s.group), all = in_group;
  for (const Split& axis : s.axes) {
    const int64_t own = s.group > 0 ? 1 : extent(axis, Bind::Local) * extent(axis, Bind::Lane);
    in_group *= own;
    const int64_t n = extent(axis, Bind::Grid) * own;
    if (n > kMostInvocations / all) return illegal(s, "more invocations than can be numbered");
    all *= n;
  }
  if (in_group > target.max_invocations)
    return illegal(s, std::to_string(in_group) + " invocations in a workgroup, the device allows " +
                          std::to_string(target.max_invocations));
  if (tile(s) > kMostTile)
    return illegal(s, std::to_string(tile(s)) + " elements side by side, at most " + std::to_string(kMostTile));
  return std::nullopt;
}

namespace {

std::optional<Error> check_lanes(const ReduceFacts& facts, const ReduceSchedule& s, const Target& target) {
  if (s.lanes == 1) {
    if (facts.team && s.axes.back().back().bind == Bind::Local) return illegal(s, "what a team shares its lanes combine");
    return std::nullopt;
  }
  if (s.axes.back().back().bind != Bind::Local) return illegal(s, "lanes combine what is local, and nothing is");
  if (s.lanes != target.subgroup_size || !exchanges_lanes(target))
    return illegal(s, exchanges_lanes(target)
                          ? "the device has subgroups of " + std::to_string(target.subgroup_size) + " lanes"
                          : "the lanes of the device's subgroups do not see each other's values");
  if (facts.group % s.lanes != 0)
    return illegal(s, std::to_string(s.lanes) + " lanes do not divide the group of " + std::to_string(facts.group));
  return std::nullopt;
}

std::optional<Error> check_broadcast(const ReduceFacts& facts, const ReduceSchedule& s, const Target& target) {
  if (s.broadcast == 1) return std::nullopt;
  if (!broadcasts_lanes(target) || s.broadcast != target.subgroup_size)
    return illegal(s, broadcasts_lanes(target)
                          ? "the device has subgroups of " + std::to_string(target.subgroup_size) + " lanes"
                          : "the lanes of the device's subgroups do not broadcast");
  if (facts.lanes != s.broadcast) return illegal(s, "no subgroup computes neighbouring points");
  if (facts.common == 0) return illegal(s, "the lanes have nothing in common that changes along the last axis");
  if (s.axes.back().back().bind != Bind::Unroll)
    return illegal(s, "lanes take the elements of what is unrolled innermost, and nothing is");
  return std::nullopt;
}

}  // namespace

std::optional<Error> check(const ReduceFacts& facts, const ReduceSchedule& s, const Target& target) {
  if (s.axes.size() != facts.extents.size())
    return illegal(
        s, "it has " + std::to_string(s.axes.size()) + " axes, the reduction " + std::to_string(facts.extents.size()));
  int64_t unrolled = 1;
  const bool straight = reads_lane_row(facts, target) && is_straight(s);
  for (size_t a = 0; a < s.axes.size(); ++a) {
    const Split& split = s.axes[a];
    if (!counts(split)) return illegal(s, "a part has no extent that can be counted");
    for (size_t j = 0; j < split.size(); ++j) {
      const Bind b = split[j].bind;
      if (b != Bind::Serial && b != Bind::Unroll && b != Bind::Local)
        return illegal(s, "the axes of a reduction are serial, unrolled or local, not " + std::string(name(b)));
      const bool last_axis = a + 1 == s.axes.size(), innermost = last_axis && j + 1 == split.size();
      const bool before_local = last_axis && j + 2 == split.size() && split.back().bind == Bind::Local;
      if (b == Bind::Local && !innermost) return illegal(s, "only the innermost part is local");
      if (b == Bind::Local && split[j].extent != facts.group)
        return illegal(
            s, std::to_string(split[j].extent) + " invocations share it, " +
                   (facts.group > 0 ? "the group has " + std::to_string(facts.group) : "no group computes it together"));
      if (b == Bind::Unroll && !innermost && !before_local && !straight)
        return illegal(s, "only the innermost part is unrolled");
    }
    const bool shared = split.back().bind == Bind::Local;
    unrolled *= extent(split, Bind::Unroll);
    const int64_t have = extent(split), want = facts.extents[a];
    // A last block that is shorter than the others: the loops inside of the first have trip counts of their own. What is
    // left of copies that are written out is a loop.
    const bool shorter = have > want && have - want < have / split[0].extent;
    const bool around = facts.plain == 0 || want <= facts.plain || split.size() > 2;  // a loop around partial sums
    const bool cut = split.back().bind == Bind::Serial || (split.back().bind == Bind::Unroll && s.stages.empty() && around);
    const bool ragged = a + 1 == s.axes.size() && split.size() > 1 && cut && shorter;
    const bool surplus = shared && shorter;  // counts as nothing
    if (have != want && !ragged && !surplus) return illegal(s, counted(have, want));
  }
  if (unrolled > kMostUnrolled)
    return illegal(s, std::to_string(unrolled) + " copies of the body, at most " + std::to_string(kMostUnrolled));
  if (unrolled < s.accumulators)
    return illegal(s,
                   std::to_string(s.accumulators) + " accumulators are more than " + std::to_string(unrolled) + " copies");
  if (!std::has_single_bit(static_cast<uint64_t>(s.accumulators)))  // they are added in pairs
    return illegal(s, std::to_string(s.accumulators) + " accumulators are no power of two");
  const Split& last = s.axes.back();
  if (!target.shared_memory && (!s.stages.empty() || last.back().bind == Bind::Local)) return illegal(s, kAlone);
  // A kernel has several reductions, each with memory of its own. Lanes need none.
  const int64_t bytes = last.back().bind == Bind::Local && !facts.team
                            ? facts.group * facts.points * static_cast<int64_t>(device_bytes(facts.dtype))
                            : 0;
  if (bytes > target.shared_bytes / 4)
    return illegal(s, "it shares " + std::to_string(bytes) + " bytes of memory, a quarter of the device's are " +
                          std::to_string(target.shared_bytes / 4));
  if (auto broken = check_lanes(facts, s, target)) return broken;
  if (auto broken = check_broadcast(facts, s, target)) return broken;
  if (auto broken = check_stages(facts, s, target)) return broken;
  const int64_t own = extent(last) / extent(last, Bind::Local);  // elements that one invocation adds
  const int64_t added =
      last.size() > 1 && last[0].bind != Bind::Unroll ? own / last[0].extent : divided_up(own, s.accumulators);
  if (facts.plain > 0 && own > facts.plain && added > facts.plain)
    return illegal(s, "partial sums of more than " + std::to_string(facts.plain) + " elements are less exact than promised");
  return std::nullopt;
}

std::optional<Error> check(const PartialFacts& facts, const PartialSchedule& s, const Target&) {
  if (s.axes.size() != facts.extents.size())
    return illegal(
        s, "it has " + std::to_string(s.axes.size()) + " axes, the reduction " + std::to_string(facts.extents.size()));
  int cut = 0;
  int64_t results = facts.results, length = 1;
  for (size_t a = 0; a < s.axes.size(); ++a) {
    const Split& split = s.axes[a];
    if (!counts(split)) return illegal(s, "a part has no extent that can be counted");
    for (const Part& p : split)
      if (p.bind != Bind::Grid && p.bind != Bind::Serial)
        return illegal(s, "parts are on the grid or serial, not " + std::string(name(p.bind)));
    if (split.size() > 2 || (split.size() == 2 && split[0].bind == split[1].bind))
      return illegal(s, "an axis is whole, or cut into one part on the grid and a serial one");
    if (facts.position && split[0].bind != Bind::Grid && split.size() == 2)
      return illegal(s, "the parts of what looks for a position are ranges: the grid comes first");
    cut += split.size() == 2;
    const int64_t have = extent(split), want = facts.extents[a];
    // What is left over behind whole parts of the last axis is reduced beside them: less than one, or than as many as
    // workgroups are full of where arrays are computed in their loops.
    const int64_t left = (facts.beside ? kTeams : 1) * (split.size() == 2 ? split[1].extent : 0);
    const bool left_over = (facts.rows || facts.streams) && a + 1 == s.axes.size() && !facts.position && split.size() == 2 &&
                           split[0].bind == Bind::Grid && have < want && want - have < left;
    // Where an axis is cut into as many ranges as others are, the last ones may have no elements.
    int64_t surplus = split.size() == 2 ? split[1].extent : 1;
    if (split.size() == 2 && split[0].bind == Bind::Grid) surplus = std::max(surplus, split[0].extent);
    if (!left_over && (have < want || have - want >= surplus)) return illegal(s, counted(have, want));
    results = saturating_mul(results, extent(split, Bind::Grid));
    length *= extent(split, Bind::Serial);
  }
  if (cut > facts.axes_left)
    return illegal(s, "it cuts " + std::to_string(cut) + " axes, the operand may get " + std::to_string(facts.axes_left));
  if (partial_results(s) == 1) return std::nullopt;
  if (length == 1) return illegal(s, "each partial result is one element: nothing is reduced");
  if (results > kMostInvocations) return illegal(s, "more partial results than can be numbered");
  return std::nullopt;
}

std::optional<Error> check(const PackFacts& facts, const PackSchedule& s, const Target&) {
  if (s.panel < 0 || s.panel > kMostInvocations / std::max<int64_t>(1, facts.elements))
    return illegal(s, "its elements cannot be counted");
  return std::nullopt;
}

std::optional<Error> check(const ScanFacts& facts, const ScanSchedule& s, const Target& target) {
  constexpr Bind kOrder[] = {Bind::Grid, Bind::Serial, Bind::Local, Bind::Register};
  if (s.steps.size() != 2 && s.steps.size() != 4)
    return illegal(s, "the parts of a scan are chunks and steps, or chunks, tiles and what a workgroup shares");
  for (size_t j = 0; j < s.steps.size(); ++j)
    if (s.steps[j].bind != kOrder[j])
      return illegal(s, "part " + std::to_string(j + 1) + " of a scan is " + std::string(name(kOrder[j])) + ", not " +
                            std::string(name(s.steps[j].bind)));
  if (!counts(s.steps)) return illegal(s, "a part has no extent that can be counted");
  const int64_t have = extent(s.steps), length = chunk_length(s);
  if (have < facts.length || have - length >= facts.length) return illegal(s, counted(have, facts.length));
  if (chunks(s) > 1 && !facts.chunkable) return illegal(s, "there is no axis left for the totals of chunks");
  const int64_t members = group(s), side = std::max<int64_t>(1, members);
  if (chunks(s) > kMostInvocations / side / std::max<int64_t>(1, facts.rows))
    return illegal(s, "more invocations than can be numbered");
  if (members == 0) return std::nullopt;
  if (!target.shared_memory) return illegal(s, kAlone);
  if ((members & (members - 1)) != 0) return illegal(s, "the size of a group is no power of two");
  if (members > target.max_invocations)
    return illegal(s, std::to_string(members) + " invocations in a workgroup, the device allows " +
                          std::to_string(target.max_invocations));
  if (s.steps[3].extent > kPlainSum)
    return illegal(s, std::to_string(s.steps[3].extent) + " elements side by side, at most " + std::to_string(kPlainSum));
  if (const int64_t bytes = scan_bytes(facts, s); bytes > target.shared_bytes)
    return illegal(
        s, "it shares " + std::to_string(bytes) + " bytes of memory, the device has " + std::to_string(target.shared_bytes));
  return std::nullopt;
}

}  // namespace spirograd::schedule
