// What a tuner judges by, and what it writes down.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "vk_runtime/choices_file.h"
#include "vk_runtime/tune/compare.h"

namespace spirograd {
namespace tune_compare_test {

using tuning::agree;
using tuning::compared;

TEST(Agree, SumsMayBeInAnotherOrderAndNothingElse) {
  const auto same = [](std::initializer_list<float> a, std::initializer_list<float> b) {
    return agree(HostArray::of<float>(a), HostArray::of<float>(b));
  };
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(same({1, -2, inf, nan, 0}, {1, -2, inf, nan, 0}));
  EXPECT_TRUE(same({1}, {1 + 7e-6f}));
  EXPECT_FALSE(same({1}, {1 + 9e-6f}));
  EXPECT_FALSE(same({-1}, {1}));
  EXPECT_TRUE(same({1000, 1e-4f}, {1000, 4e-4f})) << "what is left where large terms cancel";
  EXPECT_FALSE(same({1000, 0}, {1000, 6e-4f}));
  EXPECT_FALSE(same({inf}, {-inf}));
  EXPECT_FALSE(same({inf}, {1}));
  EXPECT_FALSE(same({1}, {inf}));
  EXPECT_FALSE(same({inf, 1}, {inf, 2})) << "infinity is no measure of what is near";
  EXPECT_FALSE(same({nan}, {1}));
  EXPECT_FALSE(same({1}, {nan}));
  EXPECT_FALSE(same({nan}, {inf}));
  EXPECT_FALSE(same({1}, {1, 1}));
  EXPECT_TRUE(same({}, {}));
  EXPECT_TRUE(agree(HostArray::of<int32_t>({3}), HostArray::of<int32_t>({3})));
  EXPECT_FALSE(agree(HostArray::of<int32_t>({1 << 30}), HostArray::of<int32_t>({(1 << 30) + 1})));
  EXPECT_FALSE(agree(HostArray::of<int32_t>({3}), HostArray::of<float>({3})));
  EXPECT_TRUE(agree(HostArray::of<double>({1}), HostArray::of<double>({1 + 1e-14})));
  EXPECT_FALSE(agree(HostArray::of<double>({1}), HostArray::of<double>({1 + 3e-14})));
}

TEST(MayRun, WhatLoopsLongerThanTheDeviceAllowsIsNot) {
  Target t;
  t.price.submission = 1e6;
  t.price.iteration = 100;
  ASSERT_EQ(loop_limit(t), 10'000u);
  EXPECT_TRUE(tuning::may_run(10'000, 1, t));
  EXPECT_FALSE(tuning::may_run(10'001, 1, t)) << "longer than a submission should take";
  t.max_loop_iterations = 5000;
  EXPECT_TRUE(tuning::may_run(5000, 1, t));
  EXPECT_FALSE(tuning::may_run(5001, 1, t)) << "the device ends loops early";
  EXPECT_TRUE(tuning::may_run(7000, 7000, t)) << "as long as what runs already";
  EXPECT_FALSE(tuning::may_run(7001, 7000, t));
}

TEST(Compared, FasterIsClearlyAndNotByChance) {
  const std::vector<double> before = {10, 11, 10, 12, 10, 10, 30, 10, 11, 10, 12, 10, 10, 30, 10};
  // So much faster, but for the last rounds.
  const auto faster = [&](double factor, size_t slower = 0) {
    std::vector<double> after;
    for (size_t j = 0; j < before.size(); ++j) after.push_back((j + slower < before.size() ? factor : 3) * before[j]);
    return compared(before, after).faster;
  };
  EXPECT_FALSE(faster(1));
  EXPECT_FALSE(faster(0.96));
  EXPECT_TRUE(faster(0.94));
  EXPECT_FALSE(faster(1.1));
  EXPECT_TRUE(faster(0.5, 2)) << "13 of 15";
  EXPECT_FALSE(faster(0.5, 3)) << "12 of 15";
  std::vector<double> many(60, 2), most(60, 1), some(60, 1);
  for (size_t j = 0; j < 20; ++j) most[j] = 5;
  for (size_t j = 0; j < 21; ++j) some[j] = 5;
  EXPECT_TRUE(compared(many, most).faster) << "40 of 60";
  EXPECT_FALSE(compared(many, some).faster) << "39 of 60";
  EXPECT_FALSE(compared(std::vector<double>{2}, std::vector<double>{1}).faster) << "one round says nothing";
  const tuning::Comparison c = compared(std::vector<double>{1, 4, 2}, std::vector<double>{4, 2, 3});
  EXPECT_EQ(c.before, 2);
  EXPECT_EQ(c.ratio, 1.5) << "of 4, 0.5 and 1.5; that of the medians would be another machine's, if it slows down";
  EXPECT_FALSE(c.faster);
}

std::vector<uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }

TEST(ChoicesFile, GivesBackWhatWasWritten) {
  const Choices some = {{"scan f32 length 7", "k = grid 1 serial 7"}, {"map [3]", "i = grid 3"}};
  EXPECT_EQ(vk::decode_choices(vk::encode_choices(some)), some);
  EXPECT_EQ(vk::decode_choices(vk::encode_choices({})), Choices{});
  EXPECT_EQ(vk::decode_choices(vk::encode_choices({{"two\nlines", "x"}, {"", "x"}, {"x", ""}})), Choices{});
}

TEST(ChoicesFile, WhatIsNotWhollyUnderstoodIsNothing) {
  const std::string title = "spirograd schedules 1\n";
  ASSERT_TRUE(vk::decode_choices(bytes(title + "a\nb\n")));
  for (const std::string& text : {std::string(), title.substr(0, 9), "spirograd schedules 2\n" + std::string("a\nb\n"),
                                  title + "a\n", title + "a\nb", title + "\nb\n", title + "a\n\n", title + "a\nb\na\nc\n"})
    EXPECT_FALSE(vk::decode_choices(bytes(text))) << text;
}

TEST(ChoicesFile, NewOnesCountAndTheFileStaysSmall) {
  EXPECT_EQ(vk::joined({{"a", "1"}, {"b", "1"}}, {{"b", "2"}, {"c", "2"}}), (Choices{{"a", "1"}, {"b", "2"}, {"c", "2"}}));
  Choices many;
  for (int j = 0; j < 10'000; ++j) many.emplace(std::to_string(j), "x");
  EXPECT_EQ(vk::joined(many, {}).size(), 10'000u);
  EXPECT_EQ(vk::joined(many, {{"new", "y"}}), (Choices{{"new", "y"}}));
}

}  // namespace tune_compare_test
}  // namespace spirograd
