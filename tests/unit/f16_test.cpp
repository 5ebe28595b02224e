// f16 is a type of storage: programs compute in f32 with what they read, round what they write, and have derivatives in f32.
#include <gtest/gtest.h>

#include <cmath>

#include "frontend/rewrite/passes.h"
#include "spirograd/array.h"
#include "spirograd/check.h"
#include "spirograd/compile.h"
#include "spirograd/derivatives.h"
#include "spirograd/grad.h"
#include "spirograd/ops.h"
#include "spirograd/text.h"
#include "spirograd/trace.h"
#include "support/f16_programs.h"
#include "support/lowered.h"

namespace spirograd {
namespace f16_test {

Result<Program> try_program(const std::string& text) {
  const Result<text::Module> m = text::parse(text, "test.sg");
  return m ? text::instantiate(*m) : Result<Program>(m.error());
}
Program program(const std::string& text) { return try_program(text).value(); }

std::string signature(const Program& p) {
  std::string out;
  for (const Param& q : p.params) out += (out.empty() ? "" : ", ") + q.name + ": " + to_string(q.type);
  out += " ->";
  for (const ProgramResult& r : p.results) out += " " + r.name + ": " + to_string(r.type);
  return out;
}

Target with_f16(Target t) {
  t.float16_storage = t.float16_addresses = true;
  return t;
}

lower::Plan plan_of(const Program& p, const Target& t) {
  return lower::lower(rewrite::optimise_for_lowering(p, {.verify = true}), t);
}

// As f16 holds them, so that nothing is rounded on the way in.
std::vector<std::vector<double>> inputs_of(const Program& p) {
  std::vector<std::vector<double>> out = test::sines(p, 0.7);
  for (size_t j = 0; j < out.size(); ++j)
    for (double& x : out[j]) x = is_integer(p.params[j].type.dtype) ? std::floor(8 * x) : static_cast<double>(Half(x));
  return out;
}

TEST(F16, ProgramsHaveTheirValuesAndDerivatives) {
  for (const test::F16Program& given : test::kF16Programs) {
    const Program p = program(given.text);
    const double tolerance = given.rounds ? 4e-3 : 1e-4;
    for (const Target& t : {with_f16(test::cpu_target()), with_f16(test::gpu_target())}) {
      EXPECT_TRUE(test::same_as_interpreter(p, plan_of(p, t), inputs_of(p), tolerance)) << given.name;
      if (!is_float(p.params[0].type.dtype)) continue;
      for (const Program& d : {vjp(p).value(), jvp(p).value()})
        EXPECT_TRUE(test::same_as_interpreter(d, plan_of(d, t), inputs_of(d), tolerance)) << given.name;
    }
    const Program again = program(text::print(p));
    EXPECT_EQ(text::print(again), text::print(p));
    if (!is_float(p.params[0].type.dtype)) continue;
    std::vector<HostArray> at;
    for (size_t j = 0; j < p.params.size(); ++j) at.emplace_back(p.params[j].type, inputs_of(p)[j]);
    for (const DerivativeCheck& c : check_derivatives(p, at).value()) EXPECT_TRUE(c.ok) << given.name << ": " << c.what;
  }
}

TEST(F16, DerivativesAreF32) {
  const Program p = program("def main(x: f16[4], w: f32[4]) -> (l: f32, y: f16[4]) = (sum(x * w), x * w)");
  EXPECT_EQ(signature(grad(p).value()), "x: f16[4], w: f32[4] -> d_x: f32[4] d_w: f32[4]");
  EXPECT_EQ(signature(vjp(p).value()),
            "x: f16[4], w: f32[4], ct_l: f32, ct_y: f32[4] -> l: f32 y: f16[4] d_x: f32[4] d_w: f32[4]");
  EXPECT_EQ(signature(jvp(p).value()),
            "x: f16[4], w: f32[4], dot_x: f32[4], dot_w: f32[4] -> l: f32 y: f16[4] dot_l: f32 dot_y: f32[4]");
  EXPECT_EQ(signature(grad(program("def main(x: f16) -> f16 = x * x")).value()), "x: f16 -> d_x: f32");
}

// A derivative of 2e-9 is none that f16 holds.
TEST(F16, SmallDerivativesAreNotLost) {
  const Program p = program("def main(w: f32[3]) = 1e-9 * sum(f16(w) * f16(w))");
  const std::vector<HostArray> d =
      lower::evaluate(plan_of(grad(p).value(), with_f16(test::cpu_target())), std::vector{HostArray(f32({3}), {1, 2, -3})});
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(d[0].values()[i], 2e-9 * (i == 2 ? -3.0 : static_cast<double>(i + 1)), 1e-15);
}

TEST(F16, ResultsAreWhatTheyAreDeclaredOrWereRoundedTo) {
  EXPECT_EQ(signature(program("def main(x: f16[2]) = x")), "x: f16[2] -> out: f16[2]");
  EXPECT_EQ(signature(program("def main(x: f16[2]) -> f32[2] = x")), "x: f16[2] -> out: f32[2]");
  EXPECT_EQ(signature(program("def main(x: f16[2]) = x + 1.0")), "x: f16[2] -> out: f32[2]");
  EXPECT_EQ(signature(program("def main(x: f16[2]) -> f16[2] = x + 1.0")), "x: f16[2] -> out: f16[2]");
  EXPECT_EQ(signature(program("def main(x: f32[2]) = cast(x, f16)")), "x: f32[2] -> out: f16[2]");
  EXPECT_EQ(signature(program("def main(x: f32[2]) = (f16(0.1), zeros(2, dtype=f16), const(f16, [0.5]))")),
            "x: f32[2] -> out0: f16 out1: f16[2] out2: f16");
  const text::Module open = text::parse("def main(x: T[2], y: T[2]) -> T[2] = x * y + zeros(2, dtype=T)", "test.sg").value();
  EXPECT_EQ(signature(text::instantiate(open, "", {}, nullptr, DType::F16).value()), "x: f16[2], y: f16[2] -> out: f16[2]");
}

TEST(F16, TheSameThroughCpp) {
  const Program p =
      trace("main", {{"x", f16({3})}, {"y", f32({3})}}, [](Array x, Array y) {
        return std::vector<Named>{{"a", cast(x * y, DType::F16)}, {"b", x * y}, {"c", x}, {"d", zeros(f16({3}))}};
      }).value();
  EXPECT_EQ(signature(p), "x: f16[3], y: f32[3] -> a: f16[3] b: f32[3] c: f16[3] d: f16[3]");
  const Program outer = trace("outer", {{"x", f32({3})}}, [&](Array x) { return call(p, {x * 2, x})[0]; }).value();
  EXPECT_EQ(signature(outer), "x: f32[3] -> out: f16[3]");
  const std::vector<HostArray> y =
      lower::evaluate(plan_of(outer, with_f16(test::cpu_target())), std::vector{HostArray(f32({3}), {1.0001, 2, 300})});
  EXPECT_EQ(y[0].values(), (std::vector<double>{2, 8, std::numeric_limits<double>::infinity()}));
}

// What several kernels read is kept in half the bytes, and never widened in memory.
TEST(F16, IsStoredInTwoBytes) {
  for (const test::F16Program& given : test::kF16Programs) {
    if (std::string(given.name) != "kept" && std::string(given.name) != "product" && std::string(given.name) != "loop")
      continue;
    const Program p = program(given.text);
    int64_t kept = 0;
    for (const BufferDesc& b : plan_of(p, with_f16(test::cpu_target())).buffers) {
      if (b.role != Role::Scratch) continue;
      EXPECT_FALSE(b.type.dtype == DType::F32 && b.type.shape.rank() == 2) << given.name << ": " << to_string(b.type);
      kept += b.type.dtype == DType::F16;
      EXPECT_EQ(b.bytes, static_cast<uint64_t>(b.type.shape.count()) * device_bytes(b.type.dtype));
    }
    EXPECT_EQ(kept, std::string(given.name) == "kept") << given.name;
  }
}

TEST(F16, DevicesWithoutItSayso) {
  const Result<Executable> e = compile(program("def main(x: f16[2]) -> f32[2] = x"), test::cpu_target());
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().code, "SG0303");
  EXPECT_NE(e.error().str().find("f16[2]"), std::string::npos);
  EXPECT_NE(e.error().str().find("storageBuffer16BitAccess"), std::string::npos);
}

TEST(F16, MistakesAreTold) {
  const auto error = [](const std::string& text, const std::vector<text::NamedType>& inputs = {}) {
    const Result<text::Module> m = text::parse(text, "test.sg");
    const Result<Program> p =
        m ? inputs.empty() ? text::instantiate(*m) : text::instantiate(*m, "", inputs) : Result<Program>(m.error());
    return p ? "" : p.error().str();
  };
  // A program's inputs are what they are declared.
  EXPECT_NE(error("def main(x: f16[n]) = x", {{"x", f32({2})}}).find("declared f16[n], given f32[2]"), std::string::npos);
  EXPECT_NE(error("def main(x: f32[n]) = x", {{"x", f16({2})}}).find("declared f32[n], given f16[2]"), std::string::npos);
  EXPECT_NE(error("def half(x: f16[2]) = x\ndef main(x: i32[2]) = half(x)").find("'half' is declared f16[2], given i32[2]"),
            std::string::npos);
}

}  // namespace f16_test
}  // namespace spirograd
