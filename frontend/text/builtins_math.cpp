// Elementwise operations, conversions and choices.
#include "frontend/ir/composite.h"
#include "frontend/text/builtins.h"

namespace spirograd::text {

using ir::Expr;
using ir::Op;

namespace {

template <Op op>
Value unary_op(Call& c) {
  const bool float_only = ir::has_flag(op, ir::kFloatOnly);
  return Value::array(ir::unary(op, float_only ? c.floating(0) : c.array(0)));
}

// By its name every operation is made as it stands: literals are not added up, so printed programs keep their nodes.
template <Op op>
Value binary_op(Call& c) {
  const Value* both[] = {&c.args[0], &c.args[1]};
  DType t = common_dtype(both, c.name);
  if (c.args[0].is_literal() && c.args[1].is_literal() && ir::has_flag(op, ir::kFloatOnly)) t = DType::F32;
  const Expr a = c.elaborator.materialise(c.args[0], t), b = c.elaborator.materialise(c.args[1], t);
  return Value::array(ir::binary_broadcast(op, a, b));
}

template <Op op, Op reduction>
Value extreme(Call& c) {
  if (c.args.size() == 2) {
    if (!c.keywords.empty()) c.fail("of two arrays has no keywords", "reduce one array, as in max(x, axis=0)");
    return binary_op<op>(c);
  }
  const Expr a = c.array(0);
  const std::vector<int64_t> axes = c.axes(a, 1);
  const Expr r = ir::reduce(reduction, a, axes);
  return Value::array(c.flag("keepdims", false) ? ir::keep_dims(r, a.shape(), axes) : r);
}

template <DType t>
Value convert(Call& c) {
  return c.elaborator.convert(c.args[0], t);
}

DType type_argument(Call& c, const Value* v) {
  if (!v || v->kind != Value::Kind::Type || v->type.shape.rank() != 0) c.fail("needs an element type",
      "bool, i32, u32, f32 or f64");
  return v->type.dtype;
}

Value where(Call& c) {
  const Expr mask = c.array(0);
  if (mask.dtype() != DType::Bool) throw Error("SG0102", std::string(c.name) + ": the mask must be bool, not " +
      to_string(mask.type()));
  const Value* both[] = {&c.args[1], &c.args[2]};
  const std::vector<Expr> in = unify(c.elaborator, both, c.name);
  return Value::array(ir::select_broadcast(mask, in[0], in[1]));
}


Value leaky_relu(Call& c) {
  const Value* slope = c.argument(1, "slope");
  if (slope && (!slope->is_literal() || slope->shape.rank() != 0)) c.fail("needs a slope that is a number");
  return Value::array(ir::leaky_relu(c.floating(0), slope ? slope->numbers[0] : 0.01));
}

Value logaddexp(Call& c) {
  const Value* both[] = {&c.args[0], &c.args[1]};
  DType t = common_dtype(both, c.name);
  if (!is_float(t)) t = DType::F32;
  const Expr a = c.elaborator.materialise(c.args[0], t), b = c.elaborator.materialise(c.args[1], t);
  return Value::array(ir::log_add_exp(a, b));
}

// clang-format off
constexpr Builtin kRows[] = {
    {"neg",     1, 1, "", "neg(x)",     unary_op<Op::Neg>, Follows::First},
    {"abs",     1, 1, "", "abs(x)",     unary_op<Op::Abs>, Follows::First},
    {"sign",    1, 1, "", "sign(x)",    unary_op<Op::Sign>, Follows::First},
    {"sqrt",    1, 1, "", "sqrt(x)",    unary_op<Op::Sqrt>, Follows::First, true},
    {"exp",     1, 1, "", "exp(x)",     unary_op<Op::Exp>, Follows::First, true},
    {"log",     1, 1, "", "log(x)",     unary_op<Op::Log>, Follows::First, true},
    {"sin",     1, 1, "", "sin(x)",     unary_op<Op::Sin>, Follows::First, true},
    {"cos",     1, 1, "", "cos(x)",     unary_op<Op::Cos>, Follows::First, true},
    {"tan",     1, 1, "", "tan(x)",     unary_op<Op::Tan>, Follows::First, true},
    {"asin",    1, 1, "", "asin(x)",    unary_op<Op::Asin>, Follows::First, true},
    {"acos",    1, 1, "", "acos(x)",    unary_op<Op::Acos>, Follows::First, true},
    {"atan",    1, 1, "", "atan(x)",    unary_op<Op::Atan>, Follows::First, true},
    {"sinh",    1, 1, "", "sinh(x)",    unary_op<Op::Sinh>, Follows::First, true},
    {"cosh",    1, 1, "", "cosh(x)",    unary_op<Op::Cosh>, Follows::First, true},
    {"tanh",    1, 1, "", "tanh(x)",    unary_op<Op::Tanh>, Follows::First, true},
    {"asinh",   1, 1, "", "asinh(x)",   unary_op<Op::Asinh>, Follows::First, true},
    {"acosh",   1, 1, "", "acosh(x)",   unary_op<Op::Acosh>, Follows::First, true},
    {"atanh",   1, 1, "", "atanh(x)",   unary_op<Op::Atanh>, Follows::First, true},
    {"erf",     1, 1, "", "erf(x)",     unary_op<Op::Erf>, Follows::First, true},
    {"logistic", 1, 1, "", "logistic(x)", unary_op<Op::Logistic>, Follows::First, true},
    {"log1p",   1, 1, "", "log1p(x): log(1 + x)", unary_op<Op::Log1p>, Follows::First, true},
    {"expm1",   1, 1, "", "expm1(x): exp(x) - 1", unary_op<Op::Expm1>, Follows::First, true},
    {"floor_",  1, 1, "", "floor_(x): rounded down, still a float", unary_op<Op::Floor>, Follows::First, true},
    {"stop_gradient", 1, 1, "", "stop_gradient(x)", unary_op<Op::StopGradient>, Follows::First},
    {"add",     2, 2, "", "add(a, b)",   binary_op<Op::Add>, Follows::All},
    {"sub",     2, 2, "", "sub(a, b)",   binary_op<Op::Sub>, Follows::All},
    {"mul",     2, 2, "", "mul(a, b)",   binary_op<Op::Mul>, Follows::All},
    {"div",     2, 2, "", "div(a, b)",   binary_op<Op::Div>, Follows::All, true},
    {"pow",     2, 2, "", "pow(a, b)",   binary_op<Op::Pow>, Follows::All, true},
    {"atan2",   2, 2, "", "atan2(y, x)", binary_op<Op::Atan2>, Follows::All, true},
    {"masked_mul", 2, 2, "", "masked_mul(x, y)", binary_op<Op::MaskedMul>, Follows::All, true},
    {"masked_div", 2, 2, "", "masked_div(x, y)", binary_op<Op::MaskedDiv>, Follows::All, true},
    {"strong_mul", 2, 2, "", "strong_mul(x, y)", binary_op<Op::StrongMul>, Follows::All, true},
    {"minimum", 2, 2, "", "minimum(a, b)", binary_op<Op::Min>, Follows::All},
    {"maximum", 2, 2, "", "maximum(a, b)", binary_op<Op::Max>, Follows::All},
    {"quot",    2, 2, "", "quot(a, b)",  binary_op<Op::Quot>},
    {"rem",     2, 2, "", "rem(a, b)",   binary_op<Op::Rem>, Follows::All},
    {"eq",      2, 2, "", "eq(a, b)",    binary_op<Op::Eq>},
    {"ne",      2, 2, "", "ne(a, b)",    binary_op<Op::Ne>},
    {"lt",      2, 2, "", "lt(a, b)",    binary_op<Op::Lt>},
    {"le",      2, 2, "", "le(a, b)",    binary_op<Op::Le>},
    {"gt",      2, 2, "", "gt(a, b)",    binary_op<Op::Gt>},
    {"ge",      2, 2, "", "ge(a, b)",    binary_op<Op::Ge>},
    {"max",     1, 2, "axis keepdims", "max(x, axis=.., keepdims=false) or max(a, b)", extreme<Op::Max, Op::ReduceMax>, Follows::All},
    {"min",     1, 2, "axis keepdims", "min(x, axis=.., keepdims=false) or min(a, b)", extreme<Op::Min, Op::ReduceMin>, Follows::All},
    {"where",   3, 3, "", "where(mask, a, b)",  where, Follows::Branches},
    {"select",  3, 3, "", "select(mask, a, b)", where, Follows::Branches},
    {"bool",    1, 1, "", "bool(x)", convert<DType::Bool>},
    {"i32",     1, 1, "", "i32(x)",  convert<DType::I32>},
    {"u32",     1, 1, "", "u32(x)",  convert<DType::U32>},
    {"f32",     1, 1, "", "f32(x)",  convert<DType::F32>},
    {"f64",     1, 1, "", "f64(x)",  convert<DType::F64>},
    {"cast",    2, 2, "", "cast(x, f32)", [](Call& c) { return c.elaborator.convert(c.args[0], type_argument(c, &c.args[1])); }},
    {"floor",   1, 1, "", "floor(x): rounded down, as i32", [](Call& c) { return Value::array(ir::floor_to_int(c.floating(0))); }},
    {"square",  1, 1, "", "square(x)", [](Call& c) { return Value::array(ir::square(c.array(0))); }, Follows::First},
    {"recip",   1, 1, "", "recip(x)",  [](Call& c) { return Value::array(ir::recip(c.floating(0))); }, Follows::First, true},
    {"relu",    1, 1, "", "relu(x)",   [](Call& c) { return Value::array(ir::relu(c.array(0))); }, Follows::First},
    {"leaky_relu", 1, 2, "slope", "leaky_relu(x, slope=0.01)", leaky_relu, Follows::First, true},
    {"softplus", 1, 1, "", "softplus(x): log(1 + exp(x))", [](Call& c) { return Value::array(ir::softplus(c.floating(0))); },
     Follows::First, true},
    {"logaddexp", 2, 2, "", "logaddexp(a, b)", logaddexp, Follows::All, true},
};
// clang-format on

}  // namespace

std::span<const Builtin> math_builtins() { return kRows; }

}  // namespace spirograd::text
