// Layout, reductions, reading and writing by index.
#include <optional>

#include "frontend/ir/arguments.h"
#include "frontend/ir/composite.h"
#include "frontend/text/builtins.h"

namespace spirograd::text {

using ir::Expr;
using ir::Op;

namespace {

std::string told(const Call& c, const char* part) { return std::string(c.name) + ": " + part; }

// ---- reductions

template <Op op>
Value reduction(Call& c) {
  return over_axes(c, c.array(0), [&](Expr a, std::span<const int64_t> axes) { return ir::reduction(op, c.name, a, axes); });
}

Value mean(Call& c) { return over_axes(c, c.floating(0), ir::mean); }
Value logsumexp(Call& c) { return over_axes(c, c.floating(0), ir::log_sum_exp); }

template <Op op>
Value arg_reduction(Call& c) {
  const Expr a = c.array(0);
  std::optional<int64_t> axis;
  if (c.argument(1, "axis")) axis = c.written_axis(1, 0);
  return Value::array(ir::arg_reduction(op, a, axis, c.flag("keepdims", false)));
}

template <Expr (*f)(Expr, std::span<const int64_t>)>
Value any_all(Call& c) {
  return over_axes(c, c.array(0), f);
}

// ---- making arrays

Value iota(Call& c) {
  const Shape s = static_shape(c.args[0], told(c, "shape"));
  if (!c.argument(1, "axis") && s.rank() != 1) c.fail("of several axes needs 'axis='", "iota([3, 4], axis=1)");
  return Value::array(ir::iota(c.graph(), s, c.axis(1, i32(s))));
}

Value filled(Call& c, double x) {
  const Shape s = static_shape(c.args[0], told(c, "shape"));
  return in_dtype(c, 1, [g = &c.graph(), s, x](DType t) { return ir::full(*g, {t, s}, x); });
}

Value full(Call& c) { return Value::array(ir::broadcast_to(c.array(1), static_shape(c.args[0], told(c, "shape")))); }

Value replicate(Call& c) {
  const Expr a = c.array(0);
  return Value::array(ir::copies(a, c.integer(1, "n"), c.written_axis(2, 0)));
}

// ---- layout

Value broadcast(Call& c) {
  const Expr a = c.array(0);
  const Shape s = static_shape(c.args[1], told(c, "shape"));
  if (c.args.size() == 2) return Value::array(ir::broadcast_to(a, s));
  return Value::array(ir::broadcast(a, s, static_integers(c.args[2], told(c, "axes"))));
}

Value broadcast_to(Call& c) { return Value::array(ir::broadcast_to(c.array(0), static_shape(c.args[1], told(c, "shape")))); }

Value transpose(Call& c) {
  const Expr a = c.array(0);
  std::vector<int64_t> perm;
  if (c.args.size() == 2)
    perm = static_integers(c.args[1], told(c, "axes"));
  else
    for (int j = a.rank(); j-- > 0;) perm.push_back(j);
  for (int64_t& p : perm) p = ir::normal_axis(c.name, p, a.type());
  return Value::array(ir::transpose(a, perm));
}

Value reshape(Call& c) {
  const Expr a = c.array(0);
  return Value::array(ir::reshape(a, ir::completed_shape(static_integers(c.args[1], told(c, "shape")), a.type())));
}

Value slice(Call& c) {
  const Expr a = c.array(0);
  const int axis = c.axis(3, a.type());
  return Value::array(ir::slice(a, axis, c.integer(1, "start"), c.integer(2, "stop")));
}

Value window(Call& c) {
  const Expr a = c.array(0);
  const int axis = c.axis(3, a.type());
  return Value::array(ir::window(a, axis, c.integer(1, "lo"), c.integer(2, "n")));
}

Value reverse(Call& c) {
  const Expr a = c.array(0);
  return Value::array(ir::reverse(a, c.axis(1, a.type())));
}

// The parts of concat and stack: arguments, or one tuple.
std::vector<Expr> parts(Call& c) {
  const std::vector<Value>& values = c.args.size() == 1 && c.args[0].kind == Value::Kind::Tuple ? c.args[0].items : c.args;
  if (values.empty()) throw Error("SG0101", told(c, "needs at least one array"));
  std::vector<const Value*> all;
  for (const Value& v : values) all.push_back(&v);
  return unify(c.elaborator, all, c.name);
}

Value concat(Call& c) {
  const std::vector<Expr> in = parts(c);
  return Value::array(ir::concat(in, c.axis(c.args.size(), in[0].type())));
}

Value append(Call& c) {
  const Value* both[] = {&c.args[0], &c.args[1]};
  const std::vector<Expr> in = unify(c.elaborator, both, c.name);
  return Value::array(ir::concat(in, c.axis(2, in[0].type())));
}

Value stack(Call& c) {
  const std::vector<Expr> in = parts(c);
  return Value::array(ir::stacked(in, c.written_axis(c.args.size(), 0)));
}

// ---- indexed

std::vector<Expr> indices(Call& c, size_t from) {
  std::vector<Expr> out;
  for (size_t j = from; j < c.args.size(); ++j) {
    const Expr e = c.args[j].may_become(DType::I32) ? c.elaborator.materialise(c.args[j], DType::I32) : c.array(j);
    if (e.dtype() != DType::I32)
      throw Error("SG0102", std::string(c.name) + ": an index must be i32, not " + to_string(e.type()))
          .hint("write i32(x), or floor(x)");
    out.push_back(e);
  }
  return out;
}

Value gather(Call& c) { return Value::array(ir::gather_broadcast(c.array(0), indices(c, 1))); }

Value scatter(Call& c) {
  const Shape s = static_shape(c.args[0], told(c, "shape"));
  return Value::array(ir::scatter_broadcast(c.array(1), indices(c, 2), s));
}

Value scatter_max(Call& c) {
  const Shape s = static_shape(c.args[0], told(c, "shape"));
  return Value::array(ir::scatter_max(c.array(1), ir::broadcast_together(indices(c, 2), c.name), s));
}

Value one_hot(Call& c) {
  const Expr index = c.array(0);
  const int64_t n = c.integer(1, "n");
  return in_dtype(c, 2, [index, n](DType t) { return ir::one_hot(index, n, t); });
}

Value len(Call& c) {
  const Shape& shape = shape_of(c.args[0], c.name);
  if (shape.rank() == 0) throw Error("SG0101", "len: " + describe(c.args[0]) + " has no axes");
  return Value::integer(shape[0]);
}

constexpr std::string_view kReduceWords = "axis keepdims";

// clang-format off
constexpr Builtin kArrayRows[] = {
    {"sum",        1, 2, kReduceWords, "sum(x, axis=.., keepdims=false)",  reduction<Op::Sum>, Follows::First},
    {"prod",       1, 2, kReduceWords, "prod(x, axis=.., keepdims=false)", reduction<Op::Prod>, Follows::First},
    {"reduce_max", 1, 2, kReduceWords, "reduce_max(x, axis=..)",           reduction<Op::ReduceMax>, Follows::First},
    {"reduce_min", 1, 2, kReduceWords, "reduce_min(x, axis=..)",           reduction<Op::ReduceMin>, Follows::First},
    {"mean",       1, 2, kReduceWords, "mean(x, axis=.., keepdims=false)", mean, Follows::First, true},
    {"logsumexp",  1, 2, kReduceWords, "logsumexp(x, axis=.., keepdims=false)", logsumexp, Follows::First, true},
    {"argmax",     1, 2, kReduceWords, "argmax(x, axis=..)",               arg_reduction<Op::ArgMax>},
    {"argmin",     1, 2, kReduceWords, "argmin(x, axis=..)",               arg_reduction<Op::ArgMin>},
    {"any",        1, 2, kReduceWords, "any(mask, axis=..)",               any_all<ir::any>},
    {"all",        1, 2, kReduceWords, "all(mask, axis=..)",               any_all<ir::all>},
    {"iota",       1, 2, "axis",       "iota(n), iota([n, m], axis=0)",    iota},
    {"zeros",      1, 2, "dtype",      "zeros([n, m], dtype=f32)",         [](Call& c) { return filled(c, 0); }},
    {"ones",       1, 2, "dtype",      "ones([n, m], dtype=f32)",          [](Call& c) { return filled(c, 1); }},
    {"full",       2, 2, "",           "full([n, m], value)",              full, Follows::Second},
    {"replicate",  1, 3, "n axis",     "replicate(x, n, axis=0)",          replicate, Follows::First},
    {"broadcast_to", 2, 2, "",         "broadcast_to(x, shape)",           broadcast_to, Follows::First},
    {"broadcast",  2, 3, "",           "broadcast(x, shape), broadcast(x, shape, [axis of the result for each axis of x])", broadcast, Follows::First},
    {"transpose",  1, 2, "",           "transpose(x, [1, 0])",             transpose, Follows::First},
    {"reshape",    2, 2, "",           "reshape(x, [n, m])",               reshape, Follows::First},
    {"slice",      1, 4, "start stop axis", "slice(x, start, stop, axis=0)", slice, Follows::First},
    {"window",     1, 4, "lo n axis",  "window(x, lo=-1, n=5, axis=0)",    window, Follows::First},
    {"reverse",    1, 2, "axis",       "reverse(x, axis=0)",               reverse, Follows::First},
    {"concat",     1, -1, "axis",      "concat(a, b, axis=0)",             concat, Follows::All},
    {"concatenate", 1, -1, "axis",     "concatenate(a, b, axis=0)",        concat, Follows::All},
    {"append",     2, 3, "axis",       "append(a, b, axis=0)",             append, Follows::FirstTwo},
    {"stack",      1, -1, "axis",      "stack(a, b, axis=0)",              stack, Follows::All},
    {"gather",     2, -1, "",          "gather(table, i, j)",              gather, Follows::First},
    {"scatter",    3, -1, "",          "scatter([n, m], updates, i, j)",   scatter, Follows::Second},
    {"scatter_max", 3, -1, "",         "scatter_max([n, m], updates, i, j): of u32", scatter_max},
    {"one_hot",    1, 3, "n dtype",    "one_hot(i, n, dtype=f32)",         one_hot},
    {"len",        1, 1, "",           "len(x)",                           len},
};
// clang-format on

}  // namespace

std::span<const Builtin> array_builtins() { return kArrayRows; }

}  // namespace spirograd::text
