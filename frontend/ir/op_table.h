// Tables with a row per operation of some family, read by operation. A row that is missing, or one too many, does not
// compile, and the error names the operation: `OneRow<Op::Exp, 0>`.
#pragma once

#include <array>
#include <cstddef>

#include "frontend/ir/op.h"

namespace spirograd::ir {

template <Op op, int rows>
struct OneRow {
  static_assert(rows < 0, "this operation must have exactly one row in the table, or none if it is not of the family");
};

namespace detail {

template <const auto& rows>
consteval int rows_of(Op op) {
  int n = 0;
  for (const auto& row : rows) n += row.op == op;
  return n;
}

template <const auto& rows, auto of_family>
consteval int first_wrong() {
  int j = 0;
  while (j < kOpCount && rows_of<rows>(static_cast<Op>(j)) == (of_family(info(static_cast<Op>(j))) ? 1 : 0)) ++j;
  return j;
}

}  // namespace detail

/// The row of each operation for which `of_family(info)` holds; null for the others. `rows`: an array of structs with an
/// `op`.
template <const auto& rows, auto of_family>
consteval auto op_table() {
  constexpr int wrong = detail::first_wrong<rows, of_family>();
  if constexpr (wrong < kOpCount)
    static_cast<void>(OneRow<static_cast<Op>(wrong), detail::rows_of<rows>(static_cast<Op>(wrong))>{});
  std::array<decltype(&rows[0]), kOpCount> table{};
  for (const auto& row : rows) table[static_cast<size_t>(row.op)] = &row;
  return table;
}

inline constexpr auto kPointwiseOnes = [](const OpInfo& i) { return i.kind == Kind::Pointwise; };
/// Those that integers or bools can be operands of.
inline constexpr auto kIntegerOnes = [](const OpInfo& i) {
  return i.kind == Kind::Pointwise && (i.flags & kFloatOnly) == 0;
};

}  // namespace spirograd::ir
