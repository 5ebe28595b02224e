// Elements of f16 on the host, and what kernels round to them: every half comes back, everything else goes to the nearest
// one, ties to even.
#include "spirv/kernel/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "spirograd/host_array.h"
#include "spirv/kernel/eval.h"
#include "spirv/kernel/verify.h"

namespace spirograd {
namespace half_test {

constexpr uint32_t kPatterns = 1u << 16;

Half half(uint32_t bits) {
  Half h;
  h.bits = static_cast<uint16_t>(bits);
  return h;
}
double value(uint32_t bits) { return static_cast<double>(half(bits)); }

TEST(Half, EveryOneComesBack) {
  for (uint32_t bits = 0; bits < kPatterns; ++bits) {
    const double x = value(bits);
    if (std::isnan(x))
      EXPECT_TRUE(std::isnan(static_cast<double>(Half(x))));
    else
      ASSERT_EQ(Half(x).bits, bits) << x;
  }
  EXPECT_EQ(value(0x0001), 0x1p-24);
  EXPECT_EQ(value(0x0400), 0x1p-14);
  EXPECT_EQ(value(0x3c00), 1);
  EXPECT_EQ(value(0xc000), -2);
  EXPECT_EQ(value(0x7bff), 65504);
  EXPECT_EQ(value(0xfc00), -std::numeric_limits<double>::infinity());
}

TEST(Half, IsTheNearestAndOfTwoTheEvenOne) {
  constexpr uint32_t kGreatest = 0x7bff;
  for (uint32_t bits = 0; bits <= kGreatest; ++bits) {
    const double low = value(bits), high = bits == kGreatest ? 65536 : value(bits + 1), middle = (low + high) / 2;
    ASSERT_EQ(Half(middle).bits, bits + bits % 2) << middle;
    ASSERT_EQ(Half(std::nextafter(middle, low)).bits, bits) << middle;
    ASSERT_EQ(Half(std::nextafter(-middle, -high)).bits, 0x8000u + bits + 1) << middle;
  }
  EXPECT_EQ(Half(1e300).bits, 0x7c00u);
  EXPECT_EQ(Half(-1e-300).bits, 0x8000u);
  // By way of f32 this would be a tie.
  EXPECT_EQ(Half(1 + 0x1p-11 + 0x1p-40).bits, 0x3c01u);
}

TEST(Half, KernelsRoundAsTheHostDoes) {
  std::vector<float> xs = {0.0f,
                           -0.0f,
                           1e-45f,
                           1e30f,
                           -1e30f,
                           std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()};
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto low = static_cast<float>(half(bits)), high = bits == 0x7bff ? 65536.0f : static_cast<float>(half(bits + 1));
    const float middle = (low + high) / 2;
    for (float x : {low, middle, std::nextafter(middle, low), std::nextafter(middle, high)}) xs.insert(xs.end(), {x, -x});
  }
  kernel::Builder b("halves", 64, xs.size());
  const uint32_t from = b.bind("x", kernel::Scalar::F32, kernel::Access::Read),
                 wide = b.bind("wide", kernel::Scalar::F32, kernel::Access::Write),
                 narrow = b.bind("narrow", kernel::Scalar::F16, kernel::Access::Write);
  b.begin_guard();
  const kernel::Value rounded = kernel::rounded_to_half(b, b.load(from, b.index()));
  b.store(wide, b.index(), rounded);
  b.store(narrow, b.index(), rounded);
  b.end_if();
  const kernel::Kernel k = std::move(b).finish();
  ASSERT_FALSE(kernel::verify(k));
  std::vector<float> wides(xs.size());
  std::vector<Half> narrows(xs.size());
  const auto bytes = [](auto& v) { return std::span(reinterpret_cast<uint8_t*>(v.data()), v.size() * sizeof(v[0])); };
  kernel::evaluate(k, std::vector{bytes(xs), bytes(wides), bytes(narrows)});
  for (size_t i = 0; i < xs.size(); ++i) {
    const Half want(xs[i]);
    ASSERT_EQ(narrows[i].bits, want.bits) << xs[i];
    if (std::isnan(xs[i])) continue;
    ASSERT_EQ(wides[i], static_cast<float>(want)) << xs[i];
    ASSERT_EQ(std::signbit(wides[i]), std::signbit(xs[i])) << xs[i];
  }
}

// Nothing adds atomically to halves, and no value is one.
TEST(Half, StandsInMemoryAlone) {
  kernel::Kernel k;
  k.bindings.push_back({"x", kernel::Scalar::F16, kernel::Access::Atomic});
  k.body = {{kernel::KOp::Const, kernel::Scalar::I32, {}, 0},
            {kernel::KOp::Const, kernel::Scalar::F32, {}, 0},
            {kernel::KOp::AtomicAdd, kernel::Scalar::F32, {0, 0, 1}, 0}};
  ASSERT_TRUE(kernel::verify(k));
  k.bindings[0].access = kernel::Access::Write;
  k.body[2].op = kernel::KOp::Store;
  EXPECT_FALSE(kernel::verify(k));
  k.body[2].type = kernel::Scalar::F16;
  EXPECT_TRUE(kernel::verify(k));
}

TEST(Half, ArraysHoldThem) {
  const HostArray a = HostArray::of<Half>({3}, std::initializer_list<Half>{Half(1), Half(-0.5), Half(1e9)}).value();
  EXPECT_EQ(to_string(a.type), "f16[3]");
  EXPECT_EQ(a.bytes.size(), 6u);
  EXPECT_EQ(a.values(), (std::vector<double>{1, -0.5, std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(a.as<Half>().value()[1], Half(-0.5));
  EXPECT_FALSE(a.as<float>());
  const HostArray b(f16({2}), {1.0004883, 0x1p-25});  // just above a tie, and one at zero
  EXPECT_EQ(b.values(), (std::vector<double>{1.0009765625, 0}));
}

}  // namespace half_test
}  // namespace spirograd
