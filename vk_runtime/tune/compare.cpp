#include "vk_runtime/tune/compare.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace spirograd::tuning {
namespace {

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

}  // namespace

bool agree(const HostArray& want, const HostArray& have) {
  constexpr double kOwn = 128, kLargest = 8;  // units of the last place
  if (want.type != have.type) return false;
  if (!is_float(want.type.dtype)) return want.bytes == have.bytes;
  const std::vector<double> a = want.values(), b = have.values();
  const DType t = want.type.dtype;
  const double unit = t == DType::F64 ? 0x1p-53 : t == DType::F16 ? 0x1p-11 : 0x1p-24;
  double largest = 0;
  for (double x : a)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  for (size_t j = 0; j < a.size(); ++j) {
    if (a[j] == b[j] || (std::isnan(a[j]) && std::isnan(b[j]))) continue;
    const double near = unit * (kOwn * std::abs(a[j]) + kLargest * largest);
    if (!std::isfinite(a[j]) || !(std::abs(a[j] - b[j]) <= near)) return false;
  }
  return true;
}

Comparison compared(std::span<const double> before, std::span<const double> after) {
  constexpr double kDeviations = 2.4;  // of a binomial distribution: 13 rounds of 15, 40 of 60
  std::vector<double> ratios;
  for (size_t j = 0; j < before.size(); ++j) ratios.push_back(after[j] / before[j]);
  Comparison out;
  out.before = median({before.begin(), before.end()});
  out.ratio = median(ratios);
  const auto n = static_cast<double>(ratios.size());
  const auto won = static_cast<double>(std::count_if(ratios.begin(), ratios.end(), [](double r) { return r < 1; }));
  out.faster = out.ratio < kClearly && won - n / 2 > kDeviations * std::sqrt(n) / 2;
  return out;
}

}  // namespace spirograd::tuning
