#include "tools/io/table.h"

#include <algorithm>
#include <cstdio>

#include "frontend/base/characters.h"

namespace spirograd::io {
namespace {

// Bytes that begin a character in UTF-8.
size_t width_of(const std::string& s) {
  return static_cast<size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

}  // namespace

Table::Table(std::vector<std::string> titles) {
  for (std::string& t : titles) {
    right_.push_back(t.starts_with('>'));
    if (right_.back()) t.erase(0, 1);
  }
  rows_.push_back(std::move(titles));
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(right_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::str() const {
  std::vector<size_t> widths(right_.size());
  for (const auto& row : rows_)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - width_of(row[c]), ' ');
      line += (c ? "  " : "") + (right_[c] ? pad + row[c] : row[c] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    if (&row != &rows_[0] || !line.empty()) out += line + "\n";
  }
  return out;
}

std::string printable(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t n = graphic_bytes(text, at);
    if (n > 0 || text[at] == '\n' || text[at] == '\t') {
      out += text.substr(at, std::max<size_t>(n, 1));
      at += std::max<size_t>(n, 1);
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<uint8_t>(text[at++]));
    out += escaped;
  }
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
  return out.empty() ? "none" : out;
}

std::string short_number(double x, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, x);
  return buffer;
}

std::string ms(double seconds) { return short_number(seconds * 1e3, 3) + " ms"; }

}  // namespace spirograd::io
