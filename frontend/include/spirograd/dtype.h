// Element types. Bool is one byte in files, one 32-bit word (0 or 1) on the device. F16 is a type of storage: IEEE 754
// halves in memory, computed with as f32; only parameters, results and what is rounded by cast are of it.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

namespace spirograd {

enum class DType : uint8_t { Bool, I32, U32, F32, F64, F16 };

/// All of them, in the order in which messages list them.
inline constexpr DType kDTypes[] = {DType::Bool, DType::I32, DType::U32, DType::F16, DType::F32, DType::F64};

constexpr std::string_view name(DType t) {
  switch (t) {
    case DType::Bool: return "bool";
    case DType::I32: return "i32";
    case DType::U32: return "u32";
    case DType::F32: return "f32";
    case DType::F64: return "f64";
    case DType::F16: return "f16";
  }
  return "?";
}

constexpr bool is_float(DType t) { return t == DType::F16 || t == DType::F32 || t == DType::F64; }
constexpr bool is_integer(DType t) { return t == DType::I32 || t == DType::U32; }

/// The type that an element has where it is computed with.
constexpr DType computed_as(DType t) { return t == DType::F16 ? DType::F32 : t; }

/// An element of f16, by its bits (IEEE 754 binary16). Made of a number it is rounded once, to the nearest, ties to even;
/// what is too large becomes infinite.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  explicit Half(double x);
  explicit operator float() const;
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
  friend bool operator==(Half, Half) = default;
};

/// C++ types that are elements. A bool array is one of bool where it is made, of uint8_t where its bytes are read.
template <class T>
concept Element = std::same_as<T, bool> || std::same_as<T, uint8_t> || std::same_as<T, int32_t> ||
    std::same_as<T, uint32_t> || std::same_as<T, Half> || std::same_as<T, float> || std::same_as<T, double>;

template <Element T>
inline constexpr DType dtype_of = std::same_as<T, int32_t>    ? DType::I32
                                  : std::same_as<T, uint32_t> ? DType::U32
                                  : std::same_as<T, Half>     ? DType::F16
                                  : std::same_as<T, float>    ? DType::F32
                                  : std::same_as<T, double>   ? DType::F64
                                                              : DType::Bool;

/// Bytes of one element in device memory.
constexpr uint64_t device_bytes(DType t) { return t == DType::F64 ? 8 : t == DType::F16 ? 2 : 4; }

}  // namespace spirograd
