// Large arrays of one number are filled, not computed.
#include <gtest/gtest.h>

#include "spirograd/grad.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd {
namespace fill_test {

// The words of fills in a plan, which gives the interpreter's values.
std::vector<uint32_t> fills(const Program& p) {
  lower::Plan plan;
  EXPECT_TRUE(test::lowers_right(p, test::sines(p, 0.3), test::cpu_target(), &plan));
  std::vector<uint32_t> words;
  for (const Step& s : plan.steps)
    if (s.kind == Step::Kind::Fill) words.push_back(s.fill_word);
  return words;
}

std::vector<uint32_t> fills(const std::string& text) { return fills(test::program("def f" + text)); }

using Words = std::vector<uint32_t>;

TEST(Fill, WordsAreThoseOfTheNumber) {
  EXPECT_EQ(fills("() = full([262144], -2.0)"), Words{0xc0000000});
  EXPECT_EQ(fills("() = full([512, 512], -7)"), Words{0xfffffff9});
  EXPECT_EQ(fills("() = full([262144], true)"), Words{1});
  EXPECT_EQ(fills("() = full([262144], f64(0.0))"), Words{0});
  EXPECT_EQ(fills("() = full([262144], f64(1.0))"), Words{}) << "its words are different ones";
}

TEST(Fill, SmallOnesAndOthersAreComputed) {
  EXPECT_EQ(fills("() = full([262143], 1.0)"), Words{});
  EXPECT_EQ(fills("(x: f32) = full([262144], x)"), Words{});
  EXPECT_EQ(fills("(x: f32[512]) = for i: 512, j: 512 => x[i]"), Words{});
}

TEST(Fill, GradientsOfSumsAndPartsOfWholes) {
  EXPECT_EQ(fills(grad(test::program("def f(x: f32[600, 500]) = sum(x) * 3.0"), {"x"}).value()), Words{0x40400000});
  EXPECT_EQ(fills("(x: f32[300000], y: f32[3]) = (x * y[0], full([300000], 1.0), scatter([300000], y, [1, 7, 7]))"),
            (Words{0x3f800000, 0}));
}

}  // namespace fill_test
}  // namespace spirograd
