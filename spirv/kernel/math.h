// Elementary functions built from plain operations: one definition for the host evaluator and for SPIR-V, the same bits on
// every device with IEEE f32 arithmetic (denormals aside, which some devices flush). Vulkan does not promise that; what is
// left without it, latitude_test says. All but polynomials is exact (op.h), so that no target changes more than these. At
// most 4 ULP in f32 over the whole domain, special values exact. f64 forms are built the same way, at most 1e-14 relative.
#pragma once

#include "spirv/kernel/builder.h"

namespace spirograd::kernel {

/// What is known of an argument that is not NaN. What rounding makes of a difference may be a little on the other side of 0.
enum class ArgumentSign : uint8_t { Any, NotNegative, NotPositive, NotPositiveOrInfinite };
inline constexpr double kAlmostNotPositive = 40;  // all arguments below are as good as those that are not positive

// x: f32 or f64; the result has the same type.
Value exp(Builder& b, Value x);
Value exp_of(Builder& b, Value x, ArgumentSign sign);  // the same bits, in fewer instructions where more is known
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

/// Those of one argument, by the name of their operation: lowering finds them here. Where each is worth a look: between two
/// positive numbers, and perhaps their negatives.
struct Elementary {
  const char* name;
  Value (*of)(Builder&, Value);
  float least, most;
  bool negatives;
};
// clang-format off
inline constexpr Elementary kElementary[] = {
    {"exp",      exp,      1e-3f, 87, true},
    {"log",      log,      1e-6f, 1e6f, false},
    {"sin",      sin,      1e-3f, 1e4f, true},
    {"cos",      cos,      1e-3f, 1e4f, true},
    {"tan",      tan,      1e-3f, 1e4f, true},
    {"asin",     asin,     1e-3f, 1, true},
    {"acos",     acos,     1e-3f, 1, true},
    {"atan",     atan,     1e-3f, 1e3f, true},
    {"sinh",     sinh,     1e-3f, 80, true},
    {"cosh",     cosh,     1e-3f, 80, true},
    {"tanh",     tanh,     1e-3f, 10, true},
    {"asinh",    asinh,    1e-3f, 1e4f, true},
    {"acosh",    acosh,    1, 1e4f, false},
    {"atanh",    atanh,    1e-3f, 0.9999f, true},
    {"erf",      erf,      1e-3f, 4, true},
    {"erfc",     erfc,     1e-3f, 9, true},
    {"lgamma",   lgamma,   2.5f, 1e4f, false},
    {"digamma",  digamma,  2, 1e4f, false},
    {"logistic", logistic, 1e-3f, 80, true},
    {"log1p",    log1p,    1e-3f, 0.999f, true},
    {"expm1",    expm1,    1e-3f, 80, true},
};
// clang-format on

/// C's pow and atan2 on special values, but pow(x, y) for x < 0 is NaN unless y is an integer.
Value pow(Builder& b, Value x, Value y);
Value atan2(Builder& b, Value y, Value x);
/// C's fmod: sign of x, exact.
Value fmod(Builder& b, Value x, Value y);

/// The float x as i32 or u32: truncated, the nearest one where it is out of range, 0 for NaN.
Value saturated(Builder& b, Scalar to, Value x);

}  // namespace spirograd::kernel
