// Calls of definitions, operations and function literals; whole definitions as programs and as loop bodies.
#include <algorithm>
#include <utility>

#include "frontend/base/characters.h"
#include "frontend/base/near_name.h"
#include "frontend/text/builtins.h"

namespace spirograd::text {

using ir::Expr;

// A definition takes the place of an operation of its name. Whoever meant the operation is told so.
Value Elaborator::eval_call(const Ast& ast, const Env& env) {
  const Ast& callee = *ast.kids[0];
  if (callee.form != Form::Name || !find_builtin(callee.text) || lookup(env, callee.text)) return plain_call(ast, env);
  const DefSyntax* def = source_.find(callee.text, view_).def;
  if (!def) return plain_call(ast, env);
  try {
    return plain_call(ast, env);
  } catch (Error& e) {
    locate(e, ast.place);
    if (e.loc.line == callee.place.line && e.notes.size() < 4)
      e.notes.push_back(in_quotes(callee.text) + " is the definition in " + source_.where(def->place, callee.place.file) +
                        ", which hides the operation of that name");
    throw;
  }
}

Value Elaborator::plain_call(const Ast& ast, const Env& env) {
  const Ast& callee = *ast.kids[0];
  const Builtin* builtin = nullptr;
  const StructSyntax* record = nullptr;
  std::shared_ptr<const Closure> closure;
  if (callee.form == Form::Name) {
    // A name in front of parentheses is a function: a variable of another kind does not hide it.
    const Value* local = lookup(env, callee.text);
    if (local && local->kind == Value::Kind::Function) {
      closure = local->function;
    } else if (local && local->kind == Value::Kind::Type) {
      builtin = find_builtin(name(local->type.dtype));  // T(x), T a type parameter
    } else if (const Named found = named(callee, env); found.def) {
      closure = function_of(*found.def).function;
    } else if (record = found.record; !record) {
      builtin = find_builtin(callee.text);
      if (!builtin) unknown_function(callee.text, env, callee.place);
    }
  } else if (const Named found = callee.form == Form::Field ? named(callee, env) : Named{}; found.record) {
    record = found.record;
  } else {
    const Value v = eval(callee, env);
    if (v.kind != Value::Kind::Function) throw source_.error("SG0403", describe(v) + " cannot be called", callee.place);
    closure = v.function;
  }
  if (closure && !closure->builtin.empty()) builtin = find_builtin(closure->builtin);
  Call call{*this, ast, env, builtin ? builtin->name : "call", {}, {}};
  const bool raw = builtin && builtin->name == "const";  // a list of a million numbers is read without evaluating each
  for (size_t j = 1; j < ast.kids.size(); ++j) {
    const Ast& argument = *ast.kids[j];
    if (argument.form == Form::Keyword) {
      for (const auto& [word, value] : call.keywords)
        if (word == argument.text)
          throw source_.error("SG0404", "'" + std::string(word) + "=' stands twice", argument.place);
      const bool names = builtin && is_among(argument.text, builtin->names);
      call.keywords.emplace_back(argument.text, names ? Value{} : eval(*argument.kids[0], env));
    } else {
      call.args.push_back(raw ? Value{} : eval(argument, env));
    }
  }
  if (builtin) return run(*builtin, call);
  if (record) return construct(*record, call);
  if (call.keywords.empty()) return apply(*closure, std::move(call.args), callee.place);
  return call_by_keywords(call, *closure);
}

std::vector<std::string_view> Elaborator::parameters_of(const Closure& closure) const {
  std::vector<std::string_view> names = closure.params;
  if (closure.def >= 0)
    for (const Declared& d : source_.defs[static_cast<size_t>(closure.def)].declared) names.push_back(d.name);
  if (closure.fn)
    for (size_t j = 0; j + 1 < closure.fn->kids.size(); ++j) names.push_back(closure.fn->kids[j]->text);
  return names;
}

// Keyword arguments of definitions, and of their derivatives, fill the remaining parameters by name.
Value Elaborator::call_by_keywords(const Call& call, const Closure& closure) {
  const Place place = call.ast.place;
  if (closure.fn) throw source_.error("SG0404", "a function literal takes no keywords", place);
  const std::vector<std::string_view> params = parameters_of(closure);
  const std::vector<std::string> names(params.begin(), params.end());
  const std::string called =
      closure.def < 0 ? "this function" : in_quotes(source_.defs[static_cast<size_t>(closure.def)].name);
  if (call.args.size() > names.size())
    throw source_.error("SG0404", called + " takes " + std::to_string(names.size()) + " arguments by name", place);
  std::vector<const Value*> slots(names.size(), nullptr);
  for (size_t j = 0; j < call.args.size(); ++j) slots[j] = &call.args[j];
  for (const auto& [word, value] : call.keywords) {
    const auto at = std::find(names.begin(), names.end(), word);
    if (at == names.end())
      throw source_.error("SG0404", called + " has no parameter " + in_quotes(word), place).hint(did_you_mean(word, names));
    const Value*& slot = slots[static_cast<size_t>(at - names.begin())];
    if (slot) throw source_.error("SG0404", "parameter '" + *at + "' is given twice", place);
    slot = &value;
  }
  std::vector<Value> args;
  for (const Value* v : slots)
    if (v) args.push_back(*v);
  return apply(closure, std::move(args), place);
}

Value Elaborator::apply(const Closure& closure, std::vector<Value> args, Place place) {
  if (closure.def >= 0) return call_def(static_cast<size_t>(closure.def), std::move(args), place);
  if (closure.native) return closure.native(*this, std::move(args), place);
  if (!closure.builtin.empty()) {
    const Ast none{Form::Call, 0, {}, 1, place, 0, {}, {}};
    const Builtin* builtin = find_builtin(closure.builtin);
    const Env env;
    Call call{*this, none, env, builtin->name, std::move(args), {}};
    return run(*builtin, call);
  }
  const Ast& fn = *closure.fn;
  if (args.size() + 1 != fn.kids.size())
    throw source_.error("SG0404",
                        "this function takes " + std::to_string(fn.kids.size() - 1) + " arguments, it is given " +
                            std::to_string(args.size()),
                        fn.place);
  Env env = nested(closure.env);
  for (size_t j = 0; j < args.size(); ++j) match(*fn.kids[j], args[j], env);
  const Within within(view_, closure.caller);
  return eval(*fn.kids.back(), env);
}

// A result as a node; a number that does not fit is told where the result stands.
Expr Elaborator::result_node(const DefSyntax& def, const Value& v, std::optional<DType> want) {
  try {
    return want && v.may_become(*want) ? materialise(v, want) : array_of(v, "result");
  } catch (Error& e) {
    locate(e, (def.body->form == Form::Block ? def.body->kids.back() : def.body)->place);
    throw;
  }
}

// Results as declared: weak values get the declared dtype, everything else must have the declared type.
Elaborator::Results Elaborator::run_body(const DefSyntax& def, const Env& env) {
  Value v = eval(*def.body, env);
  // A tuple of one is what is in it.
  if (v.kind == Value::Kind::Tuple && !v.record && v.items.size() == 1) v = Value(v.items[0]);
  std::vector<Value> flat;
  for (const Value& item : v.kind == Value::Kind::Tuple && !v.record ? v.items : std::vector<Value>{v}) {
    if (item.record)
      leaves(item, flat);
    else
      flat.push_back(item);
  }
  const std::string what = "'" + std::string(def.name) + "'";
  if (def.has_results && flat.size() != def.results.size())
    throw source_.error("SG0103",
                        what + " returns " + std::to_string(flat.size()) + " values, " + std::to_string(def.results.size()) +
                            " are declared",
                        def.place);
  for (size_t j = 0; j < flat.size(); ++j) {
    if (!flat[j].is_array() && !flat[j].is_weak())
      throw source_.error("SG0103", what + " returns " + describe(flat[j]) + ", results are arrays", def.place);
    if (!def.has_results) continue;
    const TypeSyntax& declared = def.results[j].type;
    const Type want = eval_type(*this, declared, env);
    flat[j] = Value::array(result_node(def, flat[j], want.dtype));
    if (want.dtype == DType::F16) flat[j] = convert(flat[j], DType::F16);
    const Type have = flat[j].expr.type();
    if (have != computed_as(want))
      throw source_.error("SG0103",
                          what + " returns " + to_string(have) + ", declared is " + std::string(declared.text) +
                              (std::string(declared.text) == to_string(want) ? "" : " = " + to_string(want)),
                          declared.place);
  }
  return {std::move(flat), std::move(v)};
}

Value Elaborator::call_def(size_t index, std::vector<Value> args, Place place) {
  const DefSyntax& def = source_.defs[index];
  if (args.size() != def.declared.size())
    throw source_.error("SG0404",
                        "'" + std::string(def.name) + "' takes " + std::to_string(def.declared.size()) +
                            " arguments, it is given " + std::to_string(args.size()),
                        place);
  const std::vector<Function> functions = functions_of(def, args);
  args = arrays_of(def, args);
  std::map<std::string_view, DType> met;  // type parameters
  for (size_t j = 0; j < args.size(); ++j)
    if (args[j].is_array()) met.try_emplace(def.params[j].type.parameter, args[j].expr.dtype());
  std::vector<Expr> nodes;
  for (size_t j = 0; j < args.size(); ++j) {
    const TypeSyntax& declared = def.params[j].type;
    if (args[j].is_weak() && !declared.parameter.empty() && !met.contains(declared.parameter))
      return call_weakly(index, args, functions, place);
    const DType want = declared.parameter.empty() || !args[j].is_weak() ? declared.dtype : met[declared.parameter];
    nodes.push_back(args[j].may_become(want) ? materialise(args[j], want) : array_of(args[j], def.params[j].name));
    if (want == DType::F16 && is_float(nodes.back().dtype())) nodes.back() = ir::converted(nodes.back(), want);
  }
  return call_with(index, nodes, functions, place);
}

// A type parameter that meets weak arguments only is open as they are: so are the results that follow it.
Value Elaborator::call_weakly(size_t index, const std::vector<Value>& args, const std::vector<Function>& functions,
                              Place place) {
  const DefSyntax& def = source_.defs[index];
  std::map<std::string_view, DType> met;
  std::map<std::string_view, bool> floats;  // of the open type parameters
  bool any_float = false;
  for (size_t j = 0; j < args.size(); ++j)
    if (args[j].is_array()) met.try_emplace(def.params[j].type.parameter, args[j].expr.dtype());
  std::vector<Value> operands;
  for (size_t j = 0; j < args.size(); ++j) {
    const std::string_view parameter = def.params[j].type.parameter;
    if (!args[j].is_weak() || parameter.empty() || met.contains(parameter)) continue;
    floats[parameter] |= args[j].is_float;
    any_float |= args[j].is_float;
    operands.push_back(args[j]);
  }
  const auto called = [this, index, args, functions, place, met, floats](DType t) {
    std::vector<Expr> nodes;
    for (size_t j = 0; j < args.size(); ++j) {
      const TypeSyntax& declared = source_.defs[index].params[j].type;
      DType want = declared.dtype;
      if (const auto open = floats.find(declared.parameter); open != floats.end())
        want = open->second && is_integer(t) ? DType::F32 : t;
      else if (const auto known = met.find(declared.parameter); !declared.parameter.empty() && known != met.end())
        want = known->second;
      nodes.push_back(args[j].may_become(want) ? materialise(args[j], want)
                                               : array_of(args[j], source_.defs[index].params[j].name));
    }
    return call_with(index, nodes, functions, place);
  };
  return at_open_types(std::move(operands), any_float, called);
}

Value Elaborator::at_open_types(std::vector<Value> operands, bool any_float, const std::function<Value(DType)>& called) {
  DType usual = any_float ? DType::F32 : DType::I32;
  std::optional<Error> first_error;
  const auto try_call = [&](DType t) -> std::optional<Value> {
    try {
      return called(t);
    } catch (const Error& e) {
      if (!e.code.starts_with("SG01") && e.code != "SG0407") throw;
      if (!first_error) first_error = e;
      return {};
    }
  };
  std::optional<Value> v = try_call(usual);
  if (!v && !any_float) v = try_call(usual = DType::F32);  // whole numbers for a function of floats
  const std::optional<Value> wide = try_call(DType::F64);
  if (!v && !wide) throw Error(*first_error);
  if (!v || !wide) return v ? *v : *wide;
  std::vector<Value> flat, wide_flat;
  leaves(*v, flat);
  leaves(*wide, wide_flat);
  for (size_t k = 0; k < flat.size(); ++k) {
    if (!flat[k].is_array() || flat[k].expr.dtype() != usual || wide_flat[k].expr.dtype() != DType::F64) continue;
    flat[k] = weak(is_float(usual), operands, [called, k](DType t, std::span<const Expr>) {
      std::vector<Value> results;
      leaves(called(t), results);
      return results[k].expr;
    });
  }
  size_t at = 0;
  return with_leaves(*v, flat, at);
}

int64_t Elaborator::number_of(const Function& f) {
  if (f->def >= 0) return -1 - f->def;
  return functions_.try_emplace(f, static_cast<int64_t>(functions_.size())).first->second;
}

// The call for nodes whose types decide on everything.
Value Elaborator::call_with(size_t index, std::span<const Expr> nodes, const std::vector<Function>& functions, Place place) {
  const DefSyntax& def = source_.defs[index];
  std::vector<int64_t> key = {static_cast<int64_t>(index)};
  std::vector<Type> types;
  for (Expr e : nodes) {
    key.push_back(e.id.v);
    types.push_back(e.type());
  }
  for (const Function& f : functions) key.push_back(number_of(f));
  for (size_t rule : ruling_) key.push_back(-1 - static_cast<int64_t>(rule));
  const Within called(call_depth_, call_depth_ + 1);
  if (const auto known = calls_.find(key); known != calls_.end()) return known->second;
  Env env = nested({});
  try {
    bind_types(*this, def, types, {}, env);
  } catch (Error& e) {
    // Told where the call is, not where the parameter was declared.
    e.notes.push_back("'" + std::string(def.name) + "' is defined in " + source_.where(def.place, place.file));
    e.loc = source_.loc(place);
    e.source_line = source_.line(place);
    throw;
  }
  std::vector<Value> arrays;
  for (Expr e : nodes) arrays.push_back(Value::array(e));
  bind_params(def, arrays, env);
  bind_functions(def, functions, env);
  Results results;
  try {
    const Within within(view_, def.view);
    results = run_body(def, env);
  } catch (Error& e) {
    const bool same_file = e.loc.file == source_.file_of(place);
    if (e.notes.size() < 4)
      e.notes.push_back("in the call of '" + std::string(def.name) + "' at " +
                        source_.where(place, same_file ? place.file : -1) + (same_file ? ", column " : ":") +
                        std::to_string(place.column));
    throw;
  }
  size_t at = 0;
  Value v = with_leaves(results.form, results.arrays, at);
  if (def.rule && std::find(ruling_.begin(), ruling_.end(), index) == ruling_.end())
    v = with_rule(index, nodes, functions, v);
  calls_.emplace(std::move(key), v);
  return v;
}

int64_t Elaborator::body_function(size_t index, Place) {
  if (const auto known = bodies_.find(index); known != bodies_.end()) return known->second;
  const DefSyntax& def = source_.defs[index];
  if (const Declared* d = first_function(def))
    throw Error("SG0404",
                in_quotes(def.name) + " takes the function " + in_quotes(d->name) + ", the body of a loop takes arrays");
  const Env no_shapes = nested({});
  Env env = nested({});
  ir::Function f;
  std::vector<Value> arrays;
  for (const ParamSyntax& p : def.params) {
    const Type t = eval_type(*this, p.type, no_shapes);
    arrays.push_back(Value::array(ir::param(graph_, static_cast<int64_t>(f.params.size()), t)));
    f.params.push_back(t);
  }
  bind_params(def, arrays, env);
  const Within within(view_, def.view);
  for (const Value& v : run_body(def, env).arrays) f.results.push_back(result_node(def, v, {}).id);
  return bodies_[index] = graph_.intern(std::move(f));
}

}  // namespace spirograd::text
