// Elementary functions built from plain operations: one definition for the host evaluator and for SPIR-V, the same bits on
// every device with IEEE f32 arithmetic (denormals aside, which some devices flush). Vulkan does not promise that; what is
// left without it, latitude_test says. At most 4 ULP in f32 over the whole domain, special values exact. f64 forms are built
// the same way, at most 1e-14 relative.
#pragma once

#include "spirv/kernel/builder.h"

namespace spirograd::kernel {

// x: f32 or f64; the result has the same type.
Value exp(Builder& b, Value x);
Value log(Builder& b, Value x);
Value sin(Builder& b, Value x);
Value cos(Builder& b, Value x);
Value tan(Builder& b, Value x);
Value asin(Builder& b, Value x);
Value acos(Builder& b, Value x);
Value atan(Builder& b, Value x);
Value sinh(Builder& b, Value x);
Value cosh(Builder& b, Value x);
Value tanh(Builder& b, Value x);
Value asinh(Builder& b, Value x);
Value acosh(Builder& b, Value x);
Value atanh(Builder& b, Value x);
Value erf(Builder& b, Value x);
Value erfc(Builder& b, Value x);
Value lgamma(Builder& b, Value x);   // of |gamma(x)|; infinity at 0, -1, -2, ..
Value digamma(Builder& b, Value x);  // NaN at -1, -2, ..
Value logistic(Builder& b, Value x);
Value log1p(Builder& b, Value x);
Value expm1(Builder& b, Value x);
/// C's pow and atan2 on special values, but pow(x, y) for x < 0 is NaN unless y is an integer.
Value pow(Builder& b, Value x, Value y);
Value atan2(Builder& b, Value y, Value x);
/// C's fmod: sign of x, exact.
Value fmod(Builder& b, Value x, Value y);

/// The float x as i32 or u32: truncated, the nearest one where it is out of range, 0 for NaN.
Value saturated(Builder& b, Scalar to, Value x);

}  // namespace spirograd::kernel
