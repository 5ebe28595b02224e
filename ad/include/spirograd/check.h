// Whether derivatives are right: what a rule of one's own (custom_jvp, custom_vjp) is tested with, and any program.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "spirograd/host_array.h"
#include "spirograd/program.h"
#include "spirograd/result.h"

namespace spirograd {

/// One comparison.
struct DerivativeCheck {
  std::string what;  // "forward = differences"
  bool ok = true;
  double error = 0;    // relative, of the worst direction
  std::string detail;  // "10 of 10 directions", or "not comparable"
  std::string note;    // why that is, or where
};

struct CheckOptions {
  uint64_t seed = 1;        // of the directions
  int64_t directions = 10;  // random tangents and cotangents
};

/// Derivatives of all float results by all float parameters at the inputs `at`, computed in double precision on the host
/// along random directions: forward mode against differences of values; reverse mode against forward mode, by inner
/// products; forward mode of reverse mode against differences of reverse mode. Elements at kinks are left out, and told; so
/// is what cannot be compared (stop_gradient, rules for reverse mode alone). Errors: SG0501 inputs of another number or
/// type; those of jvp, vjp.
Result<std::vector<DerivativeCheck>> check_derivatives(const Program& program, std::span<const HostArray> at,
                                                       const CheckOptions& options = {});

}  // namespace spirograd
