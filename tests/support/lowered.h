// Lowered programs against the interpreter, on the host.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "frontend/ir/eval.h"
#include "frontend/rewrite/passes.h"
#include "spirv/kernel/iterations.h"
#include "spirv/kernel/verify.h"
#include "spirv/lower/evaluate.h"

namespace spirograd::test {

/// A CPU driver with f64 and without limits.
inline Target cpu_target() {
  Target t;
  t.float64 = true;
  t.subgroup_size = 8;
  t.price = software_prices(8, 2);
  t.quirks = kSlowLocalIndex;
  t.max_buffers = 30;
  return t;
}

/// The same limits on a device where workgroups share memory and lanes belong to 32.
inline Target gpu_target() {
  Target t = cpu_target();
  t.price = {};
  t.subgroup_size = 32;
  t.max_invocations = 1024;
  return t;
}

/// A device whose workgroups share memory and whose subgroups have 32 lanes.
inline Target gpu() {
  Target t;
  t.subgroup_size = 32;
  t.max_invocations = 1024;
  return t;
}

/// Loops whose steps read other elements of the state than their own are dispatches there.
inline Target with_cheap_dispatches(Target t) {
  t.price.dispatch = 0;
  return t;
}

/// How each kernel's first map runs.
inline std::vector<std::string> hows(const lower::Plan& plan) {
  std::vector<std::string> out;
  for (const auto& lines : plan.schedules) out.push_back(lines[0].how);
  return out;
}

/// An input for each parameter: sines of numbers that are `step` apart, as f32.
inline std::vector<std::vector<double>> sines(const Program& p, double step) {
  std::vector<std::vector<double>> out;
  for (const Param& param : p.params) {
    out.emplace_back();
    for (int64_t i = 0; i < param.type.shape.count(); ++i)
      out.back().push_back(static_cast<double>(static_cast<float>(std::sin(step * static_cast<double>(i) + 1))));
  }
  return out;
}

/// Whether the plan of a bulk program gives the interpreter's values, to `tolerance` of the larger of 1 and the value;
/// beyond what f32 holds all values are alike.
inline testing::AssertionResult same_as_interpreter(const Program& p, const lower::Plan& plan,
                                                    const std::vector<std::vector<double>>& inputs,
                                                    double tolerance = 1e-4) {
  const auto close = [&](double want, double have) {
    if (std::isnan(want) || std::isnan(have)) return std::isnan(want) && std::isnan(have);
    if (std::abs(want) > 1e37) return std::abs(have) > 1e37;
    return want == have || std::abs(want - have) <= tolerance * std::max(1.0, std::abs(want));
  };
  std::vector<HostArray> arrays;
  for (size_t j = 0; j < inputs.size(); ++j) arrays.emplace_back(p.params[j].type, inputs[j]);
  const std::vector<ir::Array> want = ir::evaluate(p, inputs);
  const std::vector<HostArray> have = lower::evaluate(plan, arrays);
  for (size_t r = 0; r < want.size(); ++r) {
    const std::vector<double> values = have[r].values();
    for (size_t i = 0; i < values.size(); ++i)
      if (!close(want[r].data[i], values[i]))
        return testing::AssertionFailure()
               << p.results[r].name << "[" << i << "]: " << want[r].data[i] << " expected, got " << values[i];
  }
  return testing::AssertionSuccess();
}

/// Lowers any program as the compiler does. Whether its kernels are valid, run no longer than the device allows, and give
/// the interpreter's values.
inline testing::AssertionResult lowers_right(const Program& given, const std::vector<std::vector<double>>& inputs,
                                             const Target& target, lower::Plan* plan) {
  const Program p = rewrite::optimise_for_lowering(given, {.verify = true});
  *plan = lower::lower(p, target);
  for (const kernel::Kernel& k : plan->kernels) {
    if (auto complaint = kernel::verify(k)) return testing::AssertionFailure() << complaint->str();
    if (kernel::loop_iterations(k) > loop_limit(target)) return testing::AssertionFailure() << k.name << " runs too long";
  }
  return same_as_interpreter(p, *plan, inputs);
}

/// Loops that are not inside of a kernel.
inline int64_t dispatched_loops(const lower::Plan& plan) {
  return std::count_if(plan.steps.begin(), plan.steps.end(), [](const Step& s) { return s.kind == Step::Kind::Repeat; });
}

}  // namespace spirograd::test
