#include "vk_runtime/shards/division.h"

#include <algorithm>
#include <numeric>

namespace spirograd::shards {
namespace {

constexpr int64_t kUnits = 64;
constexpr double kClearlyShorter = 0.85;  // of the longest part; less may be chance, and new extents have to be compiled

// Whole parts of `count`: rounded down, then one more for whoever lost most by that.
std::vector<int64_t> rounded(int64_t count, std::span<const double> shares, double sum) {
  std::vector<int64_t> out;
  std::vector<double> rest;
  for (const double s : shares) {
    const double exact = static_cast<double>(count) * s / sum;
    out.push_back(std::min(count, static_cast<int64_t>(exact)));
    rest.push_back(s > 0 ? exact - static_cast<double>(out.back()) : -1);
  }
  std::vector<size_t> order(shares.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rest[a] > rest[b]; });
  int64_t left = count - std::accumulate(out.begin(), out.end(), int64_t{0});
  for (size_t k = 0; left > 0; k = (k + 1) % order.size())
    if (shares[order[k]] > 0) ++out[order[k]], --left;
  return out;
}

}  // namespace

std::vector<int64_t> divided(int64_t count, std::span<const double> shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (sum <= 0) return divided(count, std::vector<double>(shares.size(), 1.0));
  const double first = *std::find_if(shares.begin(), shares.end(), [](double s) { return s > 0; });
  const bool equal = std::all_of(shares.begin(), shares.end(), [&](double s) { return s == 0 || s == first; });
  const int64_t unit = equal ? 1 : std::max<int64_t>(1, count / kUnits);
  std::vector<int64_t> out = rounded(count / unit, shares, sum);
  for (int64_t& n : out) n *= unit;
  *std::max_element(out.begin(), out.end()) += count % unit;
  return out;
}

std::optional<std::vector<int64_t>> better_division(std::span<const int64_t> counts, std::span<const double> seconds) {
  std::vector<double> speeds;
  double longest = 0;
  for (size_t d = 0; d < counts.size(); ++d) {
    if (counts[d] > 0 && seconds[d] <= 0) return std::nullopt;
    speeds.push_back(counts[d] > 0 ? static_cast<double>(counts[d]) / seconds[d] : 0);
    if (counts[d] > 0) longest = std::max(longest, seconds[d]);
  }
  std::vector<int64_t> better = divided(std::accumulate(counts.begin(), counts.end(), int64_t{0}), speeds);
  double expected = 0;
  for (size_t d = 0; d < counts.size(); ++d)
    if (better[d] > 0) expected = std::max(expected, static_cast<double>(better[d]) / speeds[d]);
  if (longest <= 0 || expected > kClearlyShorter * longest) return std::nullopt;
  return better;
}

}  // namespace spirograd::shards
