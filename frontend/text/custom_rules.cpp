// Derivatives that users give: custom_jvp f(x, dx) = (value, tangent). The value of f is that of its definition; whoever
// differentiates it takes the tangent from the rule, which is differentiated in turn for higher orders. Calls of f inside of
// its own rule are plain, so their derivative is that of the definition.
#include "frontend/ir/close_loop.h"
#include "frontend/text/builtins.h"

namespace spirograd::text {

using ir::Expr;

namespace {

// While it lives the rule of a definition is elaborated.
struct Ruling {
  Ruling(std::vector<size_t>& list_, size_t def) : list(list_) { list.push_back(def); }
  ~Ruling() { list.pop_back(); }
  Ruling(const Ruling&) = delete;
  std::vector<size_t>& list;
};

// The parameters of `def` under the names that its rule gives them.
DefSyntax renamed(const DefSyntax& def) {
  DefSyntax out = def;
  for (size_t j = 0; j < def.declared.size(); ++j) out.declared[j].name = def.rule->params[j];
  return out;
}

// Binds a tangent for each parameter that may have one. `arrays`: one for each array of the parameters.
void bind_tangents(const DefSyntax& def, std::span<const Value> arrays, Env& env) {
  DefSyntax out;
  std::vector<Value> own;
  for (const Declared& d : def.declared) {
    if (may_carry_tangents(def, d)) {
      out.declared.push_back(d);
      out.declared.back().name = def.rule->params[def.declared.size() + out.declared.size() - 1];
      own.insert(own.end(), arrays.begin(), arrays.begin() + static_cast<std::ptrdiff_t>(d.arrays));
    }
    arrays = arrays.subspan(d.arrays);
  }
  bind_params(out, own, env);
}

}  // namespace

Value Elaborator::with_rule(size_t index, std::span<const Expr> args, const Value& plain) {
  const DefSyntax& def = source_.defs[index];
  const RuleSyntax& rule = *def.rule;
  const std::string what = "the derivative of '" + std::string(def.name) + "'";
  std::vector<Expr> at, xs, directions;
  std::vector<Value> primal, tangent;
  std::vector<Type> types;
  for (Expr e : args) {
    types.push_back(e.type());
    if (!is_float(e.dtype())) {
      primal.push_back(Value::array(e));
      tangent.push_back(Value::array(ir::zeros(graph_, e.type())));
      continue;
    }
    at.push_back(e);
    xs.push_back(ir::fresh_var(graph_, e.type()));
    directions.push_back(ir::fresh_var(graph_, e.type()));
    primal.push_back(Value::array(xs.back()));
    tangent.push_back(Value::array(directions.back()));
  }
  if (at.empty()) return plain;

  Env env = nested({});
  bind_types(*this, def, types, {}, env);
  bind_params(renamed(def), primal, env);
  bind_tangents(def, tangent, env);
  const Value both = [&] {
    const Within within(current_def_, static_cast<int>(rule.visible));
    const Ruling ruling(ruling_, index);
    return eval(*rule.body, env);
  }();
  if (both.kind != Value::Kind::Tuple || both.record || both.items.size() != 2)
    throw source_.error("SG0103", what + " gives (value, tangent), not " + describe(both), rule.place);
  std::vector<Value> values, changes;
  leaves(plain, values);
  leaves(both.items[1], changes);
  if (values.size() != changes.size())
    throw source_.error(
        "SG0103",
        what + " gives " + std::to_string(changes.size()) + " tangents for " + std::to_string(values.size()) + " results",
        rule.place);
  for (size_t j = 0; j < values.size(); ++j) {
    const Expr value = array_of(values[j], what);
    values[j] = Value::array(value);
    if (!is_float(value.dtype())) continue;
    const Expr change =
        changes[j].may_become(value.dtype()) ? materialise(changes[j], value.dtype()) : array_of(changes[j], what);
    if (change.type() != value.type())
      throw source_.error("SG0103",
                          what + " gives a tangent of " + to_string(change.type()) + " for " + to_string(value.type()),
                          rule.place);
    values[j] = Value::array(ir::close_rule(value, at, xs, directions, change));
  }
  size_t next = 0;
  return with_leaves(plain, values, next);
}

}  // namespace spirograd::text
