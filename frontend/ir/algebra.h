// Typed constructors: the one algebra that user code, derivative rules and rewrite rules call. Each checks its operands and
// throws Error SG01xx; none simplifies, so that a printed program parses back to the same nodes. No implicit broadcasting:
// operands of pointwise operations have equal shapes (surfaces insert Broadcast; see broadcast_to).
#pragma once

#include <span>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::ir {

// Leaves
Expr param(Graph& g, int64_t slot, Type type);
Expr constant(Graph& g, Type type, std::vector<double> data);  // data.size() == type.shape.count(), values fit the dtype
Expr scalar(Graph& g, DType t, double value);                  // constant of rank 0
Expr full(Graph& g, Type type, double value);                  // broadcast of a scalar (the scalar itself for rank 0)
Expr zeros(Graph& g, Type type);
Expr iota(Graph& g, Shape shape, int axis);
Expr index_var(Graph& g, int64_t level, int64_t extent);
Expr fresh_var(Graph& g, Type type);

// Pointwise, by opcode. unary: not for Cast. Results of predicates are bool.
Expr unary(Op op, Expr a);
Expr binary(Op op, Expr a, Expr b);
Expr select(Expr mask, Expr a, Expr b);
Expr cast(Expr a, DType t);  // a itself if the dtype is already t

inline Expr operator+(Expr a, Expr b) { return binary(Op::Add, a, b); }
inline Expr operator-(Expr a, Expr b) { return binary(Op::Sub, a, b); }
inline Expr operator*(Expr a, Expr b) { return binary(Op::Mul, a, b); }
inline Expr operator/(Expr a, Expr b) { return binary(Op::Div, a, b); }
inline Expr operator-(Expr a) { return unary(Op::Neg, a); }

// Layout. Axes count from the front; negative axes are the surfaces' business.
Expr broadcast(Expr a, Shape result, std::span<const int64_t> axes);  // axes[j]: result axis of operand axis j
Expr broadcast(Expr a, Shape result, std::initializer_list<int64_t> axes);
Expr replicate(Expr a, int axis, int64_t n);  // new axis of extent n; a broadcast
Expr transpose(Expr a, std::span<const int64_t> perm);
Expr transpose(Expr a, std::initializer_list<int64_t> perm);
Expr move_axis(Expr a, int from, int to);  // a itself if from == to
Expr reshape(Expr a, Shape shape);
Expr window(Expr a, int axis, int64_t lo, int64_t n);
Expr reverse(Expr a, int axis);
Expr concat(std::span<const Expr> parts, int axis);  // at least one part
Expr stack(std::span<const Expr> parts, int axis);   // at least one part

/// NumPy's rule: axes are matched from the right, extents are equal or 1. `what` names the operation in errors.
Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view what);
/// `a` stretched to `shape` by that rule (reshape drops stretched axes of extent 1, then broadcast). a itself if equal.
Expr broadcast_to(Expr a, Shape shape);

// Reductions. The result drops the axes. sum/prod of nothing: 0/1; max/min of nothing: the least/greatest value
// (-inf/+inf for floats). max and min ignore NaN unless all elements are NaN.
Expr reduce(Op op, Expr a, std::span<const int64_t> axes);  // no axes: a itself
Expr reduce(Op op, Expr a, std::initializer_list<int64_t> axes);
Expr sum(Expr a, int axis);
Expr sum_all(Expr a);
Expr arg_reduce(Op op, Expr a, int axis);  // ArgMax, ArgMin; extent >= 1

// Indexed
Expr gather(Expr table, std::span<const Expr> index);                       // at least one index array
Expr scatter(Expr updates, std::span<const Expr> index, Shape addressed);   // as many as addressed.rank(), at least one

// Binder and loops
/// Closes `body`, in which the scalar i32 `var` (made by fresh_var) stands for the index. Chooses the level: one above the
/// highest Build inside that depends on an index still open, so that no binder captures what belongs to another.
Expr build(int64_t extent, Expr var, Expr body);
/// Build with the level given; the IndexVar of that level is free in `body`.
Expr build_at(int64_t level, int64_t extent, Expr body);

struct Loop {
  int64_t function = 0;
  bool reverse = false;  // runs k-1 .. 0; position j of es and bs still correspond
  int64_t length = 0;    // k
  std::vector<Expr> acc, es, consts;
};
/// body(acc.., e.., consts..) -> (acc'.., b..). Checks that the types agree. Results: final accumulators, then k-stacks of
/// b.
std::vector<Expr> map_accum(Graph& g, const Loop& loop);
/// Number of results of a MapAccum node, and the parts of its operand list.
struct LoopParts {
  int64_t function, length;
  bool reverse;
  int n_acc, n_es, n_consts, n_bs;
};
LoopParts loop_parts(const Graph& g, const Node& map_accum);
/// All results of a MapAccum node as Proj nodes.
std::vector<Expr> projections(Graph& g, NodeId map_accum);

/// Makes a body function out of traced results: `vars[j]` (placeholders, or whole terms from outside) become Param j.
int64_t close_function(Graph& g, std::span<const Expr> vars, std::span<const Expr> results);

/// Re-creates a node of any operation with other operands (and shapes recomputed), through the constructors above. Leaves
/// are returned as they are. MapAccum and Proj are taken as they are (types of operands must not change).
Expr with_operands(Graph& g, const Node& n, std::span<const Expr> in);

}  // namespace spirograd::ir
