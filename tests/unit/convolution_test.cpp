// Convolutions and pooling against loops in plain C++, and against the comprehensions that one would write.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/rewrite/passes.h"
#include "spirograd/check.h"
#include "spirograd/grad.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd {
namespace convolution_test {

using test::program;
using test::run;
using test::Values;

constexpr double kInf = std::numeric_limits<double>::infinity();

// One axis: extent, window, stride, dilation, padding before and behind.
struct Axis {
  int64_t n, k, s, d, lo, hi;
  int64_t results() const { return (n + lo + hi - ((k - 1) * d + 1)) / s + 1; }
  std::string sides() const { return std::to_string(lo) + ", " + std::to_string(hi); }
};

Values filled(int64_t n, double phase) {
  Values x;
  for (int64_t j = 0; j < n; ++j) x.push_back(std::sin(1.7 * static_cast<double>(j) + phase));
  return x;
}

std::string numbers(const std::vector<Axis>& axes, int64_t Axis::*of) {
  std::string out;
  for (const Axis& a : axes) out += (out.empty() ? "[" : ", ") + std::to_string(a.*of);
  return out + "]";
}
std::string sides(const std::vector<Axis>& axes) {
  std::string out;
  for (const Axis& a : axes) out += (out.empty() ? "[" : ", ") + a.sides();
  return out + "]";
}
std::string shape(const char* front, const std::vector<Axis>& axes, int64_t Axis::*of) {
  std::string out = std::string("f64[") + front;
  for (const Axis& a : axes) out += "," + std::to_string(a.*of);
  return out + "]";
}

// visit(batch, channel, results' place, places in x or -1 outside, places in the window), for two axes; one has an axis
// of 1.
template <class F>
void each_read(const std::vector<Axis>& axes, F visit) {
  const Axis one{1, 1, 1, 1, 0, 0}, a = axes[0], b = axes.size() > 1 ? axes[1] : one;
  for (int64_t y = 0; y < a.results(); ++y)
    for (int64_t z = 0; z < b.results(); ++z)
      for (int64_t i = 0; i < a.k; ++i)
        for (int64_t j = 0; j < b.k; ++j) {
          const int64_t p = y * a.s + i * a.d - a.lo, q = z * b.s + j * b.d - b.lo;
          const bool inside = p >= 0 && p < a.n && q >= 0 && q < b.n;
          visit(y * b.results() + z, inside ? p * b.n + q : -1, i * b.k + j);
        }
}
int64_t count(const std::vector<Axis>& axes, int64_t Axis::*of) {
  int64_t n = 1;
  for (const Axis& a : axes) n *= a.*of;
  return n;
}
int64_t count_results(const std::vector<Axis>& axes) {
  int64_t n = 1;
  for (const Axis& a : axes) n *= a.results();
  return n;
}

void expect_near(const Values& have, const Values& want, const std::string& what) {
  ASSERT_EQ(have.size(), want.size()) << what;
  for (size_t j = 0; j < have.size(); ++j)
    EXPECT_TRUE(have[j] == want[j] || std::abs(have[j] - want[j]) < 1e-12) << what << ", element " << j << ": " << have[j];
}

void expect_derivatives(const Program& p, const std::vector<Values>& x) {
  std::vector<HostArray> at;
  for (size_t j = 0; j < x.size(); ++j) at.emplace_back(p.params[j].type, x[j]);
  for (const DerivativeCheck& check : check_derivatives(p, at).value())
    EXPECT_TRUE(check.ok) << check.what << " " << check.detail << " " << check.note;
  EXPECT_EQ(test::count_lowered(vjp(p).value(), ir::Op::Scatter), 0) << "transposes are sums and gathers";
}

const std::vector<std::vector<Axis>> kSweeps = {
    {{8, 3, 1, 1, 0, 0}},
    {{8, 3, 1, 1, 1, 1}},
    {{9, 2, 2, 1, 0, 1}},
    {{9, 3, 3, 1, 2, 0}},
    {{9, 3, 2, 2, 1, 3}},
    {{5, 1, 1, 1, 0, 0}},
    {{1, 3, 1, 1, 1, 1}},
    {{5, 4, 1, 1, 0, 0}, {6, 3, 2, 1, 1, 1}},
    {{6, 3, 2, 1, 1, 0}, {7, 2, 1, 3, 0, 2}},
};

TEST(Convolution, IsTheSumOverChannelsAndWindow) {
  for (const std::vector<Axis>& axes : kSweeps)
    for (const int64_t groups : {1, 2}) {
      const int64_t in = 4, out = 6, share = in / groups, nx = count(axes, &Axis::n), nk = count(axes, &Axis::k),
                    ny = count_results(axes);
      const Values x = filled(2 * in * nx, 0.1), w = filled(out * share * nk, 0.7);
      Values want(static_cast<size_t>(2 * out * ny), 0.0);
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t o = 0; o < out; ++o)
          for (int64_t c = 0; c < share; ++c)
            each_read(axes, [&](int64_t y, int64_t p, int64_t i) {
              if (p < 0) return;
              const int64_t channel = o / (out / groups) * share + c;
              want[static_cast<size_t>((b * out + o) * ny + y)] +=
                  x[static_cast<size_t>((b * in + channel) * nx + p)] * w[static_cast<size_t>((o * share + c) * nk + i)];
            });
      const std::string call = "conv(x, w, stride=" + numbers(axes, &Axis::s) + ", padding=" + sides(axes) +
                               ", dilation=" + numbers(axes, &Axis::d) + ", groups=" + std::to_string(groups) + ")";
      const Program p = program("def f(x: " + shape("2,4", axes, &Axis::n) +
                                ", w: " + shape(groups == 1 ? "6,4" : "6,2", axes, &Axis::k) + ") = " + call);
      expect_near(run(p, {x, w}), want, call);
      expect_derivatives(p, {x, w});
    }
}

