// "Did you mean ...?": the candidate nearest to a mistyped name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spirograd {

/// Levenshtein distance with swaps: insertions, deletions, replacements of one byte, exchanges of two neighbours.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate with the least distance to `wrong` (the first of equals), "" if none is near: at most a third of the
/// letters may differ, at least one. Upper and lower case count as near.
std::string near_name(std::string_view wrong, std::span<const std::string> candidates);
inline std::string near_name(std::string_view wrong, const std::vector<std::string>& candidates) {
  return near_name(wrong, std::span<const std::string>(candidates));
}

/// "did you mean 'x'?" or "".
std::string did_you_mean(std::string_view wrong, std::span<const std::string> candidates);

}  // namespace spirograd
