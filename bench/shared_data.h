// What the benchmarks of several devices and of several processes have in common: a loss over rows of data, and the data.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "spirograd/host_array.h"

namespace spirograd::bench {

/// A loss of w: f32[64,10] over the rows of x: f32[N,64] and y: f32[N,10]; a mean, so that parts of the data have means of
/// their own.
inline constexpr const char* kMixture =
    "def loss(w: f32[64,10], x: f32[N,64], y: f32[N,10]) -> (loss: f32) =\n"
    "  -mean(logsumexp(for i: N, k: 10 => y[i,k] - sum(for j: 64 => square(x[i,j] - w[j,k])), axis=1))";

/// Positive, so that sums over the data do not cancel.
inline HostArray waves(const Type& type, double frequency, double size) {
  std::vector<double> values;
  for (int64_t i = 0; i < type.shape.count(); ++i)
    values.push_back(size * std::abs(std::sin(frequency * static_cast<double>(i))));
  return HostArray(type, values);
}

}  // namespace spirograd::bench
