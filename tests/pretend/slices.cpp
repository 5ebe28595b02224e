#include "tests/pretend/slices.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/ir/eval.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/dispatch_loops.h"
#include "tests/conformance/conformance.h"
#include "tests/pretend/devices.h"

namespace spirograd::pretend {
namespace {

using Values = std::vector<double>;

// Whole numbers from `low` on, their order that of a generator.
Values whole(size_t n, uint32_t range, int low = 0) {
  Values x(n);
  uint32_t state = 12345;
  for (double& v : x) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<double>((state >> 8) % range) + low;
  }
  return x;
}

std::string short_name(const std::string& text) { return text.substr(0, std::min<size_t>(text.find('\n'), 60)); }

// What the interpreter makes of it.
Task interpreted(std::string what, Program p, const std::vector<Values>& inputs, double tolerance = 1e-4) {
  Task t{std::move(what), std::move(p), {}, {}, tolerance};
  for (size_t i = 0; i < inputs.size(); ++i) t.inputs.emplace_back(t.program.params[i].type, inputs[i]);
  for (ir::Array& a : ir::evaluate(t.program, inputs)) t.expected.push_back(std::move(a.data));
  return t;
}
Task interpreted(const std::string& text, const std::vector<Values>& inputs) {
  return interpreted(short_name(text), test::parsed(text), inputs);
}
// Where the interpreter would take long.
Task known(const std::string& text, const std::vector<Values>& inputs, std::vector<Values> expected) {
  Task t{short_name(text), test::parsed(text), {}, std::move(expected)};
  for (size_t i = 0; i < inputs.size(); ++i) t.inputs.emplace_back(t.program.params[i].type, inputs[i]);
  return t;
}

std::vector<Task> conformance(size_t device) {
  constexpr size_t kEach = 12;
  std::vector<Task> out;
  std::vector<conformance::Check> all = conformance::checks(conformance::Surface::Text, DType::F32);
  for (size_t i = device % kEach; i < all.size(); i += kEach)
    out.push_back(
        interpreted(all[i].line + " " + all[i].name, std::move(all[i].program), all[i].inputs, all[i].f32_tolerance));
  return out;
}

// Sums of whole numbers, so that each lost addition shows.
std::vector<Task> scatter(size_t) {
  const auto gradient = [](const std::string& text) { return grad(test::parsed(text), {"x"}).value(); };
  const std::string head = "def main(x: f32[", indices = "], i: i32[70000], w: f32[70000]) = sum(x[i] * w)\n";
  std::vector<Task> out;
  for (const char* n : {"1", "64", "4096"}) {
    const Values at = whole(70000, static_cast<uint32_t>(std::stoi(n)));
    const Values x(static_cast<size_t>(std::stoi(n)), 1.0);
    out.push_back(interpreted(std::string("scatter to ") + n, gradient(head + n + indices), {x, at, whole(70000, 7, 1)}, 0));
  }
  return out;
}

std::vector<Task> long_loops(size_t) {
  double s = 0, ds = 0;
  constexpr int kSteps = 6001;
  for (int i = 0; i < kSteps; ++i) {
    ds = std::cos(s) * 0.999 * ds + 1;
    s = std::sin(s) * 0.999 + 0.25;
  }
  const std::string steps = std::to_string(kSteps);
  Task slope = known("def main(x: f32) -> (y: f32) = fori(" + steps + ", fn(i, s) => sin(s) * 0.999 + x, 0.0)\n", {{0.25}},
                     {{s}, {ds}});
  slope.program = value_and_grad(slope.program).value();
  slope.tolerance = 1e-3;
  return {known("def main(x: i32) -> (y: i32) = fori(2000001, fn(i, s) => x - s, 0)\n", {{3}}, {{3}}), std::move(slope)};
}

std::vector<Task> sizes(size_t) {
  std::vector<Task> out;
  for (int n : {1, 63, 65, 4099, 100003, 1000003}) {
    const std::string type = "f32[" + std::to_string(n) + "]";
    const Values x = whole(static_cast<size_t>(n), 1000, -500);
    Values y(x.size());
    for (size_t i = 0; i < x.size(); ++i) y[i] = 3 * x[i] + 1;
    out.push_back(known("def main(x: " + type + ") -> (y: " + type + ") = x * 3.0 + 1.0\n", {x}, {y}));
  }
  return out;
}

// Long reductions of few results, contractions and scans: kernels whose invocations work together, on GPUs.
std::vector<Task> reductions(size_t) {
  const Values x = whole(300007, 9, -4);
  double sum = 0, largest = x[0], place = 0;
  Values sums(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    sums[i] = sum += x[i];
    if (x[i] > largest) largest = x[i], place = static_cast<double>(i);
  }
  return {
      known("def main(x: f32[300007]) = (sum(x), max(x), argmax(x))\n", {x}, {{sum}, {largest}, {place}}),
      known("def main(x: f32[300007]) = cumsum(x)\n", {x}, {sums}),
      interpreted("def main(x: f32[70,90], y: f32[90,130]) = x @ y\n", {whole(6300, 9, -4), whole(11700, 9, -4)}),
      interpreted("def main(x: f32[700,33]) = (sum(x, axis=0), max(x, axis=1))\n", {whole(23100, 99)}),
  };
}

// More arrays than some devices let a kernel see.
std::vector<Task> arrays(size_t) {
  std::string parameters, terms;
  std::vector<Values> inputs;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "x" + std::to_string(i);
    parameters += (i ? ", " : "") + name + ": f32[100]";
    terms += (i ? " + " : "") + std::to_string(i + 1) + " * " + name;
    inputs.push_back(whole(100, 50 + static_cast<uint32_t>(i)));
  }
  const std::vector<Values> five(5, whole(40, 3, -1));
  return {interpreted("def main(" + parameters + ") = " + terms + "\n", inputs),
          interpreted("def main(a: f32[40], b: f32[40], c: f32[40], d: f32[40], e: f32[40]) =\n"
                      "  fold(fn(s, k) => 0.5 * s * a[k] + b[k] * c[k] - d[k] * e[k], 1.0, iota(40))\n",
                      five)};
}

