// The element types of loops, by iteration: states start as weak as their literals are and become what the step makes of
// them.
#include "frontend/text/loop_types.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "ad/kept.h"
#include "frontend/ir/arguments.h"
#include "frontend/ir/close_loop.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/strip_mine.h"
#include "frontend/ir/traverse.h"

namespace spirograd::text {

using ir::Expr;

namespace {

// One array of the state or of the elements.
struct Leaf {
  Value start;                // or stack
  Shape shape;                // as the step sees it
  std::optional<DType> type;  // none: weak
  bool is_float = false;      // of a weak one
  Value var;                  // what the step sees
};

DType usual(const Leaf& leaf) { return leaf.type ? *leaf.type : leaf.is_float ? DType::F32 : DType::I32; }

// The type of a weak leaf or row in a loop whose weak parts are wanted as `t`: floats never become integers.
DType weak_type(bool floats, DType t) { return floats && is_integer(t) ? DType::F32 : t; }

int preference(DType t) { return t == DType::F64 ? 4 : t == DType::F32 ? 3 : t == DType::U32 ? 2 : t == DType::I32 ? 1 : 0; }

// What a step made of its placeholders, as nodes and values; enough to close the loop at any element type.
struct Traced {
  Elaborator* elaborator;
  LoopShape loop;
  std::vector<Leaf> leaves;  // of the state, then of the elements
  size_t states = 0;
  std::vector<Value> next, rows;  // of the step; flat

