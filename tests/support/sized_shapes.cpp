// Shapes of each size class. Byte 0 gives the least.
#include "support/sized_shapes.h"

#include <algorithm>

namespace spirograd::test {
namespace {

int64_t prime(Choices& c) { return c.one_of(std::array<int64_t, 12>{2, 31, 37, 61, 67, 97, 127, 131, 199, 257, 283, 293}); }
int64_t long_extent(Choices& c) {
  return c.one_of(std::array<int64_t, 9>{2, 65536, 65537, 65600, 70000, 99991, 100003, 131071, 131073});
}
// Beside 2, 4, .. 65,536: what lowering unrolls, sums in blocks, splits and deals out to workgroups is measured in these.
int64_t threshold(Choices& c) {
  const int64_t power = int64_t{1} << (1 + c.below(16));
  return power + c.below(3) - 1;
}

}  // namespace

int64_t some_small_axis(Choices& c) { return c.one_of(std::array<int64_t, 8>{1, 2, 3, 5, 7, 4, 11, 13}); }

int64_t some_sized_extent(SizeClass size, Choices& c) {
  switch (size) {
    case SizeClass::Long: return c.below(4) == 3 ? long_extent(c) : some_small_axis(c);
    case SizeClass::Primes:
    case SizeClass::Nested:
    case SizeClass::Indexed: return prime(c);
    case SizeClass::Thresholds: return threshold(c);
    case SizeClass::Small: return c.below(3) == 2 ? 0 : 1;
    case SizeClass::Axes:
    case SizeClass::Wide:
    case SizeClass::Loops: return some_small_axis(c);
    case SizeClass::Integers:
    case SizeClass::Extremes: return c.one_of(std::array<int64_t, 8>{1, 2, 5, 33, 64, 129, 257, 1000});
  }
  return 2;
}

Shape first_shape(SizeClass size, Choices& c) {
  Shape s;
  const auto add = [&](int64_t n) {
    if (s.count() * n <= most_elements(size)) s.push_back(n);
  };
  switch (size) {
    case SizeClass::Long: {
      if (c.below(4) == 1) add(2 + c.below(2));
      add(long_extent(c));
      if (c.below(4) == 1) add(some_small_axis(c));
      break;
    }
    case SizeClass::Primes:
    case SizeClass::Nested:
      for (int rank = 1 + c.below(3); rank > 0; --rank) add(prime(c));
      if (size == SizeClass::Nested) add(some_small_axis(c));
      break;
    case SizeClass::Thresholds: {
      const int where = c.below(4);
      if (where == 1) add(some_small_axis(c));
      add(threshold(c));
      if (where == 2) add(some_small_axis(c));
      if (where == 3) add(threshold(c));
      break;
    }
    case SizeClass::Small:
      for (int rank = c.below(5); rank > 0; --rank) add(c.one_of(std::array<int64_t, 4>{1, 0, 1, 2}));
      break;
    case SizeClass::Axes:
      for (int rank = 3 + c.below(4); rank > 0; --rank) add(c.one_of(std::array<int64_t, 8>{2, 3, 5, 7, 4, 11, 13, 1}));
      break;
    case SizeClass::Wide: {  // rows of every sort, with a short axis somewhere in half of them
      const int where = c.below(6);
      const int64_t row = c.one_of(std::array<int64_t, 16>{2, 3, 4, 7, 8, 9, 10, 16, 20, 25, 50, 64, 100, 256, 1001, 3000});
      const int64_t small = where < 3 ? 2 + c.below(8) : 1;
      const int64_t elements = c.below(16) == 0 ? 8 : 560'000;
      if (where == 0) add(small);
      add(std::max<int64_t>(1, elements / (row * small)) + c.below(8));
      if (where == 1) add(small);
      add(row);
      if (where == 2) add(small);
      break;
    }
    case SizeClass::Loops:
      add(c.one_of(std::array<int64_t, 12>{2, 1, 3, 31, 32, 33, 100, 1000, 4096, 65535, 65537, 100000}));
      if (c.below(3) == 2) add(some_small_axis(c));
      break;
    case SizeClass::Integers:
    case SizeClass::Extremes:
    case SizeClass::Indexed:
      for (int rank = 1 + c.below(2); rank > 0; --rank) add(some_sized_extent(size, c));
      break;
  }
  return s;
}

}  // namespace spirograd::test
