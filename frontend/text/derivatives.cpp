// Derivatives as expressions: grad, value_and_grad, jvp, vjp, linearize, jacobian, hessian, hvp. Each takes a function,
// which may read what is around it, and most give a function of the same arguments.
#include <algorithm>
#include <memory>

#include "ad/function.h"
#include "frontend/base/near_name.h"
#include "frontend/text/functions.h"

namespace spirograd::text {

using ad::Mode;
using ir::Expr;

Value function_value(Closure::Native native, std::vector<std::string_view> params) {
  Value v;
  v.kind = Value::Kind::Function;
  v.function =
      std::make_shared<Closure>(Closure{.env = {}, .builtin = {}, .native = std::move(native), .params = std::move(params)});
  return v;
}

Function function_of(Call& c) {
  if (c.args[0].kind != Value::Kind::Function)
    c.fail("takes a function first, not " + describe(c.args[0]), std::string(find_builtin(c.name)->usage));
  return c.args[0].function;
}

const Ast* written_keyword(const Call& c, std::string_view word) {
  for (const Ast* kid : c.ast.kids)
    if (kid->form == Form::Keyword && kid->text == word) return kid->kids[0];
  return nullptr;
}

std::vector<Type> types_of(std::span<const Expr> list) {
  std::vector<Type> out;
  for (Expr e : list) out.push_back(e.type());
  return out;
}

std::vector<Expr> directions(Elaborator& e, const Value& given, const std::vector<Type>& types, const std::string& what) {
  Values flat;
  leaves(given, flat);
  if (flat.size() > types.size())  // fields of structs
    std::erase_if(flat, [](const Value& v) { return v.is_array() && !is_float(v.expr.dtype()); });
  if (flat.size() != types.size())
    throw Error("SG0404",
                what + " for " + std::to_string(types.size()) + " arrays, it is given " + std::to_string(flat.size()));
  std::vector<Expr> out;
  for (size_t j = 0; j < flat.size(); ++j) {
    const Expr d = flat[j].may_become(types[j].dtype) ? e.materialise(flat[j], types[j].dtype) : e.array_of(flat[j], what);
    if (d.type() != types[j])
      throw Error(d.dtype() == types[j].dtype ? "SG0101" : "SG0102",
                  what + " for " + to_string(types[j]) + " cannot be " + to_string(d.type()));
    out.push_back(d);
  }
  return out;
}

namespace {

// ---- which arguments a derivative is taken by

struct Wrt {
  std::vector<size_t> args;
  bool several = false;  // written as a tuple, and so is the derivative
};

size_t parameter_number(const Call& c, const Ast& name, std::span<const std::string_view> params) {
  if (name.form == Form::Number && name.number >= 0 && name.suffix == 'i') return static_cast<size_t>(name.number);
  if (name.form != Form::Name) c.fail("takes names or numbers of parameters as wrt=", "wrt=w, wrt=(w, b), wrt=0");
  const auto it = std::find(params.begin(), params.end(), name.text);
  if (it != params.end()) return static_cast<size_t>(it - params.begin());
  c.fail("differentiates a function that has no parameter '" + std::string(name.text) + "'",
         did_you_mean(name.text, std::vector<std::string>(params.begin(), params.end())));
}

std::optional<Wrt> written_wrt(Call& c, const Closure& f) {
  const Ast* written = written_keyword(c, "wrt");
  if (!written) return {};
  const std::vector<std::string_view> params = c.elaborator.parameters_of(f);
  Wrt out;
  out.several = written->form == Form::Tuple;
  const std::vector<const Ast*> names = out.several ? written->kids : std::vector<const Ast*>{written};
  for (const Ast* name : names) {
    out.args.push_back(parameter_number(c, *name, params));
    if (std::count(out.args.begin(), out.args.end(), out.args.back()) > 1) c.fail("names a parameter twice in wrt=");
  }
  if (out.args.empty()) c.fail("is given no parameter by wrt=()");
  return out;
}

// ---- a function at a point

std::string ordinal(size_t arg) { return "argument " + std::to_string(arg + 1); }

// The element type that a parameter declares.
std::optional<DType> declared_type(Elaborator& e, const Closure& f, size_t arg) {
  if (f.def < 0) return {};
  const DefSyntax& def = e.source().defs[static_cast<size_t>(f.def)];
  if (arg >= def.declared.size() || def.declared[arg].record || def.declared[arg].is_function)
    return {};  // the fields of a struct have types
  size_t at = 0;
  for (size_t j = 0; j < arg; ++j) at += def.declared[j].arrays;
  const TypeSyntax& t = def.params[at].type;
  return t.parameter.empty() ? std::optional(t.dtype) : std::nullopt;
}

// `open`: the type of numbers where nothing else says it.
Expr float_leaf(Elaborator& e, const Closure& f, size_t arg, const Value& v, DType open, std::string_view what) {
  const DType want = declared_type(e, f, arg).value_or(open);
  if (v.is_weak() && is_float(want)) return e.materialise(v, want);
  const std::string name = std::string(what) + ": " + ordinal(arg);
  const Expr x = e.array_of(v, name);
  if (!is_float(x.dtype()))
    throw Error("SG0201", name + " is " + to_string(x.type()) + " and cannot carry a derivative")
        .hint("differentiate by arguments that are floats: wrt=.., or fn(x) => f(x, n)");
  return x;
}

// `derive` for the type of the numbers among the arguments `wrt`: as open as they are.
Value at_open_types(Elaborator& e, const Closure& f, const Values& args, const std::vector<size_t>& wrt,
                    const std::function<Value(DType)>& derive) {
  Values open;
  for (size_t arg : wrt) {
    if (arg >= args.size() || declared_type(e, f, arg)) continue;
    Values flat;
    leaves(args[arg], flat);
    std::copy_if(flat.begin(), flat.end(), std::back_inserter(open), [](const Value& v) { return v.is_weak(); });
  }
  return open.empty() ? derive(DType::F32) : e.at_open_types(std::move(open), true, derive);
}

// `f` traced over the arguments `wrt`; the others, as all that it reads from around, stay as they are.
struct Applied {
  std::vector<Expr> at;     // float leaves of the arguments `wrt`, one after the other
  Values forms;             // these arguments, for what has their form
  std::vector<bool> moves;  // by leaf of these: not integers and truth values of structs
  Value result;             // over placeholders
  std::vector<Expr> results;

