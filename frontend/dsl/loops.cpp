// Loops: the body is traced on placeholders, then closed over what it captured.
#include "spirograd/loops.h"

#include "ad/kept.h"
#include "frontend/dsl/tracer.h"
#include "frontend/ir/arguments.h"
#include "frontend/ir/associative_scan.h"
#include "frontend/ir/close_loop.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/counted.h"
#include "frontend/ir/strip_mine.h"

namespace spirograd::detail {
namespace {

using Exprs = std::vector<ir::Expr>;

Error bad(const char* what, const std::string& why) { return Error("SG0101", std::string(what) + ": " + why); }

// What plain numbers of a start are taken as.
struct NumberTypes {
  DType integers = DType::I32, reals = DType::F32;
  bool operator==(const NumberTypes&) const = default;
};

Exprs usable_operands(Tracer& tracer, const char* what, std::span<const Arg> args, NumberTypes types) {
  for (const Arg& a : args)
    if (!tracer.usable(what, a)) throw *tracer.first_error();
  Exprs out;
  for (const Arg& a : args) {
    if (a.kind == Arg::Kind::Integer)
      out.push_back(literal(tracer.nodes(), what, a, types.integers));
    else if (a.kind == Arg::Kind::Real)
      out.push_back(literal(tracer.nodes(), what, a, types.reals));
    else
      out.push_back(resolve(tracer, what, {&a, 1}, Numbers::Alone)[0]);
  }
  return out;
}

// What the numbers of the start may be, likeliest first: f64 beside f64, the usual types, then all others.
std::vector<NumberTypes> candidates(Tracer& tracer, const LoopRequest& r) {
  bool integers = false, reals = false, f64 = false, f32 = false;
  for (const auto* list : {&r.start, &r.elements})
    for (const Arg& a : *list) {
      integers |= a.kind == Arg::Kind::Integer;
      reals |= a.kind == Arg::Kind::Real;
      if (a.kind != Arg::Kind::Array) continue;
      f64 |= tracer.expr(a.array).dtype() == DType::F64;
      f32 |= tracer.expr(a.array).dtype() == DType::F32;
    }
  if (!integers && !reals) return {{}};
  std::vector<NumberTypes> out;
  if (f64 && !f32) out.push_back({DType::I32, DType::F64});
  for (DType t : {DType::F32, DType::F64}) out.push_back({DType::I32, t});
  for (DType t : {DType::F32, DType::F64})
    if (integers) out.push_back({t, t});
  if (integers) out.push_back({DType::U32, DType::F32});
  return out;
}

int64_t loop_length(const LoopRequest& r, const Exprs& elements) {
  std::vector<Type> types;
  for (ir::Expr e : elements) types.push_back(e.type());
  return r.length ? *r.length : ir::common_length(r.what, types);
}

// What the body returned for a state, which must have the type of the start. A number takes that type.
ir::Expr next_state(Tracer& tracer, const char* what, const Arg& returned, const Type& type, const std::string& field) {
  if (returned.kind != Arg::Kind::Array)
    return ir::broadcast_to(literal(tracer.nodes(), what, returned, type.dtype), type.shape);
  const ir::Expr e = tracer.expr(returned.array);
  if (e.type() != type)
    throw ir::state_changes(what, to_string(type) + (field.empty() ? "" : " in its field '" + field + "'"),
                            to_string(e.type()))
        .hint(e.dtype() != type.dtype ? "cast the start or the returned value; a start of 0.0f is f32, 0 is i32"
                                      : "give the start the shape that the body returns");
  return e;
}

std::vector<Array> placeholders(Tracer& tracer, const Exprs& vars) {
  std::vector<Array> out;
  for (ir::Expr v : vars) out.push_back(tracer.wrap(v));
  return out;
}

std::vector<Array> traced_loop(Tracer& tracer, const LoopRequest& r, const LoopBody& body, NumberTypes types,
                               bool& body_ran) {
  ir::Graph& g = tracer.nodes();
  const uint32_t before = g.size();
  const Exprs acc = usable_operands(tracer, r.what, r.start, types), es = usable_operands(tracer, r.what, r.elements, types);
  const int64_t length = loop_length(r, es);
  Exprs state, element;
  for (ir::Expr a : acc) state.push_back(ir::fresh_var(g, a.type()));
  for (ir::Expr e : es) element.push_back(ir::fresh_var(g, {e.dtype(), e.shape().erased(0)}));

  body_ran = true;
  const StepResult step = body(placeholders(tracer, state), placeholders(tracer, element));
  if (step.state.size() != acc.size())
    throw bad(r.what, "the state has " + std::to_string(acc.size()) + " arrays, the body returns " +
                          std::to_string(step.state.size()));
  for (const auto* part : {&step.state, &step.outputs})
    for (const Arg& a : *part)
      if (!tracer.usable(r.what, a)) return {};

  Exprs results;
  for (size_t j = 0; j < acc.size(); ++j)
    results.push_back(next_state(tracer, r.what, step.state[j], acc[j].type(), r.start[j].field));
  const Exprs outputs = r.rows ? results : resolve(tracer, r.what, step.outputs, Numbers::Alone);
  results.insert(results.end(), outputs.begin(), outputs.end());

  Exprs vars = state;
  vars.insert(vars.end(), element.begin(), element.end());
  const Exprs out =
      ir::keeping(g, r.what, r.keep, ir::close_loop(g, acc, es, vars, results, r.reverse, length), ad::bytes_per_step);
  std::vector<Array> arrays;
  for (size_t j = r.rows ? acc.size() : 0; j < out.size(); ++j)
    arrays.push_back(tracer.wrap(r.rows ? ir::scan_rows(acc[j - acc.size()], out[j]) : out[j]));
  for (uint32_t id = before; id < g.size(); ++id) g.note_loc({id}, r.loc);
  return arrays;
}

}  // namespace

std::vector<Array> run_loop(const LoopRequest& r, const LoopBody& body) {
  // After a mistake the body still runs once, on arrays without value: the structure of what it returns is needed.
  const auto on_nothing = [&] {
    body(std::vector<Array>(r.start.size()), std::vector<Array>(r.elements.size()));
    return std::vector<Array>();
  };
  Tracer* tracer = Tracer::current();
  if (!tracer) {
    Tracer::report_outside(r.what, r.loc);
    return on_nothing();
  }
  const auto attempt = [&](NumberTypes types) {
    bool body_ran = false;
    try {
      return traced_loop(*tracer, r, body, types, body_ran);
    } catch (const Error& error) {
      if (!tracer->first_error()) tracer->report(error, r.loc);
      return body_ran ? std::vector<Array>() : on_nothing();
    }
  };
  for (const auto* list : {&r.start, &r.elements})
    for (const Arg& a : *list)
      if (!tracer->usable(r.what, a)) return on_nothing();
  const std::vector<NumberTypes> types = tracer->first_error() ? std::vector<NumberTypes>{{}} : candidates(*tracer, r);
  if (types.size() == 1) return attempt(types[0]);
  // Plain numbers in the start take the first element types with which the body has no complaint.
  std::optional<Error> complaint;
  for (const NumberTypes& t : types) {
    const Tracer::Trial trial(*tracer);
    std::vector<Array> out = attempt(t);
    if (!tracer->first_error()) return out;
    if (!complaint) complaint = tracer->first_error();
  }
  tracer->report(*complaint, r.loc);
  return {};
}

std::vector<Array> combine_rows(
    const char* what, std::span<const Arg> rows, bool reverse,
    const std::function<std::vector<Arg>(std::span<const Array>, std::span<const Array>)>& combine, const Loc& loc) {
  const std::vector<Array> nothing(rows.size());
  Tracer* tracer = Tracer::current();
  if (!tracer) {
    Tracer::report_outside(what, loc);
    return nothing;
  }
  for (const Arg& a : rows)
    if (!tracer->usable(what, a)) return nothing;
  const uint32_t before = tracer->nodes().size();
  const auto both = [&](std::span<const ir::Expr> earlier, std::span<const ir::Expr> later) {
    const std::vector<Arg> out = combine(placeholders(*tracer, {earlier.begin(), earlier.end()}),
                                         placeholders(*tracer, {later.begin(), later.end()}));
    return usable_operands(*tracer, what, out, {});
  };
  try {
    std::vector<Array> out;
    const Exprs given = usable_operands(*tracer, what, rows, {});
    for (ir::Expr e : ir::associative_scan(what, given, both, reverse)) out.push_back(tracer->wrap(e));
    for (uint32_t id = before; id < tracer->nodes().size(); ++id) tracer->nodes().note_loc({id}, loc);
    return out;
  } catch (const Error& error) {
    if (!tracer->first_error()) tracer->report(error, loc);
    return nothing;
  }
}

std::vector<Array> count_loop(LoopRequest r, const std::function<std::vector<Arg>(Index, std::span<const Array>)>& body) {
  const Array counter = operation(r.what, {}, Numbers::Alone, r.loc, [&](ir::Graph& g, std::span<const ir::Expr>) {
    ir::check_steps(r.what, *r.length);
    return ir::iota(g, {*r.length}, 0);
  });
  r.elements = {Arg(counter, r.loc)};
  return run_loop(r, [&](std::span<const Array> state, std::span<const Array> elements) {
    return StepResult{body(Access::index(elements[0]), state), {}};
  });
}

Array choose(const Arg& go, const Arg& next, const Arg& kept, const Loc& loc) {
  const Arg all[] = {go, next, kept};
  return operation("while_loop", all, Numbers::MaskFirst, loc, [](ir::Graph&, std::span<const ir::Expr> in) {
    if (in[0].type() != boolean())
      throw Error("SG0102", "while_loop: the condition must be one bool, not " + to_string(in[0].type()))
          .hint("compare, as in s < 100");
    return ir::cond(in[0], in[1], in[2]);
  });
}

Array counted(const Arg& go, const Loc& loc) {
  return operation("while_loop", {&go, 1}, Numbers::Alone, loc, [&](ir::Graph& g, std::span<const ir::Expr> in) {
    return go.kind == Arg::Kind::Array ? ir::cast(in[0], DType::I32) : ir::scalar(g, DType::I32, go.number);
  });
}

int64_t counted_bound(const std::vector<Arg>& start, const Counting& step, const Loc& loc) {
  Tracer* tracer = Tracer::current();
  if (!tracer || tracer->first_error() || !step.go) return 0;
  if (tracer->expr(*step.go).type() != boolean()) return 0;  // the loop says so
  Exprs state, next, from;
  for (const Arg& a : step.state) state.push_back(tracer->expr(a.array));
  for (size_t j = 0; j < state.size(); ++j) {
    const auto node = [&](const Arg& a) {
      if (a.kind == Arg::Kind::Array) return tracer->expr(a.array);
      return literal(tracer->nodes(), "while_loop", a, state[j].dtype());
    };
    from.push_back(node(start[j]));
    next.push_back(node(step.next[j]));
  }
  const ir::CountedSteps counted = ir::counted_steps(tracer->nodes(), from, state, tracer->expr(*step.go), next);
  if (counted.at_most) return *counted.at_most;
  tracer->report(Error("SG0404", "while_loop: needs a bound, for " + counted.why)
                     .hint("while_loop(condition, body, start, 50) takes at most 50 steps"),
                 loc);
  return 0;
}

}  // namespace spirograd::detail
