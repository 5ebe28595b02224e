#include "frontend/ir/close_rule.h"

#include <algorithm>

#include "frontend/ir/close_loop.h"
#include "frontend/ir/traverse.h"

namespace spirograd::ir {
namespace {

Expr close_rule(Op op, Expr value, std::span<const Expr> at, std::span<const Expr> xs, std::span<const Expr> directions,
                std::span<const Expr> changes) {
  Graph& g = *value.graph;
  std::vector<Expr> operands(xs.begin(), xs.end());
  operands.insert(operands.end(), directions.begin(), directions.end());
  const std::vector<Expr> consts = captured_terms(g, operands, changes);
  operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(xs.size()), consts.begin(), consts.end());
  return with_rule(op, value, close_function(g, operands, changes), at, consts);
}

// Several arrays as one vector, in the widest of their types.
Expr joined(std::span<const Expr> arrays) {
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

}  // namespace

Expr close_jvp(Expr value, std::span<const Expr> at, std::span<const Expr> xs, std::span<const Expr> directions,
               Expr change) {
  return close_rule(Op::WithJvp, value, at, xs, directions, {&change, 1});
}

std::vector<Expr> close_vjp(std::span<const Expr> values, std::span<const Expr> at, std::span<const Expr> xs,
                            std::span<const Expr> cts, std::span<const Expr> changes) {
  if (values.size() == 1) return {close_rule(Op::WithVjp, values[0], at, xs, cts, changes)};
  Graph& g = *values[0].graph;
  const Expr all = joined(values), ct = fresh_var(g, all.type());
  Memo memo;
  const std::vector<Expr> parts = parts_of(ct, values);
  for (size_t j = 0; j < cts.size(); ++j) memo[cts[j].id.v] = parts[j].id;
  std::vector<NodeId> roots;
  for (Expr e : changes) roots.push_back(e.id);
  std::vector<Expr> over_all;
  for (NodeId id : rebuild(g, roots, memo)) over_all.push_back({&g, id});
  return parts_of(close_rule(Op::WithVjp, all, at, xs, {&ct, 1}, over_all), values);
}

}  // namespace spirograd::ir
