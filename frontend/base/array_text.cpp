#include "spirograd/array_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace spirograd {
namespace {

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

std::string number_text(double x, DType t) {
  switch (t) {
    case DType::Bool: return x != 0 ? "true" : "false";
    case DType::I32:
    case DType::U32: return std::to_string(static_cast<int64_t>(x));
    case DType::F16:
    case DType::F32: return std::isnan(x) ? "nan" : shortest(static_cast<float>(x));
    case DType::F64: return std::isnan(x) ? "nan" : shortest(x);
  }
  return "?";
}

std::string to_string(const HostArray& a, int64_t limit) { return ArrayPrinter(a, limit).str(); }

}  // namespace spirograd
