// Values, environments and static arguments of the elaborator.
#include <algorithm>
#include <cmath>

#include "frontend/text/elaborate.h"

namespace spirograd::text {

Value Value::integer(int64_t n) { return literal(static_cast<double>(n), false); }

Value Value::literal(double x, bool is_float) {
  Value v;
  v.kind = Kind::Literal;
  v.is_float = is_float;
  v.numbers = {x};
  return v;
}

Value Value::tuple(std::vector<Value> items) {
  Value v;
  v.kind = Kind::Tuple;
  v.items = std::move(items);
  return v;
}

std::string describe(const Value& v) {
  switch (v.kind) {
    case Value::Kind::Array: return to_string(v.expr.type());
    case Value::Kind::Literal: return v.shape.rank() == 0 ? "a number" : "numbers of shape " + to_string(v.shape);
    case Value::Kind::Tuple: return "a tuple of " + std::to_string(v.items.size());
    case Value::Kind::Function: return "a function";
    case Value::Kind::Type: return "a type";
  }
  return "?";
}

// ---- environments

Env empty_scope_in(const Env& parent) {
  Env env;
  env.scope = std::make_shared<Scope>();
  env.scope->parent = parent;
  return env;
}

void bind(Env& env, std::string_view name, Value value) {
  if (name == "_") return;
  Scope& s = *env.scope;
  s.names[name].emplace_back(s.next++, std::move(value));
  env.limit = s.next;
}

const Value* lookup(const Env& env, std::string_view name) {
  const Env* e = &env;
  while (e->scope) {
    const auto it = e->scope->names.find(name);
    if (it != e->scope->names.end())
      for (auto entry = it->second.rbegin(); entry != it->second.rend(); ++entry)
        if (entry->first < e->limit) return &entry->second;
    e = &e->scope->parent;
  }
  return nullptr;
}

std::vector<std::string> visible_names(const Env& env) {
  std::vector<std::string> out;
  for (const Env* e = &env; e->scope; e = &e->scope->parent)
    for (const auto& [name, entries] : e->scope->names)
      if (entries.front().first < e->limit) out.emplace_back(name);
  std::sort(out.begin(), out.end());
  return out;
}

// ---- static arguments

int64_t static_integer(const Value& v, std::string_view what) {
  if (!v.is_literal() || v.is_float || v.shape.rank() != 0)
    throw Error("SG0105", std::string(what) + " must be a whole number known before the program runs, not " +
                              (v.is_literal() && v.shape.rank() == 0 ? "a float" : describe(v)))
        .hint("literals, shape variables, x.shape[0], and + - * / // % of these");
  return static_cast<int64_t>(v.numbers[0]);
}

std::vector<int64_t> static_integers(const Value& v, std::string_view what) {
  const Value* list = &v;
  if (v.kind == Value::Kind::Tuple) {
    std::vector<int64_t> out;
    for (const Value& item : v.items) out.push_back(static_integer(item, what));
    return out;
  }
  if (!list->is_literal() || list->is_float || list->shape.rank() > 1) return {static_integer(v, what)};
  std::vector<int64_t> out;
  for (double x : list->numbers) out.push_back(static_cast<int64_t>(x));
  return out;
}

Shape static_shape(const Value& v, std::string_view what) {
  const std::vector<int64_t> dims = static_integers(v, what);
  if (dims.size() > static_cast<size_t>(kMaxRank))
    throw Error("SG0101", std::string(what) + ": rank " + std::to_string(dims.size()) + " is above the limit of " +
                              std::to_string(kMaxRank));
  for (int64_t d : dims)
    if (d < 0) throw Error("SG0101", std::string(what) + ": negative extent " + std::to_string(d));
  return Shape(std::span<const int64_t>(dims));
}

bool static_bool(const Value& v, std::string_view what) {
  if (!v.is_array() || v.expr.op() != ir::Op::Const || v.expr.type() != boolean())
    throw Error("SG0105", std::string(what) + " must be true or false, not " + describe(v));
  return v.expr.node().data[0] != 0;
}

// ---- dtypes of literals

DType common_dtype(std::span<const Value* const> values, std::string_view what) {
  const Value* first = nullptr;
  bool any_float = false;
  for (const Value* v : values) {
    if (v->is_literal()) {
      any_float |= v->is_float;
    } else if (!v->is_array()) {
      throw Error("SG0102", std::string(what) + ": expected an array, found " + describe(*v));
    } else if (!first) {
      first = v;
    } else if (v->expr.dtype() != first->expr.dtype()) {
      const std::string to(name(is_float(v->expr.dtype()) ? v->expr.dtype() : first->expr.dtype()));
      throw Error("SG0102", std::string(what) + ": element types of " + describe(*first) + " and " + describe(*v) +
          " differ")
          .note("only literals take the element type of the other operand")
          .hint("convert one of them, as in " + to + "(x)");
    }
  }
  if (!first) return any_float ? DType::F32 : DType::I32;
  const DType t = first->expr.dtype();
  if (any_float && is_integer(t))
    throw Error("SG0102", std::string(what) + ": a float literal with " + describe(*first))
        .hint("convert the array, as in f32(x), or write a whole number");
  return t;
}

std::vector<ir::Expr> unify(Elaborator& elaborator, std::span<const Value* const> values, std::string_view what) {
  const DType t = common_dtype(values, what);
  std::vector<ir::Expr> out;
  for (const Value* v : values) out.push_back(elaborator.materialise(*v, t));
  return out;
}

ir::Expr Elaborator::materialise(const Value& v, std::optional<DType> want) {
  if (!v.is_literal()) return array_of(v, "here");
  const DType t = want.value_or(v.is_float ? DType::F32 : DType::I32);
  if (t == DType::Bool) throw Error("SG0102", "a number is no bool").hint("write true or false, or compare: x != 0");
  if (v.is_float && is_integer(t)) throw Error("SG0102", "a float literal is no " + std::string(name(t)));
  if (v.numbers.empty()) throw Error("SG0101", "array literal: needs at least one element").hint("write zeros([0])");
  std::vector<double> data = v.numbers;
  for (double& x : data) {
    const double lowest = t == DType::I32 ? -2147483648.0 : 0, highest = t == DType::I32 ? 2147483647.0 : 4294967295.0;
    if (is_integer(t) && (x < lowest || x > highest))
      throw Error("SG0407", std::to_string(static_cast<int64_t>(x)) + " does not fit into " + std::string(name(t)));
    if (t != DType::F32) continue;
    const double rounded = static_cast<double>(static_cast<float>(x));
    if (std::isinf(rounded) && !std::isinf(x)) throw Error("SG0407", "a literal is too large for f32")
        .hint("2.0d is an f64");
    if (!std::isnan(x)) x = rounded;
  }
  return ir::constant(graph_, {t, v.shape}, std::move(data));
}

ir::Expr Elaborator::array_of(const Value& v, std::string_view what) {
  if (v.is_array()) return v.expr;
  if (v.is_literal()) return materialise(v);
  throw Error("SG0102", std::string(what) + ": expected an array, found " + describe(v));
}

void Elaborator::flatten(const Value& v, std::vector<ir::Expr>& out) {
  if (v.kind == Value::Kind::Tuple) {
    for (const Value& item : v.items) flatten(item, out);
  } else {
    out.push_back(array_of(v, "here"));
  }
}

Value Elaborator::unflatten(const Value& like, std::span<const ir::Expr> flat, size_t& at) {
  if (like.kind != Value::Kind::Tuple) return Value::array(flat[at++]);
  std::vector<Value> items;
  for (const Value& item : like.items) items.push_back(unflatten(item, flat, at));
  return Value::tuple(std::move(items));
}

}  // namespace spirograd::text
