// Derivatives and batches: the function is traced on placeholders, as the body of a loop is.
#include "spirograd/derivatives.h"

#include "ad/function.h"
#include "frontend/dsl/tracer.h"
#include "frontend/ir/close_rule.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"

namespace spirograd::detail {
namespace {

using Exprs = std::vector<ir::Expr>;

// Runs `make(tracer)`, which gives arrays. The body runs even after a mistake, on arrays without value: the structure of
// what it returns is needed.
template <class F>
std::vector<Array> traced(const char* what, const std::vector<Arg>& at, const FunctionBody& body, const Loc& loc, F&& make) {
  const auto on_nothing = [&] {
    body(std::vector<Array>(at.size()));
    return std::vector<Array>();
  };
  Tracer* tracer = Tracer::current();
  if (!tracer) {
    Tracer::report_outside(what, loc);
    return on_nothing();
  }
  for (const Arg& a : at)
    if (!tracer->usable(what, a)) return on_nothing();
  const uint32_t before = tracer->nodes().size();
  bool body_ran = false;
  const FunctionBody watched = [&](std::span<const Array> in) {
    body_ran = true;
    return body(in);
  };
  try {
    std::vector<Array> out;
    for (ir::Expr e : make(*tracer, watched)) out.push_back(tracer->wrap(e));
    for (uint32_t id = before; id < tracer->nodes().size(); ++id) tracer->nodes().note_loc({id}, loc);
    return out;
  } catch (const Error& error) {
    if (!tracer->first_error()) tracer->report(error, loc);
    return body_ran ? std::vector<Array>() : on_nothing();
  }
}

Exprs results_of(Tracer& tracer, const char* what, const FunctionBody& body, const Exprs& in) {
  std::vector<Array> arrays;
  for (ir::Expr e : in) arrays.push_back(tracer.wrap(e));
  const std::vector<Arg> out = body(arrays);
  for (const Arg& a : out)
    if (!tracer.usable(what, a)) throw *tracer.first_error();
  Exprs results;
  for (const Arg& a : out) results.push_back(resolve(tracer, what, {&a, 1}, Numbers::Alone)[0]);
  return results;
}

// Integers and bools in structs go along without a derivative.
bool stays(Tracer& tracer, const Arg& a) {
  return !a.field.empty() && a.kind == Arg::Kind::Array && !is_float(tracer.expr(a.array).dtype());
}
std::string named(const Arg& a, const std::string& otherwise) {
  return a.field.empty() ? otherwise : "the field '" + a.field + "'";
}

struct AtPoint {
  ad::TracedFunction function;
  Exprs at;
  std::vector<Arg> results;  // of the function, one for each of its arrays
};

// The arrays of `like` that move, filled from `values`; zeros for the others.
Exprs with_zeros(Tracer& tracer, const std::vector<Arg>& like, std::span<const ir::Expr> values) {
  Exprs out;
  size_t next = 0;
  for (const Arg& a : like)
    out.push_back(stays(tracer, a) ? ir::zeros(tracer.nodes(), tracer.expr(a.array).type()) : values[next++]);
  return out;
}

AtPoint at_point(Tracer& tracer, const char* what, const std::vector<Arg>& args, const FunctionBody& body) {
  AtPoint out;
  Exprs in;
  for (const Arg& a : args) {
    if (stays(tracer, a)) {
      in.push_back(tracer.expr(a.array));
      continue;
    }
    out.at.push_back(a.kind == Arg::Kind::Integer ? literal(tracer.nodes(), what, a, DType::F32)
                                                  : resolve(tracer, what, {&a, 1}, Numbers::Alone)[0]);
    const Type t = out.at.back().type();
    if (!is_float(t.dtype))
      throw Error("SG0201", std::string(what) + ": an argument is " + to_string(t) + " and cannot carry a derivative")
          .hint("differentiate by arguments that are floats: wrt<..>, or capture the others");
    out.function.vars.push_back(ir::fresh_var(tracer.nodes(), t));
    in.push_back(out.function.vars.back());
  }
  if (out.at.empty()) throw Error("SG0201", std::string(what) + ": the arguments to differentiate by hold no arrays");
  const FunctionBody kept = [&](std::span<const Array> arrays) { return out.results = body(arrays); };
  out.function.results = results_of(tracer, what, kept, in);
  return out;
}

// Tangents or cotangents for arrays of these types; numbers take theirs.
Exprs directions(Tracer& tracer, const char* what, std::vector<Arg> given, const std::vector<Type>& types) {
  if (given.size() > types.size())
    std::erase_if(given, [&](const Arg& a) { return tracer.usable(what, a) && stays(tracer, a); });
  if (given.size() != types.size())
    throw Error("SG0404", std::string(what) + ": takes a direction for " + std::to_string(types.size()) +
                              " arrays, it is given " + std::to_string(given.size()));
  Exprs out;
  for (size_t j = 0; j < given.size(); ++j) {
    if (!tracer.usable(what, given[j])) throw *tracer.first_error();
    out.push_back(given[j].kind == Arg::Kind::Array ? tracer.expr(given[j].array)
                                                    : literal(tracer.nodes(), what, given[j], types[j].dtype));
    const Type t = out.back().type();
    if (t != types[j])
      throw Error(t.dtype == types[j].dtype ? "SG0101" : "SG0102", std::string(what) + ": the direction for " +
                                                                       named(given[j], "an array") + ", " +
                                                                       to_string(types[j]) + ", cannot be " + to_string(t));
  }
  return out;
}

}  // namespace

std::vector<Array> gradient(const char* what, const std::vector<Arg>& at, const FunctionBody& body, const Loc& loc) {
  return traced(what, at, body, loc, [&](Tracer& tracer, const FunctionBody& f) {
    const AtPoint p = at_point(tracer, what, at, f);
    const Exprs both = ad::value_and_gradient(tracer.nodes(), what, p.function, p.at);
    Exprs out = with_zeros(tracer, at, std::span(both).subspan(1));
    out.insert(out.begin(), both[0]);
    return out;
  });
}

Array jacobian_of(const char* what, const std::vector<Arg>& at, const FunctionBody& body, int64_t chunk, const Loc& loc) {
  const std::vector<Array> out = traced(what, at, body, loc, [&](Tracer& tracer, const FunctionBody& f) {
    if (chunk < 0)
      throw Error("SG0404", std::string(what) + ": takes " + std::to_string(chunk) + " directions at a time")
          .hint("Chunk{16} takes 16; without it, all are taken at once");
    const AtPoint p = at_point(tracer, what, at, f);
    return Exprs{ad::jacobian(tracer.nodes(), what, p.function, p.at, chunk)};
  });
  return out.empty() ? Array() : out[0];
}

void check_axes(const char* which, size_t given, size_t wanted, const Loc& loc) {
  Tracer* tracer = Tracer::current();
  if (!tracer || given == 1 || given == wanted || tracer->first_error()) return;
  tracer->report(
      Error("SG0404", "vmap: there are axes for " + std::to_string(given) + " of " + std::to_string(wanted) + " " + which)
          .hint("give one for all, or one for each: vmap(f, {0, whole})"),
      loc);
}

std::vector<Array> batch(const std::vector<Arg>& over, const LeafAxes& axes, const FunctionBody& body,
                         const std::function<LeafAxes()>& out_axes, const Loc& loc) {
  return traced("vmap", over, body, loc, [&](Tracer& tracer, const FunctionBody& f) {
    Exprs arrays;
    for (const Arg& a : over) arrays.push_back(resolve(tracer, "vmap", {&a, 1}, Numbers::Alone)[0]);
    const ir::Expr i = ir::fresh_var(tracer.nodes(), i32());
    const ir::Parts split = ir::parts_along("vmap", arrays, axes, i);
    const Exprs results = results_of(tracer, "vmap", f, split.parts);
    const LeafAxes places = out_axes();
    if (tracer.first_error()) throw *tracer.first_error();
    Exprs out;
    for (size_t j = 0; j < results.size(); ++j) out.push_back(ir::stacked("vmap", results[j], i, split.extent, places[j]));
    return out;
  });
}

// A call as the rule of its function sees it.
struct RuledCall {
  Exprs at, xs, values;  // `at`, `xs`: of what carries a derivative
  Exprs arguments;       // `xs`, and what carries none

