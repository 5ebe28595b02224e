#include "tools/io/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "frontend/base/characters.h"

namespace spirograd::io {
namespace {

// Bytes that begin a character in UTF-8.
size_t width_of(const std::string& s) {
  return static_cast<size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

template <class T>
std::string shortest(T x) {
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr};
}

class ArrayPrinter {
 public:
  ArrayPrinter(const HostArray& a, int64_t limit)
      : type_(a.type), shorten_(printed_places(a.type.shape) > static_cast<double>(limit)), values_(a.values()) {
    each(0, 0, [&](int64_t j) { width_ = std::max(width_, text(j).size()); });
  }
  std::string str() {
    axis(0, 0);
    return out_;
  }

 private:
  static constexpr int64_t kEdge = 3;
  std::string text(int64_t j) const { return number_text(values_[static_cast<size_t>(j)], type_.dtype); }
  // Of empty arrays the brackets count: [100000000, 0] has as many rows.
  static double printed_places(const Shape& shape) {
    double n = 1;
    for (const int64_t d : shape) n *= static_cast<double>(std::max<int64_t>(d, 1));
    return n;
  }
  bool hides(int64_t extent) const { return shorten_ && extent > 2 * kEdge + 1; }

  // Calls f with the positions of all shown elements.
  template <class F>
  void each(int axis, int64_t base, F&& f) const {
    if (axis == type_.shape.rank()) return f(base);
    const int64_t n = type_.shape[axis], stride = type_.shape.stride(axis);
    for (int64_t i = 0; i < n; ++i) {
      if (hides(n) && i == kEdge) i = n - kEdge;
      each(axis + 1, base + i * stride, f);
    }
  }
  void axis(int a, int64_t base) {
    const Shape& shape = type_.shape;
    if (a == shape.rank()) {
      const std::string s = text(base);
      out_ += (shape.rank() ? std::string(width_ - s.size(), ' ') : "") + s;
      return;
    }
    const int64_t n = shape[a], stride = shape.stride(a);
    const bool last = a + 1 == shape.rank();
    // Rows stand on lines of their own, with one empty line more per further axis, as in NumPy.
    const std::string gap =
        last ? " "
             : std::string(static_cast<size_t>(shape.rank() - a - 1), '\n') + std::string(static_cast<size_t>(a) + 1, ' ');
    out_ += '[';
    for (int64_t i = 0; i < n; ++i) {
      if (i) out_ += gap;
      if (hides(n) && i == kEdge) {
        out_ += "..." + gap;
        i = n - kEdge;
      }
      axis(a + 1, base + i * stride);
    }
    out_ += ']';
  }

  Type type_;
  bool shorten_;
  std::vector<double> values_;
  size_t width_ = 0;
  std::string out_;
};

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

std::string number_text(double x, DType t) {
  switch (t) {
    case DType::Bool: return x != 0 ? "true" : "false";
    case DType::I32:
    case DType::U32: return std::to_string(static_cast<int64_t>(x));
    case DType::F32: return std::isnan(x) ? "nan" : shortest(static_cast<float>(x));
    case DType::F64: return std::isnan(x) ? "nan" : shortest(x);
  }
  return "?";
}

std::string short_number(double x, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, x);
  return buffer;
}

std::string ms(double seconds) { return short_number(seconds * 1e3, 3) + " ms"; }

std::string array_text(const HostArray& a, int64_t limit) { return ArrayPrinter(a, limit).str(); }

}  // namespace spirograd::io
