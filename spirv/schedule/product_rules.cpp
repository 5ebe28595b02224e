#include "spirv/schedule/product_rules.h"

#include <algorithm>
#include <cmath>

#include "spirv/schedule/cost.h"
#include "spirv/schedule/group_rules.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/row_rules.h"
#include "spirv/schedule/rules.h"

namespace spirograd::schedule {
namespace {

constexpr int64_t kRowsOfTile = 4, kFewestRows = 2;
constexpr double kProductCode = 2000;                  // operations that are written out,
constexpr double kSquareCode = 2800;                   // of a tile that has more of them to itself,
constexpr double kNestedCode = 2800;                   // and where products are inside of products,
constexpr double kMostLeft = 0.75;                     // many of which are known to be 0
constexpr int64_t kShortest = 8;                       // elements that are worth it
constexpr double kMostStored = 4.0 * kMostStoredSums;  // bytes of all parts, or of those that are summed up at a time,
constexpr int64_t kMostTimes = 16;                     // so often at most

// What a lane has of a tile. Its rows, and layers if there are any, are at the same places in the arrays that lanes read
// rows of.
struct ProductTile {
  size_t rows = 0, layers = 0;  // axes; the same: there are no layers
  int64_t own_rows = kRowsOfTile, own_layers = 1, own_columns = kOwnColumns;

