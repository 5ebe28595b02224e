// Extents and shapes of the size classes, for the generator of programs by size class.
#pragma once

#include "support/choices.h"
#include "support/sized_program.h"

namespace spirograd::test {

inline constexpr int64_t kMostElements = 220'000;  // of an array that a program makes

int64_t some_small_axis(Choices&);
int64_t some_sized_extent(SizeClass, Choices&);
/// Of the first parameter.
Shape first_shape(SizeClass, Choices&);

}  // namespace spirograd::test
