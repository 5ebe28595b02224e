// Loops whose steps are associative, as scans: which are recognised, what they compute on every kind of target, at every
// length and with infinities and NaN, and in how many dispatches.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"
#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirv/kernel/iterations.h"
#include "spirv/kernel/verify.h"
#include "spirv/lower/associative.h"
#include "support/lowered.h"

namespace spirograd {
namespace scan_test {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

using test::gpu_target;

using Inputs = std::vector<std::vector<double>>;

// Few invocations are wanted, so that small programs have several chunks.
Target small_gpu() {
  Target t = gpu_target();
  t.price.busy = 64;
  t.max_invocations = 64;
  return t;
}

Program program(const std::string& text) {
  const Program p = text::instantiate(text::parse(text, "test.sg").value()).value();
  return rewrite::optimise_for_lowering(p, {.verify = true});
}

Program gradient(const std::string& text) {
  const Program p = text::instantiate(text::parse(text, "test.sg").value()).value();
  return rewrite::optimise_for_lowering(grad(p).value(), {.verify = true});
}

std::string with_length(std::string text, int64_t n) {
  for (size_t at; (at = text.find('N')) != std::string::npos;) text.replace(at, 1, std::to_string(n));
  return text;
}

// Sums of these are exact in f32.
Inputs inputs_of(const Program& p) {
  Inputs out;
  uint64_t random = 1;
  for (const Param& param : p.params) {
    out.emplace_back();
    for (int64_t j = 0; j < param.type.shape.count(); ++j) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const auto x = static_cast<double>(static_cast<int64_t>(random >> 33) % 17 - (param.type.dtype == DType::U32 ? 0 : 8));
      out.back().push_back(is_float(param.type.dtype) ? x / 4 : x);
    }
  }
  return out;
}

testing::AssertionResult runs_right(const Program& p, const Inputs& inputs, const Target& target, double tolerance = 0,
                                    lower::Plan* plan_out = nullptr) {
  try {
    lower::Plan plan = lower::lower(p, target);
    for (const kernel::Kernel& k : plan.kernels) {
      if (auto complaint = kernel::verify(k)) return testing::AssertionFailure() << complaint->str();
      if (kernel::loop_iterations(k) > target.max_loop_iterations)
        return testing::AssertionFailure() << k.name << " runs " << kernel::loop_iterations(k) << " iterations";
    }
    if (const auto same = test::same_as_interpreter(p, plan, inputs, tolerance); !same) return same;
    if (plan_out) *plan_out = std::move(plan);
  } catch (const Error& e) {
    return testing::AssertionFailure() << e.str();
  }
  return testing::AssertionSuccess();
}

int scans(const lower::Plan& plan) {
  int n = 0;
  for (const auto& lines : plan.schedules)
    for (const lower::ScheduleLine& line : lines) n += line.what.starts_with("scan of");
  return n;
}

size_t dispatches(const lower::Plan& plan) { return runs(plan.steps, Step::Kind::Dispatch); }

// How the first accumulator of the only loop changes: the operation and the number of terms, those subtracted marked.
std::string step_of(const std::string& text) {
  const Program p = program(text);
  std::vector<ir::NodeId> roots;
  for (const ProgramResult& r : p.results) roots.push_back({r.node});
  for (const ir::NodeId id : ir::postorder(*p.graph, roots)) {
    const ir::Node& n = (*p.graph)[id];
    if (n.op != ir::Op::MapAccum) continue;
    const auto step = lower::associative_step(*p.graph, p.graph->function(n.attr[0]), 0);
    if (!step) return "none";
    std::string out(ir::name(step->op));
    for (const bool negative : step->negative) out += negative ? " -" : " +";
    return out;
  }
  return "no loop";
}

TEST(Scan, StepsThatOnlyAddOrTakeExtremesAreAssociative) {
  const auto scan = [](const std::string& step, const std::string& type = "f32") {
    return step_of("def main(x: " + type + "[9], y: " + type + ") = scan(fn(s, e) => " + step + ", y, x)");
  };
  EXPECT_EQ(scan("s + e"), "add +");
  EXPECT_EQ(scan("e + s"), "add +");
  EXPECT_EQ(scan("s - e"), "add -");
  EXPECT_EQ(scan("(s - e * e) + y"), "add + -");
  EXPECT_EQ(scan("e + (y + (e * y + (y * y + s)))"), "add + + + +");
  EXPECT_EQ(scan("e + (y + (e * y + (y * y + (exp(e) + s))))"), "none") << "too many terms";
  EXPECT_EQ(scan("e - s"), "none");
  EXPECT_EQ(scan("s + s * e"), "none");
  EXPECT_EQ(scan("sin(s) + e"), "none");
  EXPECT_EQ(scan("s + 0.5 * s"), "none");
  EXPECT_EQ(scan("s * e"), "none") << "products of a chunk may be out of range";
  EXPECT_EQ(scan("e"), "none");
  EXPECT_EQ(scan("max(e, s)"), "max +");
  EXPECT_EQ(scan("min(e, s)"), "min +");
  EXPECT_EQ(scan("max(s, e)"), "none") << "a NaN makes it forget the state";
  EXPECT_EQ(scan("max(e, max(y, s))"), "none") << "max(e, y) is no term: it may be NaN where the loop has e";
  EXPECT_EQ(scan("max(s, e)", "i32"), "max +");
  EXPECT_EQ(scan("min(e, min(s, y))", "i32"), "min + +");
  EXPECT_EQ(scan("max(e, min(s, y))", "i32"), "none");
  EXPECT_EQ(scan("max(e, s + y)", "i32"), "none");
  EXPECT_EQ(scan("s + e", "u32"), "add +");
}

struct Case {
  const char* text;
  double tolerance = 0;
};

const Case kCases[] = {
    {"def main(x: f32[N]) = cumsum(x)"},
    {"def main(x: f32[N], y: f32) = scan(fn(s, e) => s + e, y, x)"},
    {"def main(x: f32[N], y: f32) = scan(fn(s, e) => s - e, y, x)"},
    {"def main(x: f32[N], y: f32) = map_accum_r(fn(s, e) => (s + e, s), y, x)"},
    {"def main(x: f32[N], y: f32) { let (s, (a, b)) = map_accum_r(fn(s, e) => { let t = e + s\n (t, (s * e, t)) }, y, x)\n "
     "(s, a, b) }"},
    {"def main(x: f32[N], y: f32) = map_accum_l(fn(s, e) => (s + e * y, s * 2.0), y, x)"},
    {"def main(x: f32[N], y: f32) { let (s, (a, b)) = map_accum_l(fn(s, e) => (s + e, (s, s + e)), y, x)\n (s, a, b) }"},
    {"def main(x: i32[N], y: i32) = scan(fn(s, e) => s + e, y, x)"},
    {"def main(x: u32[N]) = cumsum(x * x * 90000000u)"},
    {"def main(x: u32[N], y: u32) = scan(fn(s, e) => s - e, y, x)"},
    {"def main(x: i32[N], y: i32) = map_accum_r(fn(s, e) => (y - e + s - 3, s), y, x)"},
    {"def main(x: i32[N], y: f32[50]) = scan(fn(s, e) => s + y[e + 20], 0.25, x)"},
    {"def main(x: f32[N], y: f32) = fori(N, fn(i, s) => s + x[N - 1 - i] * f32(rem(i, 3)), y)"},
    {"def main(x: f64[N]) = cumsum(x)"},
    {"def main(x: f32[N], y: f32) = scan(fn(s, e) => max(e, s), y, x)"},
    {"def main(x: f32[N], y: f32) = map_accum_r(fn(s, e) => (min(e, s), s), y, x)"},
    {"def main(x: i32[N], y: i32) = scan(fn(s, e) => max(s, e), y, x)"},
    {"def main(x: f32[N], y: f32) = fold(fn(s, e) => s + e * e, y, x)"},
    {"def main(x: f32[N], y: f32) = fold(fn(s, e) => max(e, s), y, x)"},
    {"def main(x: f32[N,3], y: f32[3]) = scan(fn(s, e) => s + e * y, y, x)"},
    {"def main(x: f32[3,N]) = cumsum(x, axis=1)"},
    {"def main(x: f32[2,N,2]) = cumsum(x, axis=1)"},
    {"def main(x: f32[N,3], y: f32) = scan(fn(s, e) => s + sum(e), y, x)"},
    {"def main(x: f32[N], y: f32) = scan(fn(s, e) => s + sin(exp(e) + y), y, x)", 1e-5},
    {"def main(x: f32[N]) = cumsum(cumsum(x))", 1e-6},
    {"def main(x: f32[N]) { let ((a, b), c) = map_accum_l(fn((a, b), e) => ((a + e, b + a), b), (0.0, 1.0), x)\n "
     "(a, b, c) }",
     1e-6},
    {"def main(x: f32[N]) { let ((a, b), c) = map_accum_l(fn((a, b), e) => ((a + b, b + e), a), (0.0, 1.0), x)\n "
     "(a, b, c) }",
     1e-6},
    {"def main(x: f32[N], y: f32) = cumsum(for i: N => sum(for j: 40 => x[i] * 0.5 + x[j]))", 1e-6},
};

TEST(Scan, ValuesOfEveryLengthOnEveryKindOfTarget) {
  for (const Case& c : kCases)
    for (const int64_t n : {1, 2, 31, 32, 33, 63, 64, 65, 127, 509, 511, 512, 513, 2047, 2049, 4099, 8191}) {
      const Program p = program(with_length(c.text, n));
      const Inputs inputs = inputs_of(p);
      for (const Target& target : {test::cpu_target(), gpu_target(), small_gpu()})
        ASSERT_TRUE(runs_right(p, inputs, target, c.tolerance))
            << c.text << ", N = " << n << ", busy " << target.price.busy << (target.price.cooperates ? ", together" : "");
    }
}

TEST(Scan, EmptyLoops) {
  for (const char* text : {"def main(x: f32[0]) = cumsum(x)", "def main(x: f32[0], y: f32) = scan(fn(s, e) => s + e, y, x)",
                           "def main(x: f32[700,0]) = cumsum(x)"}) {
    const Program p = program(text);
    for (const Target& target : {test::cpu_target(), gpu_target()}) EXPECT_TRUE(runs_right(p, inputs_of(p), target)) << text;
  }
}

TEST(Scan, LongLoopsAreScansOfFewDispatches) {
  for (const Case& c : kCases) {
    const std::string text = c.text;
    if (text.find("cumsum(cumsum") != std::string::npos || text.find("(a, b),") != std::string::npos) continue;
    const Program p = program(with_length(c.text, 9000));
    const bool reduces = text.find("fold") != std::string::npos;
    for (const Target& target : {test::cpu_target(), gpu_target()}) {
      lower::Plan plan;
      ASSERT_TRUE(runs_right(p, inputs_of(p), target, std::max(c.tolerance, 1e-6), &plan)) << c.text;
      EXPECT_TRUE(scans(plan) > 0 || reduces) << c.text;
      EXPECT_LE(dispatches(plan), 6u) << c.text;
      for (const auto& lines : plan.schedules)
        for (const lower::ScheduleLine& line : lines) EXPECT_FALSE(line.what.starts_with("loop of 9000")) << c.text;
    }
  }
}

// A result that is joined of the first state and the others is not joined by copying.
TEST(Scan, StatesAreWrittenWhereTheyBelong) {
  const Program p = program("def f(x: f32[10000]) -> f32[10001] = scan(fn(s, v) => s + v, 0.0, x)");
  for (const Target& t : {test::cpu_target(), gpu_target()}) {
    lower::Plan plan;
    EXPECT_TRUE(runs_right(p, inputs_of(p), t, 0, &plan));
    EXPECT_LT(plan.scratch_bytes, 4u * 10000);
  }
}

// A state that only adds up leaves its loop; the other one stays, in front of it or behind.
TEST(Scan, SumsLeaveLoopsThatGoOn) {
  for (const char* step : {"(a + v * v, tanh(b + v))", "(tanh(a + v), b + v * v)"}) {
    const Program p = program("def f(x: f32[300]) = fold(fn((a, b), v) => " + std::string(step) + ", (0.5, 0.25), x)");
    for (const Target& t : {test::cpu_target(), gpu_target()}) EXPECT_TRUE(runs_right(p, inputs_of(p), t, 1e-6)) << step;
  }
}

TEST(Scan, DerivativesAreScansToo) {
  for (const char* text : {"def main(x: f32[9000]) -> f32 = sum(square(cumsum(x))) * 0.01",
                           "def main(x: f32[9000]) -> f32 = sum(square(scan(fn(s, e) => s + e * e, 0.0, x))) * 0.001"}) {
    const Program p = gradient(text);
    for (const Target& target : {test::cpu_target(), gpu_target()}) {
      lower::Plan plan;
      ASSERT_TRUE(runs_right(p, inputs_of(p), target, 1e-5, &plan)) << text;
      EXPECT_GE(scans(plan), 2) << text;
      for (const auto& lines : plan.schedules)
        for (const lower::ScheduleLine& line : lines) EXPECT_FALSE(line.what.starts_with("loop of 9000")) << text;
    }
  }
}

TEST(Scan, DerivativesOfEveryFormInBothModes) {
  for (const char* body : {"cumsum(x) * x", "scan(fn(s, e) => s - e * e, 0.5, x)",
                           "{ let (s, y) = map_accum_r(fn(s, e) => (s + e * 0.5, s * e), 1.0, x)\n y * s }",
                           "scan(fn(s, e) => max(e, s), -9.0, x)", "cumsum(cumsum(x) * 0.01)",
                           "fold(fn(s, e) => s + e * e, 0.5, x) * x", "transpose(cumsum([x, x * x], axis=1))"})
    for (const int64_t n : {2, 513, 2049}) {
      const std::string text = with_length("def main(x: f32[N]) -> f32 = sum(square(" + std::string(body) + ")) * 0.001", n);
      const Program p = text::instantiate(text::parse(text, "test.sg").value()).value();
      for (const Program& derived : {grad(p).value(), jvp(p).value()}) {
        const Program simple = rewrite::optimise_for_lowering(derived, {.verify = true});
        for (const Target& target : {test::cpu_target(), gpu_target(), small_gpu()})
          ASSERT_TRUE(runs_right(simple, inputs_of(simple), target, 1e-4)) << text << target.price.busy;
      }
    }
}

// Terms of all steps have one axis more than those of one, and totals of chunks another one.
TEST(Scan, ArraysOfTheHighestRank) {
  for (const int rank : {kMaxRank - 1, kMaxRank})
    for (const bool wider_inside : {false, true}) {
      Program p;
      const auto graph = std::make_shared<ir::Graph>();
      ir::Graph& g = *graph;
      p.graph = graph;
      Shape row;
      for (int a = 1; a < rank; ++a) row.push_back(1);
      p.params = {{"x", f32(row.inserted(0, 9000))}};
      const ir::Expr x = ir::param(g, 0, p.params[0].type), state = ir::fresh_var(g, f32(row)),
                     e = ir::fresh_var(g, f32(row));
      const ir::Expr next = state + (wider_inside ? ir::sum(ir::replicate(e, 0, 2), 0) : e);
      const ir::Expr vars[] = {state, e}, results[] = {next, next};
      const ir::Expr sums =
          ir::map_accum(g, {ir::close_function(g, vars, results), false, 9000, {ir::zeros(g, f32(row))}, {x}, {}})[1];
      p.results = {{"y", sums.id.v, sums.type()}};
      for (const Target& target : {test::cpu_target(), gpu_target()}) {
        lower::Plan plan;
        ASSERT_TRUE(runs_right(p, inputs_of(p), target, 1e-6, &plan)) << rank;
        const bool full = rank == kMaxRank;
        EXPECT_EQ(scans(plan) > 0, full ? target.price.cooperates && !wider_inside : true) << rank << wider_inside;
      }
    }
}

TEST(Scan, WorkgroupsTakeRowsThatAreContiguous) {
  const auto shared = [](const char* text) {
    int n = 0;
    for (const auto& lines : lower::lower(program(text), gpu_target()).schedules)
      for (const lower::ScheduleLine& line : lines)
        n += line.what.starts_with("scan of 9000") && line.how.find("local") != std::string::npos;
    return n;
  };
  EXPECT_EQ(shared("def main(x: f32[9000]) = cumsum(x)"), 1);
  EXPECT_EQ(shared("def main(x: f32[9000,3]) = cumsum(x)"), 0);
  EXPECT_EQ(shared("def main(x: f32[9000,1]) = cumsum(x)"), 1);
  EXPECT_EQ(shared("def main(x: f32[3,9000]) = cumsum(x, axis=1)"), 1);
}

// However small the workgroup is: it waits at barriers.
TEST(Scan, WorkgroupsShareTheirKernelWithNothing) {
  class GroupsOfOne : public schedule::Scheduler {
   public:
    schedule::ScanSchedule scan(const schedule::ScanFacts& f, const Target&) const override {
      return schedule::parse_scan("k = grid 1 serial " + std::to_string((f.length + 3) / 4) + " local 1 register 4");
    }
  };
  const Program p = program("def main(x: f32[70], y: f32[5]) { (cumsum(x), y * y) }");
  const lower::Plan plan = lower::lower(p, gpu_target(), GroupsOfOne());
  for (const kernel::Kernel& k : plan.kernels) EXPECT_FALSE(kernel::verify(k));
  EXPECT_TRUE(test::same_as_interpreter(p, plan, inputs_of(p), 0));
  EXPECT_EQ(dispatches(plan), 2u);
}

TEST(Scan, ManyRowsAreLoopsSideBySide) {
  const Program p = program("def main(x: f32[600,1000]) = cumsum(x)");
  lower::Plan plan;
  ASSERT_TRUE(runs_right(p, inputs_of(p), test::cpu_target(), 0, &plan));
  EXPECT_EQ(scans(plan), 0);
  EXPECT_EQ(dispatches(plan), 1u);
}

TEST(Scan, DevicesThatEndLoopsEarly) {
  for (const uint64_t limit : {uint64_t{100}, uint64_t{65471}})
    for (const char* text :
         {"def main(x: f32[9001]) = cumsum(x)",
          "def main(x: f32[9001], y: f32) = map_accum_r(fn(s, e) => (max(e, s), s), y, x)",
          "def main(x: i32[901,200]) = cumsum(x)", "def main(x: f32[4000,7]) = cumsum(for i: 4000 => sum(x[i]))",
          "def main(x: f32[901,60]) = cumsum(for i: 901 => sum(x[i]))"}) {
      const Program p = program(text);
      for (Target target : {test::cpu_target(), gpu_target(), small_gpu()}) {
        target.max_loop_iterations = limit;
        lower::Plan plan;
        ASSERT_TRUE(runs_right(p, inputs_of(p), target, 0, &plan)) << text;
        EXPECT_EQ(runs(plan.steps, Step::Kind::Repeat), 0u) << text;
      }
    }
}

TEST(Scan, DevicesWithFewBuffers) {
  const Program p = program(
      "def main(x: f32[9001], y: f32, z: f32[9001], w: f32[9001]) { let (s, (a, b)) = map_accum_r(fn(s, (e, f, g)) => "
      "(s + e * f - g, (s, s + e * f - g)), y, (x, z, w))\n (s, a, b) }");
  for (const uint32_t buffers : {7, 8, 9, 12})
    for (Target target : {test::cpu_target(), gpu_target()}) {
      target.max_buffers = buffers;
      target.device_address = false;  // descriptors are counted
      lower::Plan plan;
      ASSERT_TRUE(runs_right(p, inputs_of(p), target, 1e-6, &plan)) << buffers;
      EXPECT_EQ(scans(plan) > 0, buffers >= 8);
    }
}

// An infinity reaches no state before it, and what the loop makes of it the scan does.
TEST(Scan, InfinitiesAndNaN) {
  const Inputs specials = {{kInf}, {-kInf}, {kNaN}, {kInf, kInf}, {kInf, -kInf}, {-kInf, kNaN, kInf}, {1e38, 2e38, -1e38}};
  for (const char* text :
       {"def main(x: f32[5000]) = cumsum(x)", "def main(x: f32[5000]) = map_accum_r(fn(s, e) => (s + e, s), 0.5, x)",
        "def main(x: f32[5000], y: f32) = scan(fn(s, e) => max(e, s), -2.0, x)",
        "def main(x: f32[5000], y: f32) = scan(fn(s, e) => max(s, e), -2.0, x)",
        "def main(x: f32[5000], y: f32) = scan(fn(s, e) => min(e, s), y, x)"}) {
    const Program p = program(text);
    for (const std::vector<double>& special : specials)
      for (const size_t apart : {1, 700, 2300}) {
        Inputs inputs = inputs_of(p);
        size_t at = 300;
        for (const double v : special) inputs[0][std::exchange(at, (at + apart) % 5000)] = v;
        for (const Target& target : {test::cpu_target(), gpu_target(), small_gpu()})
          ASSERT_TRUE(runs_right(p, inputs, target, 1e-6)) << text << ", " << special[0] << ", apart " << apart;
      }
  }
  Inputs nothing = {std::vector<double>(5000, kNaN), {kNaN}};
  const Program p = program("def main(x: f32[5000], y: f32) = scan(fn(s, e) => max(e, s), y, x)");
  for (const double start : {kNaN, 1.0, -kInf}) {
    nothing[1] = {start};
    for (const Target& target : {test::cpu_target(), gpu_target(), small_gpu()}) EXPECT_TRUE(runs_right(p, nothing, target));
  }
}

// As those of one compensated loop: little more than half a unit of the last place.
TEST(Scan, AMillionSumsAreAsExactAsOneLoops) {
  constexpr int64_t n = 1000000;
  const Program sums = program("def main(x: f32[1000000]) = cumsum(x)"),
                energy = gradient("def main(x: f32[1000000]) -> f32 = sum(square(cumsum(x))) / 2.0");
  for (const bool equal : {true, false}) {
    std::vector<double> x, partial, adjoint(n);
    for (int64_t j = 0; j < n; ++j)
      x.push_back(static_cast<float>(equal ? 0.1 : 0.5 + 0.49 * std::sin(static_cast<double>(j * j % 7919))));
    for (const double v : x) partial.push_back(v + (partial.empty() ? 0 : partial.back()));
    for (size_t j = n; j-- > 0;) adjoint[j] = partial[j] + (j + 1 < n ? adjoint[j + 1] : 0);
    const auto worst = [&](const Program& p, const std::vector<double>& want, const Target& target) {
      const HostArray in[] = {HostArray(p.params[0].type, x)};
      const std::vector<double> have = lower::evaluate(lower::lower(p, target), in)[0].values();
      double most = 0;
      for (size_t j = 0; j < want.size(); ++j) most = std::max(most, std::abs(have[j] - want[j]) / std::abs(want[j]));
      return most;
    };
    for (const Target& target : {test::cpu_target(), gpu_target()}) {
      constexpr double most = 1e-7;
      EXPECT_LE(worst(sums, partial, target), most) << equal << target.price.cooperates;
      EXPECT_LE(worst(energy, adjoint, target), most) << equal << target.price.cooperates;
    }
  }
}

// Terms that cancel leave what the totals of chunks have lost by rounding. The loop's last state only, for chunks of states
// are stored.
TEST(Scan, WhatTotalsOfChunksHaveLostIsNotForgotten) {
  const double tiny = std::ldexp(1.375, -27);
  for (const int64_t n : {8192, 40960, 1048576}) {
    const Program p = program(with_length("def main(x: f32[N]) = fold(fn(s, e) => s + e, 0.0, x)", n));
    std::vector<double> x(static_cast<size_t>(n), tiny);
    x[x.size() / 3] = 1, x[x.size() * 2 / 3] = -1;
    const double want = static_cast<double>(n - 2) * tiny;
    for (const Target& target : {test::cpu_target(), gpu_target(), small_gpu()}) {
      const HostArray in[] = {HostArray(p.params[0].type, x)};
      const double have = lower::evaluate(lower::lower(p, target), in)[0].values()[0];
      EXPECT_NEAR(have, want, 1e-6 * want)
          << n << ", busy " << target.price.busy << (target.price.cooperates ? ", together" : "");
    }
  }
}

// Chunks of which nobody asks for the states are not run through again behind their totals.
TEST(Scan, ALastStateReadsItsTermsOnce) {
  const Program p = program("def main(x: f32[40960]) = fold(fn(s, e) => s + e, 0.0, x)");
  for (const Target& target : {test::cpu_target(), gpu_target(), small_gpu()}) {
    lower::Plan plan;
    ASSERT_TRUE(runs_right(p, inputs_of(p), target, 1e-6, &plan));
    int readers = 0;
    for (const Step& s : plan.steps)
      for (const BufferUse& u : s.uses) readers += plan.buffers[u.buffer].role == Role::Input;
    EXPECT_GT(dispatches(plan), 1u);
    EXPECT_EQ(readers, 1);
  }
}

// A term that is dear is computed once.
TEST(Scan, DearTermsAreStored) {
  const Program p = program("def main(x: f32[9000,50]) = cumsum(for i: 9000 => sum(for j: 50 => lgamma(x[i, j])))");
  const Program cheap = program("def main(x: f32[9000]) = cumsum(x * 2.0)");
  lower::Plan dear_plan = lower::lower(p, test::cpu_target()), cheap_plan = lower::lower(cheap, test::cpu_target());
  EXPECT_GE(dear_plan.scratch_bytes, 36000u);
  EXPECT_LT(cheap_plan.scratch_bytes, 36000u);
}

}  // namespace scan_test
}  // namespace spirograd
