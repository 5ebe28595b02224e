// Kernels of one's own: what they stand for is what is computed, differentiated and vectorised everywhere but on devices;
// modules that are none, or do not fit their call, are refused by name before a driver sees them.
#include "spirograd/own_kernel.h"

#include <gtest/gtest.h>

#include "frontend/ir/by_kernel.h"
#include "frontend/ir/eval.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/verify.h"
#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirv/executable/module_facts.h"
#include "support/lowered.h"
#include "support/own_kernels.h"

namespace spirograd {
namespace own_kernel_test {

constexpr const char* kKernel = "def k(a: f32, x: f32[100]) -> f32[100] = a * x + 1.0";
constexpr const char* kOf = "by_kernel((\"address.spv\", \"descriptors.spv\"), a * x + 1.0, (a, x), invocations=100)";

Target both_forms() {
  Target t = test::cpu_target();
  t.device_address = t.descriptors = true;
  return t;
}

Result<Program> try_program(const std::string& text) {
  const Result<text::Module> m = text::parse(text, "test.sg", test::modules_of(kKernel, both_forms()));
  return m ? text::instantiate(*m) : Result<Program>(m.error());
}
Program program(const std::string& text) { return try_program(text).value(); }

std::string on(const std::string& expression) {
  return "def s(a: f32, x: f32[100]) -> f32[100] = " + std::string(kOf) + "\ndef main(a: f32, x: f32[100]) = " + expression;
}

// The same without the kernel.
std::string plain(const std::string& expression) {
  return "def s(a: f32, x: f32[100]) -> f32[100] = a * x + 1.0\ndef main(a: f32, x: f32[100]) = " + expression;
}

void expect_same(const Program& a, const Program& b) {
  const std::vector<std::vector<double>> inputs = test::sines(a, 0.3);
  const std::vector<ir::Array> have = ir::evaluate(a, inputs), want = ir::evaluate(b, inputs);
  ASSERT_EQ(have.size(), want.size());
  for (size_t r = 0; r < have.size(); ++r) EXPECT_EQ(have[r].data, want[r].data) << "result " << r;
}

TEST(OwnKernel, IsItsValueAndHasItsDerivatives) {
  for (const char* of :
       {"sum(sin(s(a, x)))", "sum(fori(3, fn(i, y) => s(a, y) * 0.5, x))", "sum(s(a, x)[3:9]) + s(a, x)[7]"}) {
    const Program own = program(on(of)), other = program(plain(of));
    expect_same(own, other);
    expect_same(value_and_grad(own).value(), value_and_grad(other).value());
    expect_same(jvp(own).value(), jvp(other).value());
    expect_same(vjp(grad(own).value()).value(), vjp(grad(other).value()).value());
    expect_same(rewrite::optimise_for_lowering(own, {.verify = true}), other);
  }
}

TEST(OwnKernel, GivesWayToItsValueWhereThereAreMany) {
  const Program own = program(on("for i: 3 => s(a * f32(i), x)"));
  expect_same(own, program(plain("for i: 3 => s(a * f32(i), x)")));
  EXPECT_FALSE(ir::reaches(rewrite::optimise_for_lowering(own, {.verify = true}), {ir::Op::ByKernel}));
  EXPECT_TRUE(ir::reaches(rewrite::optimise_for_lowering(program(on("for i: 3 => s(a, x)[i]")), {.verify = true}),
                          {ir::Op::ByKernel}))
      << "that is one";
}

TEST(OwnKernel, PrintsAndParsesBack) {
  const Program p = program(on("s(a, x) * 2.0"));
  const std::string printed = text::print(p);
  EXPECT_NE(printed.find("by_kernel((\"address.spv\", \"descriptors.spv\"), "), std::string::npos) << printed;
  EXPECT_NE(printed.find("invocations=100)"), std::string::npos) << printed;
  EXPECT_EQ(text::print(program(printed)), printed);
}

TEST(OwnKernel, IsOneDispatchInTheFormOfItsModule) {
  const Program p = rewrite::optimise_for_lowering(program(on("sum(s(a, x + x))")));
  for (const bool address : {true, false}) {
    Target t = both_forms();
    t.device_address = address;
    const lower::Plan plan = lower::lower(p, t);
    ASSERT_EQ(plan.given.size(), 1u);
    EXPECT_EQ(plan.given[0].name, address ? "address.spv" : "descriptors.spv");
    ASSERT_EQ(plan.steps.size(), 3u);
    EXPECT_EQ(plan.steps[1].kernel, plan.kernels.size());
    EXPECT_EQ(plan.steps[1].uses.size(), 3u);
    EXPECT_EQ(plan.steps[1].groups, plan.given[0].needs.groups);
    EXPECT_THROW(lower::evaluate(plan, std::vector<HostArray>{HostArray(f32({})), HostArray(f32({100}))}), Error);
  }
}

TEST(OwnKernel, InALoopIsOneDispatchPerStep) {
  const Program p = rewrite::optimise_for_lowering(program(on("fori(4, fn(i, y) => s(a, y) * 0.5, x)")));
  const lower::Plan plan = lower::lower(p, both_forms());
  EXPECT_EQ(plan.given.size(), 1u);
  uint64_t calls = 0;
  run_through(plan.steps,
              [&](size_t step, std::span<const uint64_t>) { calls += plan.steps[step].label.starts_with("address"); });
  EXPECT_EQ(calls, 4u);
}

// One module decides on the form of the whole program.
TEST(OwnKernel, WithOneModuleIsCompiledInItsForm) {
  const auto of = [&](const std::string& file) {
    return program("def main(a: f32, x: f32[100]) = by_kernel(\"" + file + "\", a * x + 1.0, (a, x), invocations=100)");
  };
  EXPECT_EQ(compile(of("descriptors.spv"), both_forms(), {.form = BindingForm::Address})->form, BindingForm::Descriptors);
  EXPECT_EQ(compile(of("address.spv"), both_forms(), {.form = BindingForm::Descriptors})->form, BindingForm::Address);
  Target descriptors = both_forms();
  descriptors.device_address = false;
  const Result<Executable> none = compile(of("address.spv"), descriptors, {.form = BindingForm::Descriptors});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "SG0303");
  EXPECT_NE(none.error().message.find("'address.spv' is not made for that"), std::string::npos) << none.error().message;
}

TEST(OwnKernel, MistakesAreTold) {
  const auto expect = [](const std::string& call, const char* code, const char* part) {
    const Result<Program> p = try_program("def main(a: f32, x: f32[100]) = " + call + "\n");
    ASSERT_FALSE(p) << call;
    EXPECT_EQ(p.error().code, code) << call;
    EXPECT_NE(p.error().message.find(part), std::string::npos) << p.error().message;
    EXPECT_EQ(p.error().loc.line, 1) << call;
  };
  expect("by_kernel(\"nowhere.spv\", x, (x,), invocations=100)", "SG0410",
         "'nowhere.spv' cannot be read: there is no such file");
  expect("by_kernel(\"other\", x, (x,), invocations=100)", "SG0308", "'other' holds no SPIR-V");
  expect("by_kernel(\"address.spv\", x, (x,), invocations=0)", "SG0308", "invocations must be from 1");
  expect("by_kernel((\"address.spv\", \"address.spv\", \"address.spv\"), x, (x,), invocations=1)", "SG0308", "not 3");
  expect("by_kernel(x, x, (x,), invocations=100)", "SG0404", "path of a SPIR-V file");
  expect("by_kernel(\"address.spv\", x, (x,))", "SG0404", "invocations=");
  const auto m = text::parse("def main(x: f32[4]) = by_kernel(\"a.spv\", x, (x,), invocations=4)", "test.sg");
  EXPECT_NE(text::instantiate(*m).error().message.find("came without files"), std::string::npos);
}

TEST(OwnKernel, ThatReachesForMoreArraysThanThereAreIsRefused) {
  const Program p =
      program("def main(x: f32[100]) = by_kernel((\"address.spv\", \"descriptors.spv\"), x, (x,), invocations=100)");
  const Result<Executable> e = compile(p, both_forms(), {.form = BindingForm::Descriptors});
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().code, "SG0308");
  EXPECT_NE(e.error().message.find("has binding 2, but 1 arguments"), std::string::npos) << e.error().message;
}

