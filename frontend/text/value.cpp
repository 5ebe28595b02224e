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

Value Value::tuple(std::vector<Value> items, const StructSyntax* record) {
  Value v;
  v.kind = Kind::Tuple;
  v.record = record;
  v.items = std::move(items);
  return v;
}

Value Value::string(std::string_view text) {
  Value v;
  v.kind = Kind::String;
  v.text = text;
  return v;
}

std::string describe(const Value& v) {
  switch (v.kind) {
    case Value::Kind::Array: return to_string(v.expr.type());
    case Value::Kind::Literal: return v.shape.rank() == 0 ? "a number" : "numbers of shape " + to_string(v.shape);
    case Value::Kind::Weak: return to_string(Type{v.usual_dtype(), v.shape});
    case Value::Kind::Tuple:
      return v.record ? "a " + std::string(v.record->fields.name) : "a tuple of " + std::to_string(v.items.size());
    case Value::Kind::Function: return "a function";
    case Value::Kind::Type: return "a type";
    case Value::Kind::String: return "a string";
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
        .hint("literals, shape variables, x.shape[0], and + - * / // % ** min max if of these");
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
  if (v.known) return *v.known;
  if (!v.is_array() || v.expr.op() != ir::Op::Const || v.expr.type() != boolean())
    throw Error("SG0105", std::string(what) + " must be true or false, not " + describe(v));
  return v.expr.node().data[0] != 0;
}

// ---- arrays and tuples

const Shape& shape_of(const Value& v, std::string_view what) {
  if (v.is_array()) return v.expr.shape();
  if (v.is_weak()) return v.shape;
  throw Error("SG0102", std::string(what) + ": expected an array, found " + describe(v));
}

void leaves(const Value& v, std::vector<Value>& out) {
  if (v.kind != Value::Kind::Tuple) return out.push_back(v);
  for (const Value& item : v.items) leaves(item, out);
}

Value with_leaves(const Value& like, std::span<const Value> flat, size_t& at) {
  if (like.kind != Value::Kind::Tuple) return flat[at++];
  std::vector<Value> items;
  for (const Value& item : like.items) items.push_back(with_leaves(item, flat, at));
  return Value::tuple(std::move(items), like.record);
}

}  // namespace spirograd::text
