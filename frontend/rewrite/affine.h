// What is known about an integer array without running the program: a closed form over the positions of its axes, a range of
// values, and the axes it depends on. Everything here is a proof: when nothing can be proved the fact says so.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <unordered_map>

#include "frontend/ir/algebra.h"

namespace spirograd::rewrite {

/// What one axis adds to a value: a * i + b * (i quot s), for the position i on that axis. s >= 2 exactly when b != 0.
struct Term {
  int64_t a = 0, b = 0, s = 1;
  bool zero() const { return a == 0 && b == 0; }
};

/// c + sum of the terms. Terms of axes of extent 1 are zero, and so are quotients that are 0 everywhere.
struct Affine {
  int64_t c = 0;
  std::array<Term, kMaxRank> term{};
  Term& operator[](int axis) { return term[static_cast<size_t>(axis)]; }
  const Term& operator[](int axis) const { return term[static_cast<size_t>(axis)]; }
  bool constant() const;
  bool has_quotient() const;
};

struct Range {
  int64_t lo = std::numeric_limits<int32_t>::min();
  int64_t hi = std::numeric_limits<int32_t>::max();
  bool inside(int64_t extent) const { return lo >= 0 && hi < extent; }
  bool outside(int64_t extent) const { return hi < 0 || lo >= extent; }
};

struct IndexFact {
  bool affine = false;  // the value is exactly `f` and no step of its computation wraps
  Affine f;
  Range range;        // of i32 values; everything for other types
  uint32_t axes = 0;  // bit t: the value may depend on the position along axis t
};

/// Facts of nodes, computed once per node. Nodes are immutable, so facts stay true while the graph grows.
class Facts {
 public:
  explicit Facts(ir::Graph& graph) : graph_(graph) {}
  ir::Graph& graph() const { return graph_; }
  const IndexFact& operator()(ir::Expr e);

 private:
  ir::Graph& graph_;
  std::unordered_map<uint32_t, IndexFact> memo_;
};

/// Bounds of an affine value over all positions of `shape`.
Range range_of(const Affine& f, const Shape& shape);

/// The array of that shape with those values. Pre: range_of(f, shape) fits i32.
ir::Expr affine_array(ir::Graph& g, const Shape& shape, const Affine& f);

/// `e` without the axes outside of `keep` (ascending axes of e), on which it does not depend.
ir::Expr project(ir::Expr e, std::span<const int64_t> keep);

}  // namespace spirograd::rewrite
