// What is known of signs, and what exponentials make of it.
#include "frontend/ir/sign.h"

#include <gtest/gtest.h>

#include <array>

#include "frontend/ir/composite.h"
#include "frontend/rewrite/passes.h"
#include "spirograd/text.h"

namespace spirograd {
namespace sign_test {

using ir::Sign;

Sign sign_in(const std::string& program) {
  const Program p = rewrite::optimise_for_lowering(text::instantiate(text::parse(program, "sign").value(), "f").value(), {});
  return ir::sign_of(*p.graph, {p.results[0].node});
}

Sign sign(const std::string& of) { return sign_in("def f(x: f32[7, 5], y: f32[7, 5]) = " + of); }

TEST(Sign, OfOneOperation) {
  EXPECT_EQ(sign("x"), Sign::Any);
  EXPECT_EQ(sign("x + y * y"), Sign::Any);
  EXPECT_EQ(sign("x * y"), Sign::Any);
  for (const char* of : {"x * x", "abs(x)", "exp(x)", "sqrt(x)", "max(x, 0.0)", "relu(x)"})
    EXPECT_EQ(sign(of), Sign::NotNegative) << of;
  for (const char* of :
       {"-abs(x)", "min(x, 0.0)", "-2.0 * abs(x)", "(x - y) * (y - x)", "-(x - y) * (x - y) / 2.0", "0.0 - x * x"})
    EXPECT_EQ(sign(of), Sign::NotPositive) << of;
  EXPECT_EQ(sign("x * 0.0"), Sign::Zero) << "or NaN";
  EXPECT_EQ(sign("abs(x) * y * y"), Sign::Any) << "in another order it would be";
  EXPECT_EQ(sign("(x - y) * (y - 2.0)"), Sign::Any);
  EXPECT_EQ(sign("(x - y) * (2.0 - x)"), Sign::Any);
  EXPECT_EQ(sign("max(x, -1.0)"), Sign::Any);
  EXPECT_EQ(sign("min(x, 1.0)"), Sign::Any);
  EXPECT_EQ(sign("abs(x) - abs(y)"), Sign::Any);
  EXPECT_EQ(sign("abs(x) + y * y"), Sign::NotNegative);
  EXPECT_EQ(sign("-abs(x) - exp(y)"), Sign::NotPositive);
  EXPECT_EQ(sign("i32(x) * i32(x)"), Sign::Any) << "integers wrap around";
}

TEST(Sign, OfQuotients) {
  EXPECT_EQ(sign("-(x * x) / (y * y)"), Sign::NotPositive);
  EXPECT_EQ(sign("-(x * x) / (2.0 * exp(y))"), Sign::NotPositive);
  EXPECT_EQ(sign("-(x * x) / y"), Sign::Any);
  EXPECT_EQ(sign("-(x * x) / max(y, 0.0)"), Sign::Any) << "-0 is not negative, and what it divides changes its sign";
  EXPECT_EQ(sign("-(x * x) / sqrt(y)"), Sign::Any) << "of -0, too";
  EXPECT_EQ(sign("-(x * x) / sqrt(y * y + 1.0)"), Sign::NotPositive);
}

TEST(Sign, ThroughSumsAndLayouts) {
  EXPECT_EQ(sign("-sum(square(x - y), axis=1)"), Sign::NotPositive);
  EXPECT_EQ(sign("transpose(reshape(abs(x), [5, 7]))"), Sign::NotNegative);
  EXPECT_EQ(sign("for i: 7, j: 7 => -abs(x[i, 0] - y[j, 0]) * 0.5"), Sign::NotPositive);
  EXPECT_EQ(sign("sum(x, axis=1)"), Sign::Any);
}

TEST(Sign, OfChoicesByTheSignOfAnArray) {
  EXPECT_EQ(sign("where(x >= 0.0, -x, x)"), Sign::NotPositive);
  EXPECT_EQ(sign("where(x > 0.0, x, -x)"), Sign::NotNegative);
  EXPECT_EQ(sign("where(x >= 1.0, -x, x)"), Sign::Any);
  EXPECT_EQ(sign("where(y >= 0.0, -x, x)"), Sign::Any);
  EXPECT_EQ(sign("where(x >= y, abs(x), y * y)"), Sign::NotNegative);
  EXPECT_EQ(sign("where(y > 1.0, 0.0, -abs(x))"), Sign::NotPositive) << "0 is of either sign";
  EXPECT_EQ(sign("where(y > 1.0, abs(x), 0.0)"), Sign::NotNegative);
  EXPECT_EQ(sign("where(x >= 0.0, where(y >= 0.0, x, y), 0.0)"), Sign::Any);
}

TEST(Sign, OfDifferencesToAMaximum) {
  EXPECT_EQ(sign("x - max(x, axis=1)[:, None]"), Sign::NotPositive);
  EXPECT_EQ(sign("x - max(x, axis=0)"), Sign::NotPositive);
  EXPECT_EQ(sign("x - max(x)"), Sign::NotPositive);
  EXPECT_EQ(sign("x - max(y)"), Sign::Any);
  EXPECT_EQ(sign("x - min(x)"), Sign::Any);
  EXPECT_EQ(sign_in("def f(x: f32[5, 5]) = for i: 5, j: 5 => x[i, j] - max(x[j])"), Sign::Any) << "that of another row";
  EXPECT_EQ(sign_in("def f(x: f32[5, 5]) = for i: 5, j: 5 => x[j, i] - max(x[j])"), Sign::Any) << "not the same array";
}

// As softmax has them: infinite where x is.
TEST(Sign, OfDifferencesToAMaximumThatIsFinite) {
  ir::Graph g;
  const ir::Expr x = ir::param(g, 0, {DType::F32, Shape{7, 5}});
  for (const int64_t axis : {0, 1}) {
    const std::array axes{axis};
    const ir::Expr gap = x - ir::restore_axes(ir::finite_max(x, axes), x.shape(), axes);
    const auto sign_of = [&](const ir::Expr& e) { return ir::sign_of(g, e.id); };
    EXPECT_EQ(sign_of(gap), Sign::NotPositiveOrInfinite);
    EXPECT_EQ(sign_of(ir::transpose(gap, {1, 0})), Sign::NotPositiveOrInfinite);
    EXPECT_EQ(sign_of(ir::sum(gap, 0)), Sign::Any) << "of either infinity";
    EXPECT_EQ(sign_of(ir::unary(ir::Op::Abs, x) * gap), Sign::Any);
    EXPECT_EQ(sign_of(-gap), Sign::Any);
  }
}

}  // namespace sign_test
}  // namespace spirograd
