#include "spirv/schedule/product_rules.h"

#include <algorithm>

#include "spirv/schedule/cost.h"
#include "spirv/schedule/group_rules.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/row_rules.h"
#include "spirv/schedule/rules.h"
#include "spirv/schedule/stream_rules.h"

namespace spirograd::schedule {
namespace {

constexpr int64_t kRowsOfTile = 4;
constexpr int64_t kProductCode = 1200;  // operations that are written out
constexpr int64_t kShortest = 8;        // elements that are worth it

int64_t operations_of_tile(const MapFacts& f) {
  double operations = 0;
  for (const Operations& o : f.operations) operations += o.count;
  return static_cast<int64_t>(operations * kRowsOfTile * kOwnColumns);
}

// Rows of a tile, whose places in an array that lanes read rows of are the same; none: the map is no such contraction.
std::optional<size_t> rows_of_products(const MapFacts& f, const Target& t) {
  const int last = f.domain.rank() - 1;
  if (last < 1 || f.domain[last] % kOwnColumns != 0) return std::nullopt;
  const auto columns = static_cast<uint32_t>(last);
  bool common = false, rows = false;
  for (const Read& r : f.reads) {
    if (!r.reduced) continue;
    const bool along = r.axes >> columns & 1;
    const bool neighbours = (r.last >> columns & 1) && (r.sums || f.domain[last] % width_of(t) == 0);
    if (along && !neighbours) return std::nullopt;
    common = common || !along;
    rows = rows || along;
  }
  if (!common || !rows) return std::nullopt;
  for (uint32_t a = columns; a-- > 0;) {
    const auto alike = [&](const Read& r) { return !r.reduced || !(r.axes >> columns & 1) || !(r.axes >> a & 1); };
    if (f.domain[static_cast<int>(a)] >= kRowsOfTile && std::ranges::all_of(f.reads, alike)) return a;
  }
  return std::nullopt;
}

// Of the lanes of a subgroup, each has `own` elements of an axis: apart by all of them where rows are stored as they are
// read, else neighbours, which it stores as pairs.
void append_row(Split& axis, int64_t own, int64_t n, const Target& t) {
  if (!stores_rows(t)) return append_lanes(axis, own, t.subgroup_size, n, t);
  if (own > 1) axis.push_back({Bind::Register, own});
  axis.push_back({Bind::Lane, t.subgroup_size});
}

// Whether subgroups of a workgroup have tiles below each other, not beside.
bool teams_below(const MapFacts& f, size_t rows, const Target& t) {
  const int64_t below = tiles_along(f, rows, kRowsOfTile), beside = tiles_along(f, f.domain.rank() - 1, width_of(t));
  return below >= kTeams && (below % kTeams == 0 || beside % kTeams != 0);
}

// Whether a map is one reduction, of a length of its own.
const Reduction* only_reduction(const MapFacts& f) {
  if (!f.alone || f.stores || f.reductions.size() != 1) return nullptr;
  const Reduction& r = f.reductions[0];
  return r.one_axis && !r.loops && !r.position ? &r : nullptr;
}

}  // namespace

bool wants_short_products(const MapFacts& f, const Target& t) {
  constexpr double kLeastElements = 1 << 20;
  const Reduction* r = reads_rows(t) ? only_reduction(f) : nullptr;
  if (!r || r->length < kShortest || r->length > kPlainSum) return false;
  const std::optional<size_t> rows = rows_of_products(f, t);
  const auto columns = static_cast<size_t>(f.domain.rank() - 1);
  return rows && operations_of_tile(f) * static_cast<int64_t>(r->length) <= kProductCode &&
         f.domain[static_cast<int>(columns)] >= width_of(t) &&
         static_cast<double>(f.domain.count()) * r->length >= kLeastElements &&
         std::max(tiles_along(f, *rows, kRowsOfTile), tiles_along(f, columns, width_of(t))) >= kTeams;
}

// The last tile of columns begins earlier where it would end behind the axis, so that its rows are rows, too.
MapSchedule short_products(const MapFacts& f, const Target& t) {
  MapSchedule s = plain_map(f);
  s.team = t.subgroup_size;
  s.group = kTeams * s.team;
  const size_t rows = *rows_of_products(f, t), columns = s.axes.size() - 1;
  const bool below = teams_below(f, rows, t);
  s.axes[rows] = on_grid(tiles_along(f, rows, kRowsOfTile), below);
  s.axes[rows].push_back({Bind::Register, kRowsOfTile});
  s.axes[columns] = on_grid(tiles_along(f, columns, width_of(t)), !below);
  append_row(s.axes[columns], kOwnColumns, f.domain[static_cast<int>(columns)], t);
  for (size_t a : {rows, columns})
    if (extent(s.axes[a]) != f.domain[static_cast<int>(a)]) s.tail = Tail::Recompute;
  return s;
}

namespace {

// Elements of a part: what is left behind the parts is none, or no few elements.
int64_t part_of(int64_t n, int64_t most) {
  int64_t part = most;
  while (4 * part > 3 * most && n % part != 0) --part;
  if (n % part == 0) return part;
  for (part = most; n % part != 0 && n % part < kShortest;) --part;
  return part;
}

}  // namespace

// What is stored for all parts should stay in caches; else a dispatch for each part needs enough tiles.
std::optional<LongProduct> long_product(const MapFacts& f, const Target& t) {
  constexpr int64_t kLeastTiles = 256, kLongest = 1 << 16, kMany = 8;
  constexpr double kInCaches = 1 << 22, kMostStored = 1 << 25;  // bytes
  const Reduction* r = stores_rows(t) ? only_reduction(f) : nullptr;
  const int last = f.domain.rank() - 1;
  if (!r || r->length <= kPlainSum || f.domain[last] < width_of(t)) return std::nullopt;
  MapFacts padded = f;
  padded.domain[last] = divided_up(f.domain[last], width_of(t)) * width_of(t);
  const std::optional<size_t> rows = rows_of_products(padded, t);
  if (!rows || static_cast<double>(f.domain.count()) * r->length < kLeastLongProduct) return std::nullopt;
  const int64_t below = tiles_along(f, *rows, kRowsOfTile), beside = tiles_along(f, static_cast<size_t>(last), width_of(t));
  const int64_t most = std::min(kPlainSum, kProductCode / operations_of_tile(f));
  if (most < kPlainSum / 2 || std::max(below, beside) < kTeams) return std::nullopt;
  const auto n = static_cast<int64_t>(r->length);
  LongProduct out = {.part = part_of(n, most), .rows = static_cast<int>(*rows)};
  const int64_t tiles = f.domain.count() / (kRowsOfTile * width_of(t));
  const double bytes = 4 * static_cast<double>(f.domain.count()) * static_cast<double>(n / out.part);
  out.at_once = f.domain[last] % kOwnColumns == 0 && bytes < (tiles < kLeastTiles ? kMostStored : kInCaches);
  if (out.at_once) return out;
  if (tiles < kLeastTiles || n > kLongest) return std::nullopt;
  out.height = (below >= kMany * kTeams ? kTeams : 1) * kRowsOfTile;  // workgroups full of teams, where that adds little
  out.width = width_of(t);
  return out;
}

}  // namespace spirograd::schedule
