// Extents and shapes of the size classes, for the generator of programs by size class.
#pragma once

#include "support/choices.h"
#include "support/sized_program.h"

namespace spirograd::test {

/// Elements of an array that a program makes.
constexpr int64_t most_elements(SizeClass c) { return c == SizeClass::Wide ? 1'200'000 : 220'000; }

int64_t some_small_axis(Choices&);
int64_t some_sized_extent(SizeClass, Choices&);
/// Of the first parameter.
Shape first_shape(SizeClass, Choices&);

}  // namespace spirograd::test
