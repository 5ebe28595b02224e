// Nearest names by edit distance.
#include "frontend/base/near_name.h"

#include <algorithm>
#include <numeric>

namespace spirograd {
namespace {

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string near_name(std::string_view wrong, std::span<const std::string> candidates) {
  const std::string low = lower(wrong);
  const int limit = std::max(1, static_cast<int>(wrong.size()) / 3);
  int best = limit + 1;
  std::string found;
  for (const std::string& c : candidates) {
    const int difference = static_cast<int>(c.size()) - static_cast<int>(wrong.size());
    if (std::abs(difference) > limit || c == wrong) continue;
    const int d = edit_distance(low, lower(c));
    // A single letter is near to every other single letter; only its case may be wrong.
    if (wrong.size() == 1 && d > 0) continue;
    if (d < best) {
      best = d;
      found = c;
    }
  }
  return found;
}

std::string did_you_mean(std::string_view wrong, std::span<const std::string> candidates) {
  const std::string near = near_name(wrong, candidates);
  return near.empty() ? "" : "did you mean '" + near + "'?";
}

}  // namespace spirograd
