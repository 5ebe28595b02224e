#include "frontend/ir/arguments.h"

#include <algorithm>

namespace spirograd::ir {
namespace {

Error bad(std::string_view what, const std::string& why) { return Error("SG0101", std::string(what) + ": " + why); }

}  // namespace

int normal_axis(std::string_view what, int64_t axis, const Type& type, int rank) {
  const int64_t from_front = axis < 0 ? axis + rank : axis;
  if (from_front < 0 || from_front >= rank)
    throw bad(what, "axis " + std::to_string(axis) + " does not exist for " + to_string(type) + ", which has " +
                        std::to_string(type.shape.rank()) + (type.shape.rank() == 1 ? " axis" : " axes"));
  return static_cast<int>(from_front);
}

std::vector<int64_t> normal_axes(std::string_view what, std::span<const int64_t> axes, const Type& type) {
  std::vector<int64_t> out;
  for (int64_t axis : axes) out.push_back(normal_axis(what, axis, type));
  std::sort(out.begin(), out.end());
  for (size_t j = 1; j < out.size(); ++j)
    if (out[j] == out[j - 1]) throw bad(what, "axis " + std::to_string(out[j]) + " of " + to_string(type) + " stands twice");
  return out;
}

Shape completed_shape(std::span<const int64_t> wanted, const Type& from) {
  if (wanted.size() > static_cast<size_t>(kMaxRank))
    throw bad("reshape", "rank " + std::to_string(wanted.size()) + " is above the limit of " + std::to_string(kMaxRank));
  Shape s(wanted);
  const auto open = std::count(s.begin(), s.end(), -1);
  if (open == 0) return s;
  if (open > 1) throw bad("reshape", "only one extent of " + to_string(s) + " may be -1");
  int hole = 0;
  int64_t known = 1;
  for (int j = 0; j < s.rank(); ++j) {
    if (s[j] == -1)
      hole = j;
    else
      known *= s[j];
  }
  if (known <= 0 || from.shape.count() % known != 0)
    throw bad("reshape", "no extent makes " + to_string(s) + " out of " + to_string(from));
  s[hole] = from.shape.count() / known;
  return s;
}

int64_t common_length(std::string_view what, std::span<const Type> elements) {
  if (elements.empty())
    throw bad(what, "no elements say how many steps there are").hint("fori counts without an array to run over");
  for (const Type& t : elements)
    if (t.shape.rank() == 0) throw bad(what, "elements are the rows of an array, but got one " + to_string(t));
  for (const Type& t : elements)
    if (t.shape[0] != elements[0].shape[0])
      throw bad(what, "elements " + to_string(elements[0]) + " and " + to_string(t) + " have different numbers of rows");
  return elements[0].shape[0];
}

void check_steps(std::string_view what, int64_t steps) {
  if (steps < 0) throw bad(what, "negative number of steps " + std::to_string(steps));
}

Error state_changes(std::string_view what, const std::string& state, const std::string& returned) {
  return bad(what, "the state is " + state + ", the step returns " + returned);
}

}  // namespace spirograd::ir
