#include "vk_runtime/dispatch_plan.h"

namespace spirograd::vk {

DispatchPlan plan_dispatch(uint32_t groups, double wanted, uint32_t max_x, uint32_t max_y, uint64_t most) {
  const auto ceil_div = [](uint32_t a, uint32_t b) { return a / b + (a % b != 0); };
  const Grid whole = folded(groups, max_x);
  if (!(wanted > 1)) return {whole, whole};
  const auto each = static_cast<uint32_t>(std::max(1.0, groups / wanted));
  if (whole.y == 1) return {whole, {std::min(each, whole.x), 1}};
  // Shorter rows, so that a part is one of them.
  Grid rows = folded(groups, std::min(max_x, std::max(each, ceil_div(groups, max_y))));
  if (uint64_t{rows.x} * rows.y > most) rows = whole;
  return {rows, {rows.x, std::max(1u, each / rows.x)}};
}

}  // namespace spirograd::vk
