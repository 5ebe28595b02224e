// Structs and tuples as wholes: arithmetic field by field, as of vectors, and functions of all their arrays.
#include <algorithm>

#include "frontend/base/characters.h"
#include "frontend/ir/algebra.h"
#include "frontend/text/builtins.h"

namespace spirograd::text {
namespace {

// `f` of the arrays that stand at the same place in all of `values`, which have one form.
Value over_fields(std::string_view what, std::span<const Value> values,
                  const std::function<Value(std::span<const Value>)>& f) {
  const Value& first = values[0];
  const auto alike = [&](const Value& v) {
    return v.kind == first.kind && v.record == first.record && v.items.size() == first.items.size();
  };
  const bool tuples = std::any_of(values.begin(), values.end(), [](const Value& v) { return v.kind == Value::Kind::Tuple; });
  if (!tuples) return f(values);
  for (const Value& v : values)
    if (!alike(v))
      throw Error("SG0404",
                  std::string(what) + ": " + describe(first) + " and " + describe(v) + " do not have the same fields");
  std::vector<Value> items;
  for (size_t j = 0; j < first.items.size(); ++j) {
    std::vector<Value> parts;
    for (const Value& v : values) parts.push_back(v.items[j]);
    try {
      items.push_back(over_fields(what, parts, f));
    } catch (Error& e) {
      if (first.record) e.notes.push_back("in field " + in_quotes(first.record->fields.declared[j].name));
      throw;
    }
  }
  return Value::tuple(std::move(items), first.record);
}

bool is_tuple(const Value& v) { return v.kind == Value::Kind::Tuple; }

// One number, whatever its element type.
bool is_number(const Value& v) {
  if (v.is_array()) return v.expr.rank() == 0;
  return v.is_weak() && v.shape.rank() == 0;
}

Value map_fields(Call& c) {
  if (c.args[0].kind != Value::Kind::Function)
    c.fail("needs a function as argument 1, not " + describe(c.args[0]), std::string(find_builtin(c.name)->usage));
  const Closure& f = *c.args[0].function;
  return over_fields(c.name, std::span(c.args).subspan(1), [&](std::span<const Value> arrays) {
    return c.elaborator.apply(f, {arrays.begin(), arrays.end()}, c.ast.place);
  });
}

constexpr Builtin kFieldRows[] = {
    {"map_fields", 2, -1, "", "map_fields(fn(w, g) => w - 0.1 * g, model, gradient)", map_fields},
};

}  // namespace

std::span<const Builtin> field_builtins() { return kFieldRows; }

std::optional<Value> Elaborator::field_by_field(ir::Op op, const Value& a, const Value& b) {
  if (!is_tuple(a) && !is_tuple(b)) return {};
  const std::string what = spelling(op);
  const bool sums = is_tuple(a) && is_tuple(b) && (op == ir::Op::Add || op == ir::Op::Sub);
  const bool scales = (op == ir::Op::Mul && (is_number(a) || is_number(b))) || (op == ir::Op::Div && is_number(b));
  if (sums) {
    const Value both[] = {a, b};
    return over_fields(what, both, [&](std::span<const Value> v) { return binary(op, v[0], v[1]); });
  }
  if (scales)
    return over_fields(what, {is_tuple(a) ? &a : &b, 1},
                       [&](std::span<const Value> v) { return is_tuple(a) ? binary(op, v[0], b) : binary(op, a, v[0]); });
  throw Error("SG0102", what + ": not defined for " + describe(a) + " and " + describe(b))
      .hint(
          "structs and tuples of one form are added and subtracted, and multiplied and divided by one number; for all else: "
          "map_fields(fn(a, b) => .., x, y)");
}

Value Elaborator::negated(const Value& v) {
  return over_fields("-", {&v, 1}, [&](std::span<const Value> of) {
    return lift({of[0]}, "-", [](std::span<const ir::Expr> in) { return ir::unary(ir::Op::Neg, in[0]); });
  });
}

}  // namespace spirograd::text