std::vector<uint32_t> words(BindingForm form) {
  const std::string bytes = test::module_bytes(kKernel, both_forms(), form);
  return module_of("k", bytes).value().words;
}

TEST(ModuleFacts, AreThoseOfTheModule) {
  for (const BindingForm form : {BindingForm::Address, BindingForm::Descriptors}) {
    const ModuleFacts f = module_facts("k", words(form));
    EXPECT_EQ(f.form, form);
    EXPECT_EQ(f.bindings, form == BindingForm::Descriptors ? 3u : 0u);
    EXPECT_GT(f.workgroup, 0u);
    EXPECT_EQ(f.needs.device_address, form == BindingForm::Address);
    EXPECT_EQ(f.needs.descriptors, form == BindingForm::Descriptors);
    EXPECT_FALSE(f.needs.float64);
  }
  const std::string wide = test::module_bytes("def k(x: f64[9]) = x + x", both_forms(), BindingForm::Descriptors);
  EXPECT_TRUE(module_facts("k", module_of("k", wide).value().words).needs.float64);
}

// Cut anywhere, and with any word replaced: an error or facts, never more.
TEST(ModuleFacts, SurviveAnyDamage) {
  const std::vector<uint32_t> whole = words(BindingForm::Descriptors);
  int refused = 0;
  const auto read = [&](const std::vector<uint32_t>& w) {
    try {
      module_facts("k", w);
    } catch (const Error& e) {
      EXPECT_EQ(e.code, "SG0308");
      ++refused;
    }
  };
  for (size_t n = 0; n < whole.size(); ++n) read({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(n)});
  for (size_t at = 0; at < whole.size(); ++at)
    for (const uint32_t bad : {0u, 1u, 0xffffffffu, 0x00010011u, 0xffff0011u}) {
      std::vector<uint32_t> w = whole;
      w[at] = bad;
      read(w);
    }
  EXPECT_GT(refused, 100);
}

