// prefer_store and prefer_recompute change where a value lies, and nothing else: not its value, not its derivatives.
#include "spirv/lower/marks.h"

#include <gtest/gtest.h>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/split.h"
#include "spirograd/text.h"
#include "support/lowered.h"

namespace spirograd {
namespace marks_test {

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

// `text` with MARK as one of them, or nothing.
Program marked(std::string text, const std::string& mark) {
  for (size_t at = 0; (at = text.find("MARK", at)) != std::string::npos;) text.replace(at, 4, mark);
  return program(text);
}

lower::Plan plan_of(const Program& p, const Target& t) {
  return lower::lower(rewrite::optimise_for_lowering(p, {.verify = true}), t);
}

// Bytes of scratch arrays that are as large as `type`.
uint64_t stored(const Program& p, const Type& type) {
  uint64_t bytes = 0;
  for (const BufferDesc& b : plan_of(p, test::cpu_target()).buffers)
    if (b.role == Role::Scratch && b.type == type) bytes += b.bytes;
  return bytes;
}

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
  return n;
}

constexpr const char* kPrograms[] = {
    ("def main(x: f32[40, 30]) -> (a: f32[40], b: f32[30]) = { let y = MARK(exp(x) * sin(x))\n  (sum(y, axis=1), sum(y, "
     "axis=0)) }"),
    "def main(x: f32[40, 30]) -> f32[40, 30] = MARK(x) * MARK(x + 1.0)",
    "def main(x: f32[40, 30]) -> (a: f32, b: f32) = { let s = MARK(sum(MARK(x * x), axis=1))\n  (sum(s * s), max(s)) }",
    "def main(x: f32[6]) = sum(fori(20, fn(i, s) => MARK(sin(s)) * 0.5 + MARK(s), x))",
    "def main(x: f32[40, 30]) = sum(for i: 40 => MARK(sum(x[i])) * MARK(x[i, 0]))",
    "def main(x: f32[40, 30]) = sum(prefer_store(prefer_recompute(MARK(tanh(x)))))",
};

TEST(Marks, ChangeNoValueAndNoDerivative) {
  for (const char* text : kPrograms)
    for (const char* mark : {"prefer_store", "prefer_recompute"}) {
      const Program p = marked(text, mark), plain = marked(text, "");
      const std::vector<std::vector<double>> inputs = test::sines(p, 0.3);
      for (const Target& t : {test::cpu_target(), test::gpu_target()}) {
        EXPECT_TRUE(test::same_as_interpreter(p, plan_of(p, t), inputs)) << text;
        const Program d = vjp(p).value();
        EXPECT_TRUE(test::same_as_interpreter(d, plan_of(d, t), test::sines(d, 0.3))) << text;
      }
      EXPECT_EQ(ir::evaluate(vjp(p).value(), test::sines(vjp(p).value(), 0.3)).back().data,
                ir::evaluate(vjp(plain).value(), test::sines(vjp(plain).value(), 0.3)).back().data)
          << text;
      EXPECT_EQ(text::print(program(text::print(p))), text::print(p));
    }
}

TEST(Marks, DecideWhatLiesInMemory) {
  const Type whole = f32({300, 200});
  // Two kernels, over rows and over columns, need a value: dear, or cheap.
  const std::string both = "def main(x: f32[300, 200]) -> (a: f32[300], b: f32[200]) = { let y = MARK(";
  const std::string dear = both + "exp(x) * sin(x))\n  (sum(y, axis=1), sum(y, axis=0)) }",
                    cheap = both + "x + 1.0)\n  (sum(y, axis=1), sum(y, axis=0)) }";
  EXPECT_EQ(stored(marked(dear, ""), whole), 240000u);
  EXPECT_EQ(stored(marked(dear, "prefer_recompute"), whole), 0u) << "nor is what it is made of";
  EXPECT_EQ(stored(marked(cheap, ""), whole), 0u);
  EXPECT_EQ(stored(marked(cheap, "prefer_store"), whole), 240000u);
  EXPECT_EQ(stored(marked(both + "prefer_store(exp(x)) * sin(x))\n  (sum(y, axis=1), sum(y, axis=0)) }", "prefer_recompute"),
                   whole),
            240000u)
      << "a part that is marked";
  // What a reduction gives below is as it was.
  const std::string scaled = both + "x * sum(exp(x)))\n  (sum(y, axis=1), sum(y, axis=0)) }";
  EXPECT_EQ(stored(marked(scaled, "prefer_recompute"), f32()), stored(marked(scaled, ""), f32()));
}

// A step of this loop needs exp(s) on the way back: that is kept, or computed again of the state.
TEST(Marks, DecideWhatLoopsKeep) {
  const std::string loop = "def main(x: f32[64]) = sum(fori(100, fn(i, s) => MARK(exp(s)) - 1.0, x))";
  const auto exponentials = [&](const std::string& mark) {
    return count(text::print(grad(marked(loop, mark)).value()), "exp(");
  };
  EXPECT_EQ(exponentials(""), 2u);
  EXPECT_EQ(exponentials("prefer_store"), 1u);
  EXPECT_EQ(exponentials("prefer_recompute"), 2u);
  const std::string two =
      "def main(x: f32[64], w: f32[64, 8]) = sum(fori(10, fn(i, s) => MARK(s @ w) @ w.T * 0.01 + sin(s), x))";
  EXPECT_EQ(ir::evaluate(grad(marked(two, "prefer_recompute")).value(), test::sines(marked(two, ""), 0.1))[0].data.size(),
            64u);
}

// What the first of two programs passes on to the second.
TEST(Marks, DecideWhatIsPassedOn) {
  const std::string text = "def main(x: f32[50, 8], w: f32[8, 50]) = sum(MARK(exp(x @ w)))";
  const auto exponentials = [&](const std::string& mark) {
    return count(text::print(split(marked(text, mark), {"x"}).value().backward), "exp(");
  };
  EXPECT_EQ(exponentials("prefer_store"), 0u);
  EXPECT_EQ(exponentials("prefer_recompute"), 1u);
}

}  // namespace marks_test
}  // namespace spirograd
