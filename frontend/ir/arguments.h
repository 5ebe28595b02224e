// Arguments of operations as a user writes them: axes that may count from the end, shapes with one extent left open, rows of
// a loop. Both surface languages ask here, so that they accept the same and complain in the same words (Error SG0101).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "spirograd/result.h"
#include "spirograd/shape.h"

namespace spirograd::ir {

/// The axis counted from the front, of an array of `rank` axes that is made of one of that type.
int normal_axis(std::string_view what, int64_t axis, const Type& type, int rank);
inline int normal_axis(std::string_view what, int64_t axis, const Type& type) {
  return normal_axis(what, axis, type, type.shape.rank());
}
/// Sorted; throws for an axis that stands twice.
std::vector<int64_t> normal_axes(std::string_view what, std::span<const int64_t> axes, const Type& type);

/// `wanted` with its extent -1, if there is one, computed from the elements of `from`.
Shape completed_shape(std::span<const int64_t> wanted, const Type& from);

/// Number of steps of a loop over the rows of such arrays.
int64_t common_length(std::string_view what, std::span<const Type> elements);
void check_steps(std::string_view what, int64_t steps);
/// The step of a loop does not keep the type of its state.
Error state_changes(std::string_view what, const std::string& state, const std::string& returned);

}  // namespace spirograd::ir
