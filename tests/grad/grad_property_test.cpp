// Derivatives of random programs: forward against reverse, forward against differences, second order three ways.
#include "support/random_program.h"
#include "tests/grad/grad_support.h"

namespace spirograd::grad_test {
namespace grad_property_test {

using test::RandomProgram;

constexpr uint64_t kSeeds = 500;
constexpr double kHuge = 1e6;  // values beyond this leave differences without correct digits

double largest(const Inputs& values) {
  double m = 0;
  for (const Values& v : values)
    for (double x : v) m = std::max(m, std::isfinite(x) ? std::abs(x) : INFINITY);
  return m;
}
double largest_difference(const Inputs& a, const Inputs& b) {
  double m = 0;
  for (size_t j = 0; j < a.size(); ++j)
    for (size_t k = 0; k < a[j].size(); ++k) m = std::max(m, std::abs(a[j][k] - b[j][k]));
  return m;
}
Inputs tail(const Inputs& all, size_t from) { return {all.begin() + static_cast<std::ptrdiff_t>(from), all.end()}; }

struct Outcome {
  std::string failure;  // empty: fine
  bool second_order = false;
};

/// The sum of all float results, each bent by a sine so that second derivatives do not vanish.
Program scalarised(const Program& p) {
  Program out = p;
  const auto g = make_graph_private(out);
  Expr total;
  for (const ProgramResult& r : out.results) {
    if (!is_float(r.type.dtype)) continue;
    const Expr s = cast(sum_all(unary(Op::Sin, {g.get(), {r.node}})), DType::F64);
    total = total ? total + s : s;
  }
  out.results.clear();
  if (total) out.results.push_back({"total", total.id.v, total.type()});
  return out;
}

Outcome check(const RandomProgram& random) {
  const Program& p = random.program;
  Inputs dots, cts;
  std::mt19937 rng(7);
  for (size_t j = 0; j < p.params.size(); ++j)
    if (is_float(p.params[j].type.dtype)) dots.push_back(random_values(rng, p.params[j].type.shape.count(), -1, 1));
  for (const ProgramResult& r : p.results)
    if (is_float(r.type.dtype)) cts.push_back(random_values(rng, r.type.shape.count(), -1, 1));
  if (dots.empty() || cts.empty()) return {};

  const Inputs primal = run(p, random.inputs);
  const Inputs f = run(jvp(p).value(), joined(random.inputs, dots)), b = run(vjp(p).value(), joined(random.inputs, cts));
  for (size_t j = 0; j < primal.size(); ++j)
    if (largest_difference({f[j]}, {primal[j]}) > 1e-9 * std::max(1.0, largest({primal[j]})) ||
        largest_difference({b[j]}, {primal[j]}) > 1e-9 * std::max(1.0, largest({primal[j]})))
      return {"primal results change"};
  const Inputs tangents = tail(f, primal.size()), grads = tail(b, primal.size());
  const double scale = std::max({1.0, largest(primal), largest(tangents), largest(grads)});
  if (!(scale < kHuge)) return {};
  double terms = 1;
  for (const Values& v : grads) terms += static_cast<double>(v.size());
  if (std::abs(dot(cts, tangents) - dot(grads, dots)) > 1e-9 * scale * terms) return {"<ct, jvp> and <vjp, dot> differ"};
  // Error of central differences: third derivative times h^2, and rounding over h. A wrong one is wrong for both steps.
  const double wrong = std::min(largest_difference(tangents, differences(p, random.inputs, dots, 1e-5)),
                                largest_difference(tangents, differences(p, random.inputs, dots, 1e-7)));
  if (wrong > 1e-4 * scale) return {"jvp is off the differences by " + std::to_string(wrong)};

  const Program gradient_program = grad(scalarised(p)).value();
  const Inputs hvp = tail(run(jvp(gradient_program).value(), joined(random.inputs, dots)), dots.size());
  const Inputs gvp = tail(run(vjp(gradient_program).value(), joined(random.inputs, dots)), dots.size());
  const double scale2 = std::max({scale, largest(hvp), largest(gvp)});
  if (!(scale2 < kHuge)) return {};
  if (largest_difference(hvp, gvp) > 1e-8 * scale2) return {"forward over reverse and reverse over reverse differ"};
  const double wrong2 = std::min(largest_difference(hvp, differences(gradient_program, random.inputs, dots, 1e-5)),
                                 largest_difference(hvp, differences(gradient_program, random.inputs, dots, 1e-7)));
  if (wrong2 > 1e-3 * scale2) return {"second derivative is off the differences by " + std::to_string(wrong2)};
  return {"", true};
}

void run_seeds(uint64_t first, uint64_t count, const test::RandomOptions& options) {
  uint64_t complete = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Outcome outcome = check(test::random_program(seed, options));
    EXPECT_EQ(outcome.failure, "") << "seed " << seed;
    complete += outcome.second_order ? 1 : 0;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(complete, count / 2) << "too few programs stayed in the range of differences";
}

TEST(GradProperty, RandomBulkProgramsAgreeWithDifferencesToSecondOrder) {
  run_seeds(1, kSeeds, {.allow_builds = false, .differentiable_only = true, .max_size = 40});
}

TEST(GradProperty, RandomProgramsWithBuildsAgreeWithDifferencesToSecondOrder) {
  run_seeds(10001, kSeeds / 2, {.differentiable_only = true, .max_size = 30});
}

}  // namespace grad_property_test
}  // namespace spirograd::grad_test
