// Elementary functions built from plain operations: one definition for the host evaluator and for SPIR-V, the same bits on
// every device with IEEE f32 arithmetic (denormals aside, which some devices flush). At most 4 ULP in f32 over the whole
// domain, special values exact. f64 forms are built the same way, at most 1e-14 relative.
#pragma once

#include "spirv/kernel/builder.h"

namespace spirograd::kernel {

enum class Fn : uint8_t {
  Exp, Log, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Erf, Logistic, Log1p, Expm1,
};
/// x: f32 or f64; the result has the same type.
Value math(Builder& b, Fn fn, Value x);
/// C's pow and atan2 on special values, but pow(x, y) for x < 0 is NaN unless y is an integer.
Value pow(Builder& b, Value x, Value y);
Value atan2(Builder& b, Value y, Value x);
/// C's fmod: sign of x, exact.
Value fmod(Builder& b, Value x, Value y);

}  // namespace spirograd::kernel
