// Removes one build: the array of all values of a body is computed by bulk operations on arrays with one more axis in front.
// One table row per kind of term in the body.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>

#include "frontend/ir/algebra.h"
#include "frontend/rewrite/index_pusher.h"

namespace spirograd::rewrite {

/// The lifting of terms over the index variable of one level: lift(t) has a new axis 0, and lift(t)[j] = t with j for the
/// variable. Terms that do not use the variable are replicated, but only where an operation needs equal shapes.
class Lifting {
 public:
  Lifting(ir::Graph& g, Intervals& ranges, int64_t level, int64_t extent)
      : graph_(g), ranges_(ranges), level_(level), extent_(extent), pusher_(g, ranges, level) {}

  /// Pre: no Build at or below `t`. Throws Error SG0101 if an intermediate array gets too many axes.
  ir::Expr lift(ir::Expr t);

  // For rules.
  ir::Graph& graph() const { return graph_; }
  Intervals& ranges() const { return ranges_; }
  int64_t level() const { return level_; }
  int64_t extent() const { return extent_; }
  bool moves(ir::Expr t) const { return t.node().free_vars >> level_ & 1; }  // uses the index variable
  /// Operand j of `t`, lifted. Of a MapAccum: the batched MapAccum.
  ir::Expr operand(ir::Expr t, int j) const;
  Shape with_batch(const Shape& s) const;
  IndexPusher& pusher() { return pusher_; }

 private:
  ir::Graph& graph_;
  Intervals& ranges_;
  int64_t level_, extent_;
  IndexPusher pusher_;
  std::unordered_map<uint32_t, ir::Expr> lifted_;
};

/// A row has one of two effects: it rewrites the term inside the build (`inside`; no value: not this time), or it gives the
/// lifted term out of lifted operands (`becomes`).
struct BuildRule {
  std::string_view name;
  bool (*applies)(const Lifting&, ir::Expr);
  ir::Expr (*inside)(Lifting&, ir::Expr);
  ir::Expr (*becomes)(const Lifting&, ir::Expr);
  std::string_view before, after;  // an example: two whole programs with the same meaning
};

/// In order; the first row that applies wins. Every operation but Build and Var has a row.
std::span<const BuildRule> build_rules();

}  // namespace spirograd::rewrite
