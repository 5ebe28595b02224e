// Random numbers as functions of a key: the same key gives the same numbers on every device, in every order and part. Made
// by Threefry-2x32 of 20 rounds (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", SC 2011) of a counter.
// Keys are u32[2]; one is used once, or split.
#pragma once

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

Expr random_key(Expr seed);                      // of an integer
Expr random_split(Expr key, int64_t n);          // u32[n,2]: keys that have nothing to do with one another
Expr random_bits(Expr key, const Shape& shape);  // u32, uniform
/// In [0, 1): multiples of 2^-24, f32.
Expr random_uniform(Expr key, const Shape& shape);
/// Of mean 0 and variance 1, f32, at most 5.8 away from 0: Box and Muller's method.
Expr random_normal(Expr key, const Shape& shape);
/// 0 .. n-1 in random order, i32.
Expr random_permutation(Expr key, int64_t n);

}  // namespace spirograd::ir
