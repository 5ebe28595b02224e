// Typed constructors: the one algebra that user code, derivative rules and rewrite rules call. Each checks its operands and
// throws Error SG01xx; none simplifies, so that a printed program parses back to the same nodes. No implicit broadcasting:
// operands of pointwise operations have equal shapes (surfaces insert Broadcast; see broadcast_to). Layout operations stand
// in layout.h, builds and loops in loop.h.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "frontend/ir/graph.h"
#include "frontend/ir/layout.h"
#include "frontend/ir/loop.h"

namespace spirograd::ir {

// Leaves
Expr param(Graph& g, int64_t slot, Type type);
Expr constant(Graph& g, Type type, std::vector<double> data);  // data.size() == type.shape.count(), values fit the dtype
Expr scalar(Graph& g, DType t, double value);                  // constant of rank 0
Expr full(Graph& g, Type type, double value);                  // broadcast of a scalar (the scalar itself for rank 0)
Expr zeros(Graph& g, Type type);
Expr full_like(Expr a, double value);  // of the type of `a`
Expr iota(Graph& g, Shape shape, int axis);
Expr index_var(Graph& g, int64_t level, int64_t extent);
Expr fresh_var(Graph& g, Type type);
inline Expr infinite_like(Expr a) { return full_like(a, std::numeric_limits<double>::infinity()); }
/// Where each element of an array stands along an axis.
inline Expr position(Expr like, int axis) { return iota(*like.graph, like.shape(), axis); }
inline Expr whole_like(Expr a, int64_t value) { return full_like(a, static_cast<double>(value)); }

// Pointwise, by opcode. unary: not for Cast. Results of predicates are bool.
Expr unary(Op op, Expr a);
Expr binary(Op op, Expr a, Expr b);
Expr select(Expr mask, Expr a, Expr b);
Expr cast(Expr a, DType t);  // a itself if the dtype is already t
Expr bits(Expr a);           // of f32, as u32
Expr from_bits(Expr a);      // the other way round

// f16 is a type of storage: no operation but a cast takes or gives it, so that surfaces hold such arrays as f32.
/// As it is computed with.
Expr as_read(Expr a);
/// The array of f16 that `a` has been read from, or `a`.
Expr as_stored(Expr a);
/// Converted, as surfaces mean it: to f16, what reading it back would give.
Expr converted(Expr a, DType t);

inline Expr both(Expr a, Expr b) { return binary(Op::And, a, b); }
inline Expr either(Expr a, Expr b) { return binary(Op::Or, a, b); }
inline Expr operator+(Expr a, Expr b) { return binary(Op::Add, a, b); }
inline Expr operator-(Expr a, Expr b) { return binary(Op::Sub, a, b); }
inline Expr operator*(Expr a, Expr b) { return binary(Op::Mul, a, b); }
inline Expr operator/(Expr a, Expr b) { return binary(Op::Div, a, b); }
inline Expr operator-(Expr a) { return unary(Op::Neg, a); }

// Reductions. The result drops the axes. sum/prod of nothing: 0/1; max/min of nothing: the least/greatest value
// (-inf/+inf for floats). max and min ignore NaN unless all elements are NaN.
Expr reduce(Op op, Expr a, std::span<const int64_t> axes);  // no axes: a itself
Expr reduce(Op op, Expr a, std::initializer_list<int64_t> axes);
Expr sum(Expr a, int axis);
Expr sum_all(Expr a);
Expr arg_reduce(Op op, Expr a, int axis);  // ArgMax, ArgMin; extent >= 1

// Indexed
Expr gather(Expr table, std::span<const Expr> index);                          // at least one index array
Expr scatter(Expr updates, std::span<const Expr> index, Shape addressed);      // as many as addressed.rank(), at least one
Expr scatter_max(Expr updates, std::span<const Expr> index, Shape addressed);  // of u32
Expr scatter_by(Op op, Expr updates, std::span<const Expr> index, Shape addressed);

/// `value`, whose derivative is what `function` says of `xs`, floats, and `consts`. WithJvp: behind them it takes a tangent
/// for each of `xs` and gives the tangent of the value. WithVjp: it takes the cotangent of the value and gives those of
/// `xs`.
Expr with_rule(Op op, Expr value, int64_t function, std::span<const Expr> xs, std::span<const Expr> consts);

/// The axis of an operation on one axis, or of an iota.
inline int axis_of(Expr e) { return static_cast<int>(e.attr(0)); }

/// Re-creates a node of any operation with other operands (and shapes recomputed), through the constructors above. Leaves
/// are returned as they are. MapAccum and Proj are taken as they are (types of operands must not change).
Expr with_operands(Graph& g, const Node& n, std::span<const Expr> in);

}  // namespace spirograd::ir
