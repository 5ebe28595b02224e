// What index rules are written with: the two kinds of steps, and the axes of a read.
#pragma once

#include <algorithm>

#include "frontend/rewrite/index_rules.h"

namespace spirograd::rewrite {

using Values = std::span<const ir::Expr>;
using Context = const IndexContext&;

inline Step finished(ir::Expr e) { return {e, {}, {}}; }

inline Step after(std::vector<Slice> below, std::function<Step(Values)> then) {
  return {{}, std::move(below), std::move(then)};
}

inline size_t at(int64_t axis) { return static_cast<size_t>(axis); }

inline std::vector<ir::Expr> part(const std::vector<ir::Expr>& v, size_t from, size_t to) {
  return {v.begin() + static_cast<std::ptrdiff_t>(from), v.begin() + static_cast<std::ptrdiff_t>(to)};
}

/// Number of the axes before `axis` that are indexed: by so much the axis moves to the front.
inline int64_t indexed_before(const std::vector<ir::Expr>& slots, int64_t axis) {
  return std::count_if(slots.begin(), slots.begin() + axis, [](ir::Expr e) { return static_cast<bool>(e); });
}

inline ir::Expr offset(ir::Expr index, int64_t by) {
  if (by == 0) return index;
  return ir::binary(ir::Op::Add, index, ir::scalar(*index.graph, DType::I32, static_cast<double>(by)));
}

}  // namespace spirograd::rewrite
