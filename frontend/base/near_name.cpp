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
  std::vector<int> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
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
