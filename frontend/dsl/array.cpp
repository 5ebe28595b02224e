// Handles: their types, operators, indexing, and arithmetic of indices.
#include "spirograd/array.h"

#include "frontend/dsl/forms.h"

namespace spirograd {
namespace {

using detail::binary;
using detail::unary;

Array index(Array table, std::vector<Arg> indices) {
  const Loc loc = indices[0].loc;
  indices.insert(indices.begin(), Arg(table, loc));
  return detail::operation("index", indices, detail::Numbers::Alone, loc, [&](ir::Graph&, std::span<const ir::Expr> in) {
    return ir::gather_broadcast(in[0], in.subspan(1));
  });
}

}  // namespace

Type Array::type() const {
  detail::Tracer* tracer = detail::Tracer::current();
  return tracer && has_value() && tracer->owns(*this) ? tracer->expr(*this).type() : Type{};
}

int64_t Array::extent(int axis) const {
  const Shape s = shape();
  if (axis < 0) axis += s.rank();
  return axis < 0 || axis >= s.rank() ? 0 : s[axis];
}

Array Array::operator()(Arg i) const { return index(*this, {i}); }
Array Array::operator()(Arg i, Arg j) const { return index(*this, {i, j}); }
Array Array::operator()(Arg i, Arg j, Arg k) const { return index(*this, {i, j, k}); }
Array Array::operator()(Arg i, Arg j, Arg k, Arg l) const { return index(*this, {i, j, k, l}); }
Array Array::operator()(Arg i, Arg j, Arg k, Arg l, Arg m) const { return index(*this, {i, j, k, l, m}); }
Array Array::operator()(Arg i, Arg j, Arg k, Arg l, Arg m, Arg n) const { return index(*this, {i, j, k, l, m, n}); }

Array operator+(Arg a, Arg b) { return binary(ir::Op::Add, a, b); }
Array operator-(Arg a, Arg b) { return binary(ir::Op::Sub, a, b); }
Array operator*(Arg a, Arg b) { return binary(ir::Op::Mul, a, b); }
Array operator/(Arg a, Arg b) { return binary(ir::Op::Div, a, b); }
Array operator-(Arg a) { return unary(ir::Op::Neg, a); }
Array operator<(Arg a, Arg b) { return binary(ir::Op::Lt, a, b); }
Array operator<=(Arg a, Arg b) { return binary(ir::Op::Le, a, b); }
Array operator>(Arg a, Arg b) { return binary(ir::Op::Gt, a, b); }
Array operator>=(Arg a, Arg b) { return binary(ir::Op::Ge, a, b); }
Array operator==(Arg a, Arg b) { return binary(ir::Op::Eq, a, b); }
Array operator!=(Arg a, Arg b) { return binary(ir::Op::Ne, a, b); }
Array operator&&(Array a, Arg b) { return binary(ir::Op::And, Arg(a, b.loc), b); }
Array operator||(Array a, Arg b) { return binary(ir::Op::Or, Arg(a, b.loc), b); }
Array operator&&(Array a, bool b) { return binary(ir::Op::And, Arg(a, Loc{}), b); }
Array operator||(Array a, bool b) { return binary(ir::Op::Or, Arg(a, Loc{}), b); }
Array operator&&(bool a, Array b) { return binary(ir::Op::And, Arg(a, Loc{}), b); }
Array operator||(bool a, Array b) { return binary(ir::Op::Or, Arg(a, Loc{}), b); }
Array operator!(Array a) { return unary(ir::Op::Not, Arg(a, Loc{})); }

Index detail::index_arithmetic(IndexOp op, const Arg& a, const Arg& b) {
  const auto result = [&] {
    switch (op) {
      case IndexOp::Add: return binary(ir::Op::Add, a, b);
      case IndexOp::Sub: return binary(ir::Op::Sub, a, b);
      case IndexOp::Mul: return binary(ir::Op::Mul, a, b);
      case IndexOp::Quot: return binary(ir::Op::Quot, a, b);
      case IndexOp::Rem: return binary(ir::Op::Rem, a, b);
    }
    return Array();
  };
  return Access::index(result());
}

Index operator+(Index a, IndexArg b) { return detail::index_arithmetic(detail::IndexOp::Add, Arg(a, b.arg.loc), b.arg); }
Index operator-(Index a, IndexArg b) { return detail::index_arithmetic(detail::IndexOp::Sub, Arg(a, b.arg.loc), b.arg); }
Index operator*(Index a, IndexArg b) { return detail::index_arithmetic(detail::IndexOp::Mul, Arg(a, b.arg.loc), b.arg); }
Index operator-(Index a) { return detail::Access::index(unary(ir::Op::Neg, Arg(a, Loc{}))); }
Index quot(Index a, IndexArg b) { return detail::index_arithmetic(detail::IndexOp::Quot, Arg(a, b.arg.loc), b.arg); }
Index rem(Index a, IndexArg b) { return detail::index_arithmetic(detail::IndexOp::Rem, Arg(a, b.arg.loc), b.arg); }

}  // namespace spirograd
