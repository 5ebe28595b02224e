// Property: simplification changes no value, is a fixed point, and keeps programs well formed.
#include <gtest/gtest.h>

#include "frontend/rewrite/vectorise.h"
#include "spirograd/grad.h"
#include "support/random_program.h"
#include "support/simplified.h"
#include "tests/property/property.h"

namespace spirograd::test {
namespace simplify_property_test {

using Transformation = Result<Program> (*)(const Program&);

Result<Program> bulk_form(const Program& p) {
  return guarded([&] { return rewrite::vectorise(p); });
}
Result<Program> gradient(const Program& p) { return vjp(p); }
Result<Program> second_order(const Program& p) {
  auto first = vjp(p);
  return first ? jvp(rewrite::simplify(*first)) : std::move(first);
}

// Inputs of a derivative program: those of the program, then ones.
std::vector<std::vector<double>> extended(std::vector<std::vector<double>> inputs, const Program& p) {
  for (size_t j = inputs.size(); j < p.params.size(); ++j)
    inputs.emplace_back(static_cast<size_t>(p.params[j].type.shape.count()), 1.0);
  return inputs;
}

// What is wrong with the simplified program of these decisions; empty if nothing.
std::string defect(const Decisions& decisions, const RandomOptions& options, Transformation transformation) {
  const RandomProgram r = random_program(decisions, options);
  const auto bulk = transformation(property::with_plain_zeros(r.program));  // signs of zeros may change
  if (!bulk) return {};                                                     // too many axes: not a matter of simplification
  const auto inputs = extended(r.inputs, *bulk);
  const auto want = ir::try_evaluate(*bulk, inputs);
  if (!want) return {};
  try {
    const Program s = rewrite::simplify(*bulk);
    if (const auto error = ir::check_well_formed(s)) return error->str();
    const auto have = ir::try_evaluate(s, inputs);
    if (!have) return have.error().str();
    if (!same_nodes(rewrite::simplify(s), s)) return "simplified twice is not simplified once";
    return difference(*want, *have);
  } catch (const Error& e) {
    return e.str();
  }
}

void expect_same_values(RandomOptions options, uint64_t first, uint64_t last, Transformation t = bulk_form) {
  for (uint64_t seed = first; seed < last; ++seed) {
    const Decisions decisions = random_decisions(seed);
    const std::string what = defect(decisions, options, t);
    if (what.empty()) continue;
    const Decisions least = shrink(decisions, [&](const Decisions& d) { return !defect(d, options, t).empty(); });
    std::string bytes;
    for (uint8_t b : least) bytes += std::to_string(b) + ",";
    FAIL() << "seed " << seed << ": " << what << "\nshrunk to {" << bytes << "}: " << defect(least, options, t);
  }
}

TEST(SimplifyProperty, KeepsValues) { expect_same_values({}, 0, 2000); }

TEST(SimplifyProperty, KeepsValuesWithNaNAndInfinities) {
  RandomOptions options;
  options.hostile_values = true;
  expect_same_values(options, 7000, 8000);
}

TEST(SimplifyProperty, KeepsGradients) {
  RandomOptions options;
  options.differentiable_only = true;
  expect_same_values(options, 20000, 20300, gradient);
}

TEST(SimplifyProperty, KeepsSecondDerivatives) {
  RandomOptions options;
  options.differentiable_only = true;
  options.max_size = 30;
  expect_same_values(options, 30000, 30100, second_order);
}

}  // namespace simplify_property_test
}  // namespace spirograd::test
