// What the lists of neighbours have in common: candidates are gathered freely, and those that are legal and new are kept.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"

namespace spirograd::schedule {

template <class Facts, class Schedule>
class NeighbourList {
 public:
  NeighbourList(const Facts& facts, const Schedule& given, const Target& target)
      : facts_(facts), given_(given), target_(target) {}
  void add(Schedule s) {
    if (s == given_ || check(facts_, s, target_) || std::find(list_.begin(), list_.end(), s) != list_.end()) return;
    list_.push_back(std::move(s));
  }
  std::vector<Schedule> list() && { return std::move(list_); }

 private:
  const Facts& facts_;
  const Schedule& given_;
  const Target& target_;
  std::vector<Schedule> list_;
};

/// The extent doubled and, where it is even, halved.
inline std::vector<int64_t> doubled_and_halved(int64_t extent) {
  std::vector<int64_t> out = {2 * extent};
  if (extent % 2 == 0) out.push_back(extent / 2);
  return out;
}

/// The axis of n elements with the first part as long as the others demand; parts of one element, where that says nothing
/// but how they are written out, are gone.
inline Split fitted(Split axis, int64_t n) {
  axis[0].extent = 1;
  axis[0].extent = divided_up(n, extent(axis));
  for (size_t j = axis.size(); j-- > 1;)
    if (axis[j].extent == 1 && axis[j].bind != Bind::Lane && axis[j].bind != Bind::Local)
      axis.erase(axis.begin() + static_cast<ptrdiff_t>(j));
  return axis;
}

/// The axis with each part behind the first one doubled and halved.
inline std::vector<Split> with_other_factors(const Split& axis, int64_t n) {
  std::vector<Split> out;
  for (size_t j = 1; j < axis.size(); ++j)
    for (const int64_t e : doubled_and_halved(axis[j].extent)) {
      Split s = axis;
      s[j].extent = e;
      out.push_back(fitted(std::move(s), n));
    }
  return out;
}

/// The axis with a factor of two moved between two parts behind the first one, which are next to each other.
inline std::vector<Split> with_moved_factors(const Split& axis, int64_t n) {
  std::vector<Split> out;
  for (size_t j = 2; j < axis.size(); ++j)
    for (const auto& [from, to] : {std::pair{j - 1, j}, {j, j - 1}}) {
      if (axis[from].extent % 2 != 0) continue;
      Split s = axis;
      s[from].extent /= 2;
      s[to].extent *= 2;
      out.push_back(fitted(std::move(s), n));
    }
  return out;
}

}  // namespace spirograd::schedule
