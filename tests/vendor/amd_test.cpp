// Every kernel of the demo, and kernels whose invocations work together, compile for AMD GPUs, offline, without abort and
// without spills.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "samples/gmm_objective.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/ops.h"
#include "spirograd/text.h"
#include "spirograd/trace.h"
#include "spirv/emit/emit.h"
#include "support/group_kernels.h"

namespace spirograd {
namespace amd_test {

Target amd_like() {
  Target t;
  t.subgroup_size = 64;
  t.subgroup_operations = kSubgroupBasic | kSubgroupVote | kSubgroupArithmetic | kSubgroupBallot | kSubgroupShuffle;
  t.shared_bytes = 65536;
  t.max_invocations = 1024;
  t.max_buffers = 1000;
  t.signed_zero_inf_nan = true;
  t.round_to_even = true;
  return t;
}

struct Outcome {
  int status;
  std::string output;
};

Outcome run(const std::string& command) {
  Outcome o;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  char line[512];
  while (std::fgets(line, sizeof line, pipe)) o.output += line;
  o.status = pclose(pipe);
  return o;
}

class Amd : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("spirograd_amd_" + std::string(GetParam()) + "_" + std::to_string(getpid()));  // each test is a process
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void add(const KernelBinary& kernel) {
    const std::filesystem::path file = folder_ / ("k" + std::to_string(kernels_++) + ".spv");
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(kernel.words.data()), static_cast<std::streamsize>(kernel.words.size() * 4));
    files_ += " " + file.string();
  }

  // One line of the compiler for each.
  void compile_all() {
    const Outcome o = run(std::string(AMD_COMPILE) + " " + GetParam() + " " + RADEON_ICD + files_);
    ASSERT_EQ(o.status, 0) << o.output;
    size_t lines = 0, begin = 0;
    for (size_t end; (end = o.output.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string line = o.output.substr(begin, end - begin);
      if (line.find(" vgprs ") == std::string::npos) continue;
      ++lines;
      EXPECT_NE(line.find(" spills 0 "), std::string::npos) << line;
    }
    EXPECT_EQ(lines, kernels_);
  }

  std::filesystem::path folder_;
  std::string files_;
  size_t kernels_ = 0;
};

TEST_P(Amd, CompilesTheDemoWithoutSpills) {
  for (const auto& [n, d, k] : {std::array{272, 2, 2}, std::array{1000, 10, 25}}) {
    const Program gradient = value_and_grad(gmm(n, d, k).value(), {"alpha", "mu", "q", "l"}).value();
    for (BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
      for (const KernelBinary& kernel : compile(gradient, amd_like(), {.form = form, .validate = true}).value().kernels)
        add(kernel);
  }
  compile_all();
}

TEST_P(Amd, CompilesProductsThroughSharedMemoryWithoutSpills) {
  for (const char* source : {"def f(a: f32[512, 512], b: f32[512, 512]) -> f32[512, 512] = a @ b",
                             "def f(a: f32[509, 509], b: f32[509, 509]) -> f32[509, 509] = a @ transpose(b, [1, 0])",
                             "def f(a: f32[256, 256], b: f32[256, 256], c: f32[256]) -> f32[256, 256] = relu(a @ b + c)"}) {
    const Program p = text::instantiate(text::parse(source, "products").value(), "f").value();
    for (BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
      for (const KernelBinary& kernel : compile(p, amd_like(), {.form = form, .validate = true}).value().kernels)
        add(kernel);
  }
  compile_all();
}

TEST_P(Amd, CompilesWorkgroupsThatWorkTogetherWithoutSpills) {
  const Target t = amd_like();
  for (BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
    for (const test::GroupCase& c : test::group_cases(t.subgroup_size, t.max_invocations, false))
      add(spirv::emit(c.kernel, t, form));
  compile_all();
}

TEST_P(Amd, CompilesScansWithoutSpills) {
  const Program running = trace("running", {{"x", f32({1000000})}}, [](Array x) { return cumsum(sin(x)); }).value();
  for (BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
    for (const KernelBinary& kernel : compile(running, amd_like(), {.form = form, .validate = true}).value().kernels)
      add(kernel);
  compile_all();
}

INSTANTIATE_TEST_SUITE_P(Families, Amd, testing::Values("polaris10", "vega10", "navi10", "navi21"),
                         [](const auto& i) { return std::string(i.param); });

}  // namespace amd_test
}  // namespace spirograd
