// The derivative table: one row per operation, read by forward and by reverse mode alike. Rows are of three kinds:
//   zero      no derivative (integers, predicates, piecewise constants)
//   linear    the tangent is the operation itself applied to the tangents; the row holds its transpose
//   partials  the tangent is a sum of one factor times the tangent of each operand
// A few operations are structure rather than formulas: `special` rows say in words who handles them.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "frontend/ir/algebra.h"

namespace spirograd::ad {

/// How a partial derivative acts on a tangent or a cotangent; each is its own transpose. Zeros and ones are never multiplied
/// with: Keep and Drop become selects, so that an infinity in a lane that does not count cannot turn into NaN.
enum class FactorKind : uint8_t {
  None,   // 0
  One,    // t
  Scale,  // k * t
  Over,   // t / k
  Keep,   // t where k, else 0
  Drop,   // 0 where k, else t
};

struct Factor {
  FactorKind kind = FactorKind::None;
  ir::Expr k;
  bool negative = false;
  bool strong = false;  // Scale: where k is 0 the product is 0, whatever t
};

/// What a partial derivative may mention: the operands, the result (never computed anew) and the node.
struct Point {
  ir::Expr a, b, c, y;
  ir::Graph& graph() const { return *y.graph; }
};
using Partial = Factor (*)(const Point&);

/// What a transpose may mention: the cotangent of the result and the primal node; `operand` is the one it is asked for.
struct Transposed {
  ir::Expr ct, y;
  int operand = 0;
  ir::Expr in(int j) const { return y.in(j); }
  const Shape& shape() const { return y.in(operand).shape(); }
};
using Transpose = ir::Expr (*)(const Transposed&);

enum class RuleKind : uint8_t { Zero, Linear, Partials, Special };

/// An interval in which the operation is smooth enough to be compared with differences.
struct Interval {
  double lo = -2, hi = 2;
};

struct DerivRule {
  ir::Op op = ir::Op::Param;
  RuleKind kind = RuleKind::Zero;
  std::string_view formula;          // in words
  std::array<Partial, 3> partial{};  // Partials: per operand, null: no derivative. Reductions sum over their axes afterwards
  Transpose transpose = nullptr;     // Linear
  bool every_operand = false;        // Linear: in all operands, otherwise in the first only
  std::array<Interval, 2> domain{};  // of the first two operands, for the generic test
};

/// The row of an operation.
const DerivRule& rule(ir::Op op);
std::span<const DerivRule> rules();

/// Whether a tangent of operand `j` of `node` can reach the result. Special rows answer false: ask their file.
bool differentiable(const ir::Graph& g, const ir::Node& node, int j);

/// The number in `type`, rounded to its precision.
ir::Expr number(ir::Graph& g, Type type, double value);
/// True if `e` is that number in every element, seen without folding anything.
bool is_number(ir::Expr e, double value);
/// True if every element is seen to be a finite number: constants and what was no float, rearranged.
bool is_finite(ir::Expr e);
/// True if every element is seen to be a number other than 0: zero divided by it is zero.
bool is_divisor(ir::Expr e);

}  // namespace spirograd::ad
