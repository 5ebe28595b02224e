// Comparison of a device with the host evaluator of the same kernels: bit by bit.
#pragma once

#include <cstdlib>
#include <string_view>

#include "spirv/lower/plan.h"
#include "tests/property/property.h"

namespace spirograd::property {

/// Of the driver that the test runs on: each draws programs of its own, so that together they see three times as many.
inline uint64_t driver_number() {
  const char* driver = std::getenv("SPIROGRAD_TEST_DRIVER");
  const std::string_view name = driver ? driver : "";
  return name == "swiftshader" ? 1 : name == "lavapipe25" ? 2 : 0;
}

inline bool adds_floats_atomically(const lower::Plan& plan) {
  for (const kernel::Kernel& k : plan.kernels)
    for (const kernel::Inst& i : k.body)
      if (i.op == kernel::KOp::AtomicAdd && i.type == kernel::Scalar::F32) return true;
  return false;
}

/// "" if all elements have equal bits. NaN equals NaN. Signs of zeros may differ, and so may what a device that flushes
/// denormals loses; `flushed` says if any does.
inline std::string bit_difference(const std::vector<HostArray>& host, const std::vector<HostArray>& device, bool& flushed) {
  for (size_t j = 0; j < host.size(); ++j) {
    if (host[j].bytes == device[j].bytes) continue;
    const Values a = host[j].values(), b = device[j].values();
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;
      if (a[i] == b[i] && std::signbit(a[i]) == std::signbit(b[i])) continue;
      constexpr double kOfDenormals = 0x1p-112;  // the least normal number is 2^-126; what is lost may be multiplied
      if (is_float(host[j].type.dtype) && std::abs(a[i] - b[i]) < kOfDenormals) {
        flushed = true;
        continue;
      }
      std::ostringstream out;
      out.precision(9);
      out << "result " << j << "[" << i << "]: " << a[i] << " on the host, " << b[i] << " on the device";
      return out.str();
    }
  }
  return {};
}

}  // namespace spirograd::property
