// Simplification: the same program in fewer and cheaper operations. Scatters that come from transposed layout operations and
// affine reads disappear, stretched values are computed once, and loops keep only what is used.
#pragma once

#include <string>

#include "spirograd/program.h"

namespace spirograd::rewrite {

/// Pre: `program` is in bulk form (no Build); loops are simplified inside. Values agree for every input up to the order of
/// float sums, the sign of zeros and float constants that are folded. The result is a fixed point of all rules.
Program simplify(const Program& program);

/// All rules as a table in Markdown: name, before, after.
std::string rules_markdown();

}  // namespace spirograd::rewrite
