// Interval arithmetic on i32 and u32 values. Every result holds for all operands inside the given intervals; where an
// operation may wrap around, the result is the whole range of the type unless all results wrap by the same multiple of 2^32.
#pragma once

#include "spirv/kernel/builder.h"

namespace spirograd::kernel {

/// Every value of the type. Bool: [0, 1]; floats: all of int64, meaning nothing.
Interval whole(Scalar type);
/// The interval of a constant.
Interval point(Scalar type, uint64_t bits);
inline bool contains(Interval outer, Interval inner) { return outer.lo <= inner.lo && inner.hi <= outer.hi; }
/// Empty intersections (in code that never runs) give `a`.
Interval intersect(Interval a, Interval b);
Interval unite(Interval a, Interval b);

/// Sums and products without wrap-around; saturated far outside of both types.
Interval exact_add(Interval a, Interval b);
Interval exact_sub(Interval a, Interval b);
Interval exact_mul(Interval a, Interval b);
/// What is left of an exact interval after reduction modulo 2^32.
Interval wrap(Scalar type, Interval exact);

/// The result of an integer operation of one or two operands (arithmetic, bits, shifts).
Interval range(KOp op, Scalar type, Interval a, Interval b);
/// The result of a comparison, if the intervals decide it.
std::optional<bool> decide(KOp op, Interval a, Interval b);

}  // namespace spirograd::kernel
