// fold, scan, mapAccumL/R, fori over function literals, and map_accum over a definition (the printed form).
#include "frontend/ir/close_loop.h"
#include "frontend/ir/composite.h"
#include "frontend/text/builtins.h"

namespace spirograd::text {

using ir::Expr;

namespace {

// How a loop uses what its step returns: nothing but the state, the state twice (scan), or a pair of state and row.
enum class Rows { None, States, Second };

const Closure& step_of(Call& c, size_t j) {
  if (c.args[j].kind != Value::Kind::Function)
    c.fail("needs a function as argument " + std::to_string(j + 1) + ", not " + describe(c.args[j]),
        std::string(find_builtin(c.name)->usage));
  return *c.args[j].function;
}

bool has_literal(const Value& v) {
  if (v.kind != Value::Kind::Tuple) return v.is_literal();
  for (const Value& item : v.items)
    if (has_literal(item)) return true;
  return false;
}

void start_state(Elaborator& el, const Value& v, DType integers, DType floats, std::vector<Expr>& out) {
  if (v.kind == Value::Kind::Tuple) {
    for (const Value& item : v.items) start_state(el, item, integers, floats, out);
  } else {
    out.push_back(v.is_literal() ? el.materialise(v, v.is_float ? floats : integers) : el.array_of(v,
        "the start of a loop"));
  }
}

// The results of a step in the form and with the types of the state.
void check_state(Elaborator& el, const Value& like, const Value& got, std::span<const Expr> start, size_t& at,
    std::vector<Expr>& out,
                 std::string_view what) {
  if (like.kind == Value::Kind::Tuple) {
    if (got.kind != Value::Kind::Tuple || got.items.size() != like.items.size())
      throw Error("SG0101", std::string(what) + ": the state is " + describe(like) + ", the step returns " + describe(got));
    for (size_t j = 0; j < like.items.size(); ++j) check_state(el, like.items[j], got.items[j], start, at, out, what);
    return;
  }
  const Type want = start[at++].type();
  const bool follows = got.is_literal() && (!got.is_float || is_float(want.dtype)) && want.dtype != DType::Bool;
  if (!follows && !got.is_array() && !got.is_literal())
    throw Error("SG0101", std::string(what) + ": the state is " + to_string(want) + ", the step returns " + describe(got));
  const Expr e = follows ? el.materialise(got, want.dtype) : el.array_of(got, what);
  if (e.type() != want)
    throw Error(e.dtype() == want.dtype ? "SG0101" : "SG0102",
                std::string(what) + ": the state is " + to_string(want) + ", the step returns " + to_string(e.type()))
        .hint(e.dtype() == want.dtype ? "" : "give the start that element type, as in 0.0d or f64(x)");
  out.push_back(e);
}

struct Traced {
  Value state, rows;
};

// One loop with the literals of `init` and `xs` taken as `integers` and `floats`.
Traced trace(Call& c, const Closure& step, const Value& init, const Value& xs, bool reverse, int64_t length, Rows rows,
    DType integers,
             DType floats) {
  Elaborator& el = c.elaborator;
  ir::Graph& g = c.graph();
  std::vector<Expr> start, stacks, vars;
  start_state(el, init, integers, floats, start);
  start_state(el, xs, integers, floats, stacks);
  std::vector<Expr> state_vars, element_vars;
  for (Expr e : start) state_vars.push_back(ir::fresh_var(g, e.type()));
  for (Expr e : stacks) element_vars.push_back(ir::fresh_var(g, {e.dtype(), e.shape().erased(0)}));
  size_t at = 0;
  const Value state = Elaborator::unflatten(init, state_vars, at);
  at = 0;
  const Value element = Elaborator::unflatten(xs, element_vars, at);
  // fori's step takes the counter first, as a mathematician writes it.
  const bool counter_first = c.name == "fori";
  const Value out = el.apply(step, counter_first ? std::vector<Value>{element, state} : std::vector<Value>{state, element},
      c.ast.place);

  const Value* next = &out;
  Value row;
  if (rows == Rows::Second) {
    if (out.kind != Value::Kind::Tuple || out.items.size() != 2)
      throw Error("SG0101", std::string(c.name) + ": the step returns (state, row), not " + describe(out));
    next = &out.items[0];
    row = out.items[1];
  }
  std::vector<Expr> results;
  at = 0;
  check_state(el, init, *next, start, at, results, c.name);
  if (rows == Rows::States) results.insert(results.end(), results.begin(), results.begin() +
      static_cast<int64_t>(start.size()));
  if (rows == Rows::Second) el.flatten(row, results);

  vars = state_vars;
  vars.insert(vars.end(), element_vars.begin(), element_vars.end());
  if (results.empty()) throw Error("SG0101", std::string(c.name) + ": a loop needs a state or a row");
  const std::vector<Expr> all = ir::close_loop(g, start, stacks, vars, results, reverse, length);
  Traced traced;
  at = 0;
  traced.state = Elaborator::unflatten(init, all, at);
  if (rows == Rows::Second) traced.rows = Elaborator::unflatten(row, all, at);
  if (rows == Rows::States) {
    std::vector<Expr> scanned;
    for (size_t j = 0; j < start.size(); ++j) scanned.push_back(ir::scan_rows(start[j], all[start.size() + j]));
    at = 0;
    traced.rows = Elaborator::unflatten(init, scanned, at);
  }
  return traced;
}

// Literals in the start and among the elements take the first dtypes with which the step returns the state's types.
Traced run_loop(Call& c, const Closure& step, const Value& init, const Value& xs, bool reverse, int64_t length, Rows rows) {
  constexpr std::pair<DType, DType> kTries[] = {
      {DType::I32, DType::F32}, {DType::I32, DType::F64}, {DType::F32, DType::F32}, {DType::F64, DType::F64}, {DType::U32,
          DType::F32}};
  if (!has_literal(init) && !has_literal(xs)) return trace(c, step, init, xs, reverse, length, rows, DType::I32, DType::F32);
  std::optional<Error> first;
  for (const auto& [integers, floats] : kTries) {
    try {
      return trace(c, step, init, xs, reverse, length, rows, integers, floats);
    } catch (const Error& e) {
      if (!e.code.starts_with("SG01")) throw;
      if (!first) first = e;
    }
  }
  throw *first;
}

int64_t loop_length(Call& c, const Value& xs) {
  std::vector<Expr> stacks;
  c.elaborator.flatten(xs, stacks);
  if (stacks.empty()) c.fail("needs an array to run over", "fori(n, fn(i, s) => .., start) counts");
  for (Expr e : stacks) {
    if (e.rank() == 0) throw Error("SG0101", std::string(c.name) + ": cannot run over " + to_string(e.type()) +
        ", which has no axes");
    if (e.shape()[0] != stacks[0].shape()[0])
      throw Error("SG0101", std::string(c.name) + ": runs over " + to_string(stacks[0].type()) + " and " +
          to_string(e.type()) +
                                ", whose first extents differ");
  }
  return stacks[0].shape()[0];
}

Value fold(Call& c) { return run_loop(c, step_of(c, 0), c.args[1], c.args[2], false, loop_length(c, c.args[2]), Rows::None)
    .state; }

Value scan(Call& c) { return run_loop(c, step_of(c, 0), c.args[1], c.args[2], false, loop_length(c, c.args[2]),
    Rows::States).rows; }

template <bool reverse>
Value map_accum_lr(Call& c) {
  Traced t = run_loop(c, step_of(c, 0), c.args[1], c.args[2], reverse, loop_length(c, c.args[2]), Rows::Second);
  return Value::tuple({std::move(t.state), std::move(t.rows)});
}

Value fori(Call& c) {
  const int64_t n = static_integer(c.args[0], "fori: the count");
  if (n < 0) throw Error("SG0101", "fori: negative count " + std::to_string(n));
  const Value xs = Value::array(ir::iota(c.graph(), {n}, 0));
  return run_loop(c, step_of(c, 1), c.args[2], xs, false, n, Rows::None).state;
}

Value map_accum(Call& c) {
  const Closure& body = step_of(c, 0);
  if (body.def < 0) c.fail("needs the name of a def", "fold, scan, mapAccumL and fori take fn(..) => ..");
  ir::Loop loop;
  loop.function = c.elaborator.body_function(static_cast<size_t>(body.def), c.ast.place);
  loop.reverse = c.flag("reverse", false);
  loop.length = static_integer(c.required("length"), "map_accum: length");
  if (loop.length < 0) throw Error("SG0101", "map_accum: negative length " + std::to_string(loop.length));
  if (const Value* v = c.keyword("acc")) c.elaborator.flatten(*v, loop.acc);
  if (const Value* v = c.keyword("es")) c.elaborator.flatten(*v, loop.es);
  if (const Value* v = c.keyword("consts")) c.elaborator.flatten(*v, loop.consts);
  std::vector<Value> out;
  for (Expr e : ir::map_accum(c.graph(), loop)) out.push_back(Value::array(e));
  return out.size() == 1 ? out[0] : Value::tuple(std::move(out));
}

// clang-format off
constexpr Builtin kRows[] = {
    {"fold",      3, 3, "", "fold(fn(state, x) => state2, start, xs)",             fold},
    {"scan",      3, 3, "", "scan(fn(state, x) => state2, start, xs)",             scan},
    {"mapAccumL", 3, 3, "", "mapAccumL(fn(state, x) => (state2, row), start, xs)", map_accum_lr<false>},
    {"mapAccumR", 3, 3, "", "mapAccumR(fn(state, x) => (state2, row), start, xs)", map_accum_lr<true>},
    {"fori",      3, 3, "", "fori(n, fn(i, state) => state2, start)",              fori},
    {"map_accum", 1, 1, "reverse length acc es consts", "map_accum(body, reverse=false, length=5, acc=(..), es=(..), consts=(..))", map_accum},
};
// clang-format on

}  // namespace

std::span<const Builtin> loop_builtins() { return kRows; }

}  // namespace spirograd::text
