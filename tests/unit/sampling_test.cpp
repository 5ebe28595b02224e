// The library's random numbers: of the distributions that their names say, always finite, and the same in kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>

#include "spirograd/grad.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd {
namespace sampling_test {

using test::program;
using test::run;
using test::Values;

constexpr size_t kCount = 20000;

std::string source_of(const std::string& body, const std::string& type = "f32") {
  return "import sampling\nlet n = 20000\ndef all(v: " + type + ") -> " + type +
         "[n] = full([n], v)\ndef f(key: u32[2], a: " + type + ", b: " + type + ") = " + body;
}

struct Distribution {
  const char* call;                     // of a = 0.75 and b = 2
  std::function<double(double)> below;  // the probability of less
};

const Distribution kDistributions[] = {
    {"uniform_sample(key, all(a), all(b))", [](double x) { return (x - 0.75) / 1.25; }},
    {"normal_sample(key, all(a), all(b))", [](double x) { return std::erfc(-(x - 0.75) / 2 / std::sqrt(2)) / 2; }},
    {"lognormal_sample(key, all(a), all(b))",
     [](double x) { return std::erfc(-(std::log(x) - 0.75) / 2 / std::sqrt(2)) / 2; }},
    {"exponential_sample(key, all(b))", [](double x) { return -std::expm1(-2 * x); }},
    {"laplace_sample(key, all(a), all(b))",
     [](double x) { return x < 0.75 ? std::exp((x - 0.75) / 2) / 2 : 1 - std::exp((0.75 - x) / 2) / 2; }},
    {"cauchy_sample(key, all(a), all(b))", [](double x) { return 0.5 + std::atan((x - 0.75) / 2) / M_PI; }},
    {"gumbel_sample(key, all(a), all(b))", [](double x) { return std::exp(-std::exp((0.75 - x) / 2)); }},
};

TEST(Sampling, NumbersAreOfTheirDistributions) {
  for (const Distribution& d : kDistributions)
    for (const char* type : {"f32", "f64"}) {
      Values x = run(source_of(d.call, type), {{0, 5}, {0.75}, {2}});
      ASSERT_EQ(x.size(), kCount);
      std::sort(x.begin(), x.end());
      double most = 0;  // Kolmogorov and Smirnov; 1.95 / sqrt(n) is met once in a thousand
      for (size_t j = 0; j < kCount; ++j) {
        EXPECT_TRUE(std::isfinite(x[j])) << d.call;
        most = std::max(most, std::abs(d.below(x[j]) - (static_cast<double>(j) + 0.5) / kCount));
      }
      EXPECT_LT(most, 1.95 / std::sqrt(kCount)) << d.call << " " << type;
    }
}

TEST(Sampling, MomentsAreTheKnownOnes) {
  const std::pair<const char*, std::array<double, 2>> known[] = {
      {"uniform_sample(key, all(a), all(b))", {1.375, 1.25 * 1.25 / 12}},
      {"normal_sample(key, all(a), all(b))", {0.75, 4}},
      {"exponential_sample(key, all(b))", {0.5, 0.25}},
      {"laplace_sample(key, all(a), all(b))", {0.75, 8}},
      {"gumbel_sample(key, all(a), all(b))", {0.75 + 2 * 0.57721566490153286, 4 * M_PI * M_PI / 6}},
  };
  for (const auto& [call, want] : known) {
    const Values x = run(source_of(call), {{1, 2}, {0.75}, {2}});
    double mean = 0, variance = 0;
    for (const double v : x) mean += v / kCount;
    for (const double v : x) variance += (v - mean) * (v - mean) / kCount;
    EXPECT_NEAR(mean, want[0], 4 * std::sqrt(want[1] / kCount)) << call;
    EXPECT_NEAR(variance, want[1], 0.05 * want[1]) << call;
  }
}

TEST(Sampling, ClassesComeAsOftenAsTheySay) {
  const double inf = HUGE_VAL;
  const Values yes = run(source_of("bernoulli_sample(key, all(a))"), {{3, 4}, {-1}, {0}});
  EXPECT_NEAR(static_cast<double>(std::count(yes.begin(), yes.end(), 1)) / kCount, 1 / (1 + std::exp(1.0)), 0.013);
  EXPECT_EQ(std::count(yes.begin(), yes.end(), 0) + std::count(yes.begin(), yes.end(), 1), kCount);
  for (const double l : {-inf, inf}) {
    const Values sure = run(source_of("bernoulli_sample(key, all(a))"), {{3, 4}, {l}, {0}});
    EXPECT_EQ(std::count(sure.begin(), sure.end(), l > 0), kCount) << l;
  }
  const Values k = run(source_of("categorical_sample(key, for i: n => [a, -inf, b, a + b])"), {{3, 4}, {0.5}, {-1}});
  const double total = std::exp(0.5) + std::exp(-1.0) + std::exp(-0.5);
  const double want[] = {std::exp(0.5) / total, 0, std::exp(-1.0) / total, std::exp(-0.5) / total};
  for (int c = 0; c < 4; ++c)
    EXPECT_NEAR(static_cast<double>(std::count(k.begin(), k.end(), c)) / kCount, want[c], want[c] > 0 ? 0.014 : 0) << c;
}

TEST(Sampling, UnitsAreOpenForAnyBits) {
  const Values u = run("import sampling\ndef f(bits: u32[4]) = open_unit(bits)", {{0, 511, 2147483648.0, 4294967295.0}});
  EXPECT_EQ(u, (Values{0x1p-24, 0x1p-24, 0.5 + 0x1p-24, 1 - 0x1p-24}));
}

TEST(Sampling, TheRelaxedChoiceLeansToTheChosenClass) {
  const std::string l = "for i: n => [a, b, 0 * a]";
  const Values k = run(source_of("categorical_sample(key, " + l + ")"), {{8, 9}, {0.5}, {-1}});
  const Values w = run(source_of("concrete_sample(key, " + l + ", 0.5)"), {{8, 9}, {0.5}, {-1}});
  for (size_t i = 0; i < kCount; ++i) {
    const auto row = w.begin() + static_cast<std::ptrdiff_t>(3 * i);
    EXPECT_EQ(std::max_element(row, row + 3) - row, k[i]) << i;
    EXPECT_NEAR(row[0] + row[1] + row[2], 1, 1e-5);
  }
}

// The derivative of a mean over samples is that of the mean: E[x^2] = mu^2 + sigma^2, E[1 / rate] = -1 / rate^2.
TEST(Sampling, GradientsPassThroughSamplesToParameters) {
  const Program square = program(source_of("mean(square(normal_sample(key, all(a), all(b))))", "f64"));
  const Values g = run(grad(square).value(), {{6, 7}, {0.75}, {2}});
  EXPECT_NEAR(g[0], 1.5, 0.1);
  EXPECT_NEAR(g[1], 4, 0.2);
  const Program rate = program(source_of("mean(exponential_sample(key, all(b)))", "f64"));
  EXPECT_NEAR(run(grad(rate).value(), {{6, 7}, {0}, {2}})[1], -0.25, 0.01);
}

TEST(Sampling, KeysMakeAllTheDifference) {
  const char* const calls[] = {"uniform_sample(key, all(a), all(b))", "normal_sample(key, all(a), all(b))",
                               "gumbel_sample(key, all(a), all(b))"};
  for (const char* call : calls) {
    const Values x = run(source_of(call), {{0, 1}, {0}, {1}}), y = run(source_of(call), {{0, 2}, {0}, {1}});
    EXPECT_EQ(x, run(source_of(call), {{0, 1}, {0}, {1}})) << call;
    double mx = 0, my = 0, both = 0, xx = 0, yy = 0;
    for (size_t j = 0; j < kCount; ++j) mx += x[j] / kCount, my += y[j] / kCount;
    for (size_t j = 0; j < kCount; ++j)
      both += (x[j] - mx) * (y[j] - my), xx += (x[j] - mx) * (x[j] - mx), yy += (y[j] - my) * (y[j] - my);
    EXPECT_LT(std::abs(both) / std::sqrt(xx * yy), 4 / std::sqrt(kCount)) << call << ": correlation";
  }
}

TEST(Sampling, KernelsGiveTheSame) {
  for (const int n : {0, 1, 37}) {
    const std::string a = "full([" + std::to_string(n) + "], a)", b = "full([" + std::to_string(n) + "], b)";
    std::string body = "(";
    for (const std::string name : {"uniform", "normal", "lognormal", "laplace", "cauchy", "gumbel"})
      body += name + "_sample(key, " + a + ", " + b + "), ";
    body += "exponential_sample(key, " + b + "), bernoulli_sample(key, " + a + "))";
    const Program p = rewrite::optimise_for_lowering(program(source_of(body)), {.verify = true});
    for (const Target& t : {test::cpu_target(), test::gpu_target()})
      EXPECT_TRUE(test::same_as_interpreter(p, lower::lower(p, t), {{12, 34}, {0.5}, {1.5}}, 1e-5)) << n;
  }
}

TEST(Samples, APosteriorIsFoundAlongGradientsThroughSamples) {
  std::ifstream file(SPIROGRAD_SOURCE_DIR "/samples/posterior.sg");
  const Values out = run(std::string(std::istreambuf_iterator<char>(file), {}), {{7}, {10}, {1}});
  EXPECT_NEAR(out[0], 0.7541, 0.02) << "the mean, by quadrature";
  EXPECT_NEAR(out[1], 0.6330, 0.02) << "the standard deviation";
}

}  // namespace sampling_test
}  // namespace spirograd
