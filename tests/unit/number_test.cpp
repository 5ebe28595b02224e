// Numbers in text, with std::from_chars and without.
#include "frontend/base/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>

namespace spirograd {
namespace number_test {

constexpr double kInf = std::numeric_limits<double>::infinity();

void expect(const char* text, size_t length, double value, bool out_of_range = false) {
  for (const ParsedNumber& n : {parse_number(text), parse_number_by_stream(text)}) {
    EXPECT_EQ(n.length, length) << text;
    EXPECT_EQ(n.out_of_range, out_of_range) << text;
    EXPECT_EQ(n.value, value) << text;
    EXPECT_EQ(std::signbit(n.value), std::signbit(value)) << text;
  }
}

TEST(Number, EndsWhereTheTextIsNoNumberAnyMore) {
  expect("3", 1, 3);
  expect("3.5]", 3, 3.5);
  expect("-.5,1", 3, -0.5);
  expect("5.x", 2, 5);
  expect("1e5", 3, 1e5);
  expect("1e+5e", 4, 1e5);
  expect("1E-2", 4, 0.01);
  expect("1e", 1, 1);
  expect("1e+", 1, 1);
  expect("-0", 2, -0.0);
  expect("0e7", 3, 0);
}

TEST(Number, IsNotThere) {
  for (const char* text : {"", "-", ".", "+1", " 1", "e5", "-e", "x", "--1", "i"}) expect(text, 0, 0);
}

TEST(Number, MayBeAWord) {
  expect("inf", 3, kInf);
  expect("-Infinity]", 9, -kInf);
  expect("infinite", 3, kInf);
  for (const ParsedNumber& n : {parse_number("NaN,"), parse_number_by_stream("NaN,")}) {
    EXPECT_EQ(n.length, 3u);
    EXPECT_TRUE(std::isnan(n.value));
  }
}

TEST(Number, SaysWhereDoublesEnd) {
  expect("1e999", 5, kInf, true);
  expect("-1e999", 6, -kInf, true);
  expect("1e-999", 6, 0, true);
  expect("-1e-999", 7, -0.0, true);
  expect("1.7976931348623157e308", 22, std::numeric_limits<double>::max());
  expect("4.9406564584124654e-324", 23, std::numeric_limits<double>::denorm_min());
}

TEST(Number, IsTheNearestDouble) {
  uint64_t state = 1;
  for (int j = 0; j < 2000; ++j) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    double x;
    std::memcpy(&x, &state, sizeof x);
    if (!std::isfinite(x)) continue;
    char text[40];
    const int length = std::snprintf(text, sizeof text, "%.17g", x);
    expect(text, static_cast<size_t>(length), x);
  }
}

}  // namespace number_test
}  // namespace spirograd
