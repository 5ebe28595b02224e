#include "frontend/ir/close_rule.h"

#include <algorithm>

#include "frontend/ir/close_loop.h"
#include "frontend/ir/traverse.h"

namespace spirograd::ir {
namespace {

// Reads no parameter and no variable.
bool is_closed(Expr e) {
  const std::vector<NodeId> below = postorder(*e.graph, {&e.id, 1});
  return std::none_of(below.begin(), below.end(), [&](NodeId id) {
    const Op op = (*e.graph)[id].op;
    return op == Op::Param || op == Op::Var;
  });
}

Expr close_rule(Op op, Expr value, std::span<const Expr> at, std::span<const Expr> xs, std::span<const Expr> directions,
                std::span<const Expr> changes) {
  Graph& g = *value.graph;
  std::vector<Expr> operands(xs.begin(), xs.end());
  operands.insert(operands.end(), directions.begin(), directions.end());
  std::vector<Expr> consts = captured_terms(g, operands, changes);
  // What is closed stays inside, where it is seen to be zeros if it is: a change of zeros is linear, one by a constant is
  // not.
  std::erase_if(consts, is_closed);
  operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(xs.size()), consts.begin(), consts.end());
  return with_rule(op, value, close_function(g, operands, changes), at, consts);
}

// Several arrays as one vector, in the widest of their types.
Expr in_one_vector(std::span<const Expr> arrays) {
  const bool wide = std::any_of(arrays.begin(), arrays.end(), [](Expr e) { return e.dtype() == DType::F64; });
  std::vector<Expr> flat;
  for (Expr e : arrays) flat.push_back(cast(reshape(e, {e.shape().count()}), wide ? DType::F64 : e.dtype()));
  return concat(flat, 0);
}

// And back: arrays of the types of `like`.
std::vector<Expr> parts_of(Expr vector, std::span<const Expr> like) {
  std::vector<Expr> out;
  int64_t from = 0;
  for (Expr e : like) {
    const int64_t n = e.shape().count();
    out.push_back(reshape(cast(window(vector, 0, from, n), e.dtype()), e.shape()));
    from += n;
  }
  return out;
}

// One rule for all: of the values joined, for the cotangent of that.
std::vector<Expr> ruled_together(std::span<const Expr> values, std::span<const Expr> at, std::span<const Expr> xs,
                                 std::span<const Expr> cts, std::span<const Expr> changes) {
  Graph& g = *values[0].graph;
  const Expr all = in_one_vector(values), ct = fresh_var(g, all.type());
  const std::vector<Expr> parts = parts_of(ct, values);
  Memo memo;
  for (size_t j = 0; j < cts.size(); ++j) memo[cts[j].id.v] = parts[j].id;
  std::vector<Expr> over_all;
  for (NodeId id : rebuild(g, ids_of(changes), memo)) over_all.push_back({&g, id});
  return parts_of(close_rule(Op::WithVjp, all, at, xs, {&ct, 1}, over_all), values);
}

}  // namespace

Expr close_jvp(Expr value, std::span<const Expr> at, std::span<const Expr> xs, std::span<const Expr> directions,
               Expr change) {
  return close_rule(Op::WithJvp, value, at, xs, directions, {&change, 1});
}

Expr with_tangent(Expr value, const std::vector<Expr>& at,
                  const std::function<Expr(std::span<const Expr> xs, std::span<const Expr> directions)>& rule) {
  std::vector<Expr> xs, directions;
  for (std::vector<Expr>* vars : {&xs, &directions})
    for (Expr e : at) vars->push_back(fresh_var(*e.graph, e.type()));
  return close_jvp(value, at, xs, directions, rule(xs, directions));
}

std::vector<Expr> close_vjp(std::vector<Expr> values, std::span<const Expr> at, std::span<const Expr> xs,
                            std::span<const Expr> cts, std::span<const Expr> changes) {
  std::vector<Expr> floats, float_cts;
  for (size_t j = 0; j < values.size(); ++j)
    if (is_float(values[j].dtype())) floats.push_back(values[j]), float_cts.push_back(cts[j]);
  if (floats.empty()) return values;
  std::vector<Expr> ruled = floats.size() == 1
                                ? std::vector<Expr>{close_rule(Op::WithVjp, floats[0], at, xs, float_cts, changes)}
                                : ruled_together(floats, at, xs, float_cts, changes);
  auto next = ruled.begin();
  for (Expr& v : values)
    if (is_float(v.dtype())) v = *next++;
  return values;
}

Expr with_cotangents(Expr value, const std::vector<Expr>& at,
                     const std::function<std::vector<Expr>(std::span<const Expr> xs, Expr cotangent)>& rule) {
  std::vector<Expr> xs;
  for (Expr e : at) xs.push_back(fresh_var(*e.graph, e.type()));
  const Expr ct = fresh_var(*value.graph, value.type());
  return close_vjp({value}, at, xs, {&ct, 1}, rule(xs, ct))[0];
}

std::vector<Expr> cotangents_of(std::span<const Expr> values) {
  std::vector<Expr> out;
  for (Expr e : values) out.push_back(is_float(e.dtype()) ? fresh_var(*e.graph, e.type()) : zeros(*e.graph, e.type()));
  return out;
}

}  // namespace spirograd::ir
