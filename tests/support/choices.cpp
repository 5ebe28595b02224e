// What the tables hold is chosen so that sums stay exact, indices hit and miss, and integers overflow now and then.
#include "support/choices.h"

#include <array>
#include <limits>

namespace spirograd::test {

int Choices::below(int n) {
  if (n <= 1 || next_ >= decisions_.size()) return 0;
  return decisions_[next_++] % n;
}

bool Choices::chance(int percent) { return below(100) >= 100 - percent; }  // 0 means no

DType Choices::some_dtype() {
  constexpr std::array<DType, 10> weights = {DType::F32, DType::F32, DType::F32, DType::F32,  DType::F32,
                                             DType::F32, DType::I32, DType::I32, DType::Bool, DType::U32};
  return weights[static_cast<size_t>(below(10))];
}

int64_t Choices::some_extent() {
  constexpr std::array<int64_t, 20> weights = {2, 3, 1, 4, 2, 3, 0, 3, 2, 4, 1, 3, 2, 3, 4, 2, 1, 2, 3, 4};
  return weights[static_cast<size_t>(below(20))];
}

Shape Choices::some_shape(int max_rank) {
  Shape s;
  for (int rank = below(max_rank + 1); rank > 0; --rank) s.push_back(some_extent());
  return s;
}

double Choices::some_value(DType t) {
  constexpr std::array<double, 12> floats = {1, 0.5, -0.75, 2, 0, -1.5, 0.25, 1.25, -2, 0.125, -0.375, 1.75};
  constexpr std::array<double, 12> integers = {1, 2, 0, -1, 3, 4, -2, 5, 7, -3, 2147483647.0, -2147483648.0};
  const auto pick = static_cast<size_t>(below(12));
  switch (t) {
    case DType::Bool: return pick % 2 == 0 ? 1 : 0;
    case DType::I32: return integers[pick];
    case DType::U32: return integers[pick] >= 0 ? integers[pick] : 4294967296.0 + integers[pick];
    case DType::F16:
    case DType::F32:
    case DType::F64: return floats[pick];
  }
  return 0;
}

std::vector<double> Choices::input_values(const Type& t, size_t slot, bool hostile) {
  constexpr std::array<double, 19> floats = {0.5,    -1.25, 2,     0.75,   -0.5,  1.5,    -2, 0.125,  0,   1.875,
                                             -0.625, 1,     -1.75, 0.3125, -0.25, 1.0625, -1, 0.4375, -1.5};
  constexpr std::array<double, 13> integers = {1, 0, 2, -1, 3, 4, 2, 0, -2, 5, 1, 100, -7};
  constexpr std::array<double, 4> wild = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                                          -std::numeric_limits<double>::infinity(), -0.0};
  const auto turn = static_cast<size_t>(below(256)) + slot * 7;
  hostile = hostile && chance(40);
  std::vector<double> out;
  for (size_t i = 0; i < static_cast<size_t>(t.shape.count()); ++i) {
    const size_t at = turn + i * 5;
    if (is_float(t.dtype))
      out.push_back(hostile && at % 6 == 0 ? wild[at / 6 % 4] : floats[at % 19]);
    else if (t.dtype == DType::I32)
      out.push_back(hostile && at % 9 == 0 ? 2147483647.0 : integers[at % 13]);
    else if (t.dtype == DType::U32)
      out.push_back(integers[at % 13] < 0 ? 4294967296.0 + integers[at % 13] : integers[at % 13]);
    else
      out.push_back(at % 3 == 0 ? 1 : 0);
  }
  return out;
}

}  // namespace spirograd::test
