// Simplification: the same program in fewer and cheaper operations. Scatters that come from transposed layout operations and
// affine reads disappear, stretched values are computed once, and loops keep only what is used.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "spirograd/program.h"

namespace spirograd::rewrite {

/// What the rules did to a program, and how often they may do something: with a limit, the first application that breaks a
/// program is found by bisection.
struct RuleLog {
  std::map<std::string_view, int64_t> applied;  // by the name of the rule
  int64_t total = 0;
  int64_t most = std::numeric_limits<int64_t>::max();
  std::string last;  // the rule that was applied last, and to what
};

/// Pre: `program` is in bulk form (no Build); loops are simplified inside. Values agree for every input up to the order of
/// float sums, the sign of zeros and float constants that are folded. The result is a fixed point of all rules.
Program simplify(const Program& program, RuleLog* rules = nullptr);

/// All rules as a table in Markdown: name, before, after.
std::string rules_markdown();

}  // namespace spirograd::rewrite
