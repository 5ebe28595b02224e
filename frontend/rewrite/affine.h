// Closed forms of integer arrays over the positions of their axes: quasi-affine functions, and what operations make of them.
// A result that has no closed form, or would leave the range that matters, is none.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "frontend/ir/algebra.h"

namespace spirograd::rewrite {

/// What one axis adds to a value: a * i + b * (i quot s), for the position i on that axis. s >= 2 exactly when b != 0.
struct Term {
  int64_t a = 0, b = 0, s = 1;
  bool zero() const { return a == 0 && b == 0; }
  auto operator<=>(const Term&) const = default;
};

/// c + sum of the terms. Terms of axes of extent 1 are zero, and so are quotients that are 0 everywhere.
struct Affine {
  int64_t c = 0;
  std::array<Term, kMaxRank> term{};
  Term& operator[](int axis) { return term[static_cast<size_t>(axis)]; }
  const Term& operator[](int axis) const { return term[static_cast<size_t>(axis)]; }
  bool constant() const;
  bool has_quotient() const;
  auto operator<=>(const Affine&) const = default;
};

struct Range {
  int64_t lo = std::numeric_limits<int32_t>::min();
  int64_t hi = std::numeric_limits<int32_t>::max();
  bool inside(int64_t extent) const { return lo >= 0 && hi < extent; }
  bool outside(int64_t extent) const { return hi < 0 || lo >= extent; }
};

/// Bounds of an affine value over all positions of `shape`.
Range range_of(const Affine& f, const Shape& shape);

/// Makes the terms canonical for that shape, as Affine promises.
void make_canonical(Affine& f, const Shape& shape);

/// f + k * g, or nothing if two different quotients meet on an axis or a coefficient leaves the range that matters.
std::optional<Affine> combined(const Affine& f, int64_t k, const Affine& g);

/// Groups of axes of `from` and `to` with equal products, axes of extent 1 ignored. Pre: no extent is 0.
struct AxisGroup {
  std::vector<int> from, to;
};
std::vector<AxisGroup> axis_groups(const Shape& from, const Shape& to);

std::optional<Affine> reshaped(const Affine& f, const Shape& from, const Shape& to);

/// f quot s and f rem s for a positive constant s and f >= 0.
struct Division {
  Affine quot, rem;
};
std::optional<Division> divided(const Affine& f, const Shape& shape, int64_t s);

/// The closed form of a constant, if its data have one. Pre: n is a Const with at least one element.
std::optional<Affine> of_constant(const ir::Node& n);

/// The array of that shape with those values. Pre: range_of(f, shape) fits i32.
ir::Expr affine_array(ir::Graph& g, const Shape& shape, const Affine& f);

/// `e` without the axes outside of `keep` (ascending axes of e), on which it does not depend.
ir::Expr project(ir::Expr e, std::span<const int64_t> keep);

}  // namespace spirograd::rewrite
