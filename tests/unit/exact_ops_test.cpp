// Which arithmetic of programs is exact when it has become kernels: what promises depend on, and nothing else.
#include <gtest/gtest.h>

#include <array>

#include "frontend/rewrite/passes.h"
#include "spirograd/text.h"
#include "spirv/kernel/print.h"
#include "spirv/lower/scalar_ops.h"
#include "support/lowered.h"

namespace spirograd {
namespace exact_ops_test {

using ir::Op;
using kernel::Scalar;

// Of an operation on two values: the exact instructions among sums, differences, products and quotients.
std::string share(Op op, DType dtype, size_t arity = 2) {
  const Scalar t = lower::scalar_of(dtype);
  kernel::Builder b("k", 64, 64);
  const uint32_t in = b.bind("x", t, kernel::Access::Read), out = b.bind("y", t, kernel::Access::Write);
  const std::array<kernel::Value, 2> x = {b.load(in, b.index()), b.load(in, b.i32(0))};
  b.store(out, b.index(), lower::pointwise(b, op, dtype, std::span(x).first(arity)));
  size_t exact = 0, all = 0;
  for (const kernel::Inst& i : std::move(b).finish().body) all += may_be_exact(i), exact += is_exact(i);
  return std::to_string(exact) + "/" + std::to_string(all);
}

TEST(ExactOps, ArithmeticOfProgramsIsNot) {
  for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div}) EXPECT_EQ(share(op, DType::F32), "0/1");
  EXPECT_EQ(share(Op::Sub, DType::I32), "0/0");
}

// No compiler may take the selection of 0 beside them for superfluous.
TEST(ExactOps, MaskedProductsAndQuotientsAre) {
  for (const Op op : {Op::MaskedMul, Op::MaskedDiv, Op::StrongMul}) EXPECT_EQ(share(op, DType::F32), "1/1");
}

// 0 - x is 0 for x = 0; -x is not.
TEST(ExactOps, MagnitudesOfDoublesAre) { EXPECT_EQ(share(Op::Abs, DType::F64, 1), "1/1"); }

TEST(ExactOps, FormulasAreButForTheirPolynomials) {
  EXPECT_EQ(share(Op::Exp, DType::F32, 1), "13/21");
  EXPECT_EQ(share(Op::Rem, DType::F32), "2/2");
}

size_t exact_in(const std::string& body, size_t& all) {
  const std::string text = "def main(x: f32[5000]) = " + body;
  const Program p = rewrite::optimise_for_lowering(text::instantiate(text::parse(text, "test.sg").value()).value(), {});
  size_t exact = 0;
  all = 0;
  for (const kernel::Kernel& k : lower::lower(p, test::cpu_target()).kernels)
    for (const kernel::Inst& inst : k.body) all += may_be_exact(inst), exact += is_exact(inst);
  return exact;
}

TEST(ExactOps, CompensatedSumsAreAndOthersAreNot) {
  size_t all = 0;
  EXPECT_GE(exact_in("sum(x)", all), 4u);
  EXPECT_GE(exact_in("fold(fn(s, x) => s + x, 0.0, x)", all), 4u);
  EXPECT_GE(exact_in("cumsum(x)", all), 9u);
  EXPECT_EQ(all, exact_in("cumsum(x)", all));
  for (const char* body : {"prod(x)", "max(x)", "fold(fn(s, x) => 0.5 * s + x, 0.0, x)", "x ** 2.0 - x ** 3.0",
                           "for j: 100 => sum(for k: 16 => x[16 * j + k])", "argmax(x)"})
    EXPECT_EQ(exact_in(body, all), 0u) << body;
}

}  // namespace exact_ops_test
}  // namespace spirograd
