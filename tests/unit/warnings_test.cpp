// What the tool says of programs that keep far more than they are given, and which arrays these are.
#include "tools/cli/warnings.h"

#include <gtest/gtest.h>

#include "spirograd/compile.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd {
namespace warnings_test {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

Executable keeping(uint64_t scratch, uint64_t given) {
  Executable e;
  e.scratch_bytes = scratch;
  BufferDesc input, array;
  input.role = Role::Input;
  input.bytes = given;
  array.type = f32({1000, 1000, 100});
  array.bytes = scratch;
  array.what = "sum at model.sg:3:5";
  e.buffers = {input, array};
  return e;
}

TEST(Warnings, TellOfMuchMemoryForLittleData) {
  EXPECT_EQ(cli::much_memory(keeping(400 * kMebibyte, kMebibyte)),
            "400 MiB are kept for intermediate values, where inputs and outputs are 1 MiB; the largest:\n"
            "  f32[1000,1000,100], 400 MiB: sum at model.sg:3:5");
  EXPECT_EQ(cli::much_memory(keeping(400 * kMebibyte, 40 * kMebibyte)), "") << "ten times as much is no surprise";
  EXPECT_EQ(cli::much_memory(keeping(200 * kMebibyte, kMebibyte)), "") << "nor is what every device has";
}

TEST(Warnings, TheLargestArraysAreThoseOfTheSource) {
  const Program p = test::program("def main(x: f32[300,20]) = sort(for i: 300 => sum(square(x[i])))");
  const Executable e = compile(p, test::cpu_target()).value();
  const std::vector<std::string> largest = largest_scratch(e, 2);
  ASSERT_EQ(largest.size(), 2u);
  EXPECT_TRUE(largest[0].find("test.sg:1:") != std::string::npos || largest[1].find("test.sg:1:") != std::string::npos)
      << largest[0] << "\n"
      << largest[1];
  EXPECT_TRUE(largest_scratch(e, 0).empty());
}

}  // namespace warnings_test
}  // namespace spirograd
