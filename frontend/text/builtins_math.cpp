// Elementwise operations, conversions and choices.
#include <array>
#include <utility>

#include "frontend/ir/composite.h"
#include "frontend/text/builtins.h"

namespace spirograd::text {

using ir::Expr;
using ir::Op;

namespace {

template <Op op>
Value unary_op(Call& c) {
  constexpr bool float_only = ir::has_flag(op, ir::kFloatOnly);
  return Value::array(ir::function_of(op, float_only ? c.floating(0) : c.array(0)));
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
  const Expr r = ir::reduction(reduction, c.name, a, axes);
  return Value::array(c.flag("keepdims", false) ? ir::keep_dims(r, a.shape(), axes) : r);
}

double greater_of(double a, double b) { return a >= b ? a : b; }
double lesser_of(double a, double b) { return a <= b ? a : b; }

template <DType t>
Value convert(Call& c) {
  return c.elaborator.convert(c.args[0], t);
}

DType type_argument(Call& c, const Value* v) {
  if (!v || v->kind != Value::Kind::Type || v->type.shape.rank() != 0)
    c.fail("needs an element type", "bool, i32, u32, f16, f32 or f64");
  return v->type.dtype;
}

Value where(Call& c) {
  const Expr mask = c.array(0);
  const Value* both[] = {&c.args[1], &c.args[2]};
  const std::vector<Expr> in = unify(c.elaborator, both, c.name);
  return Value::array(ir::select_broadcast(mask, in[0], in[1], c.name));
}

Value cond(Call& c) {
  const Value* both[] = {&c.args[1], &c.args[2]};
  const std::vector<Expr> in = unify(c.elaborator, both, c.name);
  return Value::array(ir::cond(c.array(0), in[0], in[1]));
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
constexpr Builtin kOwnRows[] = {
    {"minimum", 2, 2, "", "minimum(a, b)", binary_op<Op::Min>, Follows::All},
    {"maximum", 2, 2, "", "maximum(a, b)", binary_op<Op::Max>, Follows::All},
    {"max",     1, 2, "axis keepdims", "max(x, axis=.., keepdims=false) or max(a, b)", extreme<Op::Max, Op::ReduceMax>, Follows::All, false, "", greater_of},
    {"min",     1, 2, "axis keepdims", "min(x, axis=.., keepdims=false) or min(a, b)", extreme<Op::Min, Op::ReduceMin>, Follows::All, false, "", lesser_of},
    {"where",   3, 3, "", "where(mask, a, b)",  where, Follows::Branches},
    {"select",  3, 3, "", "select(mask, a, b)", where, Follows::Branches},
    {"cond",    3, 3, "", "cond(c, a, b): if c then a else b", cond, Follows::Branches},
    {"bool",    1, 1, "", "bool(x)", convert<DType::Bool>},
    {"i32",     1, 1, "", "i32(x)",  convert<DType::I32>},
    {"u32",     1, 1, "", "u32(x)",  convert<DType::U32>},
    {"f16",     1, 1, "", "f16(x): rounded as f16 stores it, and f32 again", convert<DType::F16>},
    {"f32",     1, 1, "", "f32(x)",  convert<DType::F32>},
    {"f64",     1, 1, "", "f64(x)",  convert<DType::F64>},
    {"cast",    2, 2, "", "cast(x, f32)", [](Call& c) { return c.elaborator.convert(c.args[0], type_argument(c, &c.args[1])); }},
    {"bits",    1, 1, "", "bits(x): of f32, as u32", [](Call& c) { return Value::array(ir::bits(c.floating(0))); }},
    {"from_bits", 1, 1, "", "from_bits(k): the f32 of these bits, a u32", [](Call& c) { return Value::array(ir::from_bits(c.array(0))); }},
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

// What the rows of op.h say of operations that are functions of arrays alone.
template <Op op>
constexpr Value (*make_op())(Call&) {
  if constexpr (ir::info(op).arity == 1)
    return unary_op<op>;
  else
    return binary_op<op>;
}

Builtin builtin_of(const ir::OpInfo& op, Value (*make)(Call&), std::string_view usage) {
  // Of literals, comparisons and whole quotients are no literals.
  const bool own_type = ir::has_flag(op.op, ir::kPredicate) || ir::has_flag(op.op, ir::kIntegerOnly);
  const Follows follows = op.arity == 1 ? Follows::First : own_type ? Follows::Nothing : Follows::All;
  return {op.name, op.arity, op.arity, "", usage, make, follows, ir::has_flag(op.op, ir::kFloatOnly)};
}

std::string usage_of(const ir::OpInfo& op) {
  const std::string call = std::string(op.name) + "(" + std::string(op.parameters) + ")";
  return op.meaning.empty() ? call : call + ": " + std::string(op.meaning);
}

template <size_t... j>
std::vector<Builtin> all_rows(std::index_sequence<j...>) {
  static const std::array<std::string, ir::kOpCount> usages = {usage_of(ir::kOps[j])...};
  std::vector<Builtin> rows(std::begin(kOwnRows), std::end(kOwnRows));
  const auto add = [&](const ir::OpInfo& op, Value (*make)(Call&), const std::string& usage) {
    if (!op.parameters.empty()) rows.push_back(builtin_of(op, make, usage));
  };
  (add(ir::kOps[j], make_op<static_cast<Op>(j)>(), usages[j]), ...);
  return rows;
}

}  // namespace

std::span<const Builtin> math_builtins() {
  static const std::vector<Builtin> rows = all_rows(std::make_index_sequence<ir::kOpCount>());
  return rows;
}

}  // namespace spirograd::text
