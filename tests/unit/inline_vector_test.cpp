#include "frontend/base/inline_vector.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace inline_vector_test {
namespace {

using List = spirograd::InlineVector<int, 3>;

List of(int n) {
  List l;
  for (int j = 0; j < n; ++j) l.push_back(j);
  return l;
}

std::vector<int> elements(const List& l) { return l; }

// Lengths about the three that lie in the owner, and those that ask for more memory once and twice.
class OfLength : public testing::TestWithParam<int> {
 protected:
  const int n_ = GetParam();
  const List list_ = of(n_);
};

TEST_P(OfLength, HoldsWhatWasPutIn) {
  ASSERT_EQ(list_.size(), static_cast<size_t>(n_));
  EXPECT_EQ(list_.empty(), n_ == 0);
  for (int j = 0; j < n_; ++j) EXPECT_EQ(list_[static_cast<size_t>(j)], j);
  if (n_ > 0) {
    EXPECT_EQ(list_.back(), n_ - 1);
  }
  EXPECT_EQ(elements(list_), std::vector<int>(list_.begin(), list_.end()));
  EXPECT_EQ(std::vector<int>(list_.rbegin(), list_.rend()).size(), list_.size());
}

TEST_P(OfLength, CopiesShareNothing) {
  List copy = list_;
  copy.push_back(7);
  EXPECT_EQ(list_, of(n_));
  EXPECT_FALSE(copy == list_);
  for (int other = 0; other < 10; ++other) {
    List assigned = of(other);
    assigned = list_;
    EXPECT_EQ(assigned, list_) << other;
    const List& self = assigned;
    assigned = self;
    EXPECT_EQ(assigned, list_) << other;
  }
}

TEST_P(OfLength, MovingLeavesNothingBehind) {
  for (int other = 0; other < 10; ++other) {
    List from = list_, to = of(other);
    to = std::move(from);
    EXPECT_EQ(to, list_) << other;
    EXPECT_TRUE(from.empty()) << other;  // NOLINT: what is left is told
    from.push_back(1);
    EXPECT_EQ(to, list_) << other;
    EXPECT_EQ(List(std::move(to)), list_) << other;
  }
}

TEST_P(OfLength, EqualMeansElementByElement) {
  EXPECT_EQ(List(elements(list_)), list_);
  for (size_t j = 0; j < list_.size(); ++j) {
    List other = list_;
    other[j] = -1;
    EXPECT_FALSE(other == list_) << j;
  }
}

INSTANTIATE_TEST_SUITE_P(InlineVector, OfLength, testing::Values(0, 1, 2, 3, 4, 6, 7, 13),
                         [](const auto& length) { return std::to_string(length.param); });

}  // namespace
}  // namespace inline_vector_test
