// How much of an axis each device gets: plain numbers, no device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace spirograd::shards {

/// Extents in proportion to the shares, which add up to `count`: in units of a 64th of it, so that there are few different
/// ones to compile. Shares that are all the same give extents that differ by one at most. Shares of 0 get
/// 0, unless all are 0, which divides equally. Pre: shares are finite and not negative; there is one.
std::vector<int64_t> divided(int64_t count, std::span<const double> shares);

/// A better division than this one, after its parts took so many seconds; nothing if it would not make the longest part
/// clearly shorter, where each takes as long per element as it did. Parts without elements stay so. A time of 0 means that
/// it is not known yet, and nothing is proposed.
std::optional<std::vector<int64_t>> better_division(std::span<const int64_t> counts, std::span<const double> seconds);

}  // namespace spirograd::shards
