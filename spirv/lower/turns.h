// Rows in turns. Where the arrays between kernels are much larger than all that a program is given and gives back, what lies
// along one of their axes is computed a part after the other, as long as no operation mixes the rows along it: a loop over
// the parts whose steps are dispatches. Sums over that axis are added up from part to part.
#pragma once

#include <span>
#include <vector>

#include "frontend/ir/graph.h"
#include "spirograd/target.h"
#include "spirv/lower/plan.h"

namespace spirograd::lower {

struct Turns {
  std::vector<ir::NodeId> roots;  // in place of the given ones: the same values, sums in another order
  ir::NodeId loop;                // over the parts; none where arrays are small enough, or no axis will do
};

/// Whether what is stored between the kernels of a plan is that large.
bool wants_turns(const Plan& plan, const Target& target);

/// Which arrays a region stores is estimated: whether scratch memory gets smaller, a plan made of it shows.
/// What is stored of a part takes about target.price.resident bytes; there are at most 256 parts.
Turns rows_in_turns(ir::Graph& g, std::span<const ir::NodeId> roots, const Target& target);

}  // namespace spirograd::lower
