// Element types of values made of literals: open until they meet an array that has one. Such a weak array is a function from
// element types to nodes, so that 0.1 in a program of f64 is never rounded to f32 on its way.
#include <cmath>

#include "frontend/text/builtins.h"

namespace spirograd::text {

using ir::Expr;

namespace {

Error differ(std::string_view what, const Value& a, const Value& b, DType s, DType t) {
  // The hint keeps every digit where that is possible: to the wider of two floats, from integers to floats.
  const DType to = is_float(s) ? s : is_float(t) ? t : s == DType::Bool ? t : s;
  return Error("SG0102", std::string(what) + ": element types of " + describe(a) + " and " + describe(b) + " differ")
      .note("only values made of literals take the element type of the other operand")
      .hint(is_float(s) && is_float(t) ? "convert the f32 one, as in f64(x): no digit is lost"
                                       : "convert one of them, as in " + std::string(name(to)) + "(x)");
}

// The element type at which an operand of a weak array is made.
DType dtype_for(const Value& operand, DType t) { return operand.is_float && is_integer(t) ? DType::F32 : t; }

}  // namespace

DType common_dtype(std::span<const Value* const> values, std::string_view what) {
  const Value* first = nullptr;
  const Value* floats = nullptr;
  for (const Value* v : values) {
    if (v->is_weak()) {
      if (v->is_float) floats = v;
    } else if (!v->is_array()) {
      throw Error("SG0102", std::string(what) + ": expected an array, found " + describe(*v));
    } else if (!first) {
      first = v;
    } else if (v->expr.dtype() != first->expr.dtype()) {
      throw differ(what, *first, *v, first->expr.dtype(), v->expr.dtype());
    }
  }
  if (!first) return floats ? DType::F32 : DType::I32;
  const DType t = first->expr.dtype();
  if (floats && is_integer(t)) {
    if (!floats->is_literal()) throw differ(what, *first, *floats, t, DType::F32);
    throw Error("SG0102", std::string(what) + ": a float literal with " + describe(*first))
        .hint("convert the array, as in f32(x), or write a whole number");
  }
  return t;
}

std::vector<Expr> unify(Elaborator& elaborator, std::span<const Value* const> values, std::string_view what) {
  const DType t = common_dtype(values, what);
  std::vector<Expr> out;
  for (const Value* v : values) out.push_back(elaborator.materialise(*v, t));
  return out;
}

Expr Elaborator::materialise(const Value& v, std::optional<DType> want) {
  if (!v.is_weak()) return array_of(v, "here");
  const DType t = computed_as(want.value_or(v.usual_dtype()));
  if (t == DType::Bool) throw Error("SG0102", "a number is no bool").hint("write true or false, or compare: x != 0");
  if (v.is_float && is_integer(t))
    throw Error("SG0102", (v.is_literal() ? "a float literal" : describe(v)) + " is no " + std::string(name(t)));
  if (!v.is_literal()) return made_at(*v.made, t);
  if (v.numbers.empty()) throw Error("SG0101", "array literal: needs at least one element").hint("write zeros([0])");
  std::vector<double> data = v.numbers;
  for (double& x : data) {
    const double lowest = t == DType::I32 ? -2147483648.0 : 0, highest = t == DType::I32 ? 2147483647.0 : 4294967295.0;
    if (is_integer(t) && (x < lowest || x > highest))
      throw Error("SG0407", std::to_string(static_cast<int64_t>(x)) + " does not fit into " + std::string(name(t)));
    if (t != DType::F32) continue;
    const double rounded = static_cast<double>(static_cast<float>(x));
    if (std::isinf(rounded) && !std::isinf(x))
      throw Error("SG0407", "a literal is too large for f32").hint("2.0d is an f64");
    if (!std::isnan(x)) x = rounded;
  }
  return ir::constant(graph_, {t, v.shape}, std::move(data));
}

// Iterative: what is made of literals may be a long chain of statements.
Expr Elaborator::made_at(Weak& root, DType root_type) {
  const auto slot = [](Weak& w, DType t) -> Expr& { return w.nodes[static_cast<size_t>(t)]; };
  std::vector<std::pair<Weak*, DType>> stack = {{&root, root_type}};
  while (!stack.empty()) {
    const auto [w, t] = stack.back();
    const size_t depth = stack.size();
    if (!slot(*w, t))
      for (const Value& v : w->operands)
        if (v.made && !slot(*v.made, dtype_for(v, t))) stack.emplace_back(v.made, dtype_for(v, t));
    if (stack.size() > depth) continue;
    stack.pop_back();
    if (slot(*w, t)) continue;
    std::vector<Expr> in;
    for (const Value& v : w->operands) in.push_back(materialise(v, dtype_for(v, t)));
    slot(*w, t) = w->make(t, in);
  }
  return slot(root, root_type);
}

Value Elaborator::weak(bool is_float, std::vector<Value> operands, Weak::Make make) {
  Weak& w = weaks_.emplace_back(Weak{is_float, std::move(operands), std::move(make)});
  Value v;
  v.kind = Value::Kind::Weak;
  v.is_float = is_float;
  v.made = &w;
  try {
    v.shape = made_at(w, v.usual_dtype()).shape();
  } catch (const Error& e) {
    if (e.code != "SG0407") throw;
    v.shape = made_at(w, DType::F64).shape();  // numbers that only f64 or u32 holds: they may still meet one
  }
  return v;
}

Value Elaborator::lift(std::vector<Value> values, std::string_view what, Pointwise f, bool floats) {
  std::vector<const Value*> all;
  bool open = true;
  for (const Value& v : values) {
    all.push_back(&v);
    open = open && v.is_weak();
    floats = floats || v.is_float;
  }
  if (!open) return Value::array(f(unify(*this, all, what)));
  return weak(floats, std::move(values), [f = std::move(f)](DType, std::span<const Expr> in) { return f(in); });
}

Value Elaborator::convert(const Value& v, DType t) {
  return Value::array(ir::converted(v.may_become(t) ? materialise(v, t) : array_of(v, name(t)), t));
}

// An operation over weak arrays alone is a weak array: the operation, run again with arrays of the type that is met.
Value Elaborator::run(const Builtin& builtin, Call& call) {
  check_arguments(builtin, call);
  if (builtin.of_numbers && call.keywords.empty() && call.args.size() == 2 && call.args[0].is_whole_number() &&
      call.args[1].is_whole_number())
    return Value::literal(builtin.of_numbers(call.args[0].numbers[0], call.args[1].numbers[0]), false);
  const std::vector<Value*> carriers = carriers_of(builtin, call.args);
  bool floats = builtin.floats;
  std::vector<Value> operands;
  for (const Value* v : carriers) {
    if (!v->is_weak()) return builtin.run(call);
    floats = floats || v->is_float;
    operands.push_back(*v);
  }
  if (operands.empty()) return builtin.run(call);
  const auto again = [this, &builtin, args = std::move(call.args), keywords = std::move(call.keywords)](
                         DType, std::span<const Expr> in) {
    const Ast none{Form::Call, 0, {}, 1, {}, 0, {}, {}};
    const Env nothing;
    Call typed{*this, none, nothing, builtin.name, args, keywords};
    size_t at = 0;
    for (Value* v : carriers_of(builtin, typed.args)) *v = Value::array(in[at++]);
    return builtin.run(typed).expr;
  };
  return weak(floats, std::move(operands), again);
}

void Elaborator::count_repetition() {
  constexpr int kMost = 10000;
  if (++repetitions_ > kMost)
    throw Error("SG0406", "the element types of loops within loops are found only after more than " + std::to_string(kMost) +
                              " attempts")
        .hint("give the starts their element type, as in 0.0d");
}

Expr Elaborator::array_of(const Value& v, std::string_view what) {
  if (v.is_array()) return v.expr;
  if (v.is_weak()) return materialise(v);
  throw Error("SG0102", std::string(what) + ": expected an array, found " + describe(v));
}

void Elaborator::flatten(const Value& v, std::vector<Expr>& out) {
  if (v.kind == Value::Kind::Tuple) {
    for (const Value& item : v.items) flatten(item, out);
  } else {
    out.push_back(array_of(v, "here"));
  }
}

}  // namespace spirograd::text
