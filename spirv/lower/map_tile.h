// The points of a map that an invocation computes side by side, and how the lanes of a subgroup have them.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "spirv/lower/compute.h"

namespace spirograd::lower {

/// The points of the domain that an invocation computes side by side, and whether each is inside of the domain.
struct Tile {
  std::vector<Point> points;
  std::vector<std::optional<kernel::Value>> inside;  // none: always
  bool moved = false;                                // the last one begins earlier, and has elements of the one before it
};

/// Opens the loops of the schedule; half of a symmetric map, an If around what has points on the diagonal or above it.
/// `index` numbers the invocations.
Tile open_tile(Inliner& inliner, kernel::Builder& b, const Compute& s, kernel::Value index);

/// Of two conditions; none: always.
std::optional<kernel::Value> both(kernel::Builder& b, std::optional<kernel::Value> x, std::optional<kernel::Value> y);

/// Surplus elements compute the last one again, and do not store it: the place of which instead, and whether it is one of
/// `n`. Of elements that an invocation has in pairs, all that there are being pairs, both are surplus or none.
std::pair<kernel::Value, kernel::Value> kept_inside(kernel::Builder& b, kernel::Value at, const schedule::Split& axis,
                                                    int64_t n);

/// The axes between which the map is symmetric. Pre: it is.
std::pair<size_t, size_t> symmetric_axes(const Compute& s);

/// Whether lanes have rows of elements, each computed for itself, that are stored as rows: whatever waits for its store
/// takes registers, and each store is a branch to the driver.
bool stores_as_computed(const Compute& s, const Target& t);

/// Of an odd number of elements, the last one belongs to no row: those begin at even places, as stores of pairs do.
bool leaves_odd_element(const Compute& s, const Target& t);

/// Whether the lanes of each subgroup have a whole row of the axis, the last elements of which may begin earlier.
bool is_whole_row(const Compute& s, size_t axis, const Target& t);

/// Whether each subgroup has as many neighbours along the axis as it has lanes.
bool has_one_for_each_lane(const Compute& s, size_t axis, const Target& t);

/// The points of the tile, in the parts that are stored one after the other: rows of elements a few at a time, once their
/// reductions are known, as what waits for its store takes registers.
std::vector<Tile> stored_together(const Compute& s, const Tile& tile, const Target& t);

}  // namespace spirograd::lower
