// A bundle as numbers in a row, little-endian: a header, then a payload of strings and lists, each behind its length.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "spirv/executable/bundle_fields.h"

namespace spirograd {

class BundleWriter {
 public:
  template <class T>
  void put(const T& x) {
    if constexpr (std::is_same_v<T, double>) {
      put(std::bit_cast<uint64_t>(x));
    } else if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>) {
      bytes.push_back(static_cast<uint8_t>(x));
    } else if constexpr (std::is_integral_v<T>) {
      for (size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<uint8_t>(static_cast<uint64_t>(x) >> (8 * i)));
    } else if constexpr (std::is_same_v<T, Type>) {
      put(x.dtype);
      put(static_cast<uint8_t>(x.shape.rank()));
      for (int64_t d : x.shape) put(d);
    } else {
      std::apply([&](const auto&... field) { (put(field), ...); }, fields_of(x));
    }
  }
  void put(const std::string& x) {
    put(uint64_t{x.size()});
    bytes.insert(bytes.end(), x.begin(), x.end());
  }
  void put(const std::vector<uint8_t>& x) {
    put(uint64_t{x.size()});
    bytes.insert(bytes.end(), x.begin(), x.end());
  }
  template <class T>
  void put(const std::vector<T>& x) {
    put(uint64_t{x.size()});
    for (const T& element : x) put(element);
  }

  std::vector<uint8_t> bytes;
};

/// Takes in the same order what was put. Once something is not there, or is out of range, everything after it is 0 and `ok`
/// is false; no list is longer than the bytes that are left.
class BundleReader {
 public:
  explicit BundleReader(std::span<const uint8_t> bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

  template <class T>
  void take(T& x) {
    if constexpr (std::is_same_v<T, double>) {
      x = std::bit_cast<double>(number(8));
    } else if constexpr (std::is_same_v<T, bool>) {
      x = ranged(1) != 0;
    } else if constexpr (std::is_enum_v<T>) {
      x = static_cast<T>(ranged(static_cast<uint64_t>(last_of<T>)));
    } else if constexpr (std::is_integral_v<T>) {
      x = static_cast<T>(number(sizeof(T)));
    } else if constexpr (std::is_same_v<T, Type>) {
      take_type(x);
    } else {
      std::apply([&](auto&... field) { (take(field), ...); }, fields_of(x));
    }
  }
  void take(std::string& x) {
    const std::span<const uint8_t> part = first(number(8));
    x.assign(part.begin(), part.end());
  }
  void take(std::vector<uint8_t>& x) {
    const std::span<const uint8_t> part = first(number(8));
    x.assign(part.begin(), part.end());
  }
  template <class T>
  void take(std::vector<T>& x) {
    x.clear();
    for (uint64_t left = number(8); left > 0 && ok_; --left) take(x.emplace_back());
  }

 private:
  std::span<const uint8_t> first(uint64_t n) {
    if (n > rest_.size()) ok_ = false;
    if (!ok_) return {};
    const std::span<const uint8_t> out = rest_.first(static_cast<size_t>(n));
    rest_ = rest_.subspan(static_cast<size_t>(n));
    return out;
  }
  uint64_t number(size_t bytes) {
    uint64_t out = 0;
    size_t i = 0;
    for (uint8_t b : first(bytes)) out |= uint64_t{b} << (8 * i++);
    return out;
  }
  uint64_t ranged(uint64_t greatest) {
    const uint64_t x = number(1);
    if (x > greatest) ok_ = false;
    return ok_ ? x : 0;
  }
  // Extents whose product, and so whose number of bytes, is a number.
  void take_type(Type& x) {
    take(x.dtype);
    const uint64_t rank = ranged(kMaxRank);
    x.shape = {};
    uint64_t count = 1;
    for (uint64_t axis = 0; axis < rank; ++axis) {
      const uint64_t d = number(8);
      if (d > kMostElements / count) ok_ = false;
      count *= ok_ && d > 0 ? d : 1;
      x.shape.push_back(ok_ ? static_cast<int64_t>(d) : 0);
    }
  }

  static constexpr uint64_t kMostElements = uint64_t{1} << 59;
  std::span<const uint8_t> rest_;
  bool ok_ = true;
};

}  // namespace spirograd