  int64_t points() const { return own_rows * own_layers * own_columns; }
  int64_t width(const Target& t) const { return own_columns * t.subgroup_size; }
};

// Operations on one element of what is reduced, for all points of a lane. What elements of a reduction around have in common
// counts as a part of one.
double operations_of_tile(const MapFacts& f, const ProductTile& tile) {
  double operations = 0;
  for (const Operations& o : f.operations) {
    if (!o.each) continue;
    const auto along = [&](size_t axis, int64_t own) { return o.axes >> axis & 1 ? static_cast<double>(own) : 1; };
    const double shared = f.reductions[0].loops && !o.outer ? f.reductions[0].length : 1;
    const double layers = tile.layers == tile.rows ? 1 : along(tile.layers, tile.own_layers);
    operations += o.count * along(tile.rows, tile.own_rows) * layers *
                  along(static_cast<size_t>(f.domain.rank() - 1), tile.own_columns) / shared;
  }
  return std::max(1.0, operations);
}

// Two short axes that a lane has whole, if that saves operations that only one of them decides.
std::optional<ProductTile> square_tile(const MapFacts& f, std::span<const size_t> axes, const ProductTile& other) {
  constexpr int64_t kShortSide = 3, kLongSide = 6;
  constexpr double kSaved = 0.85;
  const auto fits = [&](size_t a) {
    const int64_t n = f.domain[static_cast<int>(a)];
    return n >= kShortSide && n <= kLongSide;
  };
  const auto column = std::ranges::find_if(axes, fits);
  if (column == axes.end()) return std::nullopt;
  const auto row = std::find_if(column + 1, axes.end(), fits);
  if (row == axes.end()) return std::nullopt;
  const ProductTile tile{*row, *column, f.domain[static_cast<int>(*row)], f.domain[static_cast<int>(*column)], 1};
  const auto of_point = [&](const ProductTile& p) { return operations_of_tile(f, p) / static_cast<double>(p.points()); };
  return of_point(tile) < kSaved * of_point(other) ? std::optional(tile) : std::nullopt;
}

// None: the map is no such contraction.
std::optional<ProductTile> tile_of_products(const MapFacts& f, const Target& t) {
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
  std::vector<size_t> axes;
  for (uint32_t a = columns; a-- > 0;) {
    const auto alike = [&](const Read& r) { return !r.reduced || !(r.axes >> columns & 1) || !(r.axes >> a & 1); };
    if (std::ranges::all_of(f.reads, alike)) axes.push_back(a);
  }
  // Along the first one of those that have most rows, up to as many as a tile takes: in tiles of equal heights.
  const auto most_rows = [&](size_t a) { return std::min(kRowsOfTile, f.domain[static_cast<int>(a)]); };
  const auto rows_axis = std::ranges::max_element(axes, {}, most_rows);
  if (rows_axis == axes.end() || most_rows(*rows_axis) < kFewestRows) return std::nullopt;
  ProductTile tile;
  tile.rows = tile.layers = *rows_axis;
  const int64_t count = f.domain[static_cast<int>(tile.rows)];
  tile.own_rows = divided_up(count, divided_up(count, kRowsOfTile));
  if (f.reductions[0].loops) {  // what products inside of products have in common takes registers
    tile.own_columns = 1;
    return tile;
  }
  return square_tile(f, axes, tile).value_or(tile);
}

// The axis along which subgroups of a workgroup have tiles: below each other, beside, or of another axis.
std::optional<size_t> teams_of_products(const MapFacts& f, const ProductTile& tile, const Target& t) {
  const auto columns = static_cast<size_t>(f.domain.rank() - 1);
  const int64_t below = tiles_along(f, tile.rows, tile.own_rows), beside = tiles_along(f, columns, tile.width(t));
  if (below >= kTeams && (below % kTeams == 0 || beside % kTeams != 0)) return tile.rows;
  if (beside >= kTeams) return columns;
  MapFacts others = f;
  for (const size_t a : {tile.rows, tile.layers}) others.domain[static_cast<int>(a)] = 1;
  return axis_of_teams(others, static_cast<int>(columns));
}

double most_code(const MapFacts& f, const ProductTile& tile) {
  return f.reductions[0].loops ? kNestedCode : tile.layers != tile.rows ? kSquareCode : kProductCode;
}

// Whether a map is one reduction, of a length of its own.
const Reduction* only_reduction(const MapFacts& f) {
  if (!f.alone || f.stores || f.reductions.size() != 1) return nullptr;
  const Reduction& r = f.reductions[0];
  return r.one_axis && !r.position ? &r : nullptr;
}

}  // namespace

bool wants_short_products(const MapFacts& f, const Target& t) {
  constexpr double kLeastElements = 1e6;
  const Reduction* r = reads_rows(t) ? only_reduction(f) : nullptr;
  if (!r || (r->loops && r->left > kMostLeft)) return false;
  const double longest = std::max(r->length, r->inner);
  if (longest < kShortest || longest > kPlainSum) return false;
  const std::optional<ProductTile> tile = tile_of_products(f, t);
  const double elements = r->length * r->inner * r->left;  // of a point
  return tile && operations_of_tile(f, *tile) * elements <= most_code(f, *tile) &&
         f.domain[f.domain.rank() - 1] >= width_of(t) &&
         static_cast<double>(f.domain.count()) * elements >= kLeastElements && teams_of_products(f, *tile, t);
}

// The last tile of columns begins earlier where it would end behind the axis, so that its rows are rows, too.
MapSchedule short_products(const MapFacts& f, const Target& t) {
  MapSchedule s = plain_map(f);
  s.team = t.subgroup_size;
  s.group = kTeams * s.team;
  const ProductTile tile = *tile_of_products(f, t);
  const size_t columns = s.axes.size() - 1, teams = *teams_of_products(f, tile, t);
  for (const auto& [axis, own] : {std::pair(tile.rows, tile.own_rows), std::pair(tile.layers, tile.own_layers)}) {
    if (own == 1) continue;
    s.axes[axis] = on_grid(tiles_along(f, axis, own), teams == axis);
    s.axes[axis].push_back({Bind::Register, own});
  }
  s.axes[columns] = on_grid(tiles_along(f, columns, tile.width(t)), teams == columns);
  if (teams != tile.rows && teams != columns) give_to_teams(s, f, teams, kTeams, t);
  append_row(s.axes[columns], tile.own_columns, f.domain[static_cast<int>(columns)], t);
  for (size_t a : {tile.rows, columns})
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

bool short_products_of(const MapFacts& f, const Target& t) { return stores_rows(t) && wants_short_products(f, t); }

int64_t most_written_out(const MapFacts& f, const Target& t) {
  const std::optional<ProductTile> tile = tile_of_products(f, t);
  const double code = tile ? most_code(f, *tile) / operations_of_tile(f, *tile) : kPlainSum;
  return std::min(kPlainSum, static_cast<int64_t>(code));
}

// What is stored for all parts should stay in caches; else a dispatch for each part needs enough tiles.
std::optional<LongProduct> long_product(const MapFacts& f, const Target& t) {
  constexpr int64_t kLeastTiles = 256, kLongest = 1 << 16, kMany = 8;
  constexpr double kInCaches = 1 << 22;     // bytes
  constexpr double kMostOfSymmetric = 1.3;  // columns of tiles, of which others compute half
  const Reduction* r = stores_rows(t) ? only_reduction(f) : nullptr;
  const int last = f.domain.rank() - 1;
  if (!r || r->loops || r->length <= kPlainSum || f.domain[last] < width_of(t)) return std::nullopt;
  MapFacts padded = f;
  padded.domain[last] = divided_up(f.domain[last], width_of(t)) * width_of(t);
  const std::optional<ProductTile> tile = tile_of_products(padded, t);
  const double more = static_cast<double>(padded.domain[last]) / static_cast<double>(f.domain[last]);
  if (f.symmetric && more > kMostOfSymmetric) return std::nullopt;
  if (!tile || static_cast<double>(f.domain.count()) * r->length < kLeastLongProduct) return std::nullopt;
  const int64_t below = tiles_along(f, tile->rows, tile->own_rows);
  const int64_t most = most_written_out(padded, t);
  if (most < kPlainSum / 2) return std::nullopt;
  const auto n = static_cast<int64_t>(r->length);
  LongProduct out = {.part = part_of(n, most), .rows = static_cast<int>(tile->rows)};
  const int64_t tiles = f.domain.count() / (tile->points() * t.subgroup_size);
  const int64_t parts = n / out.part;
  const double bytes = 4 * static_cast<double>(f.domain.count()) * static_cast<double>(parts);
  const double most_stored = tiles < kLeastTiles ? kMostStored : kInCaches;
  const auto times = static_cast<int64_t>(std::ceil(bytes / most_stored));
  const bool teams = teams_of_products(padded, *tile, t).has_value();
  if (f.domain[last] % kOwnColumns == 0 && times <= (tiles < kLeastTiles ? kMostTimes : 1) && (teams || parts >= kTeams)) {
    out.at_once = divided_up(parts, std::max<int64_t>(1, times));
    return out;
  }
  if (!teams || tiles < kLeastTiles || n > kLongest) return std::nullopt;
  out.height = (below >= kMany * kTeams ? kTeams : 1) * kRowsOfTile;  // workgroups full of teams, where that adds little
  out.width = width_of(t);
  return out;
}

}  // namespace spirograd::schedule
