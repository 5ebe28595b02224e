// Property: removing builds changes no value, whatever the program, the indices and the values.
#include "frontend/rewrite/vectorise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/ir/eval.h"
#include "frontend/ir/verify.h"
#include "support/random_program.h"

namespace spirograd::test {
namespace vectorise_property_test {

// Empty if the values agree. Sums may be taken in another order.
std::string difference(const std::vector<ir::Array>& want, const std::vector<ir::Array>& have) {
  if (want.size() != have.size()) return "numbers of results differ";
  for (size_t j = 0; j < want.size(); ++j) {
    if (want[j].type != have[j].type) return to_string(want[j].type) + " became " + to_string(have[j].type);
    for (size_t i = 0; i < want[j].data.size(); ++i) {
      const double a = want[j].data[i], b = have[j].data[i];
      if (a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= 1e-12 * std::fabs(a)) continue;
      return "result " + std::to_string(j) + ", element " + std::to_string(i) + ": " + std::to_string(a) + " became " +
             std::to_string(b);
    }
  }
  return {};
}

// What is wrong with the vectorised program of these decisions; empty if nothing.
std::string defect(const Decisions& decisions, const RandomOptions& options) {
  const RandomProgram r = random_program(decisions, options);
  const auto want = ir::try_evaluate(r.program, r.inputs);
  if (!want) return {};
  try {
    const Program bulk = rewrite::vectorise(r.program);
    if (const auto error = ir::check_bulk(bulk)) return error->str();
    const auto have = ir::try_evaluate(bulk, r.inputs);
    return have ? difference(*want, *have) : have.error().str();
  } catch (const Error& e) {
    return e.str();
  }
}

void expect_same_values(RandomOptions options, uint64_t first, uint64_t last) {
  for (uint64_t seed = first; seed < last; ++seed) {
    const Decisions decisions = random_decisions(seed);
    const std::string what = defect(decisions, options);
    if (what.empty()) continue;
    const Decisions least = shrink(decisions, [&](const Decisions& d) { return !defect(d, options).empty(); });
    std::string bytes;
    for (uint8_t b : least) bytes += std::to_string(b) + ",";
    FAIL() << "seed " << seed << ": " << what << "\nshrunk to {" << bytes << "}: " << defect(least, options);
  }
}

TEST(VectoriseProperty, KeepsValues) {
  RandomOptions options;
  options.max_builds = 3;
  expect_same_values(options, 0, 1200);
}

TEST(VectoriseProperty, KeepsValuesWithNaNAndInfinities) {
  RandomOptions options;
  options.hostile_values = true;
  expect_same_values(options, 5000, 5800);
}

}  // namespace vectorise_property_test
}  // namespace spirograd::test
