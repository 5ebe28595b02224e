// Sums along the first axis of arrays that are stored: of parts of contractions.
#pragma once

#include <set>

#include "frontend/ir/graph.h"

namespace spirograd::lower {

/// Along the first axis, few elements at a time, so that they are written out. Notes in `stored` the sums of some of them.
ir::Expr sum_of_columns(ir::Expr x, std::set<uint32_t>& stored);

}  // namespace spirograd::lower
