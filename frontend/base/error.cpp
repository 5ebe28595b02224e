// Text of errors, shapes and types.
#include "spirograd/result.h"
#include "spirograd/shape.h"

namespace spirograd {

std::string to_string(const Shape& s) {
  std::string out = "[";
  for (int a = 0; a < s.rank(); ++a) out += (a ? "," : "") + std::to_string(s[a]);
  return out + "]";
}

std::string to_string(const Type& t) { return std::string(name(t.dtype)) + (t.shape.rank() == 0 ? "" : to_string(t.shape)); }

std::string Loc::str() const {
  if (line == 0) return "somewhere";
  return file + ":" + std::to_string(line) + (column ? ":" + std::to_string(column) : "");
}

std::string Error::str() const {
  std::string out = "error" + (code.empty() ? "" : "[" + code + "]") + ": " + message;
  if (!loc.file.empty() || loc.line > 0) {
    out += "\n  --> " + (loc.line > 0 ? loc.str() : loc.file);
  }
  if (!source_line.empty()) {
    const std::string number = std::to_string(loc.line);
    const std::string margin(number.size() + 1, ' ');
    out += "\n " + margin + "|\n " + number + " | " + source_line + "\n " + margin + "| ";
    if (loc.column > 0) out += std::string(static_cast<size_t>(loc.column - 1), ' ') + "^";
  }
  for (const std::string& n : notes) out += "\n   = note: " + n;
  if (!help.empty()) out += "\n   = help: " + help;
  return out;
}

}  // namespace spirograd
