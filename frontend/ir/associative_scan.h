// Scans whose step may be grouped in any way: parts of the rows are scanned beside one another, then what each part comes
// to, and then all rows of a part meet what came before it (Blelloch, Prefix sums and their applications, 1990,
// section 1.4).
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

using Combine = std::function<std::vector<Expr>(std::span<const Expr> earlier, std::span<const Expr> later)>;

/// Whether scans over rows of these types go in parts: they are long, and a row is little work.
bool goes_in_parts(std::span<const Type> rows);

/// Row j of the results is that of rows 0 .. j of the operands put together by `combine`, which takes and gives one row of
/// each and is associative: combine(combine(a, b), c) = combine(a, combine(b, c)). `reverse`: of rows j .. n-1, those behind
/// being the earlier ones. The results have the operands' types. Throws SG0101 where rows are missing or differ in number,
/// and where `combine` gives other types. `what`: for messages. `within`: is given what rows of parts come to before they
/// meet what came before the part, level by level; nothing where there are no parts.
std::vector<Expr> associative_scan(std::string_view what, std::span<const Expr> rows, const Combine& combine,
                                   bool reverse = false, std::vector<Expr>* within = nullptr);

}  // namespace spirograd::ir
