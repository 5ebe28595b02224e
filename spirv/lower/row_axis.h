// Rows along an axis, seen through single operations: where an operation reads row r of its operands, and nothing of other
// rows, when row r of its result is computed.
#pragma once

#include "frontend/ir/graph.h"

namespace spirograd::lower {

constexpr int kNoRow = -1;   // the operand is read whole, or has nothing along the axis
constexpr int kMixed = -2;   // other rows are read as well
constexpr int kSummed = -3;  // the rows end in a sum

/// The axis of operand `j` along which rows lie when they lie along axis `a` of the result; kNoRow, kMixed.
int row_axis_of_operand(const ir::Graph& g, const ir::Node& n, size_t j, int a);
/// The axis of the result along which rows lie that lie along axis `b` of operand `j`; kSummed where sums or scatters add
/// them up, kMixed.
int row_axis_of_result(const ir::Graph& g, const ir::Node& n, size_t j, int b);

}  // namespace spirograd::lower
