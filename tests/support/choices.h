// Choices of the random-program generator that concern plain data: numbers, dtypes, extents, element values.
#pragma once

#include <array>

#include "support/random_program.h"

namespace spirograd::test {

/// Reads the decisions one after the other. Each function gives its simplest answer for decision 0.
class Choices {
 public:
  explicit Choices(const Decisions& decisions) : decisions_(decisions) {}

  /// In [0, n); takes no decision if there is no choice.
  int below(int n);
  bool chance(int percent);
  template <class T, size_t N>
  T one_of(const std::array<T, N>& table) {
    return table[static_cast<size_t>(below(static_cast<int>(N)))];
  }
  DType some_dtype();
  int64_t some_extent();
  Shape some_shape(int max_rank);
  /// An element of that dtype: small ones mostly, but the greatest and least integers, too.
  double some_value(DType t);
  /// Elements of an input. From a table, so that shrinking does not blank them; one decision turns the table.
  std::vector<double> input_values(const Type& t, size_t slot, bool hostile);

 private:
  const Decisions& decisions_;
  size_t next_ = 0;
};

}  // namespace spirograd::test
