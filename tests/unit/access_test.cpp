// What schedulers are told of the work inside of reductions.
#include <gtest/gtest.h>

#include <map>

#include "frontend/rewrite/simplify.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/text.h"
#include "spirv/lower/access.h"

namespace spirograd::lower {
namespace access_test {

// How many operations depend on these axes of the domain; outer ones apart.
using Work = std::map<std::pair<uint32_t, bool>, double>;

Work operations(const std::string& source) {
  const Program p = rewrite::simplify(rewrite::vectorise(text::instantiate(text::parse(source, "test.sg").value()).value()));
  Work out;
  for (const schedule::Operations& o : accesses(*p.graph, {p.results[0].node}, {}).operations)
    out[{o.axes, o.outer}] = o.count;
  return out;
}

constexpr uint32_t kI = 1, kJ = 2, kK = 4;

TEST(Access, WorkIsToldByTheAxesThatItDependsOn) {
  EXPECT_EQ(operations("def f(a: f32[7, 9], b: f32[9, 5]) = for i: 7, j: 5 => sum(for n: 9 => a[i, n] * b[n, j])"),
            (Work{{{kI | kJ, false}, 2}}))
      << "a product and a sum";
  EXPECT_EQ(operations("def f(x: f32[9, 5], m: f32[4, 5]) = for i: 4, j: 5, k: 5 => "
                       "sum(for n: 9 => (x[n, j] - m[i, j]) * (x[n, k] - m[i, k]))"),
            (Work{{{kI | kJ | kK, false}, 2}, {{kI | kJ, false}, 1}, {{kI | kK, false}, 1}}));
  EXPECT_EQ(operations("def f(a: f32[7]) = sin(a)"), Work{}) << "outside of reductions";
}

TEST(Access, ArithmeticOnCoordinatesDependsOnThoseThatItReads) {
  EXPECT_EQ(operations("def f(x: f32[9, 5], m: f32[5]) = for i: 4, j: 5, k: 5 => "
                       "sum(for n: 9 => (x[n, min(i * j, 4)] - m[j]) * x[n, min(k + quot(i, 2), 4)])")
                .at({kI | kJ | kK, false}),
            2)
      << "the product and the sum; what stands in brackets depends on i and j";
}

TEST(Access, WorkIsThatOfTheInnermostReduction) {
  EXPECT_EQ(operations("def f(x: f32[6, 9], m: f32[4, 9], r: f32[4, 8, 9]) = for i: 6, j: 4 => "
                       "sum(for p: 8 => square(sum(for q: 9 => r[j, p, q] * (x[i, q] - m[j, q]))))"),
            (Work{{{kI | kJ, true}, 2}, {{kI | kJ, false}, 1}}));
}

}  // namespace access_test
}  // namespace spirograd::lower
