// Property: simplification changes no value, is a fixed point, and keeps programs well formed.
#include <gtest/gtest.h>

#include "frontend/rewrite/vectorise.h"
#include "support/random_program.h"
#include "support/simplified.h"

namespace spirograd::test {
namespace {

// What is wrong with the simplified program of these decisions; empty if nothing.
std::string defect(const Decisions& decisions, const RandomOptions& options) {
  const RandomProgram r = random_program(decisions, options);
  const auto want = ir::try_evaluate(r.program, r.inputs);
  if (!want) return {};
  Program bulk;
  try {
    bulk = rewrite::vectorise(r.program);
  } catch (const Error&) {
    return {};  // too many axes: not a matter of simplification
  }
  try {
    const Program s = rewrite::simplify(bulk);
    if (const auto error = ir::check_well_formed(s)) return error->str();
    const auto have = ir::try_evaluate(s, r.inputs);
    if (!have) return have.error().str();
    if (roots_of(rewrite::simplify(s)) != roots_of(s)) return "simplified twice is not simplified once";
    return difference(*want, *have);
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

TEST(SimplifyProperty, KeepsValues) { expect_same_values({}, 0, 2000); }

TEST(SimplifyProperty, KeepsValuesWithNaNAndInfinities) {
  RandomOptions options;
  options.hostile_values = true;
  expect_same_values(options, 7000, 8000);
}

}  // namespace
}  // namespace spirograd::test
