// Traces a lambda and evaluates it with the reference interpreter. Errors of either become test failures.
#pragma once

#include <gtest/gtest.h>

#include "frontend/ir/eval.h"
#include "frontend/ir/verify.h"
#include "spirograd/trace.h"

namespace spirograd::testing {

using Values = std::vector<double>;

inline std::vector<ir::Array> run(const Result<Program>& program, const std::vector<Values>& inputs) {
  if (!program) {
    ADD_FAILURE() << program.error().str();
    return {};
  }
  if (const auto defect = ir::check_well_formed(*program)) ADD_FAILURE() << defect->str();
  auto out = ir::try_evaluate(*program, inputs);
  if (!out) {
    ADD_FAILURE() << out.error().str();
    return {};
  }
  return *out;
}

/// The only result of `body` on parameters p0, p1, .. of the given types.
template <class F>
ir::Array eval(std::vector<Type> types, std::vector<Values> inputs, F&& body) {
  std::vector<Param> params;
  for (size_t j = 0; j < types.size(); ++j) params.push_back({"p" + std::to_string(j), types[j]});
  const std::vector<ir::Array> out = run(trace("test", params, body), inputs);
  return out.size() == 1 ? out[0] : ir::Array{};
}

}  // namespace spirograd::testing
