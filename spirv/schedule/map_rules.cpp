// Schedules of maps: one element per invocation, several of an elementwise computation, tiles of one that reduces.
#include <algorithm>
#include <array>

#include "spirv/schedule/rules.h"

namespace spirograd::schedule {
namespace {

constexpr int64_t kTileCode = 1200;  // instructions
constexpr double kLoadCost = 8;      // of a load in arithmetic operations, on a CPU driver

// Cost of one element in a tile: loads are shared by the elements that agree on the axes they depend on.
double cost_per_element(const MapFacts& f, const Shape& tile) {
  double loads = 0;
  for (const Read& r : f.reads) {
    double different = 1;
    for (int a = 0; a < tile.rank(); ++a)
      if (r.axes >> a & 1) different *= static_cast<double>(tile[a]);
    loads += different;
  }
  constexpr double kLoopOverhead = 30;
  return (kLoadCost * loads + kLoopOverhead) / static_cast<double>(tile.count());
}

Shape ones(int rank) {
  Shape s;
  for (int a = 0; a < rank; ++a) s.push_back(1);
  return s;
}

// The best tile over at most two axes: a 4 x 4 tile of a matrix product loads 8 elements for 16 multiplications.
Shape best_tile(const MapFacts& f, const Target& t) {
  Shape best = ones(f.domain.rank());
  // Enough tiles must be left to keep all lanes of all processors busy.
  const int64_t spare = f.domain.count() / wanted_invocations(t);
  const int64_t most = std::min({spare, static_cast<int64_t>(t.price.tile), kTileCode / std::max<int64_t>(1, f.code)});
  // Where loads are served together neighbours along the last axis stay with neighbouring invocations.
  const int rank = f.domain.rank() - (t.price.coalesces ? 1 : 0);
  double least = cost_per_element(f, best);
  for (int a = 0; a < rank; ++a) {
    for (int b = a; b < rank; ++b) {
      for (int64_t m = 1; m <= std::min<int64_t>(most, 8); ++m) {
        for (int64_t n = 1; m * n <= most && n <= (a == b ? 1 : 8); ++n) {
          if (f.domain[a] % m != 0 || f.domain[b] % n != 0) continue;
          Shape tile = ones(f.domain.rank());
          tile[a] = m;
          if (a != b) tile[b] = n;
          const double cost = cost_per_element(f, tile);
          if (cost < 0.99 * least) {
            least = cost;
            best = tile;
          }
        }
      }
    }
  }
  return best;
}

MapSchedule tiles(const MapFacts& f, const Target& t) {
  const Shape tile = best_tile(f, t);
  MapSchedule s;
  for (int a = 0; a < f.domain.rank(); ++a) {
    s.axes.push_back({{Bind::Grid, f.domain[a] / tile[a]}});
    if (tile[a] > 1) s.axes.back().push_back({Bind::Register, tile[a]});
  }
  return s;
}

// Several elements per invocation pay for starting it, as long as all processors still have something to do.
int64_t elements_per_invocation(const MapFacts& f, const Target& t) {
  if (static_cast<double>(f.code) > 2 * t.price.invocation) return 1;
  for (int64_t e : {16, 8, 4, 2})
    if (f.domain.count() >= e * 64 * static_cast<int64_t>(t.price.busy) && e * f.code <= 400) return e;
  return 1;
}

MapSchedule several(const MapFacts& f, const Target& t) {
  const int64_t e = elements_per_invocation(f, t), n = f.domain.count(), width = t.price.lanes, per = e * width;
  const int64_t groups = (n + per - 1) / per;
  return {true,
          {{{Bind::Grid, groups}, {Bind::Register, e}, {Bind::Lane, width}}},
          n == groups * per ? Tail::Exact : Tail::Recompute};
}

// A workgroup per element, where there are too few elements to keep the device busy and each is a long reduction.
constexpr double kGroupLength = 64;  // of a reduction that is worth sharing

const Reduction* shared_reduction(const MapFacts& f) {
  const Reduction* longest = nullptr;
  for (const Reduction& r : f.reductions)
    if (!longest || r.length > longest->length) longest = &r;
  return longest && longest->length >= kGroupLength && longest->contiguous ? longest : nullptr;
}

bool wants_groups(const MapFacts& f, const Target& t) {
  return t.price.cooperates && f.alone && t.max_invocations >= 64 && f.domain.count() * 64 <= wanted_invocations(t) &&
         shared_reduction(f);
}

MapSchedule groups(const MapFacts& f, const Target& t) {
  MapSchedule s = plain_map(f);
  s.group = 64;
  const int64_t most = std::min<int64_t>(256, t.max_invocations);
  const auto length = static_cast<int64_t>(shared_reduction(f)->length);
  while (2 * s.group <= most && f.domain.count() * s.group < wanted_invocations(t) && 4 * s.group <= length) s.group *= 2;
  return s;
}

constexpr std::array<MapRule, 3> kRules = {{
    {"a workgroup per element", wants_groups, groups},
    {"tiles", [](const MapFacts& f, const Target&) { return f.reduces; }, tiles},
    {"several elements", [](const MapFacts& f, const Target& t) { return elements_per_invocation(f, t) > 1; }, several},
}};

}  // namespace

MapSchedule plain_map(const MapFacts& f) {
  MapSchedule s;
  for (int64_t n : f.domain) s.axes.push_back({{Bind::Grid, n}});
  return s;
}

std::span<const MapRule> map_rules() { return kRules; }

MapSchedule Scheduler::map(const MapFacts& facts, const Target& target) const {
  for (const MapRule& r : map_rules())
    if (r.fits(facts, target)) return r.make(facts, target);
  return plain_map(facts);
}

}  // namespace spirograd::schedule
