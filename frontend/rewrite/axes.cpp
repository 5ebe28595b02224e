// Axes of shapes.
#include "frontend/rewrite/axes.h"

namespace spirograd::rewrite {

Axes wide_axes(const Shape& s) {
  Axes out;
  for (int t = 0; t < s.rank(); ++t)
    if (s[t] != 1) out.push_back(t);
  return out;
}

bool same_but_ones(const Shape& a, const Shape& b) {
  const Axes x = wide_axes(a), y = wide_axes(b);
  if (x.size() != y.size()) return false;
  for (size_t j = 0; j < x.size(); ++j)
    if (a[static_cast<int>(x[j])] != b[static_cast<int>(y[j])]) return false;
  return true;
}

TransposedBroadcast transposed_broadcast(const Axes& axes, const Axes& perm) {
  TransposedBroadcast out;
  for (size_t j = 0; j < perm.size(); ++j)
    for (size_t k = 0; k < axes.size(); ++k)
      if (axes[k] == perm[j]) {
        out.axes.push_back(static_cast<int64_t>(j));
        out.operand.push_back(static_cast<int64_t>(k));
      }
  return out;
}

}  // namespace spirograd::rewrite
