// Loads and stores by which the lanes of a subgroup reach neighbours, at places that are known before any lane is.
#pragma once

#include <vector>

#include "spirv/kernel/sums.h"

namespace spirograd::kernel {

/// Lane l reaches element `first` + l `step`, or the lanes do in the opposite order.
struct LaneRow {
  Sum first;            // of values made by arithmetic of GroupIndex, the number of the subgroup and constants
  uint32_t step = 0;    // 1, 2 where it is half of a pair, of stores any; 0: the access is none of these
  bool common = false;  // a load of one element for all lanes, at `first`
  bool turned = false;  // a load of which the last lane has the first element
};

struct LaneRows {
  std::vector<LaneRow> accesses;      // per instruction
  std::vector<uint32_t> subgroup_by;  // per instruction: it is the number of the subgroup, divided by so many; 0: it is not
  size_t loads = 0, stores = 0;       // that are rows
  size_t common = 0;                  // loads
};

/// Those outside of all branches and loops, of elements of 4 or 8 bytes. None: the kernel does not know of subgroups.
LaneRows lane_rows(const Kernel& k);

}  // namespace spirograd::kernel
