// Fourier transforms in f32 on devices, against transforms in double.
#include <cmath>
#include <complex>
#include <numbers>

#include "spirograd/derivatives.h"
#include "spirograd/jit.h"
#include "spirograd/ops.h"
#include "tests/gpu/fixture.h"

namespace spirograd::vk {
namespace transforms_test {

using Complexes = std::vector<std::complex<double>>;

class Transforms : public testing::Gpu {};

// Any length: by its least factor, the sum that it is for primes.
Complexes exact(const Complexes& x) {
  const size_t n = x.size();
  size_t p = 2;
  while (p * p <= n && n % p != 0) ++p;
  if (n % p != 0 || n < 2) p = std::max<size_t>(n, 1);
  std::vector<Complexes> parts;
  for (size_t r = 0; r < p; ++r) {
    Complexes part;
    for (size_t j = r; j < n; j += p) part.push_back(x[j]);
    parts.push_back(p == n ? part : exact(part));
  }
  const auto turn = [&](size_t t) {
    return std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(t % n) / static_cast<double>(n));
  };
  Complexes out(n);
  for (size_t k = 0; k < n; ++k)
    for (size_t r = 0; r < p; ++r) out[k] += turn(r * k) * parts[r][k % (n / p)];
  return out;
}

struct Off {
  double mean = 0, most = 0;  // in units of the root mean square of what is right
};
Off off(const HostArray& re, const HostArray& im, const Complexes& want) {
  const std::vector<double> a = re.values(), b = im.values();
  double size = 0, error = 0, most = 0;
  for (size_t k = 0; k < want.size(); ++k) {
    const double d = std::norm(std::complex(a[k], b[k]) - want[k]);
    size += std::norm(want[k]), error += d, most = std::max(most, d);
  }
  return {std::sqrt(error / size), std::sqrt(most / size * static_cast<double>(want.size()))};
}

TEST_F(Transforms, ErrorsAreThoseOfF32) {
  const auto transform = jit([](Array re, Array im) { return fft(re, im); }, {.device = device});
  const auto back = jit([](Array re, Array im) { return ifft(re, im); }, {.device = device});
  const auto real = jit([](Array x) { return rfft(x); }, {.device = device});
  for (const int64_t n : {67, 1000, 1009, 1024, 65536}) {
    std::vector<float> re, im;
    Complexes x, y;
    for (int64_t j = 0; j < n; ++j) {
      re.push_back(static_cast<float>(std::sin(0.37 * static_cast<double>(j * j % 1013))));
      im.push_back(static_cast<float>(std::cos(0.11 * static_cast<double>(j * j % 997))));
      x.emplace_back(re.back(), im.back());
      y.emplace_back(re.back(), 0);
    }
    const HostArray a = HostArray::of<float>(std::span<const float>(re)),
                    b = HostArray::of<float>(std::span<const float>(im));
    const auto good = [&](const auto& out, const Complexes& want, const char* what) {
      ASSERT_TRUE(out) << out.error().str();
      const Off e = off(out->first, out->second, want);
      EXPECT_LT(e.mean, 4e-7) << what << " of " << n;
      EXPECT_LT(e.most, 3e-6) << what << " of " << n;
    };
    good(transform(a, b), exact(x), "fft");
    if (n > 1000) continue;  // the others are made of it
    Complexes conjugate, inverse;
    for (const auto& z : x) conjugate.push_back(std::conj(z));
    for (const auto& z : exact(conjugate)) inverse.push_back(std::conj(z) / static_cast<double>(n));
    good(back(a, b), inverse, "ifft");
    Complexes half = exact(y);
    half.resize(static_cast<size_t>(n / 2 + 1));
    good(real(a), half, "rfft");
  }
}

// The cotangents are the inverse transform, n times.
TEST_F(Transforms, GradientsAreTransforms) {
  const int64_t n = 96;
  const auto power = jit(
      [](Array re, Array im) {
        return grad([](const std::pair<Array, Array>& z) {
          const auto [a, b] = fft(z.first, z.second);
          return sum(a * a + b * b);
        })(std::pair(re, im));
      },
      {.device = device});
  std::vector<float> re, im;
  for (int64_t j = 0; j < n; ++j) re.push_back(static_cast<float>(j % 7)), im.push_back(static_cast<float>(j % 5));
  const auto d = power(HostArray::of<float>(std::span<const float>(re)), HostArray::of<float>(std::span<const float>(im)));
  ASSERT_TRUE(d) << d.error().str();
  const std::vector<double> a = d->first.values(), b = d->second.values();
  for (size_t j = 0; j < a.size(); ++j) {
    EXPECT_NEAR(a[j], 2.0 * n * re[j], 1e-3) << j;
    EXPECT_NEAR(b[j], 2.0 * n * im[j], 1e-3) << j;
  }
}

}  // namespace transforms_test
}  // namespace spirograd::vk
