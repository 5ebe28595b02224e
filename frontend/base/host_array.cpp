#include "spirograd/host_array.h"

#include <cmath>
#include <cstring>

namespace spirograd {
namespace {

template <class T>
void put(std::vector<uint8_t>& bytes, size_t i, T x) {
  std::memcpy(bytes.data() + i * sizeof(T), &x, sizeof(T));
}

template <class T>
double take(const std::vector<uint8_t>& bytes, size_t i) {
  T x;
  std::memcpy(&x, bytes.data() + i * sizeof(T), sizeof(T));
  return static_cast<double>(x);
}

// Modulo 2^32; NaN and infinities become 0.
uint32_t wrap(double x) {
  if (!std::isfinite(x)) return 0;
  return static_cast<uint32_t>(static_cast<int64_t>(std::fmod(std::trunc(x), 4294967296.0)));
}

}  // namespace

HostArray::HostArray(Type t) : type(t), bytes(static_cast<size_t>(t.shape.count()) * host_bytes(t.dtype)) {}

HostArray::HostArray(Type t, const std::vector<double>& values) : HostArray(t) {
  for (size_t i = 0; i < values.size(); ++i) {
    switch (t.dtype) {
      case DType::Bool: put<uint8_t>(bytes, i, values[i] != 0); break;
      case DType::I32: case DType::U32: put<uint32_t>(bytes, i, wrap(values[i])); break;
      case DType::F32: put<float>(bytes, i, static_cast<float>(values[i])); break;
      case DType::F64: put<double>(bytes, i, values[i]); break;
    }
  }
}

std::vector<double> HostArray::values() const {
  std::vector<double> out(static_cast<size_t>(count()));
  for (size_t i = 0; i < out.size(); ++i) {
    switch (type.dtype) {
      case DType::Bool: out[i] = bytes[i] != 0; break;
      case DType::I32: out[i] = take<int32_t>(bytes, i); break;
      case DType::U32: out[i] = take<uint32_t>(bytes, i); break;
      case DType::F32: out[i] = take<float>(bytes, i); break;
      case DType::F64: out[i] = take<double>(bytes, i); break;
    }
  }
  return out;
}

}  // namespace spirograd
