// Simplification rules as data. Each row is right by itself: for every input the node it returns has the value and the type
// of the node it is given. A row may look through a bounded number of operands; facts about integers come from Facts.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/rewrite/index_facts.h"

namespace spirograd::rewrite {

struct Rule {
  std::string_view name;
  std::vector<ir::Op> ops;                      // operations of the node it is given
  ir::Expr (*apply)(Facts& facts, ir::Expr e);  // no expression: does not apply
  std::string_view before, after;               // one example as text
};

const std::vector<Rule>& algebra_rules();
const std::vector<Rule>& layout_rules();
const std::vector<Rule>& reduction_rules();
const std::vector<Rule>& gather_rules();
const std::vector<Rule>& scatter_rules();

// ---- shared by the tables ----

/// What a rule that does not apply returns.
inline ir::Expr no() { return {}; }

/// The index arrays of a gather or scatter.
std::vector<ir::Expr> index_of(ir::Expr e);

/// The elementwise operations.
std::vector<ir::Op> pointwise_ops();

/// The value of all elements, if `e` is a scalar constant or a broadcast of one.
std::optional<double> uniform(ir::Expr e);
inline bool is_uniform(ir::Expr e, double value) {
  const auto u = uniform(e);
  return u && *u == value;
}

/// An index array that takes one of two constants.
struct TwoWay {
  ir::Expr mask;
  double yes, no;
};
std::optional<TwoWay> two_way(ir::Expr index);

/// A mask over leading axes stretched over the rest of `shape`.
ir::Expr over_rest(ir::Expr mask, const Shape& shape);

}  // namespace spirograd::rewrite
