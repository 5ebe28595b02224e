// Arrays as text.
#include "spirograd/array_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace spirograd {
namespace array_text_test {

TEST(Numbers, ReadBackInTheirType) {
  EXPECT_EQ(number_text(0.1f, DType::F32), "0.1");
  EXPECT_EQ(number_text(0.1f, DType::F64), "0.10000000149011612");
  EXPECT_EQ(number_text(-3, DType::I32), "-3");
  EXPECT_EQ(number_text(4294967295.0, DType::U32), "4294967295");
  EXPECT_EQ(number_text(1, DType::Bool), "true");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity(), DType::F32), "-inf");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::quiet_NaN(), DType::F64), "nan");
}

TEST(Arrays, PrintInNestedBrackets) {
  EXPECT_EQ(to_string(HostArray(f32(), {2.5})), "2.5");
  EXPECT_EQ(to_string(HostArray(i32({3}), {1, -20, 3})), "[  1 -20   3]");
  EXPECT_EQ(to_string(HostArray(i32({2, 2}), {1, 2, 3, 4})), "[[1 2]\n [3 4]]");
  EXPECT_EQ(to_string(HostArray(i32({2, 1, 2}), {1, 2, 3, 4})), "[[[1 2]]\n\n [[3 4]]]");
  EXPECT_EQ(to_string(HostArray(i32({0}))), "[]");
  EXPECT_EQ(to_string(HostArray(i32({2, 0}))), "[[]\n []]");
  EXPECT_EQ(to_string(HostArray(boolean({2}), {1, 0})), "[ true false]");
  EXPECT_EQ(to_string(HostArray::of<float>({0.1f, -INFINITY})), "[ 0.1 -inf]");
}

TEST(Arrays, OfManyElementsAreShortened) {
  std::vector<double> v(1001);
  for (size_t j = 0; j < v.size(); ++j) v[j] = static_cast<double>(j % 10);
  EXPECT_EQ(to_string(HostArray(i32({1001}), v)), "[0 1 2 ... 8 9 0]");
  EXPECT_EQ(to_string(HostArray(i32({143, 7}), v)).find("..."), to_string(HostArray(i32({143, 7}), v)).rfind("..."));
  EXPECT_EQ(to_string(HostArray(i32({1000})), 7), "[0 0 0 ... 0 0 0]");
  EXPECT_EQ(to_string(HostArray(i32({7})), 6), "[0 0 0 0 0 0 0]") << "nothing to leave out";
}

}  // namespace array_text_test
}  // namespace spirograd
