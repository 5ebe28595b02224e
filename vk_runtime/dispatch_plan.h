// A dispatch that takes longer than a submission should, in parts that are workgroups next to each other: pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "spirograd/executable.h"

namespace spirograd::vk {

/// The workgroups of a dispatch and those of each part, but the last ones. A kernel computes the number of its workgroup
/// from where the whole begins and from the length of a row: so parts are pieces of the one row, or whole rows.
struct DispatchPlan {
  Grid grid, part;
  uint32_t parts() const {
    const auto along = [](uint32_t all, uint32_t each) { return all / each + (all % each != 0); };
    return along(grid.x, part.x) * along(grid.y, part.y);
  }
  /// Where part i begins, and how many workgroups it has. Pre: i < parts().
  Grid base(uint32_t i) const { return grid.y > 1 ? Grid{0, i * part.y} : Grid{i * part.x, 0}; }
  Grid size(uint32_t i) const {
    const Grid from = base(i);
    return {std::min(part.x, grid.x - from.x), std::min(part.y, grid.y - from.y)};
  }
};

/// For so many workgroups, in `wanted` parts or some more; in fewer where there are not so many workgroups or rows. At most
/// `most` have numbers, surplus ones too. Pre: groups > 0, limits > 0. Where rows are too many, grid.y is above max_y.
DispatchPlan plan_dispatch(uint32_t groups, double wanted, uint32_t max_x, uint32_t max_y, uint64_t most);

}  // namespace spirograd::vk
