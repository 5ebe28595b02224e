// Reductions whose operands go through shared memory: schedules that are given by hand, on the host evaluator, which reports
// races.
#include <gtest/gtest.h>

#include "frontend/rewrite/passes.h"
#include "spirograd/text.h"
#include "spirv/kernel/print.h"
#include "spirv/kernel/verify.h"
#include "spirv/schedule/legal.h"
#include "support/lowered.h"

namespace spirograd {
namespace {

Target gpu() {
  Target t;
  t.float64 = true;
  t.subgroup_size = 32;
  t.max_invocations = 1024;
  t.max_buffers = 16;
  return t;
}

// These schedules, and facts as they were asked for.
class Given : public schedule::Scheduler {
 public:
  Given(std::string map, std::string reduction) : map_(std::move(map)), reduction_(std::move(reduction)) {}
  schedule::MapSchedule map(const schedule::MapFacts& f, const Target& t) const override {
    const schedule::MapSchedule s = schedule::parse_map(map_);
    return check(f, s, t) ? schedule::plain_map(f) : s;
  }
  schedule::ReduceSchedule reduction(const schedule::ReduceFacts& f, const Target&) const override {
    facts.push_back(f);
    return schedule::parse_reduction(reduction_);
  }
  mutable std::vector<schedule::ReduceFacts> facts;

 private:
  std::string map_, reduction_;
};

struct Lowered {
  Program program;
  lower::Plan plan;
  std::vector<schedule::ReduceFacts> facts;
};

Lowered lowered(const std::string& source, const std::string& map, const std::string& reduction) {
  Lowered out;
  out.program = rewrite::optimise_for_lowering(text::instantiate(text::parse(source, "t").value(), "f").value(), {});
  const Given given(map, reduction);
  out.plan = lower::lower(out.program, gpu(), given);
  for (const kernel::Kernel& k : out.plan.kernels)
    if (const auto defect = kernel::verify(k)) ADD_FAILURE() << defect->str();
  out.facts = given.facts;
  return out;
}

std::vector<std::vector<double>> inputs(const Program& p) {
  std::vector<std::vector<double>> out;
  int64_t seed = 1;
  for (const Param& param : p.params) {
    std::vector<double>& v = out.emplace_back();
    for (int64_t j = 0; j < param.type.shape.count(); ++j)
      v.push_back(static_cast<double>((seed = seed * 75 % 65537) % 33 - 16) / 8);
  }
  return out;
}

// Loads of bindings that all invocations run, per element of the reduction and point of the domain.
double loads(const kernel::Kernel& k, double elements) {
  double times = 1, sum = 0;
  std::vector<double> around;
  for (const kernel::Inst& i : k.body) {
    if (i.op == kernel::KOp::Loop) around.push_back(times), times *= static_cast<double>(i.imm);
    if (i.op == kernel::KOp::EndLoop) times = around.back(), around.pop_back();
    if (i.op == kernel::KOp::Load) sum += times;
  }
  return sum * static_cast<double>(k.invocations) / elements;
}

TEST(Stages, Dump) {
  for (const std::string source : {
           "def f(a: f32[512, 512], b: f32[512, 512]) -> f32[512, 512] = a @ b",
           "def f(a: f32[512, 512], b: f32[512, 512], c: f32[512]) -> f32[512, 512] = relu(a @ b + c)",
           "def f(a: f32[512, 512], b: f32[512, 512]) -> f32[512, 512] = relu(transpose(a, [1, 0])) @ b",
           "def f(a: f32[512, 512], b: f32[512, 512]) -> f32[512, 512] = a @ transpose(b, [1, 0])",
           "def f(a: f32[256, 256], b: f32[256, 256]) -> f32[256, 256] = a @ b",
           "def f(a: f32[128, 128], b: f32[128, 128]) -> f32[128, 128] = a @ b",
           "def f(a: f32[64, 64], b: f32[64, 64]) -> f32[64, 64] = a @ b",
           "def f(a: f32[8, 128, 96], b: f32[8, 96, 128]) -> f32[8, 128, 128] = a @ b",
           "def f(a: f32[509, 509], b: f32[509, 509]) -> f32[509, 509] = a @ b",
           "def f(a: f32[10000, 64], b: f32[64, 8]) -> f32[10000, 8] = a @ b",
           "def f(a: f32[128, 10000], b: f32[10000, 128]) -> f32[128, 128] = a @ b",
           "def f(x: f32[1000, 50], c: f32[50, 50]) -> f32[1000, 1000] = x @ c @ transpose(x, [1, 0])",
           "def f(x: f32[1000, 50], y: f32[800, 50]) -> f32[1000, 800] = for i: 1000, j: 800 => exp(-sum(square(x[i] - "
           "y[j])))",
           "def f(x: f32[1000], k: f32[64]) = for i: 1000 => sum(for j: 64 => x[i + j - 1] * k[j])",
           "def f(x: f32[64, 64, 32], w: f32[3, 3, 32, 64]) = for i: 64, j: 64, o: 64 => sum(for a: 3, b: 3, c: 32 => x[i + "
           "a - 1, j + b - 1, c] * w[a, b, c, o])",
       }) {
    const Program program =
        rewrite::optimise_for_lowering(text::instantiate(text::parse(source, "t").value(), "f").value(), {});
    const lower::Plan plan = lower::lower(program, gpu());
    std::cout << source << "\n" << text::print(program);
    for (size_t j = 0; j < plan.kernels.size(); ++j) {
      if (const auto defect = kernel::verify(plan.kernels[j])) ADD_FAILURE() << defect->str();
      std::cout << plan.kernels[j].body.size() << " instructions, " << loads(plan.kernels[j], 1) << " loads\n";
      for (const lower::ScheduleLine& line : plan.schedules[j]) std::cout << "   " << line.what << ": " << line.how << "\n";
    }
  }
}

TEST(Stages, AProductGoesThroughSharedMemory) {
  const Lowered l = lowered("def f(a: f32[64, 64], b: f32[64, 64]) -> f32[64, 64] = a @ b",
                            "i = grid 2 local 8 register 4; j = grid 2 register 4 local 8; group 64",
                            "k = serial 4 serial 4 unroll 4; stage A pad 1, B");
  ASSERT_EQ(l.plan.kernels.size(), 1u);
  EXPECT_TRUE(test::same_as_interpreter(l.program, l.plan, inputs(l.program)));
  if (std::getenv("DUMP")) std::cout << kernel::to_string(l.plan.kernels[0]);
  EXPECT_EQ(loads(l.plan.kernels[0], 64 * 64 * 64), 2.0 / 32);
}

}  // namespace
}  // namespace spirograd
