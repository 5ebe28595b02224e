// Static shapes and array types. Axis 0 is the outermost; storage is row-major.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "spirograd/dtype.h"

namespace spirograd {

/// Arrays of the user have rank 0 to 6. Intermediate values may need more axes: the product inside a batched
/// convolution has seven, and each enclosing build adds one.
inline constexpr int kMaxUserRank = 6;
inline constexpr int kMaxRank = 12;

/// A list of at most kMaxRank extents, each 0 or more. Plain value; compares elementwise.
class Shape {
 public:
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<int64_t> dims) {
    for (int64_t d : dims) push_back(d);
  }
  constexpr explicit Shape(std::span<const int64_t> dims) {
    for (int64_t d : dims) push_back(d);
  }

  constexpr int rank() const { return rank_; }
  constexpr int64_t operator[](int axis) const { return dim_[static_cast<size_t>(axis)]; }
  constexpr int64_t& operator[](int axis) { return dim_[static_cast<size_t>(axis)]; }
  constexpr const int64_t* begin() const { return dim_.data(); }
  constexpr const int64_t* end() const { return dim_.data() + rank_; }
  constexpr std::span<const int64_t> dims() const { return {dim_.data(), static_cast<size_t>(rank_)}; }

  /// Pre: rank() < kMaxRank. Callers that build shapes from user input check the rank first.
  constexpr void push_back(int64_t d) { dim_[static_cast<size_t>(rank_++)] = d; }

  /// Number of elements; 1 for rank 0.
  constexpr int64_t count() const {
    int64_t n = 1;
    for (int64_t d : *this) n *= d;
    return n;
  }
  /// Axes [from, to) as a shape of their own.
  constexpr Shape slice(int from, int to) const {
    Shape s;
    for (int a = from; a < to; ++a) s.push_back((*this)[a]);
    return s;
  }
  constexpr Shape inserted(int axis, int64_t d) const {
    Shape s = slice(0, axis);
    s.push_back(d);
    for (int a = axis; a < rank_; ++a) s.push_back((*this)[a]);
    return s;
  }
  constexpr Shape erased(int axis) const {
    Shape s = slice(0, axis);
    for (int a = axis + 1; a < rank_; ++a) s.push_back((*this)[a]);
    return s;
  }
  constexpr Shape operator+(const Shape& tail) const {
    Shape s = *this;
    for (int64_t d : tail) s.push_back(d);
    return s;
  }
  /// Distance in elements between neighbours along `axis` in row-major storage.
  constexpr int64_t stride(int axis) const {
    int64_t n = 1;
    for (int a = axis + 1; a < rank_; ++a) n *= (*this)[a];
    return n;
  }

  constexpr bool operator==(const Shape& o) const {
    if (rank_ != o.rank_) return false;
    for (int a = 0; a < rank_; ++a)
      if ((*this)[a] != o[a]) return false;
    return true;
  }

 private:
  int rank_ = 0;
  std::array<int64_t, kMaxRank> dim_{};
};

/// Type of an array: element type and shape. Prints as `f32[3,4]`; scalars print as `f32`.
struct Type {
  DType dtype = DType::F32;
  Shape shape;
  constexpr bool operator==(const Type&) const = default;
};

/// Bytes of an array on devices.
inline uint64_t device_bytes(const Type& t) { return static_cast<uint64_t>(t.shape.count()) * device_bytes(t.dtype); }

std::string to_string(const Shape&);  // "[3,4]", "[]"
std::string to_string(const Type&);   // "f32[3,4]", "f32"

constexpr Type f32(Shape s = {}) { return {DType::F32, s}; }
constexpr Type f64(Shape s = {}) { return {DType::F64, s}; }
/// Of an array where it is computed with, as its tangents and cotangents are: those of f16 are f32, so that small ones
/// survive.
constexpr Type computed_as(const Type& t) { return {computed_as(t.dtype), t.shape}; }

constexpr Type f16(Shape s = {}) { return {DType::F16, s}; }
constexpr Type i32(Shape s = {}) { return {DType::I32, s}; }
constexpr Type u32(Shape s = {}) { return {DType::U32, s}; }
constexpr Type boolean(Shape s = {}) { return {DType::Bool, s}; }

}  // namespace spirograd
