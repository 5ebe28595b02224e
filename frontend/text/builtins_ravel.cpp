// The floats of a tuple or struct as one vector, and back: what optimisers step.
#include "frontend/ir/ravel.h"
#include "frontend/text/builtins.h"

namespace spirograd::text {
namespace {

// Weak values are floats here, of the element type of the others.
std::vector<ir::Expr> arrays_in(Call& c, const Value& form, DType floats) {
  std::vector<Value> flat;
  leaves(form, flat);
  std::vector<ir::Expr> out;
  for (const Value& v : flat)
    out.push_back(v.may_become(floats) ? c.elaborator.materialise(v, floats) : c.elaborator.array_of(v, c.name));
  return out;
}

DType floats_of(const Value& form) {
  std::vector<Value> flat;
  leaves(form, flat);
  for (const Value& v : flat)
    if (v.is_array() && is_float(v.expr.dtype())) return v.expr.dtype();
  return DType::F32;
}

Value ravel(Call& c) { return Value::array(ir::ravel(arrays_in(c, c.args[0], floats_of(c.args[0])))); }

Value unravel(Call& c) {
  const DType floats = c.args[1].is_array() ? c.args[1].expr.dtype() : floats_of(c.args[0]);
  const Value& given = c.args[1];
  const ir::Expr v = given.may_become(floats) ? c.elaborator.materialise(given, floats) : c.array(1);
  std::vector<Value> out;
  for (const ir::Expr& e : ir::unravel(arrays_in(c, c.args[0], floats), v)) out.push_back(Value::array(e));
  size_t at = 0;
  return with_leaves(c.args[0], out, at);
}

constexpr Builtin kRavelRows[] = {
    {"ravel", 1, 1, "", "ravel(model)", ravel},
    {"unravel", 2, 2, "", "unravel(model, v)", unravel},
};

}  // namespace

std::span<const Builtin> ravel_builtins() { return kRavelRows; }

}  // namespace spirograd::text