TEST(ModuleFacts, WhatCannotRunIsNamed) {
  const auto expect = [](std::vector<uint32_t> code, const char* part) {
    std::vector<uint32_t> w = {0x07230203, 0x10300, 0, 9, 0};
    w.insert(w.end(), code.begin(), code.end());
    try {
      module_facts("k", w);
      ADD_FAILURE() << part;
    } catch (const Error& e) {
      EXPECT_NE(e.message.find(part), std::string::npos) << e.message;
    }
  };
  const std::vector<uint32_t> entry = {5u << 16 | 15, 5, 1, 0x6e69616d, 0};
  const auto with = [&](std::vector<uint32_t> more) {
    std::vector<uint32_t> out = entry;
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  expect({}, "no compute shader of the name 'main'");
  expect({5u << 16 | 15, 4, 1, 0x6e69616d, 0}, "no compute shader of the name 'main'");  // of fragments
  expect(entry, "does not give the size of its workgroups");
  expect(with({6u << 16 | 16, 1, 17, 8, 8, 1}), "more than one dimension");
  expect({2u << 16 | 17, 11}, "capability 11");  // Int64
  expect(with({6u << 16 | 16, 1, 17, 8, 1, 1, 4u << 16 | 71, 3, 34, 1}), "descriptor set other than 0");
  expect({2u << 16 | 17}, "ends in the middle of an instruction");
}

}  // namespace own_kernel_test
}  // namespace spirograd
