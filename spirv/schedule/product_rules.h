// Contractions as tiles of subgroups that read rows (row_rules): rows of a tile have in common what lanes read along its
// columns, and lanes what is read along its rows.
#pragma once

#include <optional>

#include "spirograd/target.h"
#include "spirv/schedule/compute.h"
#include "spirv/schedule/schedule.h"

namespace spirograd::schedule {

/// Contractions of few elements, which are written out: a subgroup loads rows, and what its lanes have in common as one.
bool wants_short_products(const MapFacts& f, const Target& t);
MapSchedule short_products(const MapFacts& f, const Target& t);

/// How a contraction of more elements becomes short ones: parts of the axis that is reduced.
struct LongProduct {
  int64_t part = 0;               // elements
  int64_t at_once = 0;            // parts that are stored at a time, and summed; 0: each is added to the sums so far:
  int rows = 0;                   // the axis of the domain that tiles have rows along
  int64_t height = 1, width = 1;  // this axis and the last one are to be multiples of
};
inline constexpr int64_t kMostStoredSums = int64_t{1} << 23;  // elements, of sums that are summed up before the next ones
/// Whether sums over some of the axes of a contraction are worth being stored, as short products.
bool short_products_of(const MapFacts& f, const Target& t);
/// Elements of each of them that may be written out.
int64_t most_written_out(const MapFacts& f, const Target& t);

inline constexpr int64_t kLeastLongProduct = 1000000;  // elements in all, of which is asked
/// None: it is reduced as others. Pre: operands are copied in the order in which neighbouring points read them.
std::optional<LongProduct> long_product(const MapFacts& f, const Target& t);

}  // namespace spirograd::schedule
