// Text for people: tables with aligned columns, numbers of few digits, what a terminal can show.
#pragma once

#include <string>
#include <vector>

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

/// "a, b, c", or "none".
std::string listed(const std::vector<std::string>& names);

/// `digits` significant digits, for norms and errors.
std::string short_number(double x, int digits = 4);
/// In milliseconds: "1.25 ms".
std::string ms(double seconds);

}  // namespace spirograd::io