TEST(Pooling, TakesWhatLiesInside) {
  for (const std::vector<Axis>& axes : kSweeps) {
    if (axes[0].d > 1 || axes.back().d > 1) continue;
    const int64_t nx = count(axes, &Axis::n), ny = count_results(axes);
    const Values x = filled(6 * nx, 0.4);
    Values most(static_cast<size_t>(6 * ny), -kInf), total(most.size(), 0.0), inside(most.size(), 0.0);
    for (int64_t b = 0; b < 6; ++b)
      each_read(axes, [&](int64_t y, int64_t p, int64_t) {
        if (p < 0) return;
        const auto at = static_cast<size_t>(b * ny + y);
        const double v = x[static_cast<size_t>(b * nx + p)];
        most[at] = std::max(most[at], v), total[at] += v, inside[at] += 1;
      });
    for (size_t j = 0; j < total.size(); ++j) total[j] /= inside[j];
    const std::string moves =
        "(x, " + numbers(axes, &Axis::k) + ", stride=" + numbers(axes, &Axis::s) + ", padding=" + sides(axes) + ")";
    const std::string head = "def f(x: " + shape("2,3", axes, &Axis::n) + ") = ";
    expect_near(run(program(head + "max_pool" + moves), {x}), most, "max_pool" + moves);
    expect_near(run(program(head + "avg_pool" + moves), {x}), total, "avg_pool" + moves);
    expect_derivatives(program(head + "max_pool" + moves), {x});
    expect_derivatives(program(head + "avg_pool" + moves), {x});
  }
}

TEST(Pooling, OfNothingAndOfIntegers) {
  EXPECT_EQ(run("def f(x: i32[1,1,4]) = max_pool(x, 2)", {{-5, -7, 3, 9}}), (Values{-5, 9}));
  EXPECT_EQ(run("def f(x: f32[1,1,1]) = max_pool(x, 1, padding=1)", {{4}}), (Values{-kInf, 4, -kInf}));
  EXPECT_TRUE(std::isnan(run("def f(x: f32[1,1,1]) = avg_pool(x, 1, padding=1)", {{4}})[0]));
  EXPECT_EQ(run("def f(x: f32[0,2,4], w: f32[3,2,2]) = conv(x, w)", {{}, Values(12, 1.0)}), Values{});
  EXPECT_EQ(run("def f(x: f32[1,0,3], w: f32[2,0,2]) = conv(x, w)", {{}, {}}), (Values{0, 0, 0, 0}));
}

