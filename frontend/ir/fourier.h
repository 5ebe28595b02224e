// Discrete Fourier transforms. A complex array is two real ones of one shape, so that all other operations go on working and
// real data need no second half. In stages of sums over at most 16 elements, or primes below 64, each one pass over the
// data; lengths with greater primes as a convolution with a chirp, by transforms of a length without. SG0101 for shapes.
#pragma once

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

struct Complex {
  Expr re, im;
};

/// sum over j of x[j] exp(-2 pi i j k / n), for k = 0 .. n-1. The parts broadcast together.
Complex fft(Complex x, int64_t axis);
/// Its inverse: sum over k of x[k] exp(2 pi i j k / n) / n.
Complex ifft(Complex x, int64_t axis);
/// fft of real numbers, of which n / 2 + 1 are no mirror images of others.
Complex rfft(Expr x, int64_t axis);
/// Its inverse: n real numbers, n / 2 + 1 being the extent of the axis. Imaginary parts that are 0 in such transforms, those
/// at 0 and at n / 2 for an even n, count as 0.
Expr irfft(Complex x, int64_t n, int64_t axis);

/// The extents of the stages for n elements, whose product it is; empty where a chirp is needed, or for n < 2.
std::vector<int64_t> fourier_stages(int64_t n);

}  // namespace spirograd::ir
