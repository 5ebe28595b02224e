#include "spirv/schedule/product_rules.h"

#include <algorithm>

#include "spirv/schedule/cost.h"
#include "spirv/schedule/group_rules.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/row_rules.h"
#include "spirv/schedule/rules.h"

namespace spirograd::schedule {
namespace {

constexpr int64_t kRowsOfTile = 4;
constexpr double kProductCode = 2000;    // operations that are written out,
constexpr double kNestedCode = 2800;     // where products are inside of products,
constexpr double kMostLeft = 0.75;       // many of which are known to be 0
constexpr int64_t kShortest = 8;         // elements that are worth it
constexpr double kMostStored = 1 << 25;  // bytes of all parts

// Of a lane: what products inside of products have in common takes registers.
int64_t own_columns(const MapFacts& f) { return f.reductions[0].loops ? 1 : kOwnColumns; }

// Operations on one element of what is reduced, for all points that a lane has of a tile. What elements of a reduction
// around have in common counts as a part of one.
double operations_of_tile(const MapFacts& f, size_t rows) {
  double operations = 0;
  for (const Operations& o : f.operations) {
    if (!o.each) continue;
    const bool along_rows = o.axes >> rows & 1, along_columns = o.axes >> (f.domain.rank() - 1) & 1;
    const double shared = f.reductions[0].loops && !o.outer ? f.reductions[0].length : 1;
    operations +=
        o.count * static_cast<double>((along_rows ? kRowsOfTile : 1) * (along_columns ? own_columns(f) : 1)) / shared;
  }
  return std::max(1.0, operations);
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

// The axis along which subgroups of a workgroup have tiles: below each other, beside, or of another axis.
std::optional<size_t> teams_of_products(const MapFacts& f, size_t rows, const Target& t) {
  const auto columns = static_cast<size_t>(f.domain.rank() - 1);
  const int64_t below = tiles_along(f, rows, kRowsOfTile),
                beside = tiles_along(f, columns, own_columns(f) * t.subgroup_size);
  if (below >= kTeams && (below % kTeams == 0 || beside % kTeams != 0)) return rows;
  if (beside >= kTeams) return columns;
  MapFacts others = f;
  others.domain[static_cast<int>(rows)] = 1;
  return axis_of_teams(others, static_cast<int>(columns));
}

// Whether a map is one reduction, of a length of its own.
const Reduction* only_reduction(const MapFacts& f) {
  if (!f.alone || f.stores || f.reductions.size() != 1) return nullptr;
  const Reduction& r = f.reductions[0];
  return r.one_axis && !r.position ? &r : nullptr;
}

}  // namespace

bool wants_short_products(const MapFacts& f, const Target& t) {
  constexpr double kLeastElements = 1 << 20;
  const Reduction* r = reads_rows(t) ? only_reduction(f) : nullptr;
  if (!r || std::max(r->length, r->inner) < kShortest || std::max(r->length, r->inner) > kPlainSum) return false;
  const std::optional<size_t> rows = rows_of_products(f, t);
  const auto columns = static_cast<size_t>(f.domain.rank() - 1);
  if (r->loops && r->left > kMostLeft) return false;
  const double elements = r->length * r->inner * r->left;  // of a point
  return rows && operations_of_tile(f, *rows) * elements <= (r->loops ? kNestedCode : kProductCode) &&
         f.domain[static_cast<int>(columns)] >= width_of(t) &&
         static_cast<double>(f.domain.count()) * elements >= kLeastElements && teams_of_products(f, *rows, t);
}

// The last tile of columns begins earlier where it would end behind the axis, so that its rows are rows, too.
MapSchedule short_products(const MapFacts& f, const Target& t) {
  MapSchedule s = plain_map(f);
  s.team = t.subgroup_size;
  s.group = kTeams * s.team;
  const size_t rows = *rows_of_products(f, t), columns = s.axes.size() - 1;
  const size_t teams = *teams_of_products(f, rows, t);
  s.axes[rows] = on_grid(tiles_along(f, rows, kRowsOfTile), teams == rows);
  s.axes[rows].push_back({Bind::Register, kRowsOfTile});
  s.axes[columns] = on_grid(tiles_along(f, columns, own_columns(f) * t.subgroup_size), teams == columns);
  if (teams != rows && teams != columns) give_to_teams(s, f, teams, kTeams, t);
  append_row(s.axes[columns], own_columns(f), f.domain[static_cast<int>(columns)], t);
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

bool short_products_of(const MapFacts& f, const Target& t) {
  return stores_rows(t) && wants_short_products(f, t) && 4 * static_cast<double>(f.domain.count()) < kMostStored;
}

// What is stored for all parts should stay in caches; else a dispatch for each part needs enough tiles.
std::optional<LongProduct> long_product(const MapFacts& f, const Target& t) {
  constexpr int64_t kLeastTiles = 256, kLongest = 1 << 16, kMany = 8;
  constexpr double kInCaches = 1 << 22;      // bytes
  constexpr double kMostOfSymmetric = 1.15;  // columns of tiles, of which others compute half
  const Reduction* r = stores_rows(t) ? only_reduction(f) : nullptr;
  const int last = f.domain.rank() - 1;
  if (!r || r->loops || r->length <= kPlainSum || f.domain[last] < width_of(t)) return std::nullopt;
  MapFacts padded = f;
  padded.domain[last] = divided_up(f.domain[last], width_of(t)) * width_of(t);
  const std::optional<size_t> rows = rows_of_products(padded, t);
  const double more = static_cast<double>(padded.domain[last]) / static_cast<double>(f.domain[last]);
  if (f.symmetric && more > kMostOfSymmetric) return std::nullopt;
  if (!rows || static_cast<double>(f.domain.count()) * r->length < kLeastLongProduct) return std::nullopt;
  const int64_t below = tiles_along(f, *rows, kRowsOfTile);
  const int64_t most = std::min(kPlainSum, static_cast<int64_t>(kProductCode / operations_of_tile(f, *rows)));
  if (most < kPlainSum / 2 || !teams_of_products(padded, *rows, t)) return std::nullopt;
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
