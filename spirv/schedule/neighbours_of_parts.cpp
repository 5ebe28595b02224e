// Neighbours of what cuts work into parts whose results are put together: reductions in two, panels, scans, scatters.
#include "spirv/schedule/neighbour_list.h"
#include "spirv/schedule/neighbours.h"
#include "spirv/schedule/rules.h"

namespace spirograd::schedule {
namespace {

// An axis in so many parts; which of the two is on the grid stays.
Split cut(int64_t n, int64_t grid, bool ranges) {
  const int64_t each = divided_up(n, grid);
  const Part elements = {Bind::Serial, each}, parts = {Bind::Grid, ranges ? divided_up(n, each) : grid};
  return ranges ? Split{parts, elements} : Split{elements, parts};
}

std::vector<Split> other_cuts(const PartialFacts& f, const Split& axis, int64_t n, const Target& t) {
  std::vector<Split> out;
  if (axis.size() == 2) {
    const bool ranges = axis[0].bind == Bind::Grid;
    const int64_t grid = extent(axis, Bind::Grid);
    for (const int64_t g : doubled_and_halved(grid))
      if (g > 1 && g < n) out.push_back(cut(n, g, ranges));
    out.push_back(cut(n, grid, !ranges));
    out.push_back({{Bind::Serial, n}});
    return out;
  }
  out.push_back({{axis[0].bind == Bind::Grid ? Bind::Serial : Bind::Grid, n}});
  const int64_t busy = divided_up(t.price.busy, f.results), wanted = divided_up(wanted_invocations(t), f.results);
  for (const int64_t grid : {busy, wanted})
    for (const bool ranges : {true, false})
      if (grid > 1 && 2 * grid <= n) out.push_back(cut(n, grid, ranges));
  return out;
}

// Copies of the result, each for a part of the updates.
ScatterSchedule in_copies(const ScatterFacts& f, int64_t copies, int64_t unroll) {
  ScatterSchedule s = {.updates = {{Bind::Grid, copies}, {Bind::Serial, divided_up(f.updates, copies * unroll)}},
                       .atomic = false,
                       .places = {{Bind::Serial, f.places}}};
  if (unroll > 1) s.updates.push_back({Bind::Unroll, unroll});
  return s;
}

ScatterSchedule in_runs(const ScatterFacts& f, int64_t run) {
  ScatterSchedule s = plain_scatter(f);
  s.atomic = true;
  s.updates = {{Bind::Grid, divided_up(f.updates, run)}, {Bind::Serial, run}};
  return s;
}

// As many parts with other extents, or the parts in another order.
std::vector<Split> other_updates(const ScatterFacts& f, const Split& updates) {
  std::vector<Split> out = with_other_factors(updates, f.updates);
  if (updates.size() > 1 && updates[1].bind != Bind::Unroll) {
    Split turned = updates;
    std::swap(turned[0], turned[1]);
    out.push_back(std::move(turned));
  }
  return out;
}

}  // namespace

std::vector<PartialSchedule> neighbours(const PartialFacts& f, const PartialSchedule& given, const Target& t) {
  NeighbourList<PartialFacts, PartialSchedule> out(f, given, t);
  for (const PartialRule& r : partial_rules())
    if (r.fits(f, t)) out.add(r.make(f, t));
  out.add(whole(f));
  for (size_t a = 0; a < given.axes.size(); ++a)
    for (Split& axis : other_cuts(f, given.axes[a], f.extents[a], t)) {
      PartialSchedule s = given;
      s.axes[a] = std::move(axis);
      out.add(std::move(s));
    }
  return std::move(out).list();
}

std::vector<PackSchedule> neighbours(const PackFacts& f, const PackSchedule& given, const Target& t) {
  NeighbourList<PackFacts, PackSchedule> out(f, given, t);
  for (const int64_t panel : {f.width, int64_t{0}, 2 * f.width, f.width / 2}) out.add({panel});
  return std::move(out).list();
}

std::vector<ScanSchedule> neighbours(const ScanFacts& f, const ScanSchedule& given, const Target& t) {
  NeighbourList<ScanFacts, ScanSchedule> out(f, given, t);
  for (const ScanRule& r : scan_rules())
    if (r.fits(f, t)) out.add(r.make(f, t));
  out.add(serial_scan(f));
  for (Split& steps : with_other_factors(given.steps, f.length))
    if (steps.size() == 2 || steps.size() == 4) out.add({std::move(steps)});
  for (Split& steps : with_moved_factors(given.steps, f.length))
    if (steps.size() == 4) out.add({std::move(steps)});
  const int64_t wanted = divided_up(wanted_invocations(t), f.rows);
  if (chunks(given) == 1 && wanted > 1 && wanted < f.length) out.add({cut(f.length, wanted, true)});
  return std::move(out).list();
}

std::vector<ScatterSchedule> neighbours(const ScatterFacts& f, const ScatterSchedule& given, const Target& t) {
  NeighbourList<ScatterFacts, ScatterSchedule> out(f, given, t);
  for (const ScatterRule& r : scatter_rules())
    if (r.fits(f, t)) out.add(r.make(f, t));
  out.add(plain_scatter(f));
  for (Split& updates : other_updates(f, given.updates)) {
    ScatterSchedule s = given;
    s.updates = std::move(updates);
    out.add(std::move(s));
  }
  constexpr int64_t kRun = 64;
  if (!given.atomic || given.updates.size() == 1) out.add(in_runs(f, kRun));
  const int64_t busy = divided_up(t.price.busy, f.row), unrolled = extent(given.updates, Bind::Unroll);
  for (const int64_t copies : {busy, 2 * busy})
    if (copies > 1 && schedule::copies(given) == 1) out.add(in_copies(f, copies, 1));
  if (schedule::copies(given) > 1 && unrolled == 1) out.add(in_copies(f, schedule::copies(given), 4));
  if (given.atomic)
    for (const int64_t n : doubled_and_halved(given.among)) {
      ScatterSchedule s = given;
      s.among = n;
      out.add(std::move(s));
    }
  if (given.lanes > 1) {
    ScatterSchedule s = plain_scatter(f);
    s.among = given.among;
    out.add(std::move(s));
  }
  if (!given.atomic) {
    const int64_t ranges = given.places.size() > 1 ? given.places[0].extent : 1;
    for (const int64_t n : doubled_and_halved(ranges)) {
      ScatterSchedule s = given;
      s.places = {{Bind::Serial, f.places}};
      if (n > 1) s.places = {{Bind::Grid, n}, {Bind::Serial, divided_up(f.places, n)}};
      out.add(std::move(s));
    }
  }
  return std::move(out).list();
}

}  // namespace spirograd::schedule
