// One program, transformed and compiled on several threads at once: each gets what it would get alone. Run under
// ThreadSanitizer (tools/test --tsan), this proves that nothing shared is written.
#include <gtest/gtest.h>

#include <thread>

#include "frontend/ir/eval.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"

namespace spirograd {
namespace compile_threads_test {

constexpr const char* kPrograms[] = {
    R"(def mixture(x: f32[40, 2], mu: f32[3, 2]) -> f32 {
  sum(for i: 40 => logsumexp(for k: 3 => -sum(for d: 2 => (x[i, d] - mu[k, d]) * (x[i, d] - mu[k, d]))))
})",
    R"(def loops(x: f32[8], w: f32[8, 8]) -> f32 {
  sum(fori(5, fn(i, s) => tanh(w @ s) + fori(2, fn(j, t) => t * cos(t), s), x))
})",
    R"(def gathers(x: f32[30], at: i32[12]) -> f32 {
  let y = for i: 12 => x[at[i]] * x[29 - i]
  sum(where(y > 0.5, y, sqrt(y * y + 1.0)))
})"};

Target target() {
  Target t;
  t.float64 = true;
  t.max_invocations = 256;
  return t;
}

// All that somebody may ask of a program, as text; the loss, or the loss and its gradient.
std::string everything(const Program& p, bool with_gradient) {
  const Program asked = with_gradient ? value_and_grad(p).value() : p;
  const Executable e = compile(asked, target()).value();
  std::string out = text::print(p) + text::print(asked);
  for (const KernelBinary& k : e.kernels)
    out.append(reinterpret_cast<const char*>(k.words.data()), k.words.size() * sizeof(uint32_t));
  std::vector<std::vector<double>> inputs;
  for (const Param& q : p.params) inputs.emplace_back(static_cast<size_t>(q.type.shape.count()), 1.0);
  for (const ir::Array& a : ir::try_evaluate(asked, inputs).value())
    for (double x : a.data) out += std::to_string(x) + " ";
  return out;
}

TEST(CompileThreads, LossAndGradientOfOneProgramAtTheSameTime) {
  constexpr int kThreads = 4, kRounds = 6;
  for (const char* source : kPrograms) {
    const Program p = text::instantiate(text::parse(source, "threads.sg").value()).value();
    const std::string alone[] = {everything(p, false), everything(p, true)};
    std::vector<int> wrong(kThreads, 0);
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
          for (int round = 0; round < kRounds; ++round)
            wrong[static_cast<size_t>(t)] += everything(p, t % 2) != alone[t % 2];
        });
    }
    EXPECT_EQ(wrong, std::vector<int>(kThreads, 0)) << source;
  }
}

TEST(CompileThreads, ParsingAndTracingErrorsStayWithTheirThread) {
  const text::Module module = text::parse("def f(x: f32[N]) -> f32 {\n  sum(x) + y\n}\n", "bad.sg").value();
  std::vector<std::string> codes(4);
  {
    std::vector<std::jthread> threads;
    for (std::string& code : codes)
      threads.emplace_back([&] {
        for (int round = 0; round < 50; ++round) code = text::instantiate(module, "f", {{"N", 3}}).error().code;
      });
  }
  EXPECT_EQ(codes, std::vector<std::string>(4, "SG0402"));
}

}  // namespace compile_threads_test
}  // namespace spirograd
