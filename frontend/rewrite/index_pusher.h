// Pushes indices into terms as far as the index rules lead.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "frontend/rewrite/index_rules.h"

namespace spirograd::rewrite {

/// Applies the rules until only stuck reads are left: of parameters, constants, array literals, scatters, results of loops.
/// Terms are shared, and each read of a term recomputes a part of it. So no more than kMaxReads different reads are pushed
/// into one term; further ones read the term as it stands. That keeps the time within a constant factor.
class IndexPusher {
 public:
  static constexpr int kMaxReads = 4;
  /// With a level: stops at terms that do not use its IndexVar, because those are computed once for all its values.
  IndexPusher(ir::Graph& g, Intervals& ranges, int64_t level = -1) : context_{g, ranges}, level_(level) {}

  /// An expression of equal value. Pushing the result again gives the result itself.
  ir::Expr push(const Slice& s);
  /// Whether push() would go into `table` at all.
  bool enters(ir::Expr table);

 private:
  using Key = std::vector<uint32_t>;
  ir::Expr at_once(Slice& s);
  Step first_step(const Slice& s);
  bool is_closed_form(ir::NodeId id);

  IndexContext context_;
  int64_t level_;
  std::map<Key, ir::Expr> memo_;
  std::unordered_map<uint32_t, int> reads_;
  std::unordered_map<uint32_t, bool> closed_form_;
};

}  // namespace spirograd::rewrite
