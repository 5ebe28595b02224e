// Random numbers: the published values of the cipher, and what uniform and normal numbers are like.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "frontend/rewrite/passes.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd {
namespace random_test {

using test::program;
using test::run;
using test::Values;

// The cipher again, on machine words. Counter (i, stream).
std::pair<uint32_t, uint32_t> threefry(uint32_t k0, uint32_t k1, uint32_t x0, uint32_t x1) {
  const uint32_t ks[] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDA};
  const int rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
  x0 += ks[0], x1 += ks[1];
  for (int r = 0; r < 20; ++r) {
    x0 += x1;
    const int by = rotations[r % 8];
    x1 = ((x1 << by) | (x1 >> (32 - by))) ^ x0;
    if (r % 4 == 3) x0 += ks[(r / 4 + 1) % 3], x1 += ks[(r / 4 + 2) % 3] + static_cast<uint32_t>(r / 4 + 1);
  }
  return {x0, x1};
}

TEST(Random, TheCipherIsThePublishedOne) {
  // Known answers of the authors' Random123.
  EXPECT_EQ(threefry(0, 0, 0, 0), std::pair(0x6b200159u, 0x99ba4efeu));
  EXPECT_EQ(threefry(~0u, ~0u, ~0u, ~0u), std::pair(0x1cb996fcu, 0xbb002be7u));
  EXPECT_EQ(threefry(0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3), std::pair(0xc4923a9cu, 0x483df7a0u));
  const Values key = {0x13198a2e, 0x03707344};
  const Values bits = run("def f(key: u32[2]) = random_bits(key, [3, 2])", {key});
  for (uint32_t i = 0; i < 6; ++i) EXPECT_EQ(bits[i], threefry(0x13198a2e, 0x03707344, i, 0).first) << i;
  const Values keys = run("def f(key: u32[2]) = random_split(key, 3)", {key});
  for (uint32_t i = 0; i < 3; ++i)
    EXPECT_EQ(std::pair(keys[2 * i], keys[2 * i + 1]), (std::pair<double, double>(threefry(0x13198a2e, 0x03707344, i, 1))));
  EXPECT_EQ(run("def f() = random_key(7)"), (Values{0, 7}));
  EXPECT_EQ(run("def f(n: i32) = random_key(n)", {{-1}}), (Values{0, 4294967295.0}));
}

TEST(Random, NumbersAreUniformAndNormal) {
  const size_t n = 20000;
  Values u = run("def f() = random_uniform(random_key(1), [20000])"),
         z = run("def f() = random_normal(random_key(1), [20000])");
  const auto moments = [&](const Values& x) {
    double m1 = 0, m2 = 0, m4 = 0;
    for (double v : x) m1 += v / n, m2 += v * v / n, m4 += v * v * v * v / n;
    return std::array{m1, m2, m4};
  };
  const auto [u1, u2, u4] = moments(u);
  EXPECT_NEAR(u1, 0.5, 0.01);
  EXPECT_NEAR(u2, 1.0 / 3, 0.01);
  EXPECT_NEAR(u4, 0.2, 0.01);
  const auto [z1, z2, z4] = moments(z);
  EXPECT_NEAR(z1, 0, 0.03);
  EXPECT_NEAR(z2, 1, 0.05);
  EXPECT_NEAR(z4, 3, 0.3);
  std::sort(u.begin(), u.end());
  EXPECT_GE(u.front(), 0);
  EXPECT_LT(u.back(), 1);
  double most = 0;  // Kolmogorov and Smirnov; 1.95 / sqrt(n) is met once in a thousand
  for (size_t j = 0; j < n; ++j) most = std::max(most, std::abs(u[j] - static_cast<double>(j) / n));
  EXPECT_LT(most, 1.95 / std::sqrt(n));
  for (double v : z) EXPECT_TRUE(std::isfinite(v));
}

TEST(Random, PermutationsHoldEachNumberOnce) {
  for (const int n : {0, 1, 2, 33, 500}) {
    const std::string text = "def f() = random_permutation(random_key(3), " + std::to_string(n) + ")";
    const Values p = run(text);
    EXPECT_EQ(std::set<double>(p.begin(), p.end()).size(), static_cast<size_t>(n));
    for (double x : p) EXPECT_TRUE(x >= 0 && x < n);
    EXPECT_TRUE(n <= 2 || !std::is_sorted(p.begin(), p.end()));
  }
}

TEST(Random, KernelsDrawTheSameNumbers) {
  const Program p = rewrite::optimise_for_lowering(
      program("def f(seed: i32) { let keys = random_split(random_key(seed), 5)\n"
              "  (random_bits(keys[0], [9]), random_uniform(keys[1], [70]), for i: 3 => random_bits(keys[i], [4]),\n"
              "   fori(4, fn(i, s) => s + random_uniform(keys[i]), 0.0)) }"),
      {.verify = true});
  for (const Target& t : {test::cpu_target(), Target{}})
    EXPECT_TRUE(test::same_as_interpreter(p, lower::lower(p, t), {{12345}}));
}

TEST(Random, MistakesAreTold) {
  const auto message = [](const std::string& body) {
    const auto p = text::instantiate(text::parse("def f(x: f32[2], k: i32) = " + body, "test.sg").value());
    return p ? "" : p.error().code + " " + p.error().message;
  };
  EXPECT_EQ(message("random_uniform(x, [2])"), "SG0101 random_uniform: needs a key, u32[2], not f32[2]");
  EXPECT_EQ(message("random_bits(k)"), "SG0101 random_bits: needs a key, u32[2], not i32");
  EXPECT_EQ(message("random_key(x)"), "SG0101 random_key: needs one integer, not f32[2]");
  EXPECT_EQ(message("random_split(random_key(1), -1)"), "SG0101 random_split: negative count -1");
}

}  // namespace random_test
}  // namespace spirograd
