// Fourier transforms against the sums that define them, of every kind of length; their plans and derivatives.
#include "frontend/ir/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "frontend/rewrite/passes.h"
#include "spirograd/check.h"
#include "spirograd/grad.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd {
namespace fourier_test {

using test::program;
using test::run;
using test::Values;
using Complexes = std::vector<std::complex<double>>;

Values filled(int64_t n, double phase) {
  Values x;
  for (int64_t j = 0; j < n; ++j) x.push_back(std::sin(1.7 * static_cast<double>(j) + phase));
  return x;
}

// sum over j of x[j] exp(-+ 2 pi i j k / n)
Complexes transformed(const Values& re, const Values& im, bool inverse = false) {
  const auto n = static_cast<int64_t>(re.size());
  Complexes out;
  for (int64_t k = 0; k < n; ++k) {
    std::complex<double> sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      sum +=
          std::complex(re[static_cast<size_t>(j)], im[static_cast<size_t>(j)]) * std::polar(1.0, inverse ? angle : -angle);
    }
    out.push_back(inverse ? sum / static_cast<double>(n) : sum);
  }
  return out;
}

// Real parts, then imaginary ones, as run() gives them.
void expect_near(const Values& have, const Complexes& want, const std::string& what) {
  ASSERT_EQ(have.size(), 2 * want.size()) << what;
  double size = 0, worst = 0;
  for (size_t j = 0; j < want.size(); ++j) {
    size += std::norm(want[j]);
    worst = std::max(worst, std::abs(std::complex(have[j], have[want.size() + j]) - want[j]));
  }
  EXPECT_LE(worst, 1e-12 * std::sqrt(size / static_cast<double>(want.size())) + 1e-13) << what;
}

std::string head(int64_t n) {
  const std::string type = "f64[" + std::to_string(n) + "]";
  return "def f(re: " + type + ", im: " + type + ") = ";
}

// Powers of two, other small factors, greater primes in a stage, and lengths for the chirp: prime, odd, even.
constexpr int64_t kLengths[] = {1,  2,  3,  4,  5,  6,  7,   8,   9,   11,  13,   16,  17,
                                30, 32, 61, 64, 67, 96, 100, 134, 128, 201, 1009, 1024};

TEST(Fourier, IsTheSumThatItSays) {
  for (const int64_t n : kLengths) {
    const Values re = filled(n, 0.1), im = filled(n, 0.8);
    const std::string what = "n = " + std::to_string(n);
    expect_near(run(head(n) + "fft(re, im)", {re, im}), transformed(re, im), "fft, " + what);
    expect_near(run(head(n) + "ifft(re, im)", {re, im}), transformed(re, im, true), "ifft, " + what);
    expect_near(run(head(n) + "fft(re)", {re, im}), transformed(re, Values(re.size())), "of real numbers, " + what);
    Complexes half = transformed(re, Values(re.size()));
    half.resize(static_cast<size_t>(n / 2 + 1));
    expect_near(run(head(n) + "rfft(re)", {re, im}), half, "rfft, " + what);
  }
}

TEST(Fourier, InversesGiveBackWhatWasThere) {
  for (const int64_t n : kLengths) {
    const Values re = filled(n, 0.1), im = filled(n, 0.8);
    Complexes x;
    for (size_t j = 0; j < re.size(); ++j) x.emplace_back(re[j], im[j]);
    const std::string what = std::to_string(n);
    expect_near(run(head(n) + "{ let (a, b) = fft(re, im)\n ifft(a, b) }", {re, im}), x, what);
    Values back = run(head(n) + "{ let (a, b) = rfft(re)\n irfft(a, b, n=" + what + ") }", {re, im});
    back.resize(2 * re.size());
    expect_near(back, Complexes(re.begin(), re.end()), "real, " + what);
  }
}

