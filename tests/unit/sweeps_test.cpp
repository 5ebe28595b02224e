// Plans of every family by length: decisions turn at some length, and one that turns elsewhere is seen. The lines are in
// tests/golden/sweeps.txt; `cmake --build build/release --target update_docs` writes them anew, the difference is what to
// review.
#include <gtest/gtest.h>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "tests/support/golden_plans.h"

namespace spirograd {
namespace sweeps_test {

// Small ones, and those beside powers of two.
std::vector<int64_t> lengths() {
  std::vector<int64_t> out;
  for (int64_t n = 1; n <= 12; ++n) out.push_back(n);
  for (int64_t n = 16; n <= 256; n *= 2) out.insert(out.end(), {n - 1, n, n + 1, n + n / 2});
  for (int64_t n = 512; n <= 65536; n *= 2) out.insert(out.end(), {n, n + 1, n + n / 2});
  for (int64_t n = 1 << 17; n <= 1 << 21; n *= 2) out.push_back(n);
  return out;
}

// Beyond it a program says nothing new, or takes more than there is.
int64_t longest(std::string_view name) {
  for (const std::string_view squared : {"square_product", "pairs", "filtered", "network"})
    if (name == squared) return 1024;
  return name == "bins" || name == "product" ? 1 << 17 : 1 << 21;
}

std::string described(const Program& p) {
  const Program simple = rewrite::optimise_for_lowering(p, {});
  return "cpu " + test::short_summary(simple, test::plain_cpu()) + ", lanes " +
         test::short_summary(simple, test::lane_cpu()) + ", gpu " + test::short_summary(simple, test::plain_gpu());
}

std::string swept() {
  std::string out;
  const text::Module module = text::parse(test::golden("sweeps.sg"), "sweeps.sg").value();
  for (const text::Signature& f : module.functions()) {
    out += f.name + "\n";
    for (const int64_t n : lengths()) {
      if (n > longest(f.name)) break;
      const Program p = text::instantiate(module, f.name, text::ShapeVariables{{"N", n}}).value();
      out += "  " + std::to_string(n) + ": " + described(p);
      const Type& result = p.results[0].type;
      if (result.shape.rank() == 0 && is_float(result.dtype)) out += "; gradient " + described(grad(p).value());
      out += "\n";
    }
  }
  return out;
}

TEST(Sweeps, PlansOfEveryLengthAreThoseOfTheGoldenFile) { test::expect_golden("sweeps.txt", swept()); }

}  // namespace sweeps_test
}  // namespace spirograd
