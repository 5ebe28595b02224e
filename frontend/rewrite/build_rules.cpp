// The table of build rules. Structural operations carry their axes, so most rows add one to each axis and need no transpose.
#include "frontend/rewrite/build_rules.h"

#include <algorithm>

#include "frontend/ir/broken_row.h"
#include "frontend/ir/traverse.h"

namespace spirograd::rewrite {
namespace {

using namespace ir;

using L = const Lifting&;

template <Op... ops>
bool is(L, Expr t) {
  return ((t.op() == ops) || ...);
}

template <Kind kind>
bool kind_is(L, Expr t) {
  return info(t.op()).kind == kind;
}

bool still(L l, Expr t) { return !l.moves(t); }
bool fixed_table(L l, Expr t) { return t.op() == Op::Gather && !l.moves(t.in(0)); }
bool reads_all_rows(L l, Expr t) {
  return fixed_table(l, t) && t.node().in.size() == 2 && t.in(1).op() == Op::IndexVar && t.in(0).shape()[0] == l.extent();
}
bool index_into_moving(L, Expr t) { return is_index(t); }

std::vector<Expr> operands(L l, Expr t, int from = 0) {
  std::vector<Expr> in;
  for (int j = from; j < static_cast<int>(t.node().in.size()); ++j) in.push_back(l.operand(t, j));
  return in;
}

std::vector<int64_t> shifted(const std::vector<int64_t>& axes) {
  std::vector<int64_t> out;
  for (int64_t a : axes) out.push_back(a + 1);
  return out;
}

std::vector<int64_t> zero_and_shifted(const std::vector<int64_t>& axes) {
  std::vector<int64_t> out = shifted(axes);
  out.insert(out.begin(), 0);
  return out;
}

Expr replicated(L l, Expr t) {
  std::vector<int64_t> axes;
  for (int a = 0; a < t.rank(); ++a) axes.push_back(a + 1);
  return unless_broken("build", "invariant", broadcast(t, l.with_batch(t.shape()), axes));
}

bool is_variable(L l, Expr e) { return e.op() == Op::IndexVar && e.attr(0) == l.level(); }

// What the variable equals where `condition` is `value`, if that is the same for all i. Conditions are followed to a small
// depth only: they may share their parts.
Expr only_place(L l, Expr condition, bool value, int depth = 0) {
  constexpr int kDeepest = 4;
  const Op op = condition.op();
  if (op == (value ? Op::Eq : Op::Ne)) {
    if (is_variable(l, condition.in(0)) && !l.moves(condition.in(1))) return condition.in(1);
    if (is_variable(l, condition.in(1)) && !l.moves(condition.in(0))) return condition.in(0);
  }
  if (depth == kDeepest || condition.dtype() != DType::Bool) return {};
  if (op == Op::Not) return only_place(l, condition.in(0), !value, depth + 1);
  if (op != (value ? Op::And : Op::Or)) return {};
  const Expr first = only_place(l, condition.in(0), value, depth + 1);
  return first ? first : only_place(l, condition.in(1), value, depth + 1);
}

// A choice of which one side matters at one place at most.
bool chooses_place(L l, Expr t) {
  return t.op() == Op::Select &&
         ((l.moves(t.in(1)) && only_place(l, t.in(0), true)) || (l.moves(t.in(2)) && only_place(l, t.in(0), false)));
}

Expr as_iota(L l, Expr) { return iota(l.graph(), {l.extent()}, 0); }
Expr lift_pointwise(L l, Expr t) { return with_operands(l.graph(), t.node(), operands(l, t)); }
Expr lift_broadcast(L l, Expr t) {
  return broadcast(l.operand(t, 0), l.with_batch(t.shape()), zero_and_shifted(t.node().attr));
}
Expr lift_transpose(L l, Expr t) { return transpose(l.operand(t, 0), zero_and_shifted(t.node().attr)); }
Expr lift_reshape(L l, Expr t) { return reshape(l.operand(t, 0), l.with_batch(t.shape())); }
Expr lift_window(L l, Expr t) { return window(l.operand(t, 0), axis_of(t) + 1, t.attr(1), t.shape()[axis_of(t)]); }
Expr lift_reverse(L l, Expr t) { return reverse(l.operand(t, 0), axis_of(t) + 1); }
Expr lift_concat(L l, Expr t) { return concat(operands(l, t), axis_of(t) + 1); }
Expr lift_stack(L l, Expr t) { return stack(operands(l, t), axis_of(t) + 1); }
Expr lift_reduce(L l, Expr t) { return reduce(t.op(), l.operand(t, 0), shifted(t.node().attr)); }
Expr lift_arg_reduce(L l, Expr t) { return arg_reduce(t.op(), l.operand(t, 0), axis_of(t) + 1); }

Expr whole_table(L, Expr t) { return t.in(0); }
Expr gather_rows(L l, Expr t) { return gather(t.in(0), operands(l, t, 1)); }

// A table that differs from row to row, and an update that goes to a different array: one more index, the row itself.
std::vector<Expr> batched_index(L l, Expr t) {
  std::vector<Expr> index = operands(l, t, 1);
  index.insert(index.begin(), iota(l.graph(), index[0].shape(), 0));
  return index;
}
Expr gather_batched(L l, Expr t) { return gather(l.operand(t, 0), batched_index(l, t)); }
Expr scatter_batched(L l, Expr t) {
  return scatter_by(t.op(), l.operand(t, 0), batched_index(l, t), l.with_batch(Shape(t.node().attr)));
}

// That side is computed there only, and so is what is asked beside the place.
Expr at_place(Lifting& l, Expr t) {
  const auto there = [&](Expr e, Expr place) {
    if (!place || !l.moves(e)) return e;
    const Expr i = index_var(l.graph(), l.level(), l.extent());
    return Expr{&l.graph(), substitute(l.graph(), e.id, {{i.id.v, place.id}})};
  };
  const Expr condition = t.in(0), yes = only_place(l, condition, true), no = only_place(l, condition, false);
  const auto asked = [&] {
    if (condition.op() != (yes ? Op::And : Op::Or)) return condition;
    const Expr a = condition.in(0), b = condition.in(1);
    if (const Expr place = only_place(l, a, static_cast<bool>(yes))) return binary(condition.op(), a, there(b, place));
    return binary(condition.op(), there(a, yes ? yes : no), b);
  };
  return select(asked(), there(t.in(1), yes), there(t.in(2), no));
}

Expr push_index(Lifting& l, Expr t) {
  const Expr pushed = l.pusher().push(as_slice(t));
  return pushed == t ? Expr{} : pushed;
}

// build(n, i. loop f acc es) = loop f' (build acc) (build es), where f' runs n bodies side by side: build(n, i. f(acc[i],
// e[i])). Operands and accumulators that stay the same for all i keep their shape; `batched` says which parameters do not.
int64_t batched_body(L l, const Function& f, std::vector<bool>& batched, int n_acc) {
  Graph& g = l.graph();
  const Expr i = index_var(g, 0, l.extent());  // bodies are closed: no variable of another level is in use
  std::vector<Expr> results;
  for (bool settled = false; !settled;) {
    Memo memo;
    for (size_t j = 0; j < f.params.size(); ++j) {
      const int64_t slot = static_cast<int64_t>(j);
      if (!batched[j]) continue;
      const Expr all = param(g, slot, {f.params[j].dtype, l.with_batch(f.params[j].shape)});
      memo[param(g, slot, f.params[j]).id.v] = gather(all, {&i, 1}).id;
    }
    results.clear();
    for (NodeId r : rebuild(g, f.results, memo)) results.push_back({&g, r});
    settled = true;
    for (size_t j = 0; j < static_cast<size_t>(n_acc); ++j) {
      if (batched[j] || !results[j].node().free_vars) continue;
      batched[j] = true;
      settled = false;
    }
  }
  Lifting body(g, l.ranges(), 0, l.extent());
  Function out;
  for (size_t j = 0; j < f.params.size(); ++j)
    out.params.push_back(batched[j] ? Type{f.params[j].dtype, l.with_batch(f.params[j].shape)} : f.params[j]);
  for (size_t j = 0; j < results.size(); ++j) {
    const bool must = j < static_cast<size_t>(n_acc) && batched[j];
    out.results.push_back((must || body.moves(results[j]) ? body.lift(results[j]) : results[j]).id);
  }
  return g.intern(std::move(out));
}

Expr lift_loop(L l, Expr t) {
  Graph& g = l.graph();
  const LoopParts p = loop_parts(g, t.node());
  std::vector<bool> batched;
  for (size_t j = 0; j < t.node().in.size(); ++j) batched.push_back(l.moves(t.in(static_cast<int>(j))));
  const int64_t function = batched_body(l, g.function(p.function), batched, p.n_acc);
  Loop loop{function, p.reverse, p.length, {}, {}, {}};
  for (int j = 0; j < static_cast<int>(batched.size()); ++j) {
    const bool lifted = batched[static_cast<size_t>(j)];
    Expr e = lifted ? l.operand(t, j) : t.in(j);
    if (j < p.n_acc)
      loop.acc.push_back(e);
    else if (j < p.n_acc + p.n_es)
      loop.es.push_back(lifted ? move_axis(e, 1, 0) : e);  // stacks of batches
    else
      loop.consts.push_back(e);
  }
  return map_accum(g, loop)[0].in(0);
}

Expr lift_projection(L l, Expr t) {
  Graph& g = l.graph();
  const Expr loop = l.operand(t, 0);
  const LoopParts p = loop_parts(g, loop.node());
  const Expr e = projections(g, loop.id)[static_cast<size_t>(t.attr(0))];
  if (e.rank() == t.rank()) return replicated(l, e);  // the same for all i
  return t.attr(0) < p.n_acc ? e : move_axis(e, 1, 0);
}

// The derivative of a batch: that of its elements, over batches of tangents or cotangents.
// A kernel of somebody's own computes one value: of many, what it stands for takes its place.
Expr lift_rule(L l, Expr t) {
  if (t.op() == Op::ByKernel) return l.operand(t, 0);
  const auto n_xs = static_cast<size_t>(t.attr(1));
  std::vector<Expr> operands;
  std::vector<bool> batched;
  for (int j = 1; j < static_cast<int>(t.node().in.size()); ++j) {
    const bool x = static_cast<size_t>(j) <= n_xs;
    batched.push_back(x || l.moves(t.in(j)));  // tangents and cotangents of all arguments move
    operands.push_back(batched.back() ? l.operand(t, j) : t.in(j));
  }
  const bool forward = t.op() == Op::WithJvp;
  batched.insert(batched.end(), forward ? n_xs : 1, true);
  const Function f = l.graph().function(t.attr(0));
  const int64_t function = batched_body(l, f, batched, static_cast<int>(f.results.size()));  // all results move, too
  const std::span<const Expr> all = operands;
  return with_rule(t.op(), l.operand(t, 0), function, all.subspan(0, n_xs), all.subspan(n_xs));
}

constexpr auto kNothing = nullptr;

// clang-format off
constexpr BuildRule kBuildRules[] = {
  // name          when the body is               inside      becomes           example                                     means
  {"invariant",    still,                         kNothing,   replicated,
   "def main(x: f32[2]) = for i: 3 => x",                      "def main(x: f32[2]) = replicate(x, 3)"},
  {"variable",     is<Op::IndexVar>,              kNothing,   as_iota,
   "def main() = for i: 3 => i",                               "def main() = iota(3)"},
  {"one-place",    chooses_place,                 at_place,   kNothing,
   "def main(x: f32[3], k: i32) = for i: 3 => if i == k then exp(x[i]) else x[i]", "def main(x: f32[3], k: i32) = where(iota(3) == k, exp(x[k]), x)"},
  {"pointwise",    kind_is<Kind::Pointwise>,      kNothing,   lift_pointwise,
   "def main(x: f32[3]) = for i: 3 => sin(x[i]) * 2.0",        "def main(x: f32[3]) = sin(x) * 2.0"},
  {"broadcast",    is<Op::Broadcast>,             kNothing,   lift_broadcast,
   "def main(x: f32[3]) = for i: 3 => replicate(x[i], 2)", "def main(x: f32[3]) = replicate(x, 2, axis=1)"},
  {"transpose",    is<Op::Transpose>,             kNothing,   lift_transpose,
   "def main(x: f32[2,3,4]) = for i: 2 => transpose(x[i])",    "def main(x: f32[2,3,4]) = transpose(x, [0, 2, 1])"},
  {"reshape",      is<Op::Reshape>,               kNothing,   lift_reshape,
   "def main(x: f32[2,6]) = for i: 2 => reshape(x[i], [2, 3])", "def main(x: f32[2,6]) = reshape(x, [2, 2, 3])"},
  {"window",       is<Op::Window>,                kNothing,   lift_window,
   "def main(x: f32[2,6]) = for i: 2 => window(x[i], axis=0, lo=-1, n=3)", "def main(x: f32[2,6]) = window(x, axis=1, lo=-1, n=3)"},
  {"reverse",      is<Op::Reverse>,               kNothing,   lift_reverse,
   "def main(x: f32[2,6]) = for i: 2 => reverse(x[i], axis=0)", "def main(x: f32[2,6]) = reverse(x, axis=1)"},
  {"concat",       is<Op::Concat>,                kNothing,   lift_concat,
   "def main(x: f32[2,3], y: f32[2,4]) = for i: 2 => concat(x[i], y[i], axis=0)", "def main(x: f32[2,3], y: f32[2,4]) = concat(x, y, axis=1)"},
  {"stack",        is<Op::Stack>,                 kNothing,   lift_stack,
   "def main(x: f32[2], y: f32[2]) = for i: 2 => [x[i], y[i]]", "def main(x: f32[2], y: f32[2]) = transpose([x, y])"},
  {"reduce",       is<Op::Sum, Op::Prod, Op::ReduceMax, Op::ReduceMin>, kNothing, lift_reduce,
   "def main(x: f32[2,3]) = for i: 2 => sum(x[i])",            "def main(x: f32[2,3]) = sum(x, axis=1)"},
  {"arg-reduce",   is<Op::ArgMax, Op::ArgMin>,    kNothing,   lift_arg_reduce,
   "def main(x: f32[2,3]) = for i: 2 => argmin(x[i], axis=0)", "def main(x: f32[2,3]) = argmin(x, axis=1)"},
  {"all-rows",     reads_all_rows,                kNothing,   whole_table,
   "def main(x: f32[3,2]) = for i: 3 => x[i]",                 "def main(x: f32[3,2]) = x"},
  {"fixed-table",  fixed_table,                   kNothing,   gather_rows,
   "def main(x: f32[4], c: i32[3]) = for i: 3 => x[c[i]]",     "def main(x: f32[4], c: i32[3]) = gather(x, c)"},
  {"index",        index_into_moving,             push_index, kNothing,
   "def main(x: f32[2,3], k: i32[2]) = for i: 2 => sin(x[i])[k[i]]", "def main(x: f32[2,3], k: i32[2]) = sin(gather(x, iota(2), k))"},
  {"moving-table", is<Op::Gather>,                kNothing,   gather_batched,
   "def main(x: f32[2,3], c: i32[4]) = for i: 2 => gather(x[i], c)", "def main(x: f32[2,3], c: i32[4]) = for i: 2 => for j: 4 => x[i, c[j]]"},
  {"scatter",      is<Op::Scatter>,               kNothing,   scatter_batched,
   "def main(x: f32[2,3], c: i32[3]) = for i: 2 => scatter([4], x[i], c)", "def main(x: f32[2,3], c: i32[3]) = transpose(scatter([4], transpose(x), c))"},
  {"scatter-max",  is<Op::ScatterMax>,            kNothing,   scatter_batched,
   "def main(x: i32[2,3], c: i32[3]) = for i: 2 => scatter_max([4], u32(x[i]), c)", "def main(x: i32[2,3], c: i32[3]) = transpose(scatter_max([4], u32(transpose(x)), c))"},
  {"loop",         is<Op::MapAccum>,              kNothing,   lift_loop,
   "def main(x: f32[2,3]) = for i: 2 => fold(fn(a, e) => a * e, 1.0, x[i])", "def main(x: f32[2,3]) = fold(fn(a, e) => a * e, replicate(1.0, 2), transpose(x))"},
  {"projection",   is<Op::Proj>,                  kNothing,   lift_projection,
   "def main(x: f32[2,3]) = for i: 2 => scan(fn(a, e) => a * e, 1.0, x[i])", "def main(x: f32[2,3]) = transpose(scan(fn(a, e) => a * e, replicate(1.0, 2), transpose(x)))"},
  {"rule",         kind_is<Kind::Rule>,           kNothing,   lift_rule,
   "def r(x: f32, dx: f32) = dx * x\ndef main(x: f32[3]) = for i: 3 => with_jvp(r, sin(x[i]), wrt=(x[i],))",
   "def r(x: f32[3], dx: f32[3]) = dx * x\ndef main(x: f32[3]) = with_jvp(r, sin(x), wrt=(x,))"},
};
// clang-format on

}  // namespace

std::span<const BuildRule> build_rules() { return kBuildRules; }

Shape Lifting::with_batch(const Shape& s) const {
  if (s.rank() == kMaxRank)
    throw Error("SG0101", "build: an array " + to_string(s) + " inside would get " + std::to_string(kMaxRank + 1) +
                              " axes, the limit is " + std::to_string(kMaxRank))
        .note("each enclosing build adds one axis to the arrays that are computed inside");
  return s.inserted(0, extent_);
}

Expr Lifting::operand(Expr t, int j) const {
  const Expr u = t.in(j);
  return moves(u) ? lifted_.at(u.id.v) : replicated(*this, u);
}

Expr Lifting::lift(Expr root) {
  if (!moves(root)) return replicated(*this, root);
  struct Frame {
    Expr term;
    Expr rewritten;  // the same term inside the build, if a rule gave one
  };
  std::vector<Frame> stack = {{root, {}}};
  const auto finish = [&](Expr term, Expr value) {
    graph_.copy_loc(graph_, term.id, value.id);
    lifted_[term.id.v] = value;
    stack.pop_back();
  };
  while (!stack.empty()) {
    const auto [t, rewritten] = stack.back();
    if (lifted_.contains(t.id.v)) {
      stack.pop_back();
      continue;
    }
    if (rewritten) {
      finish(t, moves(rewritten) ? lifted_.at(rewritten.id.v) : replicated(*this, rewritten));
      continue;
    }
    const BuildRule* rule = nullptr;
    for (const BuildRule& r : build_rules()) {
      if (!r.applies(*this, t)) continue;
      if (r.becomes) {
        rule = &r;
        break;
      }
      const Expr inner = unless_broken("build", r.name, r.inside(*this, t));
      if (!inner) continue;
      stack.back().rewritten = inner;
      break;
    }
    if (stack.back().rewritten) {
      if (moves(stack.back().rewritten)) stack.push_back({stack.back().rewritten, {}});
      continue;
    }
    if (!rule) throw Error("SG0901", "internal: no build rule for " + std::string(name(t.op())));
    const size_t before = stack.size();
    for (int j = 0; j < static_cast<int>(t.node().in.size()); ++j)
      if (moves(t.in(j)) && !lifted_.contains(t.in(j).id.v)) stack.push_back({t.in(j), {}});
    if (stack.size() == before) finish(t, unless_broken("build", rule->name, rule->becomes(*this, t)));
  }
  return lifted_.at(root.id.v);
}

}  // namespace spirograd::rewrite