  Applied(Elaborator& e, const Closure& f, Values args, const std::vector<size_t>& wrt, DType open, std::string_view what,
          Place place) {
    for (size_t arg : wrt) {
      if (arg >= args.size())
        throw Error("SG0404", std::string(what) + ": there is no " + ordinal(arg) + ", the function is given " +
                                  std::to_string(args.size()));
      Values flat;
      leaves(args[arg], flat);
      for (Value& v : flat) {
        const bool in_struct = args[arg].record && v.is_array() && !is_float(v.expr.dtype());
        moves.push_back(!in_struct);
        if (in_struct) continue;
        at.push_back(float_leaf(e, f, arg, v, open, what));
        vars.push_back(ir::fresh_var(e.graph(), at.back().type()));
        v = Value::array(vars.back());
      }
      forms.push_back(args[arg]);
      size_t next = 0;
      args[arg] = with_leaves(args[arg], flat, next);
    }
    if (at.empty()) throw Error("SG0201", std::string(what) + ": the arguments to differentiate by hold no arrays");
    result = e.apply(f, std::move(args), place);
    Values flat;
    leaves(result, flat);
    for (Value& v : flat) {
      results.push_back(e.array_of(v, std::string(what) + ": the result"));
      v = Value::array(results.back());
    }
    size_t next = 0;
    result = with_leaves(result, flat, next);
  }

  ad::TracedFunction function() const { return {vars, results}; }
  ad::FunctionAt differentiate(ir::Graph& g, Mode mode) const { return {g, function(), at, mode}; }

  Value with_results(std::span<const Expr> values) const {
    Values flat;
    for (Expr e : values) flat.push_back(Value::array(e));
    size_t next = 0;
    return with_leaves(result, flat, next);
  }
  // In the form of the arguments: one, or a tuple of them. What carries no derivative is 0.
  Value with_arguments(std::span<const Expr> values, bool several) const {
    Values flat, out;
    for (const Value& form : forms) leaves(form, flat);
    size_t next = 0;
    for (size_t j = 0; j < flat.size(); ++j)
      flat[j] = Value::array(moves[j] ? values[next++] : ir::zeros(*flat[j].expr.graph, flat[j].expr.type()));
    next = 0;
    for (const Value& form : forms) out.push_back(with_leaves(form, flat, next));
    return several ? Value::tuple(std::move(out)) : out[0];
  }
  std::vector<Type> float_results() const {
    std::vector<Type> out;
    for (Expr e : results)
      if (is_float(e.dtype())) out.push_back(e.type());
    return out;
  }

