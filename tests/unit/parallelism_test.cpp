// How many steps wait for one another, and how many invocations run at once, counted by hand.
#include "tools/cli/parallelism.h"

#include <gtest/gtest.h>

namespace spirograd::cli {
namespace parallelism_test {

// Arrays of 64 floats: an input, two results, two in scratch.
Executable with_steps(std::vector<Step> steps) {
  Executable e;
  for (const Role role : {Role::Input, Role::Output, Role::Output, Role::Scratch, Role::Scratch}) {
    BufferDesc b;
    b.role = role;
    b.bytes = 256;
    b.scratch_offset = e.buffers.size() == 4 ? 256 : 0;
    e.buffers.push_back(b);
  }
  e.n_inputs = 1, e.n_outputs = 2, e.scratch_bytes = 512;
  KernelBinary kernel;
  kernel.workgroup = 32;
  kernel.operations = 3;
  e.kernels = {kernel};
  e.steps = std::move(steps);
  return e;
}

Step dispatch(uint32_t groups, uint32_t from, uint32_t to) {
  Step s;
  s.groups = groups;
  s.uses = {{.buffer = from, .offset = 0, .bytes = 256, .read = true},
            {.buffer = to, .offset = 0, .bytes = 256, .written = true}};
  return s;
}

TEST(Parallelism, StepsThatDoNotWaitAreSideBySide) {
  const Parallelism p =
      parallelism(with_steps({dispatch(2, 0, 3), dispatch(2, 0, 4), dispatch(5, 3, 1), dispatch(1, 4, 2)}));
  EXPECT_EQ(p.steps, 4u);
  EXPECT_EQ(p.in_turn, 2u);
  EXPECT_EQ(p.widest, 6u * 32);
  EXPECT_EQ(p.operations, 10.0 * 32 * 3);
}

TEST(Parallelism, IterationsWaitForEachOther) {
  Step repeat;
  repeat.kind = Step::Kind::Repeat;
  repeat.count = 7;
  repeat.body = 2;
  const Parallelism p = parallelism(
      with_steps({dispatch(1, 0, 3), repeat, dispatch(1, 3, 4), dispatch(2, 4, 3), dispatch(1, 3, 1), dispatch(1, 3, 2)}));
  EXPECT_EQ(p.steps, 17u);
  EXPECT_EQ(p.in_turn, 16u) << "the first, two in each iteration, the last two together";
  EXPECT_EQ(p.widest, 64u);
}

TEST(Parallelism, OfNothing) {
  EXPECT_EQ(parallelism(with_steps({})).in_turn, 0u);
  EXPECT_EQ(parallelism(with_steps({dispatch(0, 0, 1)})).steps, 0u);
}

}  // namespace parallelism_test
}  // namespace spirograd::cli