  DType type_of(const Leaf& leaf, DType t) const { return leaf.type ? *leaf.type : weak_type(leaf.is_float, t); }
  Expr next_at(size_t j, DType t) const;
  Expr row_at(size_t j, DType t) const {
    return rows[j].is_weak() ? elaborator->materialise(rows[j], weak_type(rows[j].is_float, t)) : rows[j].expr;
  }
  std::vector<Expr> closed(DType t) const;
  bool any_weak() const {
    return std::ranges::any_of(leaves, [](const Leaf& l) { return !l.type; }) ||
           std::ranges::any_of(rows, [](const Value& v) { return v.is_weak(); });
  }
};

// The step's result for state j, which must have the type of the start.
Expr Traced::next_at(size_t j, DType t) const {
  const Type want{type_of(leaves[j], t), leaves[j].shape};
  const Value& got = next[j];
  if (!got.is_array() && !got.is_weak()) throw ir::state_changes(loop.name, to_string(want), describe(got));
  const Expr e =
      got.may_become(want.dtype) ? elaborator->materialise(got, want.dtype) : elaborator->array_of(got, loop.name);
  if (e.type() != want)
    throw Error(e.dtype() == want.dtype ? "SG0101" : "SG0102",
                loop.name + ": the state is " + to_string(want) + ", the step returns " + to_string(e.type()))
        .hint(e.dtype() == want.dtype || e.dtype() == DType::Bool
                  ? ""
                  : "give the start that element type, as in 0.0d or f64(x)");
  return e;
}

// The loop with its weak parts taken as `t`: final states, then rows.
std::vector<Expr> Traced::closed(DType t) const {
  std::vector<Expr> start, stacks, vars, results;
  for (size_t j = 0; j < leaves.size(); ++j) {
    (j < states ? start : stacks).push_back(elaborator->materialise(leaves[j].start, type_of(leaves[j], t)));
    vars.push_back(elaborator->materialise(leaves[j].var, type_of(leaves[j], t)));
  }
  for (size_t j = 0; j < states; ++j) results.push_back(next_at(j, t));
  if (loop.rows == LoopRows::States)
    for (size_t j = 0; j < states; ++j) results.push_back(results[j]);
  for (size_t j = 0; j < rows.size(); ++j) results.push_back(row_at(j, t));
  if (results.empty()) throw Error("SG0101", loop.name + ": a loop needs a state or a row");
  ir::Graph& g = elaborator->graph();
  std::vector<Expr> out = ir::close_loop(g, start, stacks, vars, results, loop.reverse, loop.length);
  out = ir::keeping(g, loop.name, loop.keep, std::move(out), ad::bytes_per_step);
  if (loop.rows == LoopRows::States)
    for (size_t j = 0; j < states; ++j) out[states + j] = ir::scan_rows(start[j], out[states + j]);
  return out;
}

// ---- which placeholders occur below nodes

std::unordered_set<uint32_t> placeholders_below(const ir::Graph& g, const std::vector<Expr>& roots) {
  std::unordered_set<uint32_t> out;
  for (ir::NodeId id : ir::open_postorder(g, ir::ids_of(roots)))
    if (g[id].op == ir::Op::Var) out.insert(id.v);
  return out;
}

bool stands_in(const Leaf& leaf, DType t, const std::unordered_set<uint32_t>& placeholders) {
  const Expr e = leaf.var.made ? leaf.var.made->nodes[static_cast<size_t>(t)] : Expr{};
  return e && placeholders.contains(e.id.v);
}

// ---- one round

Leaf leaf_of(Elaborator& el, const Value& v, bool element, std::string_view what) {
  Leaf leaf{v.is_weak() ? v : Value::array(el.array_of(v, what)), shape_of(v, what), {}, v.is_float, {}};
  if (element) leaf.shape = leaf.shape.erased(0);
  if (!v.is_weak()) leaf.type = v.expr.dtype();
  return leaf;
}

void make_placeholder(Elaborator& el, Leaf& leaf) {
  const auto make = [g = &el.graph(), shape = leaf.shape](DType t, std::span<const Expr>) {
    return ir::fresh_var(*g, {t, shape});
  };
  leaf.var = leaf.type ? Value::array(make(*leaf.type, {})) : el.weak(leaf.is_float, {}, make);
}

// Flat results of the step in the form of the state.
void flat_state(const Value& like, const Value& got, std::string_view what, std::vector<Value>& out) {
  if (like.kind != Value::Kind::Tuple) return out.push_back(got);
  if (got.kind != Value::Kind::Tuple || got.items.size() != like.items.size())
    throw Error("SG0101", std::string(what) + ": the state is " + describe(like) + ", the step returns " + describe(got));
  for (size_t j = 0; j < like.items.size(); ++j) flat_state(like.items[j], got.items[j], what, out);
}

// Gives weak leaves the element types that the step demands. Whether any got one.
bool resolve(Traced& t) {
  const ir::Graph& g = t.elaborator->graph();
  std::vector<Expr> strong;
  for (const auto* list : {&t.next, &t.rows})
    for (const Value& v : *list)
      if (v.is_array()) strong.push_back(v.expr);
  const auto used = placeholders_below(g, strong);
  bool changed = false;
  for (size_t j = 0; j < t.leaves.size(); ++j) {
    Leaf& leaf = t.leaves[j];
    if (leaf.type) continue;
    DType best = DType::Bool;
    const auto demand = [&](DType d) {
      if (preference(d) > preference(best)) best = d;
    };
    if (j < t.states && t.next[j].is_array()) demand(t.next[j].expr.dtype());
    for (DType d : {DType::I32, DType::U32, DType::F32, DType::F64})
      if (stands_in(leaf, d, used)) demand(d);
    if (best != DType::Bool) {
      leaf.type = weak_type(leaf.is_float, best);
      changed = true;
    } else if (j < t.states && t.next[j].is_array()) {
      leaf.type = usual(leaf);  // a bool: the mismatch is told when the loop is closed
      changed = true;
    } else if (j < t.states && t.next[j].is_weak() && t.next[j].is_float && !leaf.is_float) {
      leaf.is_float = true;
      changed = true;
    }
  }
  return changed;
}

// Weak whole numbers beside weak floats: those that reach a float are floats, the others are i32.
bool separate_integers(Traced& t) {
  std::vector<Expr> floats;
  for (size_t j = 0; j < t.states; ++j)
    if (!t.leaves[j].type && t.leaves[j].is_float) floats.push_back(t.next_at(j, DType::F32));
  for (size_t j = 0; j < t.rows.size(); ++j)
    if (t.rows[j].is_weak() && t.rows[j].is_float) floats.push_back(t.row_at(j, DType::F32));
  if (floats.empty()) return false;
  const auto used = placeholders_below(t.elaborator->graph(), floats);
  bool changed = false;
  for (Leaf& leaf : t.leaves) {
    if (leaf.type || leaf.is_float) continue;
    if (stands_in(leaf, DType::F32, used))
      leaf.is_float = true;
    else
      leaf.type = DType::I32;
    changed = true;
  }
  return changed;
}

// Whether what the step returned is right for the types found just now: it looked at no placeholder of another type.
bool is_settled(const Traced& t) {
  if (t.any_weak()) return false;
  std::vector<Expr> results;
  for (const Value& v : t.rows) results.push_back(v.expr);
  for (size_t j = 0; j < t.states; ++j) {
    const Value& v = t.next[j];
    if (v.is_weak() && !v.may_become(*t.leaves[j].type)) return false;
    results.push_back(v.is_weak() ? t.elaborator->materialise(v, *t.leaves[j].type) : v.expr);
  }
  const auto used = placeholders_below(t.elaborator->graph(), results);
  for (const Leaf& leaf : t.leaves)
    for (DType d : {DType::I32, DType::U32, DType::F32, DType::F64})
      if (d != *leaf.type && stands_in(leaf, d, used)) return false;
  return true;
}

// The results of the loop as values: nodes, or weak ones where the loop still follows the element type that it meets.
std::vector<Value> results_of(const std::shared_ptr<Traced>& t) {
  const std::vector<Expr> nodes = t->closed(DType::I32);
  std::vector<Value> out;
  if (!t->any_weak()) {
    for (Expr e : nodes) out.push_back(Value::array(e));
    return out;
  }
  std::vector<Value> operands;  // made first, so that loops that feed loops do not recurse
  for (const Leaf& leaf : t->leaves)
    if (leaf.start.is_weak()) operands.push_back(leaf.start);
  for (const auto* list : {&t->next, &t->rows})
    for (const Value& v : *list)
      if (v.is_weak()) operands.push_back(v);
  const auto known = std::make_shared<std::map<DType, std::vector<Expr>>>();
  for (size_t k = 0; k < nodes.size(); ++k) {
    const size_t j = k % std::max<size_t>(t->states, 1);
    const bool state = k < t->states || t->loop.rows == LoopRows::States;
    const bool open = state ? !t->leaves[j].type : t->rows[k - t->states].is_weak();
    const bool floats = state ? t->leaves[j].is_float : t->rows[k - t->states].is_float;
    if (!open) {
      out.push_back(Value::array(nodes[k]));
      continue;
    }
    out.push_back(t->elaborator->weak(floats, operands, [t, k, known](DType d, std::span<const Expr>) {
      const auto [at, fresh] = known->try_emplace(d);
      if (fresh) at->second = t->closed(d);
      return at->second[k];
    }));
  }
  return out;
}

}  // namespace

LoopValues typed_loop(Elaborator& el, const LoopShape& loop, const std::function<Value(const Value&, const Value&)>& step) {
  const auto t = std::make_shared<Traced>(Traced{&el, loop, {}, 0, {}, {}});
  std::vector<Value> flat;
  leaves(loop.init, flat);
  t->states = flat.size();
  leaves(loop.xs, flat);
  for (size_t j = 0; j < flat.size(); ++j)
    t->leaves.push_back(leaf_of(el, flat[j], j >= t->states, j < t->states ? "the start of a loop" : loop.name));
  Value row;
  for (bool again = true; again;) {
    std::vector<Value> vars;
    for (Leaf& leaf : t->leaves) {
      make_placeholder(el, leaf);
      vars.push_back(leaf.var);
    }
    size_t at = 0;
    const Value state = with_leaves(loop.init, vars, at);
    const Value out = step(state, with_leaves(loop.xs, vars, at));
    const Value* next = &out;
    t->next.clear();
    t->rows.clear();
    if (loop.rows == LoopRows::Second) {
      if (out.kind != Value::Kind::Tuple || out.items.size() != 2)
        throw Error("SG0101", loop.name + ": the step returns (state, row), not " + describe(out));
      next = &out.items[0];
      row = out.items[1];
      leaves(row, t->rows);
      for (Value& v : t->rows)
        if (!v.is_weak()) v = Value::array(el.array_of(v, loop.name));
    }
    flat_state(loop.init, *next, loop.name, t->next);
    again = (resolve(*t) || separate_integers(*t)) && !is_settled(*t);
    if (again) el.count_repetition();
  }
  const std::vector<Value> results = results_of(t);
  size_t at = 0;
  LoopValues out;
  out.state = with_leaves(loop.init, results, at);
  if (loop.rows == LoopRows::Second) out.rows = with_leaves(row, results, at);
  if (loop.rows == LoopRows::States) out.rows = with_leaves(loop.init, results, at);
  return out;
}

}  // namespace spirograd::text