 private:
  std::vector<Expr> vars;
};

// ---- gradients

// The gradient of a function of one scalar result, behind the value if that is asked for.
Value gradient(Elaborator& e, const Function& f, const Values& args, const Wrt& wrt, bool with_value, Place place) {
  const std::string_view what = with_value ? "value_and_grad" : "grad";
  return at_open_types(e, *f, args, wrt.args, [=, &e](DType open) {
    const Applied a(e, *f, args, wrt.args, open, what, place);
    const std::vector<Expr> both = ad::value_and_gradient(e.graph(), what, a.function(), a.at);
    const Value d = a.with_arguments(std::span(both).subspan(1), wrt.several);
    return with_value ? Value::tuple({a.with_results({both.data(), 1}), d}) : d;
  });
}

Wrt first_argument() { return {{0}, false}; }

Value gradient_function(Call& c, bool with_value) {
  const Function f = function_of(c);
  const Wrt wrt = written_wrt(c, *f).value_or(first_argument());
  return function_value(
      [f, wrt, with_value](Elaborator& e, Values args, Place place) { return gradient(e, f, args, wrt, with_value, place); },
      c.elaborator.parameters_of(*f));
}

Value grad(Call& c) { return gradient_function(c, false); }
Value value_and_grad(Call& c) { return gradient_function(c, true); }

// ---- in one direction

// jvp(f, (x, y), (dx, dy)): a tuple holds the arguments, anything else is the only one.
Value jvp(Call& c) {
  const Function f = function_of(c);
  const auto listed = [](const Value& v) { return v.kind == Value::Kind::Tuple && !v.record ? v.items : Values{v}; };
  const Values args = listed(c.args[1]);
  std::vector<size_t> all(args.size());
  for (size_t j = 0; j < all.size(); ++j) all[j] = j;
  return at_open_types(
      c.elaborator, *f, args, all, [=, &e = c.elaborator, given = c.args[2], place = c.ast.place](DType open) {
        const Applied a(e, *f, args, all, open, "jvp", place);
        const std::vector<Expr> tangents = directions(e, given, types_of(a.at), "jvp: the tangent");
        const ad::FunctionAt at = a.differentiate(e.graph(), Mode::Forward);
        std::vector<Expr> out, some = at.derivative(tangents);
        for (size_t j = 0, k = 0; j < a.results.size(); ++j)
          out.push_back(is_float(a.results[j].dtype()) ? some[k++]
                                                       : ir::zeros(e.graph(), {DType::F32, a.results[j].shape()}));
        return Value::tuple({a.with_results(at.values(tangents)), a.with_results(out)});
      });
}

// The arguments that are floats, if nobody says by which.
Wrt float_arguments(const Values& args) {
  Wrt out;
  for (size_t j = 0; j < args.size(); ++j) {
    Values flat;
    leaves(args[j], flat);
    const bool floats = !flat.empty() && std::all_of(flat.begin(), flat.end(), [](const Value& v) {
      return v.is_array() ? is_float(v.expr.dtype()) : v.is_weak() && v.is_float;
    });
    if (floats) out.args.push_back(j);
  }
  out.several = out.args.size() > 1;
  return out;
}

// f and its derivative at a point: a value, and a function of directions.
Value value_and_linear(Elaborator& e, Mode mode, std::shared_ptr<const Applied> a, const Wrt& wrt) {
  const auto at = std::make_shared<const ad::FunctionAt>(a->differentiate(e.graph(), mode));
  const auto linear = [a, at, wrt, mode](Elaborator& elaborator, Values given, Place) {
    const Value direction = given.size() == 1 ? given[0] : Value::tuple(std::move(given));
    if (mode == Mode::Reverse) {
      const std::vector<Expr> cts = directions(elaborator, direction, a->float_results(), "the pullback: a cotangent");
      return a->with_arguments(at->derivative(cts), wrt.several);
    }
    const std::vector<Expr> tangents = directions(elaborator, direction, types_of(a->at), "the linear function: a tangent");
    if (a->float_results().size() != a->results.size())
      throw Error("SG0205", "linearize: some results are no floats and have no derivative");
    return a->with_results(at->derivative(tangents));
  };
  return Value::tuple({a->with_results(at->values()), function_value(linear, {})});
}

Value with_derivative(Call& c, Mode mode) {
  const Function f = function_of(c);
  const Values args(c.args.begin() + 1, c.args.end());
  const Wrt wrt = written_wrt(c, *f).value_or(float_arguments(args));
  return at_open_types(
      c.elaborator, *f, args, wrt.args, [=, &e = c.elaborator, name = c.name, place = c.ast.place](DType open) {
        return value_and_linear(e, mode, std::make_shared<const Applied>(e, *f, args, wrt.args, open, name, place), wrt);
      });
}

Value vjp(Call& c) { return with_derivative(c, Mode::Reverse); }
Value linearize(Call& c) { return with_derivative(c, Mode::Forward); }

// ---- in all directions

Value jacobian_at(Elaborator& e, const Function& f, const Values& args, const Wrt& wrt, int64_t chunk, std::string_view what,
                  Place place) {
  return at_open_types(e, *f, args, wrt.args, [=, &e](DType open) {
    const Applied a(e, *f, args, wrt.args, open, what, place);
    return Value::array(ad::jacobian(e.graph(), what, a.function(), a.at, chunk));
  });
}

// Directions at a time; 0: all of them.
int64_t written_chunk(Call& c) {
  const Value* written = c.keyword("chunk");
  if (!written) return 0;
  const int64_t chunk = static_integer(*written, std::string(c.name) + ": chunk=");
  if (chunk < 1) c.fail("takes at least one direction at a time", "chunk=16 takes 16; without it, all are taken at once");
  return chunk;
}

Value jacobian(Call& c) {
  const Function f = function_of(c);
  const Wrt wrt = written_wrt(c, *f).value_or(first_argument());
  return function_value(
      [f, wrt, chunk = written_chunk(c)](Elaborator& e, Values args, Place place) {
        return jacobian_at(e, f, args, wrt, chunk, "jacobian", place);
      },
      c.elaborator.parameters_of(*f));
}

Value hessian(Call& c) {
  const Function f = function_of(c), g = gradient_function(c, false).function;
  const Wrt wrt = written_wrt(c, *f).value_or(first_argument());
  if (wrt.several) c.fail("differentiates by one argument", "join them by concat, or take hvp");
  return function_value(
      [g, wrt, chunk = written_chunk(c)](Elaborator& e, Values args, Place place) {
        return jacobian_at(e, g, args, wrt, chunk, "hessian", place);
      },
      c.elaborator.parameters_of(*f));
}

// The function's arguments, then the direction: one value, or a tuple as wrt= is.
Value hvp(Call& c) {
  const Function f = function_of(c), g = gradient_function(c, false).function;
  const Wrt wrt = written_wrt(c, *f).value_or(first_argument());
  const auto product = [g, wrt](Elaborator& e, Values args, Place place) {
    if (args.size() < 2) throw Error("SG0404", "hvp: takes the arguments of the function, then a direction");
    const Value direction = std::move(args.back());
    args.pop_back();
    return at_open_types(e, *g, args, wrt.args, [=, &e](DType open) {
      const Applied a(e, *g, args, wrt.args, open, "hvp", place);
      const std::vector<Expr> tangents = directions(e, direction, types_of(a.at), "hvp: the direction");
      return a.with_results(a.differentiate(e.graph(), Mode::Forward).derivative(tangents));
    });
  };
  return function_value(product, {});
}

// clang-format off
constexpr Builtin kDerivativeRows[] = {
    {"grad",           1, 1,  "wrt", "grad(f)(x), grad(f, wrt=(w, b))(w, b, x)",                  grad,           Follows::Nothing, false, "wrt"},
    {"value_and_grad", 1, 1,  "wrt", "let (y, dx) = value_and_grad(f)(x)",                        value_and_grad, Follows::Nothing, false, "wrt"},
    {"jvp",            3, 3,  "",    "let (y, dy) = jvp(f, (x, w), (dx, dw))",                    jvp},
    {"vjp",            2, -1, "wrt", "let (y, pullback) = vjp(f, x, w)",                          vjp,            Follows::Nothing, false, "wrt"},
    {"linearize",      2, -1, "wrt", "let (y, along) = linearize(f, x, w)",                       linearize,      Follows::Nothing, false, "wrt"},
    {"jacobian",       1, 1,  "wrt chunk", "jacobian(f)(x), jacobian(f, wrt=w, chunk=16)(w, x)",        jacobian,       Follows::Nothing, false, "wrt"},
    {"hessian",        1, 1,  "wrt chunk", "hessian(f)(x), hessian(f, wrt=w, chunk=16)(w, x)",          hessian,        Follows::Nothing, false, "wrt"},
    {"hvp",            1, 1,  "wrt", "hvp(f)(x, v), hvp(f, wrt=w)(w, x, v)",                      hvp,            Follows::Nothing, false, "wrt"},
};
// clang-format on

}  // namespace

std::span<const Builtin> derivative_builtins() { return kDerivativeRows; }

}  // namespace spirograd::text
