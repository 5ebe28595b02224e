// Numbers in text, the same in every locale. std::from_chars does it, but libc++ has it for floats from version 20 on only.
#pragma once

#include <cstddef>
#include <string_view>

namespace spirograd {

struct ParsedNumber {
  size_t length = 0;  // characters at the beginning that are the number; 0: it begins with none
  bool out_of_range = false;
  double value = 0;  // the nearest; infinite or 0, of its sign, out of range
};

/// The longest number that the text begins with, in the form of std::from_chars: 3, -.5, 1e-3, inf, nan, but not +1.
ParsedNumber parse_number(std::string_view text);

/// The same without std::from_chars; tests compare both.
ParsedNumber parse_number_by_stream(std::string_view text);

}  // namespace spirograd
