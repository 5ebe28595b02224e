#include "tools/io/sparkline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace spirograd::io {
namespace sparkline_test {

TEST(Sparkline, HasABlockPerValueAndTheirMeansWhereThereAreMore) {
  EXPECT_EQ(sparkline(std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}, 20).text, "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline(std::vector<double>{-1, 1, 9, 11}, 2).text, "▁█");
  EXPECT_EQ(sparkline(std::vector<double>{}, 20).text, "");
  EXPECT_EQ(sparkline(std::vector<double>{3, 3}, 20).text, "▁▁");
}

TEST(Sparkline, IsLogarithmicWhereValuesArePositiveAndFarApart) {
  const Sparkline s = sparkline(std::vector<double>{1, 10, 100}, 20);
  EXPECT_TRUE(s.logarithmic);
  EXPECT_EQ(s.text, "▁▅█");
  EXPECT_FALSE(sparkline(std::vector<double>{0, 10, 100}, 20).logarithmic);
  EXPECT_FALSE(sparkline(std::vector<double>{2, 10, 100}, 20).logarithmic);
}

TEST(Sparkline, WhatIsNotFiniteIsAQuestion) {
  EXPECT_EQ(sparkline(std::vector<double>{0, NAN, 1, INFINITY}, 20).text, "▁?█?");
  EXPECT_EQ(sparkline(std::vector<double>{NAN, 1, 0, 0}, 2).text, "█▁");
}

}  // namespace sparkline_test
}  // namespace spirograd::io
