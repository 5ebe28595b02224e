#include "frontend/rewrite/named_axes.h"

#include "frontend/ir/composite.h"

namespace spirograd::rewrite {

using namespace ir;

Axes names_below(Expr broadcast, const Axes& names) {
  Axes out;
  for (int64_t t : broadcast.node().attr) out.push_back(names[static_cast<size_t>(t)]);
  return out;
}

Expr spread(const Named& x, const Axes& all, const Shape& shape) {
  const auto position = [&](int64_t j) {
    return std::find(all.begin(), all.end(), x.axes[static_cast<size_t>(j)]) - all.begin();
  };
  Axes order = all_axes(x.e), to;
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return position(a) < position(b); });
  for (int64_t j : order) to.push_back(position(j));
  const Expr sorted = std::is_sorted(order.begin(), order.end()) ? x.e : transpose(x.e, order);
  return sorted.shape() == shape ? sorted : broadcast(sorted, shape, to);
}

}  // namespace spirograd::rewrite
