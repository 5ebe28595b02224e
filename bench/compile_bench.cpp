// Time from source to SPIR-V against the length of the program, for programs of scalar statements, on a few elements and on
// all of an array, with their gradients, and for repeated reductions. Host only: kernels are made for the plain target.
//   compile_bench [N ..]      numbers of statements; 100 1000 10000 if not given
// Prints one JSON object per program and length: CPU milliseconds of each stage, kernels, steps, words of SPIR-V.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"

namespace {

using namespace spirograd;

std::string scalar_statements(int n) {
  static constexpr const char* kForms[][3] = {
      {"sin(", ") * ", ""}, {"", " * 0.5 + ", ""}, {"exp(-", " * ", ")"}, {"tanh(", ") - ", ""}};
  std::string text = "def f(x: f32[4]) -> f32 {\n";
  const auto operand = [](int i) { return i < 0 ? "x[" + std::to_string(4 + i) + "]" : "v" + std::to_string(i); };
  for (int i = 0; i < n; ++i) {
    const auto& form = kForms[i % 4];
    text += "  let v" + std::to_string(i) + " = " + form[0] + operand(i - 1) + form[1] + operand(i - 3) + form[2] + "\n";
  }
  return text + "  v" + std::to_string(n - 1) + "\n}\n";
}

std::string statements_on_elements(int n) {
  std::string text = "def f(x: f32[" + std::to_string(n + 1) + "]) -> f32 {\n  let s0 = x[0]\n";
  for (int i = 0; i < n; ++i) {
    const std::string at = std::to_string(i), next = std::to_string(i + 1);
    text += "  let s" + next + " = s" + at + " + sin(x[" + at + "] * x[" + next + "])\n";
  }
  return text + "  s" + std::to_string(n) + "\n}\n";
}

std::string repeated_reductions(int n) {
  std::string text = "def f(x: f32[1000]) -> f32 {\n  let s0 = sum(x)\n";
  for (int i = 1; i < n; ++i) text += "  let s" + std::to_string(i) + " = sum(x * s" + std::to_string(i - 1) + " * 0.001)\n";
  return text + "  s" + std::to_string(n - 1) + "\n}\n";
}

std::string lines_of_arrays(int n, const std::string& before, const std::string& after) {
  std::string text = "def f(x: f32[100], w: f32[100, 100], k: i32[100]) -> f32 {\n  let v0 = x\n";
  for (int i = 0; i < n; ++i)
    text += "  let v" + std::to_string(i + 1) + " = " + before + "sin(v" + std::to_string(i) + ")" + after + "\n";
  return text + "  sum(v" + std::to_string(n) + ")\n}\n";
}

double cpu_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void measure(const char* name, int n, const std::string& text) {
  const double start = cpu_ms();
  const Program value = text::instantiate(text::parse(text, name).value()).value();
  const double parsed = cpu_ms();
  const Program both = value_and_grad(value, {"x"}).value();
  const double derived = cpu_ms();
  const Executable executable = compile(both, Target{}).value();
  const double compiled = cpu_ms();
  size_t words = 0;
  for (const auto& k : executable.kernels) words += k.words.size();
  std::printf("{\"program\": \"%s\", \"statements\": %d, ", name, n);
  std::printf("\"parse_ms\": %.1f, \"grad_ms\": %.1f, \"compile_ms\": %.1f, ", parsed - start, derived - parsed,
              compiled - derived);
  std::printf("\"kernels\": %zu, \"steps\": %zu, \"words\": %zu}\n", executable.kernels.size(), executable.steps.size(),
              words);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> lengths;
  for (int j = 1; j < argc; ++j) lengths.push_back(std::atoi(argv[j]));
  if (lengths.empty()) lengths = {100, 1000, 10000};
  try {
    for (const int n : lengths) measure("scalar statements", n, scalar_statements(n));
    for (const int n : lengths) measure("statements on elements", n, statements_on_elements(n));
    for (const int n : lengths)
      if (n <= 1000) measure("repeated reductions", n, repeated_reductions(n));
    for (const int n : lengths) {
      if (n > 1000) continue;
      measure("repeated products", n, lines_of_arrays(n, "matmul(w, ", ")"));
      measure("repeated scatters", n, lines_of_arrays(n, "scatter([100], ", ", k)"));
      measure("repeated sorts", n, lines_of_arrays(n, "sort(", ")"));
    }
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.message.c_str());
    return 1;
  }
  return 0;
}
