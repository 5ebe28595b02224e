// Arrays on the host, made of elements and read as such; results without a value.
#include "spirograd/host_array.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

namespace spirograd {
namespace host_array_test {

template <class T>
class HostArrayOf : public testing::Test {};
using Elements = testing::Types<uint8_t, int32_t, uint32_t, float, double>;
TYPED_TEST_SUITE(HostArrayOf, Elements);

TYPED_TEST(HostArrayOf, ElementsComeBack) {
  const auto a = HostArray::of<TypeParam>({1, 0, 1});
  EXPECT_EQ(a.type, (Type{dtype_of<TypeParam>, {3}}));
  EXPECT_EQ(a.values(), (std::vector<double>{1, 0, 1}));
  const auto elements = a.template as<TypeParam>().value();
  ASSERT_EQ(elements.size(), 3u);
  EXPECT_EQ(elements[0], 1);
  EXPECT_EQ(elements[1], 0);
  EXPECT_EQ(elements[2], 1);
  EXPECT_EQ(HostArray(a.type, a.values()).bytes, a.bytes);
}

TYPED_TEST(HostArrayOf, ShapesAreRowMajorAndMayBeEmpty) {
  const std::array<TypeParam, 2> row = {1, 0};
  const HostArray a = HostArray::of<TypeParam>({1, 2}, row).value();
  EXPECT_EQ(a.type.shape, (Shape{1, 2}));
  EXPECT_EQ(a.values(), (std::vector<double>{1, 0}));
  const HostArray none = HostArray::of<TypeParam>({0, 4}, {}).value();
  EXPECT_EQ(none.count(), 0);
  EXPECT_TRUE(none.template as<TypeParam>().value().empty());
  EXPECT_EQ(HostArray::of<TypeParam>(Shape{}, {TypeParam{1}}).value().type.shape.rank(), 0);
}

TEST(HostArray, ExtremesAreKeptBitForBit) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto a = HostArray::of<float>({-0.0f, nan, std::numeric_limits<float>::denorm_min()});
  const auto x = a.as<float>().value();
  EXPECT_TRUE(std::signbit(x[0]));
  EXPECT_TRUE(std::isnan(x[1]));
  EXPECT_EQ(x[2], std::numeric_limits<float>::denorm_min());
  const auto least = HostArray::of<int32_t>({std::numeric_limits<int32_t>::min()});
  EXPECT_EQ(least.as<int32_t>().value()[0], std::numeric_limits<int32_t>::min());
}

TEST(HostArray, BoolsAreBytesOfZeroAndOne) {
  const auto a = HostArray::of<bool>({true, false});
  EXPECT_EQ(a.type, boolean({2}));
  EXPECT_EQ(a.bytes, (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(HostArray::of<uint8_t>({7, 0}).bytes, a.bytes);
  EXPECT_EQ(a.as<uint8_t>().value()[0], 1);
}

TEST(HostArray, AnotherElementTypeIsAnError) {
  const auto a = HostArray::of<float>({1});
  const auto wrong = a.as<double>();
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "SG0501");
  EXPECT_NE(wrong.error().message.find("f32[1]"), std::string::npos);
  EXPECT_NE(wrong.error().message.find("f64"), std::string::npos);
}

TEST(HostArray, AnotherNumberOfElementsIsAnError) {
  const auto short_of_one = HostArray::of<int32_t>({2, 2}, {1, 2, 3});
  ASSERT_FALSE(short_of_one);
  EXPECT_EQ(short_of_one.error().code, "SG0501");
  EXPECT_NE(short_of_one.error().message.find("3 values for i32[2,2]"), std::string::npos);
  HostArray cut(f32({2}));
  cut.bytes.pop_back();
  EXPECT_FALSE(cut.as<float>());
}

template <class A, class T>
concept ReadsAs = requires(A&& a) {
  std::forward<A>(a).template as<T>();
};
static_assert(ReadsAs<const HostArray&, float> && !ReadsAs<HostArray, float>, "a span over a temporary would dangle");
static_assert(!ReadsAs<const HostArray&, bool>, "a byte of a file need not be 0 or 1");

TEST(Result, OfNothingIsAnErrorOrNot) {
  EXPECT_TRUE(Result<void>());
  EXPECT_NO_THROW(Result<void>().value());
  const Result<void> failed = Error("SG0501", "why");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "why");
  EXPECT_THROW(failed.value(), Error);
}

TEST(Result, GuardedBodiesMayReturnNothing) {
  int runs = 0;
  const Result<void> done = guarded([&] { ++runs; });
  EXPECT_TRUE(done);
  EXPECT_EQ(runs, 1);
  const Result<void> failed = guarded([&] {
    if (runs == 1) throw Error("SG0101", "what");
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, "SG0101");
  static_assert(std::is_same_v<decltype(guarded([] { return 1; })), Result<int>>);
}

}  // namespace host_array_test
}  // namespace spirograd
