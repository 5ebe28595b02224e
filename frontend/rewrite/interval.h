// Ranges of integer values: which integers can an element of this array be? Sound, never exact: every element of the array
// lies in [lo, hi] for all inputs of the program. Used to prove that reads are in bounds.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "frontend/ir/graph.h"

namespace spirograd::rewrite {

struct Interval {
  int64_t lo = 0;
  int64_t hi = 0;
  bool operator==(const Interval&) const = default;
  bool is_single() const { return lo == hi; }
  bool within(int64_t first, int64_t last) const { return lo >= first && hi <= last; }
  /// No value of the interval lies in [first, last].
  bool outside(int64_t first, int64_t last) const { return hi < first || lo > last; }
};

/// All values of an integer type or of bool.
Interval whole(DType t);

/// Answers about one graph, remembered: nodes never change, so answers stay valid while the graph grows.
/// Arithmetic that may leave the type wraps, so its range is the whole type. Of an array without elements: [0, 0].
/// Of a float array: the whole range of i32, a value without meaning.
class Intervals {
 public:
  explicit Intervals(const ir::Graph& g) : g_(g) {}
  Interval of(ir::NodeId id);
  Interval of(ir::Expr e) { return of(e.id); }
  /// Every element of `index` addresses one of `extent` rows.
  bool in_bounds(ir::Expr index, int64_t extent) { return of(index).within(0, extent - 1); }

 private:
  Interval known(ir::NodeId id) const;
  Interval derive(const ir::Node& n) const;
  Interval leaf(const ir::Node& n) const;
  Interval pointwise(const ir::Node& n) const;
  Interval layout(const ir::Node& n) const;
  Interval reduction(const ir::Node& n) const;
  Interval gather(const ir::Node& n) const;
  Interval scatter(const ir::Node& n) const;

  const ir::Graph& g_;
  std::unordered_map<uint32_t, Interval> memo_;
};

/// For a single question.
Interval interval(ir::Expr e);

}  // namespace spirograd::rewrite
