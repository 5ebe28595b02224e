#include "frontend/ir/reshape_groups.h"

namespace spirograd::ir {

std::vector<ReshapeGroup> reshape_groups(const Shape& from, const Shape& to) {
  std::vector<ReshapeGroup> out;
  for (int i = 0, j = 0; i < from.rank() || j < to.rank();) {
    ReshapeGroup g{{i, i}, {j, j}};
    int64_t before = 1, after = 1;
    if (j < to.rank())
      after *= to[j++];
    else
      before *= from[i++];
    while (before != after) {
      if (after < before)
        after *= to[j++];
      else
        before *= from[i++];
    }
    g.from.end = i;
    g.to.end = j;
    out.push_back(g);
  }
  return out;
}

}  // namespace spirograd::ir