TEST(Fourier, StagesAreShort) {
  for (int64_t n = 2; n < 3000; ++n) {
    int64_t product = 1, greatest_prime = 1, left = n;
    for (int64_t p = 2; left > 1; ++p)
      while (left % p == 0) left /= p, greatest_prime = p;
    const std::vector<int64_t> stages = ir::fourier_stages(n);
    for (int64_t r : stages) {
      product *= r;
      EXPECT_TRUE(r <= 16 || r == greatest_prime || (n / greatest_prime) % r == 0) << n << " has a stage of " << r;
    }
    EXPECT_EQ(product, greatest_prime > 61 ? 1 : n);
  }
  EXPECT_EQ(ir::fourier_stages(1024), (std::vector<int64_t>{16, 8, 8}));
  EXPECT_EQ(ir::fourier_stages(65536), (std::vector<int64_t>{16, 8, 8, 8, 8}));
  EXPECT_EQ(ir::fourier_stages(1), std::vector<int64_t>());
  EXPECT_EQ(ir::fourier_stages(0), std::vector<int64_t>());
}

// ---- shapes

TEST(Fourier, RunsAlongAnyAxisOfBatches) {
  const Values x = filled(24, 0.3);
  for (const char* axis : {"0", "1", "-2"}) {
    const bool first = *axis == '0';
    const std::string of_rows = first ? "for i: 3, j: 4 => fft(x[:, i, j])" : "for i: 2, j: 4 => fft(x[i, :, j])";
    const std::string turned = first ? "[2, 0, 1]" : "[0, 2, 1]";
    const Values have = run("def f(x: f64[2,3,4]) = fft(x, axis=" + std::string(axis) + ")", {x});
    const Values want = run("def f(x: f64[2,3,4]) { let (a, b) = " + of_rows + "\n (transpose(a, " + turned +
                                "), transpose(b, " + turned + ")) }",
                            {x});
    ASSERT_EQ(have.size(), want.size());
    for (size_t j = 0; j < have.size(); ++j) EXPECT_NEAR(have[j], want[j], 1e-13) << axis;
  }
  EXPECT_EQ(program("def f(x: f32[2,6,4]) = rfft(x, axis=1)").results[0].type, f32({2, 4, 4}));
  EXPECT_EQ(program("def f(x: f32[2,4,4]) = irfft(x, x, axis=1)").results[0].type, f32({2, 6, 4}));
  EXPECT_EQ(program("def f(x: f32[2,4,4]) = irfft(x, x, axis=1, n=7)").results[0].type, f32({2, 7, 4}));
  EXPECT_EQ(program("def f(x: f32[2,1,4], y: f32[3,1]) = fft(x, y)").results[1].type, f32({2, 3, 4})) << "parts broadcast";
}

