// Pushes an index into the term that it reads: "element j of a sum" becomes "the sum of elements j". One table row per kind
// of term; every row keeps the value of reads out of range, which is 0, by a guard where the operation does not do so.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/ir/algebra.h"
#include "frontend/rewrite/interval.h"

namespace spirograd::rewrite {

/// A read of `table`: per axis a scalar i32, or no expression for the whole axis. The value has the axes that are read
/// whole, in order; it is 0 if any of the scalars is out of range.
struct Slice {
  ir::Expr table;
  std::vector<ir::Expr> at;

  Shape shape() const;  // of the value
  bool is_whole() const;    // nothing is indexed
};

/// How a read goes on: it is `done`, or the reads `below` come first and `then` continues with their values.
struct Step {
  ir::Expr done;
  std::vector<Slice> below;
  std::function<Step(std::span<const ir::Expr>)> then;
};

/// What rules may ask.
struct IndexContext {
  ir::Graph& graph;
  Intervals& ranges;

  /// `value` if the scalars on the given axes are in range, else 0. Asks only what cannot be proved.
  ir::Expr guarded(const Slice& s, const std::vector<bool>& axes, ir::Expr value) const;
  ir::Expr guarded(const Slice& s, ir::Expr value) const;  // all axes
};

struct IndexRule {
  std::string_view name;
  bool (*applies)(const IndexContext&, const Slice&);
  Step (*push)(const IndexContext&, const Slice&);
  std::string_view before, after;  // an example: two whole programs with the same meaning
};

/// In order; the first row that applies wins. Every operation has a row.
std::span<const IndexRule> index_rules();

/// The read as a Gather of the term as it stands: with scalars if the indexed axes come first, else with whole axes spelt
/// out.
ir::Expr plain_read(const Slice& s);

/// A Gather whose index arrays are scalars.
bool is_index(ir::Expr e);
Slice as_slice(ir::Expr index);

/// `e` with the IndexVar of `level` replaced by the scalar `index`. Pre: `index` is in range of that variable.
ir::Expr with_index(ir::Expr e, int64_t level, ir::Expr index);

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
