// What is left of the accuracy of elementary functions where a device uses the latitude that Vulkan gives it.
#include "spirv/kernel/latitude.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "spirv/kernel/eval.h"
#include "spirv/kernel/math.h"
#include "spirv/kernel/print.h"
#include "spirv/kernel/scalar.h"

namespace spirograd::kernel {
namespace latitude_test {

float apply_f32(const Latitude& l, KOp op, float a, float b) {
  return as_f32(apply_with(l, op, Scalar::F32, Scalar::F32, bits(a), bits(b)));
}

TEST(Latitude, OfNothingChangesNothing) {
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t a = random(), b = random();
    for (const KOp op : {KOp::Add, KOp::Sub, KOp::Mul, KOp::Div, KOp::Sqrt}) {
      const float want = as_f32(apply(op, Scalar::F32, Scalar::F32, a, b)), have = apply_f32({}, op, as_f32(a), as_f32(b));
      ASSERT_TRUE(have == want || (std::isnan(have) && std::isnan(want))) << as_f32(a) << " " << as_f32(b);
    }
  }
}

TEST(Latitude, IsUsedUpToItsBounds) {
  const float third = 1.0f / 3.0f, denormal = 1e-39f;
  EXPECT_EQ(apply_f32({.flush_denormals = true}, KOp::Add, denormal, denormal), 0.0f);
  EXPECT_EQ(apply_f32({.flush_denormals = true}, KOp::Mul, 1e-20f, 1e-20f), 0.0f);
  EXPECT_TRUE(std::signbit(apply_f32({.flush_denormals = true}, KOp::Mul, -1e-20f, 1e-20f)));
  EXPECT_EQ(apply_f32({.toward_zero = true}, KOp::Div, 2.0f, 3.0f), std::nextafter(2.0f / 3.0f, 0.0f));
  EXPECT_EQ(apply_f32({.toward_zero = true}, KOp::Div, 1.0f, 3.0f), std::nextafter(third, 0.0f));
  EXPECT_EQ(apply_f32({.toward_zero = true}, KOp::Mul, 3e38f, 3e38f), std::numeric_limits<float>::max());
  EXPECT_EQ(as_f32(apply_with({.toward_zero = true}, KOp::MulAdd, Scalar::F32, Scalar::F32, bits(3e38f), bits(2.0f),
                              bits(-std::numeric_limits<float>::max()))),
            0.0f)
      << "the product first, which is the greatest float";
  std::vector<bool> seen(5);
  for (int i = 1; i < 1000; ++i) {
    const float x = static_cast<float>(i), exact = 1.0f / x, off = apply_f32({.ulp = 2}, KOp::Div, 1.0f, x);
    const int32_t d = std::bit_cast<int32_t>(off) - std::bit_cast<int32_t>(exact);
    ASSERT_LE(std::abs(d), 2);
    seen[static_cast<size_t>(d + 2)] = true;
    EXPECT_EQ(off, apply_f32({.ulp = 2}, KOp::Div, 1.0f, x)) << "the same bits each time";
  }
  EXPECT_EQ(seen, std::vector<bool>(5, true));
}

struct Function {
  const char* name;
  Value (*fn)(Builder&, Value);
  double (*exact)(double);
  double loose, toward_zero;  // ULP at most: where quotients and roots are 2.5 ULP off, where all is rounded toward zero
  double least = -1e30, most = 1e30;
};

std::vector<float> arguments(double least, double most) {
  std::mt19937 random(7);
  std::vector<float> xs;
  for (int i = 0; i < 20'000; ++i) xs.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  std::uniform_real_distribution<float> unit(-1, 1);
  for (const float scale : {1.0f, 10.0f, 100.0f})
    for (int i = 0; i < 20'000; ++i) xs.push_back(unit(random) * scale);
  std::erase_if(xs, [&](float x) { return !(x >= least && x <= most); });
  return xs;
}

template <class F>
std::vector<F> values(Value (*fn)(Builder&, Value), std::vector<F> x, const Latitude& l, bool contracts = false) {
  constexpr Scalar t = sizeof(F) == 4 ? Scalar::F32 : Scalar::F64;
  Builder b("f", 64, x.size());
  const uint32_t in = b.bind("x", t, Access::Read), out = b.bind("y", t, Access::Write);
  b.begin_guard();
  b.store(out, b.index(), fn(b, b.load(in, b.index())));
  b.end_if();
  std::vector<F> y(x.size());
  const auto bytes = [](std::vector<F>& v) { return std::span(reinterpret_cast<uint8_t*>(v.data()), v.size() * sizeof(F)); };
  const std::vector<std::span<uint8_t>> buffers{bytes(x), bytes(y)};
  const Kernel k = std::move(b).finish();
  evaluate(contracts ? contracted(k) : k, buffers, &l);
  return y;
}

double worst(const std::vector<float>& x, const std::vector<float>& y, const std::vector<double>& wanted) {
  double out = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = wanted[i], size = std::abs(want);
    constexpr double kLeast = 1.2e-38, kMost = 3.4e38;
    if (std::abs(x[i]) < kLeast || !(size >= kLeast && size <= kMost)) continue;
    out = std::max(out, std::abs(static_cast<double>(y[i]) - want) / std::ldexp(1.0, std::ilogb(want) - 23));
  }
  return out;
}

double worst_of(const Function& f, const Latitude& l) {
  const std::vector<float> xs = arguments(f.least, f.most);
  std::vector<double> wanted;
  for (float x : xs) wanted.push_back(f.exact(static_cast<double>(x)));
  return worst(xs, values(f.fn, xs, l), wanted);
}

// Arguments are reduced by adding a number so large that the sum is a whole one: that must be the nearest. Flushed denormals
// cost nothing, where neither argument nor value is one.
TEST(Latitude, WhatIsLeftOfElementaryFunctions) {
  constexpr double kLost = 1e30;
  static const Function kFunctions[] = {
      // clang-format off
      {"exp",   kernel::exp,   [](double x) { return std::exp(x); },   1, 110},
      {"log",   kernel::log,   [](double x) { return std::log(x); },   1, 1.5},
      {"sin",   kernel::sin,   [](double x) { return std::sin(x); },   1.1, kLost, -1e4, 1e4},
      {"cos",   kernel::cos,   [](double x) { return std::cos(x); },   1.1, kLost, -1e4, 1e4},
      {"tan",   kernel::tan,   [](double x) { return std::tan(x); },   4, kLost, -1e4, 1e4},
      {"asin",  kernel::asin,  [](double x) { return std::asin(x); },  4.5, 4},
      {"acos",  kernel::acos,  [](double x) { return std::acos(x); },  3.5, 2.5},
      {"atan",  kernel::atan,  [](double x) { return std::atan(x); },  4.5, 3},
      {"sinh",  kernel::sinh,  [](double x) { return std::sinh(x); },  2, 110},
      {"cosh",  kernel::cosh,  [](double x) { return std::cosh(x); },  1.5, 110},
      {"tanh",  kernel::tanh,  [](double x) { return std::tanh(x); },  2.5, 40},
      {"asinh", kernel::asinh, [](double x) { return std::asinh(x); }, 3.5, 3.5},
      {"acosh", kernel::acosh, [](double x) { return std::acosh(x); }, 3.5, 2.5},
      {"atanh", kernel::atanh, [](double x) { return std::atanh(x); }, 5, 3},
      {"erf",   kernel::erf,   [](double x) { return std::erf(x); },   2, 12},
      {"erfc",  kernel::erfc,  [](double x) { return std::erfc(x); },  6, 110},
      {"log1p", kernel::log1p, [](double x) { return std::log1p(x); }, 3, 1.5},
      {"expm1", kernel::expm1, [](double x) { return std::expm1(x); }, 2, kLost},
      // clang-format on
  };
  for (const Function& f : kFunctions) {
    const double loose = worst_of(f, {.ulp = 2}), toward_zero = worst_of(f, {.toward_zero = true}),
                 flushed = worst_of(f, {.flush_denormals = true});
    std::printf("  %-6s loose %8.2f, toward zero %8.2f, flushed %8.2f ULP\n", f.name, loose, toward_zero, flushed);
    EXPECT_LE(loose, f.loose) << f.name;
    EXPECT_LE(toward_zero, f.toward_zero) << f.name;
    EXPECT_LE(flushed, 3) << f.name;
  }
}

TEST(Latitude, ContractionJoinsProductsAndSumsThatAreNotExact) {
  const auto text_of = [](bool exact_product, bool exact_sum) {
    Builder b("f", 64, 64);
    const uint32_t in = b.bind("x", Scalar::F32, Access::Read), out = b.bind("y", Scalar::F32, Access::Write);
    const Value x = b.load(in, b.index()), y = b.load(in, b.i32(0));
    Value v = x;
    {
      const Builder::Exact exact(b, exact_product);
      v = b.mul(x, y);
    }
    {
      const Builder::Exact exact(b, exact_sum);
      v = b.sub(y, v);
    }
    b.store(out, b.index(), v);
    return to_string(contracted(std::move(b).finish()));
  };
  const std::string joined = text_of(false, false);
  EXPECT_NE(joined.find("neg"), std::string::npos) << joined;
  EXPECT_NE(joined.find("mul_add"), std::string::npos) << joined;
  for (const auto& [product, sum] : {std::pair(true, false), std::pair(false, true), std::pair(true, true)})
    EXPECT_EQ(text_of(product, sum).find("mul_add"), std::string::npos) << text_of(product, sum);

  // a a - b, with one rounding and with two.
  for (const bool exact : {false, true}) {
    Builder b("f", 1, 1);
    const uint32_t in = b.bind("x", Scalar::F32, Access::Read), out = b.bind("y", Scalar::F32, Access::Write);
    const Builder::Exact scope(b, exact);
    const Value x = b.load(in, b.i32(0));
    b.store(out, b.i32(0), b.sub(b.mul(x, x), b.load(in, b.i32(1))));
    float a = 1.0f + 0x1p-12f, y = 0;
    std::array<float, 2> x_and_square = {a, a * a};
    const std::vector<std::span<uint8_t>> buffers{std::span(reinterpret_cast<uint8_t*>(x_and_square.data()), 8),
                                                  std::span(reinterpret_cast<uint8_t*>(&y), 4)};
    const Latitude fused{.fused = true};
    evaluate(contracted(std::move(b).finish()), buffers, &fused);
    EXPECT_EQ(y, exact ? 0.0f : 0x1p-24f);
  }
}

// What keeps the accuracy of a formula is exact; the rest of it may be contracted.
TEST(Latitude, ContractionCostsElementaryFunctionsNothing) {
  int changed = 0;
  // clang-format off
  std::vector<Elementary> all(std::begin(kElementary), std::end(kElementary));
  all.push_back({"x ** 2.25", [](Builder& b, Value x) { return pow(b, x, b.constant(b.type(x), 2.25)); }, 1e-6f, 1e6f, false});
  all.push_back({"1.75 ** x", [](Builder& b, Value x) { return pow(b, b.constant(b.type(x), 1.75), x); }, 1e-6f, 100, true});
  all.push_back({"atan2(x, 3)", [](Builder& b, Value x) { return atan2(b, x, b.constant(b.type(x), 3)); }, 1e-6f, 1e6f, true});
  // clang-format on
  for (const Elementary& e : all) {
    const std::vector<float> xs =
        arguments(e.negatives ? -static_cast<double>(e.most) : static_cast<double>(e.least), static_cast<double>(e.most));
    const std::vector<double> wanted = values(e.of, std::vector<double>(xs.begin(), xs.end()), {});
    const std::vector<float> plain = values(e.of, xs, {}), other = values(e.of, xs, {.fused = true}, true);
    std::printf("  %-11s %5.2f ULP, contracted %5.2f\n", e.name, worst(xs, plain, wanted), worst(xs, other, wanted));
    EXPECT_LE(worst(xs, plain, wanted), 4) << e.name;
    EXPECT_LE(worst(xs, other, wanted), 4) << e.name;
    changed += plain != other;
  }
  EXPECT_GT(changed, 15) << "else nothing is contracted";
}

}  // namespace latitude_test
}  // namespace spirograd::kernel
