// What the compiler makes of programs: sizes of simplified programs and of their plans, kept in tests/golden/*plans.txt, so
// that no change of a rule or a heuristic goes unseen, better or worse. Fingerprints tell whether a simplified program reads
// the same, and whether kernels and steps do. `cmake --build build/release --target update_docs` writes the files anew; the
// difference is what to review.
#include <gtest/gtest.h>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "tests/conformance/conformance.h"
#include "tests/support/golden_plans.h"
#include "tests/support/random_program.h"
#include "tests/support/sized_program.h"

namespace spirograd {
namespace plans_test {

std::string described(const std::string& name, const Program& p) {
  const Program simple = rewrite::optimise_for_lowering(p, {.verify = true});
  std::string out = name + ": " + std::to_string(rewrite::operations(simple)) + " operations, text " +
                    test::fingerprint(text::print(simple)) + "\n";
  for (const auto& [kind, target] : {std::pair{"cpu", test::plain_cpu()},
                                     {"lanes", test::lane_cpu()},
                                     {"gpu", test::plain_gpu()},
                                     {"poor", test::poor_gpu()}})
    out += "  " + std::string(kind) + " " + test::summary(simple, target) + "\n";
  return out;
}

std::string all_described() {
  std::string out;
  const text::Module module = text::parse(test::golden("families.sg"), "families.sg").value();
  for (const text::Signature& f : module.functions()) {
    const std::string& name = f.name;
    const Program p = text::instantiate(module, name).value();
    out += described(name, p);
    const bool scalar = p.results.size() == 1 && p.results[0].type.shape.rank() == 0 && is_float(p.results[0].type.dtype);
    if (scalar) out += described(name + ", gradient", grad(p).value());
    if (is_float(p.results[0].type.dtype)) out += described(name + ", in a direction", jvp(p).value());
  }
  for (const conformance::Check& c : conformance::checks(conformance::Surface::Text, DType::F32))
    out += described(c.line + " " + c.name, c.program);
  return out;
}

std::string random_described() {
  std::string out;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    out += described("program " + std::to_string(seed), test::random_program(seed).program);
    const test::RandomOptions smooth = {.differentiable_only = true, .max_size = 40};
    const Program p = test::random_program(10000 + seed, smooth).program;
    const Result<Program> derivative = seed % 3 == 0 ? jvp(p) : vjp(p);
    if (derivative) out += described("derivative " + std::to_string(seed), *derivative);  // else: no float parameter
  }
  return out;
}

std::string sized_described() {
  std::string out;
  for (const test::SizeClassInfo& c : test::kSizeClasses)
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const std::string name = std::string(c.name) + " " + std::to_string(seed);
      const test::SizedProgram made = test::sized_program(c.size_class, test::sized_decisions(seed));
      out += described(name, made.program);
      if (const Result<Program> derivative = seed % 3 == 0 ? jvp(made.program) : vjp(made.program))
        out += described(name + ", derivative", *derivative);
    }
  return out;
}

TEST(Plans, OfEveryFamilyAreThoseOfTheGoldenFile) { test::expect_golden("plans.txt", all_described()); }

TEST(Plans, OfRandomProgramsAreThoseOfTheGoldenFile) { test::expect_golden("random_plans.txt", random_described()); }

TEST(Plans, OfEverySizeClassAreThoseOfTheGoldenFile) { test::expect_golden("sized_plans.txt", sized_described()); }

}  // namespace plans_test
}  // namespace spirograd
