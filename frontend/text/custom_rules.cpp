// Derivatives that users give: custom_jvp f(x, dx) = (value, tangent) and custom_vjp f(x, ct) = cotangent of x. The value of
// f is that of its definition; whoever differentiates it asks the rule, which is differentiated in turn for higher orders.
// Calls of f inside of its own rule are plain, so their derivative is that of the definition.
#include <algorithm>

#include "frontend/ir/close_rule.h"
#include "frontend/text/functions.h"

namespace spirograd::text {

using ir::Expr;

// The call of a function as its rule sees it: placeholders for the floats of the arguments.
struct RuledCall {
  std::vector<Expr> at, xs;
  std::vector<Value> primal;  // per array of the arguments
  std::vector<Type> types;

  explicit RuledCall(std::span<const Expr> args) {
    for (Expr e : args) {
      types.push_back(e.type());
      if (is_float(e.dtype())) {
        at.push_back(e);
        xs.push_back(ir::fresh_var(*e.graph, e.type()));
      }
      primal.push_back(Value::array(is_float(e.dtype()) ? xs.back() : e));
    }
  }
};

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

// A name of around whose derivative a rule cannot know of, in what the function reads; "" without.
std::string captured_float(const Closure& f) {
  if (f.native) return "what it is made of";
  if (!f.fn) return "";
  const std::function<bool(const Value&)> carries = [&](const Value& v) {
    if (v.is_array()) return is_float(v.expr.dtype()) && v.expr.op() != ir::Op::Const;
    if (v.kind == Value::Kind::Function) return !captured_float(*v.function).empty();
    return std::ranges::any_of(v.items, carries);
  };
  std::vector<const Ast*> names;
  collect_names(*f.fn, names);
  for (const Ast* name : names)
    if (const Value* v = lookup(f.env, name->text); v && carries(*v)) return "'" + std::string(name->text) + "' from around";
  return "";
}

std::string derivative_of(const DefSyntax& def) { return "the derivative of '" + std::string(def.name) + "'"; }

}  // namespace

Value Elaborator::with_rule(size_t index, std::span<const Expr> args, const std::vector<Function>& functions,
                            const Value& plain) {
  const DefSyntax& def = source_.defs[index];
  const RuledCall call(args);
  if (call.at.empty()) return plain;
  for (const Function& f : functions)
    if (const std::string name = captured_float(*f); !name.empty())
      throw Error("SG0404", "'" + std::string(def.name) +
                                "' has a derivative of its own and is given a function that reads " + name +
                                ", whose derivative it would lose")
          .hint("pass the name of a def, and what it reads as an argument");
  Env env = nested({});
  bind_types(*this, def, call.types, {}, env);
  bind_params(renamed(def), call.primal, env);
  bind_functions(renamed(def), functions, env);
  return def.rule->forward ? with_tangents(index, call, plain, env) : with_cotangents(index, call, plain, env);
}

Value Elaborator::apply_rule(size_t index, const Env& env) {
  const RuleSyntax& rule = *source_.defs[index].rule;
  const Within within(view_, rule.view);
  const Ruling ruling(ruling_, index);
  return eval(*rule.body, env);
}

Value Elaborator::with_tangents(size_t index, const RuledCall& call, const Value& plain, Env env) {
  const DefSyntax& def = source_.defs[index];
  const std::string what = derivative_of(def);
  std::vector<Expr> directions;
  std::vector<Value> tangent;
  for (Type t : call.types) {
    if (is_float(t.dtype)) directions.push_back(ir::fresh_var(graph_, t));
    tangent.push_back(Value::array(is_float(t.dtype) ? directions.back() : ir::zeros(graph_, t)));
  }
  bind_tangents(def, tangent, env);
  const Value both = apply_rule(index, env);
  if (both.kind != Value::Kind::Tuple || both.record || both.items.size() != 2)
    throw source_.error("SG0103", what + " gives (value, tangent), not " + describe(both), def.rule->place);
  std::vector<Value> values, changes;
  leaves(plain, values);
  leaves(both.items[1], changes);
  if (values.size() != changes.size())
    throw source_.error(
        "SG0103",
        what + " gives " + std::to_string(changes.size()) + " tangents for " + std::to_string(values.size()) + " results",
        def.rule->place);
  for (size_t j = 0; j < values.size(); ++j) {
    const Expr value = array_of(values[j], what);
    values[j] = Value::array(value);
    if (!is_float(value.dtype())) continue;
    const Expr change =
        changes[j].may_become(value.dtype()) ? materialise(changes[j], value.dtype()) : array_of(changes[j], what);
    if (change.type() != value.type())
      throw source_.error("SG0103",
                          what + " gives a tangent of " + to_string(change.type()) + " for " + to_string(value.type()),
                          def.rule->place);
    values[j] = Value::array(ir::close_jvp(value, call.at, call.xs, directions, change));
  }
  size_t next = 0;
  return with_leaves(plain, values, next);
}

Value Elaborator::with_cotangents(size_t index, const RuledCall& call, const Value& plain, Env env) {
  const DefSyntax& def = source_.defs[index];
  const std::string what = derivative_of(def);
  std::vector<Value> flat, arrived;
  leaves(plain, flat);
  std::vector<Expr> values;
  for (const Value& v : flat) values.push_back(array_of(v, what));
  const std::vector<Expr> cts = ir::cotangents_of(values);
  for (Expr e : cts) arrived.push_back(Value::array(e));
  size_t next = 0;
  bind(env, def.rule->params.back(), with_leaves(plain, arrived, next));
  const std::vector<Expr> changes = directions(*this, apply_rule(index, env), types_of(call.at), what + ": a cotangent");
  values = ir::close_vjp(std::move(values), call.at, call.xs, cts, changes);
  for (size_t j = 0; j < flat.size(); ++j) flat[j] = Value::array(values[j]);
  next = 0;
  return with_leaves(plain, flat, next);
}

}  // namespace spirograd::text
