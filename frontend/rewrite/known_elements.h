// Arrays that depend on nothing but positions and constants.
#pragma once

#include <optional>
#include <vector>

#include "frontend/ir/algebra.h"

namespace spirograd::rewrite {

/// Elements of an array that is looked at.
inline constexpr int64_t kMaxTable = 1 << 16;

/// The elements of an integer or bool array that depends on nothing else, in row-major order. None: it depends on data of
/// the run, or is too large.
std::optional<std::vector<double>> known_elements(ir::Expr e);

}  // namespace spirograd::rewrite