// Loops whose steps are dispatches.
std::vector<Task> steps(size_t device) {
  std::vector<Task> out;
  if (pretended_devices()[device].killed_above > 0)
    out.push_back(known("def main(x: i32[4]) -> (y: i32[4]) = fori(70000, fn(i, u) => for k: 4 => u[3 - k] + 1, x)\n",
                        {{1, 2, 3, 4}}, {{70001, 70002, 70003, 70004}}));
  for (test::DispatchLoop& loop : test::dispatch_loops(40))
    if (loop.name == "gradient of mapAccumL") {
      const std::vector<Values> inputs = test::inputs_of(loop.program);
      out.push_back(interpreted(loop.name, std::move(loop.program), inputs));
    }
  // u <- u + (average of neighbours - u) / 2
  const std::string many =
      "def main(x: f32[4096]) = fori(600, fn(i, u) => for k: 4096 => 0.5 * u[k] + 0.25 * (u[k - 1] + u[k + 1]), x)\n";
  Values u = whole(4096, 1000), v = u;
  const Values x = u;
  for (int i = 0; i < 600; ++i, std::swap(u, v))
    for (size_t k = 0; k < u.size(); ++k)
      v[k] = 0.5 * u[k] + 0.25 * ((k ? u[k - 1] : 0) + (k + 1 < u.size() ? u[k + 1] : 0));
  out.push_back(known(many, {x}, {u}));
  return out;
}

std::vector<Task> not_a_number(size_t) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  Values x, y;
  for (double a : {nan, -1.0, 0.0, 1.0, inf, -inf})
    for (double b : {nan, -1.0, 0.0, 1.0, inf, -inf}) x.push_back(a), y.push_back(b);
  return {
      interpreted("def main(x: f32[36], y: f32[36]) = (x == y, x != y, x < y, x <= y, x > y, x >= y)\n", {x, y}),
      interpreted("def main(x: f32[36], y: f32[36]) = (where(x != x, 0.0, x), max(x, y), min(x, y), sign(x), floor(x))\n",
                  {x, y}),
      interpreted("def main(x: f32[36]) = (max(x), min(x), argmax(x), argmin(x))\n", {x}),
  };
}

std::vector<Task> doubles(size_t) {
  return {interpreted("def main(x: f64[1000]) = (sum(sin(x) * x), cumsum(x))\n", {whole(1000, 99, -50)})};
}

std::vector<Task> halves(size_t) {
  return {interpreted("def main(x: f16[999]) -> (a: f32, b: f16[999]) = (sum(x * x), x)\n", {whole(999, 99, -50)})};
}

// Arrays that get memory of their own, 18 MiB each; where memory is like any other the first device speaks for all.
std::vector<Task> memory(size_t device) {
  const PretendedDevice& is = pretended_devices()[device];
  if (device > 0 && is.heaps.empty() && is.full_once == 0 && is.lost_at == 0 && is.groups[0] == 0) return {};
  const size_t n = (18u << 20) / sizeof(float);
  Values x = whole(n, 1000), y(n);
  for (size_t i = 0; i < n; ++i) y[i] = x[i] + 1;
  const std::string type = "f32[" + std::to_string(n) + "]";
  return {known("def main(x: " + type + ") -> (y: " + type + ") = x + 1.0\n", {x}, {y})};
}

// Dispatches that are too long for a submission, in one row of workgroups and in several.
std::vector<Task> dispatches(size_t device) {
  std::vector<Task> out;
  if (pretended_devices()[device].submission == 0) return out;
  for (const size_t n : {size_t{2'000'003}, size_t{4'300'001}}) {
    const Values x = whole(n, 30, 1);
    Values y(n);
    for (size_t i = 0; i < n; ++i) y[i] = std::lgamma(x[i]) * std::sin(x[i]) + std::erf(1 / x[i]);
    const std::string type = "f32[" + std::to_string(n) + "]";
    out.push_back(
        known("def main(x: " + type + ") -> (y: " + type + ") = lgamma(x) * sin(x) + erf(1.0 / x)\n", {x}, {std::move(y)}));
  }
  return out;
}

constexpr Slice kSlices[] = {
    {"conformance", conformance}, {"scatter", scatter}, {"long_loops", long_loops}, {"sizes", sizes},
    {"reductions", reductions},   {"arrays", arrays},   {"steps", steps},           {"not_a_number", not_a_number},
    {"doubles", doubles},         {"halves", halves},   {"memory", memory},         {"dispatches", dispatches},
};

}  // namespace

std::span<const Slice> slices() { return kSlices; }

}  // namespace spirograd::pretend
