// Text for people: tables with aligned columns, and arrays as NumPy prints them.
#pragma once

#include <string>
#include <vector>

#include "spirograd/host_array.h"

namespace spirograd::io {

class Table {
 public:
  /// Columns whose title begins with '>' are aligned to the right (the '>' is not shown).
  explicit Table(std::vector<std::string> titles);
  void add(std::vector<std::string> cells);
  /// Two spaces between columns, no space at the ends of lines. The line of titles is left out if all are empty.
  std::string str() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

/// Text for a terminal, whoever wrote it: control characters, and bytes that are no UTF-8, become \x1b. Line ends and tabs
/// stay.
std::string printable(const std::string& text);

/// The shortest digits that read back as the same number of that type: "0.1", "3", "-inf", "nan", "true".
std::string number_text(double x, DType t);
/// `digits` significant digits, for norms and errors.
std::string short_number(double x, int digits = 4);
/// In milliseconds: "1.25 ms".
std::string ms(double seconds);

/// A scalar as its number, arrays in nested brackets, row by row; of more than `limit` elements only the first and last
/// three of each axis.
std::string array_text(const HostArray& a, int64_t limit = 1000);

}  // namespace spirograd::io