  RuledCall(Tracer& tracer, const char* what, const std::vector<Arg>& args, const std::vector<Arg>& results)
      : values(nodes(tracer, what, results)), arguments(nodes(tracer, what, args)) {
    for (size_t j = 0; j < args.size(); ++j) {
      if (stays(tracer, args[j])) continue;
      const Type t = arguments[j].type();
      if (!is_float(t.dtype))
        throw Error("SG0201", std::string(what) + ": an argument is " + to_string(t) + " and cannot carry a derivative")
            .hint("capture it instead");
      at.push_back(arguments[j]);
      xs.push_back(ir::fresh_var(tracer.nodes(), t));
      arguments[j] = xs.back();
    }
  }

 private:
  static Exprs nodes(Tracer& tracer, const char* what, const std::vector<Arg>& list) {
    Exprs out;
    for (const Arg& a : list) {
      if (!tracer.usable(what, a)) throw *tracer.first_error();
      out.push_back(resolve(tracer, what, {&a, 1}, Numbers::Alone)[0]);
    }
    return out;
  }
};

std::vector<Array> with_tangents(const std::vector<Arg>& values, const std::vector<Arg>& at, const FunctionBody& body,
                                 const Loc& loc) {
  const char* what = "custom_jvp";
  const auto twice = [&](std::span<const Array>) { return body(std::vector<Array>(2 * at.size())); };
  return traced(what, at, twice, loc, [&](Tracer& tracer, const FunctionBody&) {
    const RuledCall call(tracer, what, at, values);
    Exprs out = call.values, directions, both = call.arguments;
    for (ir::Expr e : call.at) directions.push_back(ir::fresh_var(tracer.nodes(), e.type()));
    const Exprs tangents = with_zeros(tracer, at, directions);
    both.insert(both.end(), tangents.begin(), tangents.end());
    const Exprs changes = results_of(tracer, what, body, both);
    if (changes.size() != out.size())
      throw Error("SG0404", "custom_jvp: the rule gives " + std::to_string(changes.size()) + " tangents for " +
                                std::to_string(out.size()) + " results");
    for (size_t j = 0; j < out.size(); ++j)
      if (is_float(out[j].dtype())) out[j] = ir::close_jvp(out[j], call.at, call.xs, directions, changes[j]);
    return out;
  });
}

std::vector<Array> with_cotangents(const std::vector<Arg>& values, const std::vector<Arg>& at, const FunctionBody& body,
                                   const Loc& loc) {
  const char* what = "custom_vjp";
  const auto all = [&](std::span<const Array>) { return body(std::vector<Array>(at.size() + values.size())); };
  return traced(what, at, all, loc, [&](Tracer& tracer, const FunctionBody&) {
    const RuledCall call(tracer, what, at, values);
    const Exprs cts = ir::cotangents_of(call.values);
    std::vector<Array> arrived;
    for (const Exprs* part : {&call.arguments, &cts})
      for (ir::Expr e : *part) arrived.push_back(tracer.wrap(e));
    std::vector<Type> types;
    for (ir::Expr e : call.at) types.push_back(e.type());
    const Exprs changes = directions(tracer, what, body(arrived), types);
    return ir::close_vjp(call.values, call.at, call.xs, cts, changes);
  });
}

Linear linear(const char* what, Along along, const std::vector<Arg>& at, const FunctionBody& body, const Loc& loc) {
  struct State {
    std::optional<ad::FunctionAt> at;
    std::vector<Type> types;  // of directions
    std::vector<Arg> like;    // what the derivative has the form of
  };
  const auto state = std::make_shared<State>();
  Linear out;
  out.values = traced(what, at, body, loc, [&](Tracer& tracer, const FunctionBody& f) {
    const AtPoint p = at_point(tracer, what, at, f);
    const bool forward = along == Along::Tangents;
    for (size_t j = 0; j < p.results.size(); ++j)
      if (const Type t = p.function.results[j].type(); !is_float(t.dtype) && !stays(tracer, p.results[j]))
        throw Error("SG0205", std::string(what) + ": a result is " + to_string(t) + " and has no derivative");
    for (ir::Expr e : forward ? p.at : p.function.results)
      if (is_float(e.dtype())) state->types.push_back(e.type());
    state->like = forward ? p.results : at;
    state->at.emplace(tracer.nodes(), p.function, p.at, forward ? ad::Mode::Forward : ad::Mode::Reverse);
    return state->at->values();
  });
  const auto in_direction = [state](auto evaluate) {
    return [state, evaluate](const char* name, const std::vector<Arg>& direction, const Loc& where) {
      const auto nothing = [](std::span<const Array>) { return std::vector<Arg>(); };
      return traced(name, direction, nothing, where, [&](Tracer& tracer, const FunctionBody&) {
        if (!state->at) throw *tracer.first_error();  // told before
        return evaluate(tracer, *state, directions(tracer, name, direction, state->types));
      });
    };
  };
  out.derivative = in_direction([](Tracer& tracer, const State& s, const Exprs& direction) {
    return with_zeros(tracer, s.like, s.at->derivative(direction));
  });
  out.values_beside = in_direction([](Tracer&, const State& s, const Exprs& direction) { return s.at->values(direction); });
  return out;
}

}  // namespace spirograd::detail

namespace spirograd {

std::vector<Array> call(const Program& program, const ArgList& args) {
  const std::string what = "call of '" + program.name + "'";
  const auto nothing = [](std::span<const Array>) { return std::vector<Arg>(); };
  std::vector<Array> out =
      detail::traced("call", args.args, nothing, args.loc, [&](detail::Tracer& tracer, const detail::FunctionBody&) {
        ir::require_made(program);
        std::vector<Type> types;
        for (const Param& p : program.params) types.push_back(computed_as(p.type));
        detail::Exprs in = detail::directions(tracer, what.c_str(), args.args, types);
        for (size_t j = 0; j < in.size(); ++j)
          if (program.params[j].type.dtype == DType::F16) in[j] = ir::cast(ir::as_stored(in[j]), DType::F16);
        ir::Graph& g = tracer.nodes();
        detail::Exprs inlined;
        for (ir::NodeId id : ir::with_arguments(g, ir::copy_into(g, program), ir::ids_of(in)))
          inlined.push_back(ir::as_read({&g, id}));
        return inlined;
      });
  out.resize(program.results.size());
  return out;
}

}  // namespace spirograd
