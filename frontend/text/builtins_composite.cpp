// Products of matrices, softmax, and array constants as printed programs write them.
#include <cmath>

#include "frontend/ir/by_kernel.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/convolution.h"
#include "frontend/ir/cumulative.h"
#include "frontend/ir/einsum.h"
#include "frontend/text/builtins.h"
#include "frontend/text/imports.h"

namespace spirograd::text {

using ir::Expr;
using ir::Op;

namespace {

Value dot(Call& c) {
  const std::vector<Expr> in = unified(c);
  return Value::array(ir::dot(in[0], in[1]));
}

Value matmul(Call& c) {
  const std::vector<Expr> in = unified(c);
  return Value::array(ir::matmul(in[0], in[1]));
}

Value einsum(Call& c) {
  if (c.args[0].kind != Value::Kind::String)
    c.fail("begins with the letters of the axes in quotes, not with " + describe(c.args[0]), "einsum(\"ij,jk->ik\", a, b)");
  std::vector<const Value*> arrays;
  for (size_t j = 1; j < c.args.size(); ++j) arrays.push_back(&c.args[j]);
  return Value::array(ir::einsum(c.args[0].text, unify(c.elaborator, arrays, c.name)));
}

Value by_kernel(Call& c) {
  const std::string usage(find_builtin(c.name)->usage);
  const Value& files = c.args[0];
  OwnKernel kernel;
  for (const Value& file : files.kind == Value::Kind::Tuple ? files.items : std::vector<Value>{files}) {
    if (file.kind != Value::Kind::String) c.fail("begins with the path of a SPIR-V file in quotes, or with two", usage);
    kernel.modules.push_back(load_module(c.elaborator.source(), file.text, c.ast.place));
  }
  kernel.invocations = static_integer(c.required("invocations"), "by_kernel: invocations");
  std::vector<Expr> arguments;
  c.elaborator.flatten(c.args[2], arguments);
  return Value::array(ir::by_kernel(c.array(1), kernel, arguments));
}

Value outer(Call& c) {
  const std::vector<Expr> in = unified(c);
  return Value::array(ir::outer(in[0], in[1]));
}

// axis= of softmax: the last one if it is not given.
std::vector<int64_t> softmax_axes(Call& c, Expr a) {
  if (c.argument(1, "axis")) return c.axes(a, 1);
  return {c.axis(1, a.type(), -1)};
}

Value softmax(Call& c) {
  const Expr a = c.floating(0);
  return Value::array(ir::softmax(a, softmax_axes(c, a)));
}

Value log_softmax(Call& c) {
  const Expr a = c.floating(0);
  return Value::array(ir::log_softmax(a, softmax_axes(c, a)));
}

template <Expr (*f)(Expr, int)>
Value cumulative(Call& c) {
  const Expr a = c.array(0);
  return Value::array(f(a, c.axis(1, a.type())));
}

Value logcumsumexp(Call& c) {
  const Expr a = c.floating(0);
  return Value::array(ir::log_cumsum_exp(a, c.axis(1, a.type())));
}

// ---- windows over space axes

std::vector<int64_t> numbers(Call& c, size_t j, std::string_view word, std::vector<int64_t> otherwise) {
  const Value* v = c.argument(j, word);
  return v ? static_integers(*v, std::string(c.name) + ": " + std::string(word)) : std::move(otherwise);
}

ir::Padding padding(Call& c, size_t j) {
  const Value* v = c.argument(j, "padding");
  if (v && v->kind == Value::Kind::String) return ir::padding_of(c.name, v->text);
  return {false, numbers(c, j, "padding", {0})};
}

Value conv(Call& c) {
  const Value* both[] = {&c.args[0], &c.args[1]};
  const std::vector<Expr> in = unify(c.elaborator, both, c.name);
  const ir::Moves moves = {numbers(c, 2, "stride", {1}), numbers(c, 4, "dilation", {1}), padding(c, 3)};
  const int64_t groups = c.integer_or(5, "groups", 1);
  return Value::array(ir::conv(in[0], in[1], moves, groups));
}

template <Expr (*f)(Expr, std::span<const int64_t>, const ir::Moves&), bool floats>
Value pool(Call& c) {
  const Expr x = floats ? c.floating(0) : c.array(0);
  if (!c.argument(1, "window")) c.integer(1, "window");
  const std::vector<int64_t> window = numbers(c, 1, "window", {});
  return Value::array(f(x, window, {numbers(c, 2, "stride", {}), {1}, padding(c, 3)}));
}

// A number of const(..): decimal text of f32 means the nearest f32, with the suffix d the double itself.
double number_of(const Source& source, const Ast& ast, DType t) {
  const Ast& leaf = ast.form == Form::Negate ? *ast.kids[0] : ast;
  double x = 0;
  char suffix = 0;
  if (leaf.form == Form::Number) {
    x = leaf.number;
    suffix = leaf.suffix;
  } else if (leaf.form == Form::Bool) {
    x = leaf.number;
  } else if (leaf.form == Form::Name && (leaf.text == "inf" || leaf.text == "nan")) {
    x = leaf.text == "inf" ? HUGE_VAL : std::nan("");
  } else {
    throw source.error("SG0404", "const: the list holds numbers only", leaf.place);
  }
  if (&leaf != &ast) x = -x;
  const bool whole = suffix == 'i' || suffix == 'u';
  const bool fits = t == DType::Bool  ? leaf.form == Form::Bool
                    : t == DType::I32 ? whole && x >= -2147483648.0 && x <= 2147483647.0
                    : t == DType::U32 ? whole && x >= 0 && x <= 4294967295.0
                                      : leaf.form != Form::Bool;
  if (!fits) throw source.error("SG0407", "const: this is no " + std::string(name(t)), leaf.place);
  if (t == DType::F32 && suffix != 'd' && !std::isnan(x)) x = static_cast<double>(static_cast<float>(x));
  if (!is_float(t) && x == 0) x = 0;
  return x;
}

// f32 or f32[2, 3]: read from the syntax, where a parameter called f32 is no obstacle.
Type type_of(Call& c, const Ast& ast) {
  const Ast& word = ast.form == Form::Index ? *ast.kids[0] : ast;
  Type t;
  bool known = false;
  for (DType d : kDTypes)
    if (word.form == Form::Name && word.text == name(d)) {
      t.dtype = d;
      known = true;
    }
  // A type parameter of the definition.
  if (const Value* v = known || word.form != Form::Name ? nullptr : lookup(c.env, word.text);
      v && v->kind == Value::Kind::Type) {
    t.dtype = v->type.dtype;
    known = true;
  }
  if (!known) c.fail("begins with a type", "const(f32[2], [1.0, 2.0])");
  Value shape;
  for (size_t j = 1; ast.form == Form::Index && j < ast.kids.size(); ++j) {
    if (ast.kids[j]->form == Form::Slice || ast.kids[j]->form == Form::NewAxis || ast.kids[j]->form == Form::Ellipsis)
      c.fail("begins with a type", "const(f32[2], [1.0, 2.0])");
    shape.items.push_back(c.elaborator.eval(*ast.kids[j], c.env));
  }
  t.shape = static_shape(shape, "const");
  return t;
}

Value constant(Call& c) {
  if (c.ast.kids.size() != 3) c.fail("cannot be passed on as a function");
  const Type t = type_of(c, *c.ast.kids[1]);
  const Ast& list = *c.ast.kids[2];
  if (list.form != Form::Array) c.fail("needs the elements in row-major order", "const(f32[2], [1.0, 2.0])");
  std::vector<double> data;
  data.reserve(list.kids.size());
  for (const Ast* a : list.kids) data.push_back(number_of(c.elaborator.source(), *a, t.dtype));
  return Value::array(ir::converted(ir::constant(c.graph(), computed_as(t), std::move(data)), t.dtype));
}

// clang-format off
constexpr Builtin kCompositeRows[] = {
    {"dot",         2, 2, "",     "dot(a, b)",              dot, Follows::All},
    {"matmul",      2, 2, "",     "matmul(a, b), a @ b",    matmul, Follows::All},
    {"outer",       2, 2, "",     "outer(a, b)",            outer, Follows::All},
    {"by_kernel",   3, 3, "invocations", "by_kernel(\"sines.spv\", sin(x), (x,), invocations=64)", by_kernel},
    {"einsum",      2, -1, "",    "einsum(\"ij,jk->ik\", a, b)", einsum},
    {"conv",        2, 6, "stride padding dilation groups", "conv(x, w, stride=1, padding=\"valid\", dilation=1, groups=1)", conv,
     Follows::FirstTwo},
    {"max_pool",    1, 4, "window stride padding", "max_pool(x, window, stride=window, padding=\"valid\")", pool<ir::max_pool, false>, Follows::First},
    {"avg_pool",    1, 4, "window stride padding", "avg_pool(x, window, stride=window, padding=\"valid\")", pool<ir::avg_pool, true>, Follows::First, true},
    {"cumsum",      1, 2, "axis", "cumsum(x, axis=0)",      cumulative<ir::cumsum>, Follows::First},
    {"cumprod",     1, 2, "axis", "cumprod(x, axis=0)",     cumulative<ir::cumprod>, Follows::First},
    {"cummax",      1, 2, "axis", "cummax(x, axis=0)",      cumulative<ir::cummax>, Follows::First},
    {"cummin",      1, 2, "axis", "cummin(x, axis=0)",      cumulative<ir::cummin>, Follows::First},
    {"logcumsumexp", 1, 2, "axis", "logcumsumexp(x, axis=0)", logcumsumexp, Follows::First, true},
    {"softmax",     1, 2, "axis", "softmax(x, axis=-1)",    softmax, Follows::First, true},
    {"log_softmax", 1, 2, "axis", "log_softmax(x, axis=-1)", log_softmax, Follows::First, true},
    {"const",       2, 2, "",     "const(f32[2], [1.0, 2.0])", constant},
};
// clang-format on

}  // namespace

std::span<const Builtin> composite_builtins() { return kCompositeRows; }

}  // namespace spirograd::text