TEST(Convolution, PaddingIsZerosAlsoForWeightsThatAreNoNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double w : {kInf, -kInf, nan}) {
    const Values y = run("def f(x: f32[1,1,3], w: f32[1,1,2]) = conv(x, w, padding=[1, 1])", {{1, 2, 4}, {w, 3}});
    EXPECT_TRUE(std::isnan(y[0])) << "0 times " << w;
    for (size_t j = 1; j < 4; ++j) EXPECT_TRUE(y[j] == w || std::isnan(w)) << j << ": " << y[j];
    const Values inside = run("def f(x: f32[1,1,3], w: f32[1,1,2]) = conv(x, w)", {{1, 2, 4}, {w, 3}});
    for (double v : inside) EXPECT_TRUE(v == w || std::isnan(w)) << v;
  }
}

TEST(Convolution, SameKeepsTheExtentOverTheStride) {
  for (const int64_t n : {1, 4, 5, 6})
    for (const int64_t k : {1, 2, 3, 4})
      for (const int64_t s : {1, 2, 3}) {
        const int64_t results = (n + s - 1) / s, pads = std::max<int64_t>(0, (results - 1) * s + k - n);
        const Axis a{n, k, s, 1, pads / 2, pads - pads / 2};
        const std::string head = "def f(x: f64[1,1,N], w: f64[1,1,K]) = ", stride = "conv(x, w, stride=" + std::to_string(s);
        const text::ShapeVariables shapes = {{"N", n}, {"K", k}};
        EXPECT_EQ(text::print(program(head + stride + ", padding=\"same\")", shapes)),
                  text::print(program(head + stride + ", padding=[" + a.sides() + "])", shapes)));
        EXPECT_EQ(a.results(), results);
      }
}

// Equal programs have equal kernels, so have their gradients.
TEST(Convolution, IsTheComprehensionThatItSays) {
  const std::string head = "def f(x: f32[2,3,16,15], w: f32[4,3,3,5]) = ";
  const std::string written =
      "for b: 2, o: 4, y: 8, z: 15 => sum(for c: 3, i: 3, j: 5 => x[b, c, 2 * y + i - 1, z + j - 2] * w[o, c, i, j])";
  const Program conv = program(head + "conv(x, w, stride=[2, 1], padding=[1, 0, 2, 2])"), by_hand = program(head + written);
  const auto simple = [](const Program& p) { return text::print(rewrite::optimise_for_lowering(p)); };
  EXPECT_EQ(simple(conv), simple(by_hand));
  EXPECT_EQ(simple(vjp(conv).value()), simple(vjp(by_hand).value()));
}

TEST(Convolution, MistakesAreTold) {
  const std::pair<const char*, const char*> cases[] = {
      {"conv(x, w[:, 0:2])", "SG0101 conv: 3 channels in 1 group have no weights f32[4,2,2]"},
      {"conv(x, w, groups=3)", "SG0101 conv: 3 channels in 3 groups have no weights f32[4,3,2]"},
      {"conv(x[0], w)", "SG0101 conv: needs axes (batch, channels, space..), not f32[3,5]"},
      {"conv(x, w, dilation=5)", "SG0101 conv: a window that reaches over 6 positions does not fit in axis 2 of f32[2,3,5]"},
      {"conv(x, w, stride=0)", "SG0404 conv: stride is 0"},
      {"conv(x, w, stride=[1, 1])", "SG0404 conv: stride has 2 numbers for 1 space axis"},
      {"conv(x, w, padding=[1, 1, 1])", "SG0404 conv: padding has 3 numbers for 2 sides"},
      {"conv(x, w, padding=-1)", "SG0404 conv: padding is -1"},
      {"conv(x, w, padding=\"full\")", "SG0404 conv: there is no padding \"full\""},
      {"max_pool(x, 9)", "SG0101 max_pool: a window that reaches over 9 positions does not fit in axis 2"},
      {"avg_pool(i32(x), 2)", "SG0101 avg_pool: not defined for i32"},
      {"max_pool(x)", "SG0404 'max_pool' needs 'window'"},
  };
  for (const auto& [body, want] : cases) {
    const auto p =
        text::instantiate(text::parse("def f(x: f32[2,3,5], w: f32[4,3,2]) = " + std::string(body), "t.sg").value());
    const std::string have = p ? "" : p.error().code + " " + p.error().message;
    EXPECT_EQ(have.substr(0, std::string(want).size()), want) << body;
  }
}

}  // namespace convolution_test
}  // namespace spirograd
