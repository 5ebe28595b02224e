// Expressions to nodes.
#include "frontend/text/elaborate.h"

#include <cmath>

#include "frontend/base/near_name.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/traverse.h"
#include "frontend/text/builtins.h"

namespace spirograd::text {

using ir::Expr;
using ir::NodeId;
using ir::Op;

namespace {

// Every integer up to here is exact in a double; literals are kept as doubles.
constexpr double kExact = 9007199254740992.0;

[[noreturn]] void no_expression() { throw Error("SG0900", "internal: this syntax is no expression"); }

std::string whole(double x) { return std::to_string(static_cast<int64_t>(x)); }

// Arithmetic of two literals, done here and in double; nothing for operations that are left to the program.
std::optional<Value> fold(Op op, const Value& a, const Value& b) {
  if (!a.is_literal() || !b.is_literal() || a.shape.rank() != 0 || b.shape.rank() != 0) return {};
  const double x = a.numbers[0], y = b.numbers[0];
  const bool floats = a.is_float || b.is_float;
  double r = 0;
  if (op == Op::Add)
    r = x + y;
  else if (op == Op::Sub)
    r = x - y;
  else if (op == Op::Mul)
    r = x * y;
  else if (op == Op::Pow && !floats && y >= 0 && std::pow(x, y) < kExact && std::pow(x, y) > -kExact)
    r = std::pow(x, y);
  else if (op == Op::Rem)
    r = floats ? std::fmod(x, y) : y == 0 ? 0 : std::fmod(x, y);
  else if (op == Op::Div) {
    r = x / y;
    if (!floats && (y == 0 || std::fmod(x, y) != 0))
      throw Error("SG0105", whole(x) + " / " + whole(y) + " is not a whole number")
          .hint("write " + whole(x) + ".0 / " + whole(y) + " for a float, " + whole(x) + " // " + whole(y) +
                " to round down");
  } else {
    return {};
  }
  if (!floats && std::abs(r) >= kExact)
    throw Error("SG0407", whole(x) + " " + spelling(op) + " " + whole(y) + " is too large");
  if (!floats && r == 0) r = 0;  // no negative zero among the integers
  return Value::literal(r, floats);
}

// Comparisons of whole numbers, and of truth values that are known.
std::optional<bool> known_truth(Op op, const Value& a, const Value& b) {
  if (a.known && b.known) {
    if (op == Op::And) return *a.known && *b.known;
    if (op == Op::Or) return *a.known || *b.known;
    if (op == Op::Eq) return *a.known == *b.known;
    if (op == Op::Ne) return *a.known != *b.known;
  }
  if (!a.is_whole_number() || !b.is_whole_number()) return {};
  const double x = a.numbers[0], y = b.numbers[0];
  if (op == Op::Eq) return x == y;
  if (op == Op::Ne) return x != y;
  if (op == Op::Lt) return x < y;
  if (op == Op::Le) return x <= y;
  if (op == Op::Gt) return x > y;
  if (op == Op::Ge) return x >= y;
  return {};
}

}  // namespace

// The functions on the way from one level of an expression to the next keep their frames small: they recurse up to
// kMaxNesting times, also in debug builds and on threads with 8 MiB of stack.
Value Elaborator::eval(const Ast& ast, const Env& env) {
  struct Depth {
    int& n;
    ~Depth() { --n; }
  } guard{++depth_};
  if (depth_ > kMaxNesting) too_deep(ast.place);
  try {
    Value v = eval_form(ast, env);
    locate_new_nodes(ast.place);
    return v;
  } catch (Error& e) {
    locate(e, ast.place);
    throw;
  }
}

void Elaborator::too_deep(Place place) const {
  throw source_.error("SG0406", "calls and expressions are nested more than " + std::to_string(kMaxNesting) + " deep",
                      place);
}

// Nodes made since the last expression ended were made for this one.
void Elaborator::locate_new_nodes(Place place) {
  for (uint32_t id = std::max(located_, 1u); id < graph_.size(); ++id) graph_.note_loc({id}, source_.loc(place));
  located_ = graph_.size();
}

void Elaborator::locate(Error& e, Place place) const {
  if (e.loc.line != 0) return;
  e.loc = source_.loc(place);
  e.source_line = source_.line(place);
}

Value Elaborator::eval_form(const Ast& ast, const Env& env) {
  switch (ast.form) {
    case Form::Number: return eval_number(ast);
    case Form::Bool: return eval_bool(ast);
    case Form::Name: return eval_name(ast, env);
    case Form::Constant: return constant(source_.constants[static_cast<size_t>(ast.number)]);
    case Form::String: return Value::string(ast.text);
    case Form::Negate: return eval_negate(ast, env);
    case Form::Not: return eval_not(ast, env);
    case Form::Binary: return eval_operators(ast, env);
    case Form::FloorDiv: return eval_floor_div(ast, env);
    case Form::MatMul: return eval_matmul(ast, env);
    case Form::If: return eval_if(ast, env);
    case Form::For: return eval_for(ast, env);
    case Form::Fn: return eval_fn(ast, env);
    case Form::Call: return eval_call(ast, env);
    case Form::Index: return index_value(*this, ast, env);
    case Form::Field: return eval_field(ast, env);
    case Form::Tuple: return eval_tuple(ast, env);
    case Form::Array: return eval_array(ast, env);
    case Form::Block: return eval_block(ast, env);
    case Form::Keyword:
    case Form::Slice:
    case Form::NewAxis:
    case Form::Ellipsis:
    case Form::Let: break;
  }
  no_expression();
}

Value Elaborator::eval_bool(const Ast& ast) {
  Value v = Value::array(ir::scalar(graph_, DType::Bool, ast.number));
  v.known = ast.number != 0;
  return v;
}

Value Elaborator::eval_not(const Ast& ast, const Env& env) {
  const Value a = eval(*ast.kids[0], env);
  Value v = Value::array(ir::unary(Op::Not, array_of(a, "not")));
  if (a.known) v.known = !*a.known;
  return v;
}

Value Elaborator::eval_floor_div(const Ast& ast, const Env& env) {
  const Value a = eval(*ast.kids[0], env), b = eval(*ast.kids[1], env);
  if (!a.is_literal() || !b.is_literal() || a.is_float || b.is_float)
    throw Error("SG0102", "'//' is for whole numbers known before the program runs")
        .hint("write quot(a, b), which rounds toward zero");
  const int64_t n = static_integer(a, "//"), d = static_integer(b, "//");
  if (d == 0) throw Error("SG0105", std::to_string(n) + " // 0 is not a number");
  return Value::integer(static_cast<int64_t>(std::floor(static_cast<double>(n) / static_cast<double>(d))));
}

Value Elaborator::eval_matmul(const Ast& ast, const Env& env) {
  const Value a = eval(*ast.kids[0], env), b = eval(*ast.kids[1], env);
  return lift({a, b}, "@", [](std::span<const Expr> in) { return ir::matmul(in[0], in[1]); });
}

Value Elaborator::eval_fn(const Ast& ast, const Env& env) {
  Value v;
  v.kind = Value::Kind::Function;
  v.function = std::make_shared<Closure>(Closure{&ast, env, view_, -1, {}});
  return v;
}

Value Elaborator::eval_tuple(const Ast& ast, const Env& env) {
  std::vector<Value> items;
  for (const Ast* kid : ast.kids) items.push_back(eval(*kid, env));
  return Value::tuple(std::move(items));
}

Value Elaborator::eval_number(const Ast& ast) {
  if (ast.suffix == 'd') return Value::array(ir::scalar(graph_, DType::F64, ast.number));
  if (ast.suffix == 'u') return Value::array(materialise(Value::literal(ast.number, false), DType::U32));
  if (ast.suffix == 'i' && ast.number >= kExact)
    throw Error("SG0407", "'" + std::string(ast.text) + "' is too large for an integer");
  return Value::literal(ast.number, ast.suffix == 'f');
}

Value Elaborator::eval_negate(const Ast& ast, const Env& env) {
  const Ast& operand = *ast.kids[0];
  if (operand.form == Form::Number && operand.suffix == 'd')
    return Value::array(ir::scalar(graph_, DType::F64, -operand.number));
  Value v = eval(operand, env);
  if (!v.is_literal()) return negated(v);
  for (double& x : v.numbers) x = !v.is_float && x == 0 ? 0 : -x;
  return v;
}

std::string spelling(Op op) { return std::string(ir::info(op).symbol.empty() ? ir::name(op) : ir::info(op).symbol); }

Value Elaborator::binary(Op op, const Value& a, const Value& b) {
  if (std::optional<Value> v = field_by_field(op, a, b)) return *std::move(v);
  if (std::optional<Value> v = fold(op, a, b)) return *v;
  if (const std::optional<bool> known = known_truth(op, a, b)) {
    // The node is made all the same: programs print as what was written.
    const Expr e = ir::binary_broadcast(op, materialise(a), materialise(b));
    Value v = Value::array(e);
    v.known = known;
    return v;
  }
  const std::string what = spelling(op);
  const Value* both[] = {&a, &b};
  const bool floats = ir::has_flag(op, ir::kFloatOnly), open = a.is_weak() && b.is_weak();
  const DType t = common_dtype(both, what);
  if (op == Op::Div && is_integer(t))
    throw Error("SG0102", "/: not defined for " + std::string(name(t)))
        .hint("write quot(a, b) for whole numbers, or f32(a) / f32(b)");
  // Truth values have an element type of their own: numbers alone are compared as f32 or i32.
  if (open && ir::has_flag(op, ir::kPredicate))
    return Value::array(ir::binary_broadcast(op, materialise(a, t), materialise(b, t)));
  return lift(
      {a, b}, what, [op](std::span<const Expr> in) { return ir::binary_broadcast(op, in[0], in[1]); }, floats);
}

Value Elaborator::eval_operators(const Ast& ast, const Env& env) {
  std::vector<const Ast*> spine;
  const Ast* at = &ast;
  for (; at->form == Form::Binary; at = at->kids[0]) spine.push_back(at);
  Value v = eval(*at, env);
  for (size_t j = spine.size(); j-- > 0;) {
    const Value right = eval(*spine[j]->kids[1], env);
    try {
      v = binary(spine[j]->op, v, right);
    } catch (Error& e) {
      locate(e, spine[j]->place);
      throw;
    }
    locate_new_nodes(spine[j]->place);
  }
  return v;
}

Value Elaborator::eval_if(const Ast& ast, const Env& env) {
  const Value condition = eval(*ast.kids[0], env);
  if (!condition.is_array() || condition.expr.type() != boolean()) {
    const Error e =
        source_.error("SG0102", "if: the condition must be one bool, not " + describe(condition), ast.kids[0]->place);
    throw Error(e).hint(condition.is_array() && condition.expr.dtype() == DType::Bool
                            ? "where(mask, a, b) chooses element by element"
                            : "compare, as in x != 0");
  }
  // What is known is decided here: the branch that is not taken may have another shape, or none.
  if (condition.known) return eval(*ast.kids[*condition.known ? 1 : 2], env);
  const Value yes = eval(*ast.kids[1], env), no = eval(*ast.kids[2], env);
  return choose(condition.expr, yes, no);
}

Value Elaborator::choose(Expr condition, const Value& yes, const Value& no) {
  if (yes.kind == Value::Kind::Tuple && no.kind == Value::Kind::Tuple && yes.items.size() == no.items.size() &&
      yes.record == no.record) {
    std::vector<Value> items;
    for (size_t j = 0; j < yes.items.size(); ++j) items.push_back(choose(condition, yes.items[j], no.items[j]));
    return Value::tuple(std::move(items), yes.record);
  }
  if (yes.kind == Value::Kind::Tuple || no.kind == Value::Kind::Tuple)
    throw Error("SG0102", "if: the branches are " + describe(yes) + " and " + describe(no));
  return lift({yes, no}, "if", [condition](std::span<const Expr> in) { return ir::cond(condition, in[0], in[1]); });
}

Value Elaborator::eval_for(const Ast& ast, const Env& env) {
  const int64_t extent = static_integer(eval(*ast.kids[0], env), "the extent of a for");
  if (extent < 0) throw source_.error("SG0101", "for: negative extent " + std::to_string(extent), ast.kids[0]->place);
  const bool fixed = ast.number >= 0;
  const int64_t level = static_cast<int64_t>(ast.number);
  const Expr index = ir::fresh_var(graph_, i32());
  Env inner = nested(env);
  bind(inner, ast.text, Value::array(index));
  const Value body = eval(*ast.kids[1], inner);
  const auto over_index = [this, fixed, level, extent, index](std::span<const Expr> in) {
    if (!fixed) return ir::build(extent, index, in[0]);
    const Expr numbered = ir::index_var(graph_, level, extent);
    const NodeId e = ir::substitute_vars(graph_, {&in[0].id, 1}, {{index.id.v, numbered.id}})[0];
    return ir::build_at(level, extent, {&graph_, e});
  };
  std::vector<Value> flat;
  leaves(body, flat);
  for (Value& v : flat) v = lift({v}, "for", over_index);
  size_t at = 0;
  return with_leaves(body, flat, at);
}

void Elaborator::match(const Ast& pattern, const Value& value, Env& env) {
  if (pattern.form == Form::Name) return bind(env, pattern.text, value);
  if (value.kind != Value::Kind::Tuple)
    throw source_.error("SG0404", "a tuple of " + std::to_string(pattern.kids.size()) + " names for " + describe(value),
                        pattern.place);
  if (value.items.size() != pattern.kids.size())
    throw source_.error("SG0404",
                        std::to_string(pattern.kids.size()) + " names for a tuple of " + std::to_string(value.items.size()),
                        pattern.place);
  for (size_t j = 0; j < pattern.kids.size(); ++j) match(*pattern.kids[j], value.items[j], env);
}

Value Elaborator::eval_block(const Ast& ast, const Env& env) {
  Env inner = nested(env);
  for (size_t j = 0; j + 1 < ast.kids.size(); ++j) {
    const Ast& let = *ast.kids[j];
    const Value v = eval(*let.kids[1], inner);
    match(*let.kids[0], v, inner);
  }
  return eval(*ast.kids.back(), inner);
}

// Numbers alone make a literal array, anything else a stack of equal elements.
Value Elaborator::eval_array(const Ast& ast, const Env& env) {
  std::vector<Value> items;
  bool literal = true;
  for (const Ast* kid : ast.kids) {
    items.push_back(eval(*kid, env));
    literal = literal && items.back().is_literal();
  }
  if (!literal) return lift(items, "array literal", [](std::span<const Expr> in) { return ir::stack(in, 0); });
  Value out;
  out.kind = Value::Kind::Literal;
  for (const Value& v : items) {
    if (v.shape != items[0].shape)
      throw Error("SG0101", "array literal: elements of shapes " + to_string(items[0].shape) + " and " + to_string(v.shape) +
                                " differ");
    out.is_float |= v.is_float;
    out.numbers.insert(out.numbers.end(), v.numbers.begin(), v.numbers.end());
  }
  if (!items.empty() && items[0].shape.rank() >= kMaxRank) throw Error("SG0101", "array literal: too many axes");
  out.shape = (items.empty() ? Shape{} : items[0].shape).inserted(0, static_cast<int64_t>(items.size()));
  return out;
}

Value Elaborator::eval_field(const Ast& ast, const Env& env) {
  if (const Named found = named(ast, env)) return value_of(found, ast);
  const Value a = eval(*ast.kids[0], env);
  if (a.record) return field_of(a, ast.text);
  const Shape& shape = shape_of(a, ast.text);
  if (ast.text == "T") {
    std::vector<int64_t> perm;
    for (int j = shape.rank(); j-- > 0;) perm.push_back(j);
    return lift({a}, "T", [perm](std::span<const Expr> in) { return ir::transpose(in[0], perm); });
  }
  if (ast.text == "shape") {
    Value v;
    v.kind = Value::Kind::Literal;
    v.shape = {shape.rank()};
    for (int64_t d : shape) v.numbers.push_back(static_cast<double>(d));
    return v;
  }
  throw Error("SG0402", "an array has no '." + std::string(ast.text) + "'").hint("x.T and x.shape exist");
}

}  // namespace spirograd::text
