// Rows of rule tables that are wrong on purpose. In builds with SPIROGRAD_BREAK_ROWS the row that the variable
// SPIROGRAD_BROKEN_ROW names ("simplify add-zero") gives something else of the same type, and `tools/break-rows` counts
// which the tests notice. In all other builds nothing of this is left.
#pragma once

#include <string_view>

#include "frontend/ir/graph.h"

namespace spirograd::ir {

#ifdef SPIROGRAD_BREAK_ROWS
/// `operand`: of a row that holds something for each, "partial mul 1".
bool is_broken(std::string_view table, std::string_view row, size_t operand);
bool is_broken(std::string_view table, std::string_view row);
/// `e` plus 1, or its negation; a loop that runs the other way.
Expr wrong(Expr e);
#else
constexpr bool is_broken(std::string_view, std::string_view, size_t = 0) { return false; }
inline Expr wrong(Expr e) { return e; }
#endif

/// `e`, unless the row is broken. No expression stays none.
inline Expr unless_broken(std::string_view table, std::string_view row, Expr e) {
  return e && is_broken(table, row) ? wrong(e) : e;
}

}  // namespace spirograd::ir
