// Comparison of a device with the host evaluator of the same kernels: bit by bit.
#pragma once

#include "spirv/lower/plan.h"
#include "tests/property/property.h"

namespace spirograd::property {

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