TEST(Fourier, OfNothingAndOfOne) {
  for (const char* shape : {"0", "2,0", "0,6"}) {
    const std::string of = "def f(x: f64[" + std::string(shape) + "]) = ";
    EXPECT_EQ(run(of + "fft(x)", {{}}), Values{});
    EXPECT_EQ(run(of + "ifft(x, x)", {{}}), Values{});
  }
  EXPECT_EQ(run("def f(x: f64[2,0]) = rfft(x)", {{}}), (Values{0, 0, 0, 0}));
  EXPECT_EQ(run("def f(x: f64[0,67]) = rfft(x)", {{}}), Values{});
  EXPECT_EQ(run("def f(x: f64[2,1]) = irfft(x, x, n=0)", {{1, 2}}), Values{});
  EXPECT_EQ(run("def f(x: f64[2,1]) = irfft(x, x, n=1)", {{1, 2}}), (Values{1, 2}));
  EXPECT_EQ(run("def f(x: f64[2,1]) = fft(x, 3)", {{1, 2}}), (Values{1, 2, 3, 3}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (double v : run("def f(x: f64[8]) = fft(x)", {{0, 1, 2, nan, 4, 5, 6, 7}})) EXPECT_TRUE(std::isnan(v));
}

TEST(Fourier, InverseOfRealOnesTakesNoImaginaryEnds) {
  const std::string f = "def f(a: f64[3], b: f64[3]) = ";
  EXPECT_EQ(run(f + "irfft(a, b)", {{4, 0, 0}, {9, 0, 9}}), (Values{1, 1, 1, 1}));
  EXPECT_EQ(run(f + "grad(fn(b) => irfft(a, b)[1])(b)", {{4, 0, 0}, {9, 0, 9}}), (Values{0, -0.5, 0}));
  const Values odd = run(f + "grad(fn(b) => irfft(a, b, n=5)[1])(b)", {{4, 0, 0}, {9, 0, 9}});
  EXPECT_EQ(odd[0], 0);
  EXPECT_NEAR(odd[2], -0.4 * std::sin(0.8 * std::numbers::pi), 1e-15);
}

TEST(Fourier, MistakesAreTold) {
  const std::pair<const char*, const char*> cases[] = {
      {"fft(i32(x))", "SG0101 fft: not defined for i32"},
      {"fft(x, f64(x))", "SG0102"},
      {"fft(x, axis=2)", "SG0101"},
      {"fft(x[0, 0])", "SG0101"},
      {"fft(x, x[:, 0:4])", "SG0101 fft: shapes [2,5] and [2,4] do not match"},
      {"irfft(x, x, n=7)", "SG0101 irfft: 7 real numbers have a transform of 4 elements, the axis has 5"},
      {"irfft(x, x, n=-1)", "SG0101 irfft: -1 real numbers have a transform of no elements, the axis has 5"},
      {"rfft(x, x)", "SG0404 'rfft' takes 1 argument, it is given 2"},
  };
  for (const auto& [body, want] : cases) {
    const auto p = text::instantiate(text::parse("def f(x: f32[2,5]) = " + std::string(body), "t.sg").value());
    const std::string have = p ? "" : p.error().code + " " + p.error().message;
    EXPECT_EQ(have.substr(0, std::string(want).size()), want) << body << ": " << have;
  }
}

// ---- derivatives

TEST(Fourier, DerivativesAgreeInBothModes) {
  for (const int64_t n : {1, 2, 5, 6, 12, 34, 67})
    for (const char* call : {"fft(re, im)", "ifft(re, im)", "rfft(re * im)", "irfft(re, im)",
                             "{ let (a, b) = rfft(re)\n irfft(a * a - b * b, 2 * a * b, n=len(re)) }"}) {
      if (n == 1 && std::string(call) == "irfft(re, im)") continue;  // of no element
      const Program p = program(head(n) + call);
      const std::vector<HostArray> at = {HostArray(f64({n}), filled(n, 0.1)), HostArray(f64({n}), filled(n, 0.8))};
      for (const DerivativeCheck& check : check_derivatives(p, at).value())
        EXPECT_TRUE(check.ok) << call << ", " << n << ": " << check.what << " " << check.detail << " " << check.note;
    }
}

// ---- plans

TEST(Fourier, AStageIsADispatch) {
  const auto dispatches = [](const Program& p) {
    return lower::lower(rewrite::optimise_for_lowering(p), test::cpu_target()).steps.size();
  };
  const Program p = program("def f(re: f32[256,1024], im: f32[256,1024]) = fft(re, im)");
  EXPECT_EQ(dispatches(p), 3u);
  EXPECT_LE(dispatches(vjp(p).value()), 8u) << "of the value and of the cotangents";
  EXPECT_LE(dispatches(program("def f(re: f32[64,4096], im: f32[64,4096]) = ifft(re, im)")), 4u);
}

TEST(Fourier, LoweredIsWhatTheInterpreterSays) {
  for (const int64_t n : {6, 67, 128, 1009})
    for (const Target& target : {test::cpu_target(), test::gpu_target()}) {
      const std::string type = "f32[3," + std::to_string(n) + "]";
      const Program p = program("def f(re: " + type + ", im: " + type + ") = fft(re, im)");
      const Program simple = rewrite::optimise_for_lowering(p);
      EXPECT_TRUE(test::same_as_interpreter(simple, lower::lower(simple, target), {filled(3 * n, 0.1), filled(3 * n, 0.8)}));
    }
}

}  // namespace fourier_test
}  // namespace spirograd
