// fold, scan, map_accum_l, map_accum_r, fori over function literals, and map_accum over a definition (the printed form).
#include <algorithm>

#include "frontend/ir/arguments.h"
#include "frontend/ir/associative_scan.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/counted.h"
#include "frontend/ir/traverse.h"
#include "frontend/text/functions.h"
#include "frontend/text/loop_types.h"

namespace spirograd::text {

using ir::Expr;

namespace {

const Closure& step_of(Call& c, size_t j) {
  if (c.args[j].kind != Value::Kind::Function)
    c.fail("needs a function as argument " + std::to_string(j + 1) + ", not " + describe(c.args[j]),
           std::string(find_builtin(c.name)->usage));
  return *c.args[j].function;
}

// keep=sqrt, keep=levels(3)
Keep written_keep(Call& c) {
  const Ast* written = written_keyword(c, "keep");
  if (!written) return {};
  const bool call = written->form == Form::Call && written->kids.size() == 2;
  const std::string_view name = call ? written->kids[0]->text : written->form == Form::Name ? written->text : "";
  if (!call && name == "all") return Keep::all();
  if (!call && name == "sqrt") return Keep::sqrt();
  if (!call && name == "least") return Keep::least();
  if (!call || (name != "levels" && name != "budget"))
    c.fail("takes what reverse mode keeps as keep=", "keep=all, sqrt, least, levels(3) or budget(65536), bytes");
  const int64_t n = static_integer(c.elaborator.eval(*written->kids[1], c.env), std::string(c.name) + ": keep=");
  if (n < 1) c.fail("needs a positive number in keep=" + std::string(name) + "(..), not " + std::to_string(n));
  return name == "levels" ? Keep::levels(n) : Keep::budget(n);
}

LoopValues run_loop(Call& c, const Closure& step, const Value& init, const Value& xs, bool reverse, int64_t length,
                    LoopRows rows) {
  // fori's step takes the counter first, as a mathematician writes it.
  const bool counter_first = c.name == "fori";
  const auto call_step = [&](const Value& state, const Value& element) {
    return c.elaborator.apply(step, counter_first ? std::vector<Value>{element, state} : std::vector<Value>{state, element},
                              c.ast.place);
  };
  return typed_loop(c.elaborator, {std::string(c.name), init, xs, reverse, length, rows, written_keep(c)}, call_step);
}

int64_t loop_length(Call& c, const Value& xs) {
  std::vector<Value> stacks;
  leaves(xs, stacks);
  std::vector<Type> types;
  for (const Value& v : stacks) types.push_back(v.is_array() ? v.expr.type() : Type{v.usual_dtype(), shape_of(v, c.name)});
  return ir::common_length(c.name, types);
}

Value fold(Call& c) {
  return run_loop(c, step_of(c, 0), c.args[1], c.args[2], false, loop_length(c, c.args[2]), LoopRows::None).state;
}

Value scan(Call& c) {
  return run_loop(c, step_of(c, 0), c.args[1], c.args[2], false, loop_length(c, c.args[2]), LoopRows::States).rows;
}

// What the state starts as, or becomes, in the types of `like`.
std::vector<Expr> nodes_like(Call& c, std::span<const Expr> like, const Value& v) {
  std::vector<Value> flat;
  leaves(v, flat);
  std::vector<Expr> out;
  for (size_t j = 0; j < flat.size() && j < like.size(); ++j) {
    const bool opens = like[j] && flat[j].may_become(like[j].dtype());
    out.push_back(opens ? c.elaborator.materialise(flat[j], like[j].dtype()) : flat[j].is_array() ? flat[j].expr : Expr{});
  }
  out.resize(like.size());
  return out;
}

Value associative_scan(Call& c) {
  const Closure& step = step_of(c, 0);
  const auto like_rows = [&](std::span<const Expr> arrays) {
    std::vector<Value> flat;
    for (Expr e : arrays) flat.push_back(Value::array(e));
    size_t at = 0;
    return with_leaves(c.args[1], flat, at);
  };
  const ir::Combine combine = [&](std::span<const Expr> earlier, std::span<const Expr> later) {
    const Value both = c.elaborator.apply(step, {like_rows(earlier), like_rows(later)}, c.ast.place);
    std::vector<Value> flat;
    leaves(both, flat);
    if (flat.size() == earlier.size()) return nodes_like(c, earlier, both);
    std::vector<Expr> others;
    c.elaborator.flatten(both, others);
    return others;
  };
  std::vector<Expr> rows;
  c.elaborator.flatten(c.args[1], rows);
  return like_rows(ir::associative_scan(c.name, rows, combine, c.flag("reverse", false)));
}

template <bool reverse>
Value map_accum_lr(Call& c) {
  LoopValues t = run_loop(c, step_of(c, 0), c.args[1], c.args[2], reverse, loop_length(c, c.args[2]), LoopRows::Second);
  return Value::tuple({std::move(t.state), std::move(t.rows)});
}

Value fori(Call& c) {
  const int64_t n = static_integer(c.args[0], "fori: the count");
  ir::check_steps(c.name, n);
  const Value xs = Value::array(ir::iota(c.graph(), {n}, 0));
  return run_loop(c, step_of(c, 1), c.args[2], xs, false, n, LoopRows::None).state;
}

// The arrays of a state as its condition sees them: what is open is there as whole numbers of one type.
std::vector<Expr> seen_by(Call& c, Expr condition, const Value& state) {
  const std::vector<ir::NodeId> below = ir::postorder(c.graph(), {&condition.id, 1});
  std::vector<Value> flat;
  leaves(state, flat);
  std::vector<Expr> out;
  for (const Value& leaf : flat) {
    out.push_back(leaf.is_array() ? leaf.expr : Expr{});
    for (const DType t : {DType::I32, DType::U32, DType::F32, DType::F64})
      if (const Expr e = leaf.may_become(t) ? c.elaborator.materialise(leaf, t) : Expr{};
          e && std::find(below.begin(), below.end(), e.id) != below.end())
        out.back() = e;
  }
  return out;
}

// The bound of a `while` that is given none: the condition and one step tell it, if they count.
int64_t counted_bound(Call& c, const Closure& body, const std::function<Expr(const Value&)>& goes_on) {
  Expr go;
  std::vector<Expr> state, next;
  const auto step = [&](const Value& before, const Value&) {
    const Value after = c.elaborator.apply(body, {before}, c.ast.place);
    go = goes_on(before);
    state = seen_by(c, go, before);
    next = nodes_like(c, state, after);
    return c.elaborator.choose(go, after, before);
  };
  c.elaborator.count_repetition();
  typed_loop(c.elaborator,
             {std::string(c.name), c.args[2], Value::array(ir::iota(c.graph(), {1}, 0)), false, 1, LoopRows::None, {}},
             step);
  const ir::CountedSteps counted = ir::counted_steps(c.graph(), nodes_like(c, state, c.args[2]), state, go, next);
  if (!counted.at_most) c.fail("needs the keyword 'at_most=', for " + counted.why, std::string(find_builtin(c.name)->usage));
  return *counted.at_most;
}

// Steps behind the last one keep the state, so the condition stays false; what they compute counts for nothing, and carries
// no derivative.
Value while_loop(Call& c) {
  const Closure &condition = step_of(c, 0), &body = step_of(c, 1);
  const auto goes_on = [&](const Value& state) {
    const Value v = c.elaborator.apply(condition, {state}, c.ast.place);
    if (!v.is_array() || v.expr.type() != boolean())
      throw Error("SG0102", "while: the condition must be one bool, not " + describe(v)).hint("compare, as in s < 100.0");
    return v.expr;
  };
  const Value* given = c.keyword("at_most");
  const int64_t most = given ? static_integer(*given, "while: at_most") : counted_bound(c, body, goes_on);
  ir::check_steps(c.name, most);
  const auto counted = [&](Expr go) { return ir::cast(go, DType::I32); };
  const auto step = [&](const Value& state_and_count, const Value&) {
    const Value &state = state_and_count.items[0], &count = state_and_count.items[1];
    const Expr go = goes_on(state);
    return Value::tuple({c.elaborator.choose(go, c.elaborator.apply(body, {state}, c.ast.place), state),
                         c.elaborator.binary(ir::Op::Add, count, Value::array(counted(go)))});
  };
  const Value start = Value::tuple({c.args[2], Value::array(ir::scalar(c.graph(), DType::I32, 0))}),
              steps = Value::array(ir::iota(c.graph(), {most}, 0));
  const Value end =
      typed_loop(c.elaborator, {std::string(c.name), start, steps, false, most, LoopRows::None, written_keep(c)}, step)
          .state;
  // One more than the bound where the bound has cut it off.
  const Value count = c.elaborator.binary(ir::Op::Add, end.items[1], Value::array(counted(goes_on(end.items[0]))));
  return Value::tuple({end.items[0], count});
}

// All arms are made where the number is not known; it counts from the first arm below it to the last one above.
Value switch_over(Call& c) {
  if (c.args[1].kind != Value::Kind::Tuple || c.args[1].items.empty())
    c.fail("needs a tuple of functions as argument 2, not " + describe(c.args[1]), std::string(find_builtin(c.name)->usage));
  std::vector<Closure> arms;
  for (const Value& v : c.args[1].items) {
    if (v.kind != Value::Kind::Function)
      c.fail("arm " + std::to_string(arms.size()) + " is no function, but " + describe(v), "(fn(x) => x, sin, ..)");
    arms.push_back(*v.function);
  }
  const auto run = [&](size_t j) { return c.elaborator.apply(arms[j], {c.args.begin() + 2, c.args.end()}, c.ast.place); };
  const auto last = static_cast<int64_t>(arms.size()) - 1;
  if (c.args[0].is_whole_number())
    return run(static_cast<size_t>(std::clamp<int64_t>(static_integer(c.args[0], "switch"), 0, last)));
  const Expr which = c.array(0);
  if (which.type() != i32())
    throw Error("SG0102", "switch: the number of the arm must be one i32, not " + describe(c.args[0]));
  Value out = run(arms.size() - 1);
  for (int64_t j = last; j-- > 0;)
    out = c.elaborator.choose(ir::binary(ir::Op::Le, which, ir::scalar(c.graph(), DType::I32, static_cast<double>(j))),
                              run(static_cast<size_t>(j)), out);
  return out;
}

Value map_accum(Call& c) {
  const Closure& body = step_of(c, 0);
  if (body.def < 0) c.fail("needs the name of a def", "fold, scan, map_accum_l and fori take fn(..) => ..");
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

// The printed form of a value with a derivative of its own.
Value with_rule(Call& c, ir::Op op) {
  const Closure& body = step_of(c, 0);
  if (body.def < 0) c.fail("needs the name of a def");
  const int64_t function = c.elaborator.body_function(static_cast<size_t>(body.def), c.ast.place);
  std::vector<Expr> xs, consts;
  c.elaborator.flatten(c.required("wrt"), xs);
  if (const Value* v = c.keyword("consts")) c.elaborator.flatten(*v, consts);
  return Value::array(ir::with_rule(op, c.array(1), function, xs, consts));
}

Value with_jvp(Call& c) { return with_rule(c, ir::Op::WithJvp); }
Value with_vjp(Call& c) { return with_rule(c, ir::Op::WithVjp); }

// clang-format off
constexpr Builtin kLoopRows[] = {
    {"fold",      3, 3, "keep", "fold(fn(state, x) => state2, start, xs)",             fold, Follows::Nothing, false, "keep"},
    {"scan",      3, 3, "keep", "scan(fn(state, x) => state2, start, xs)",             scan, Follows::Nothing, false, "keep"},
    {"associative_scan", 2, 2, "reverse", "associative_scan(fn(earlier, later) => both, xs)", associative_scan},
    {"map_accum_l", 3, 3, "keep", "map_accum_l(fn(state, x) => (state2, row), start, xs)", map_accum_lr<false>, Follows::Nothing, false, "keep"},
    {"map_accum_r", 3, 3, "keep", "map_accum_r(fn(state, x) => (state2, row), start, xs)", map_accum_lr<true>, Follows::Nothing, false, "keep"},
    // Spellings of before, which programs out there use.
    {"mapAccumL", 3, 3, "keep", "map_accum_l(fn(state, x) => (state2, row), start, xs)", map_accum_lr<false>, Follows::Nothing, false, "keep"},
    {"mapAccumR", 3, 3, "keep", "map_accum_r(fn(state, x) => (state2, row), start, xs)", map_accum_lr<true>, Follows::Nothing, false, "keep"},
    {"fori",      3, 3, "keep", "fori(n, fn(i, state) => state2, start)",              fori, Follows::Nothing, false, "keep"},
    {"while",     3, 3, "at_most keep", "let (state, steps) = while(fn(s) => s < 9.0, fn(s) => s * 2.0, start, at_most=50)", while_loop, Follows::Nothing, false, "keep"},
    {"switch",    2, -1, "", "switch(k, (fn(x) => x, sin, exp), x)", switch_over},
    {"map_accum", 1, 1, "reverse length acc es consts", "map_accum(body, reverse=false, length=5, acc=(..), es=(..), consts=(..))", map_accum},
    {"with_jvp",  2, 2, "wrt consts", "with_jvp(body, value, wrt=(..), consts=(..))", with_jvp},
    {"with_vjp",  2, 2, "wrt consts", "with_vjp(body, value, wrt=(..), consts=(..))", with_vjp},
};
// clang-format on

}  // namespace

std::span<const Builtin> loop_builtins() { return kLoopRows; }

}  // namespace spirograd::text
