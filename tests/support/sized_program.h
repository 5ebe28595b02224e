// Random programs by size class: what small arrays of ordinary values do not show. A program is a function of its class and
// of a list of decisions in frames of equal length, the first of which chooses the shape and each other one a step; so a
// failing program shrinks by deleting frames (steps) and lowering bytes (sizes). Byte 0 is always the simplest choice: no
// step, the least size.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "support/random_program.h"

namespace spirograd::test {

enum class SizeClass : uint8_t { Long, Primes, Thresholds, Small, Axes, Integers, Extremes, Loops, Nested, Indexed, Wide };

struct SizeClassInfo {
  SizeClass size_class;
  std::string_view name, what;
};
inline constexpr std::array<SizeClassInfo, 11> kSizeClasses = {{
    {SizeClass::Long, "long", "arrays and reductions of more than 65,536 elements"},
    {SizeClass::Primes, "primes", "extents that nothing divides, 31 to 293"},
    {SizeClass::Thresholds, "thresholds", "lengths beside powers of two, 3 to 65,537"},
    {SizeClass::Small, "small", "no element, one element"},
    {SizeClass::Axes, "axes", "ranks 3 to 6, several reduced axes, permutations"},
    {SizeClass::Integers, "integers", "the greatest and least integers, quotients and remainders by anything"},
    {SizeClass::Extremes, "extremes", "maxima and their places with NaN, infinities and ties"},
    {SizeClass::Loops, "loops", "up to 100,000 steps"},
    {SizeClass::Nested, "nested", "reductions of reductions"},
    {SizeClass::Indexed, "indexed", "gathers through computed indices, scatters with duplicates"},
    {SizeClass::Wide, "wide", "half a million elements and more in rows of 2 to 3,000"},
}};

/// Elements of inputs are a function of this, of their type and of the number of the parameter, so that a program that is
/// kept needs no data.
struct Recipe {
  enum class Kind : uint8_t { Ordinary, Integers, Extremes } kind = Kind::Ordinary;
  int turn = 0;
  bool operator==(const Recipe&) const = default;
};
std::string to_string(const Recipe&);               // "ordinary 17"
Recipe recipe_of(std::string_view kind, int turn);  // throws Error SG0900 for a kind that there is not
std::vector<double> recipe_values(const Recipe&, const Type&, size_t slot);

struct SizedProgram {
  Program program;
  Recipe recipe;
  bool smooth = true;  // differentiable everywhere, as far as it depends on floats
  std::vector<std::vector<double>> inputs() const;
};

/// Decisions for a program of a few steps.
Decisions sized_decisions(uint64_t seed);
SizedProgram sized_program(SizeClass, const Decisions&);

}  // namespace spirograd::test
