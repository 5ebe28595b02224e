#include "frontend/ir/linear.h"

#include <limits>

#include "frontend/ir/close_loop.h"
#include "frontend/ir/close_rule.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/eliminate.h"
#include "frontend/ir/factorise.h"

namespace spirograd::ir {
namespace {

using Exprs = std::span<const Expr>;

constexpr int kOrder = 2;  // orders of derivatives that have formulas; higher ones go through the loops

int64_t require_square(std::string_view what, Expr a) {
  if (!is_float(a.dtype()) || a.rank() != 2 || a.shape()[0] != a.shape()[1])
    throw Error("SG0101", std::string(what) + ": needs a square matrix of floats, not " + to_string(a.type()))
        .hint(a.rank() > 2 ? "for batches: for i: n => " + std::string(what) + "(a[i])" : "");
  return a.shape()[0];
}

void require_columns(std::string_view what, Expr a, Expr b) {
  if (b.rank() < 1 || b.rank() > 2 || b.dtype() != a.dtype() || b.shape()[0] != a.shape()[0])
    throw Error("SG0101",
                std::string(what) + ": a matrix of " + to_string(a.type()) + " has no right side " + to_string(b.type()));
}

Expr transposed(Expr a) { return transpose(a, {1, 0}); }

// As a matrix with one column, and back.
template <class F>
Expr by_columns(Expr b, F&& f) {
  if (b.rank() == 2) return f(b);
  const Expr x = f(reshape(b, {b.shape()[0], 1}));
  return reshape(x, b.shape());
}

// d(a^-1) = -a^-1 da a^-1
Expr inverse(Expr a, int order) {
  const Expr value = eliminated(a, eye(*a.graph, a.shape()[0], a.dtype())).x;
  if (order == 0) return value;
  return with_tangent(value, {a}, [&](Exprs x, Exprs d) {
    const Expr y = inverse(x[0], order - 1);
    return -matmul(matmul(y, d[0]), y);
  });
}

// What a cotangent is multiplied with on its way: in columns of which nothing arrives, infinities and NaN count as 0.
Expr where_it_arrives(Expr cotangent, Expr e) {
  const int64_t rows[] = {0};
  const Expr infinite = full_like(e, std::numeric_limits<double>::infinity());
  const Expr finite = all(binary(Op::Lt, unary(Op::Abs, e), infinite), rows);
  const Expr arrives = any(binary(Op::Ne, cotangent, full_like(cotangent, 0)), rows);
  return select(broadcast(either(finite, arrives), e.shape(), {1}), e, full_like(e, 0));
}

// -q x^T and q
std::vector<Expr> cotangents_of_solution(Expr cotangent, Expr q, Expr x) {
  const Expr own = where_it_arrives(cotangent, q);
  return {-matmul(own, transposed(where_it_arrives(cotangent, x))), own};
}

Expr solved_beside(Expr a, Expr b, Expr c, bool of_transpose, int order);

// a^-1 e, or of the transpose, so that it is seen to be linear in e: elimination of rows mixes both.
Expr applied_inverse(Expr a, Expr b, Expr e, bool of_transpose, int order) {
  if (!goes_by_rows(a)) return solved_beside(a, b, e, of_transpose, order);
  const Expr y = inverse(a, order);
  return matmul(of_transpose ? transposed(y) : y, e);
}

// x = a^-1 c, or of the transpose, where a x = b has been solved as well. dx = a^-1 (dc - da x); from its cotangent g come
// those of c, q = a^-T g, and of a, -q x^T.
Expr solved_beside(Expr a, Expr b, Expr c, bool of_transpose, int order) {
  const Expr value = solved_again(a, b, c, of_transpose);
  if (order == 0) return value;
  const auto forward = [&](Exprs v, Exprs d) {
    const Expr change = of_transpose ? transposed(d[0]) : d[0], x = solved_beside(v[0], v[1], v[2], of_transpose, order - 1);
    return applied_inverse(v[0], v[1], d[2] - matmul(change, x), of_transpose, order - 1);
  };
  return with_cotangents(with_tangent(value, {a, b, c}, forward), {a, b, c}, [&](Exprs v, Expr g) {
    const Expr q = solved_beside(v[0], v[1], g, !of_transpose, order - 1);
    const std::vector<Expr> out = cotangents_of_solution(g, q, solved_beside(v[0], v[1], v[2], of_transpose, order - 1));
    return std::vector<Expr>{of_transpose ? transposed(out[0]) : out[0], zeros(*b.graph, b.type()), out[1]};
  });
}

Expr solved(Expr a, Expr b, int order) {
  const Expr value = eliminated(a, b).x;
  if (order == 0) return value;
  const auto forward = [&](Exprs v, Exprs d) {
    return applied_inverse(v[0], v[1], d[1] - matmul(d[0], solved(v[0], v[1], order - 1)), false, order - 1);
  };
  return with_cotangents(with_tangent(value, {a, b}, forward), {a, b}, [&](Exprs v, Expr g) {
    return cotangents_of_solution(g, solved_beside(v[0], v[1], g, true, order - 1), solved(v[0], v[1], order - 1));
  });
}

// d(det a) = det a tr(a^-1 da)
Expr determinant(Expr a, int order) {
  const Expr value = eliminated(a, zeros(*a.graph, {a.dtype(), {a.shape()[0], 0}})).det;
  if (order == 0) return value;
  return with_tangent(value, {a}, [&](Exprs x, Exprs d) {
    const Expr y = transposed(inverse(x[0], order - 1));
    return determinant(x[0], order - 1) * sum_all(y * d[0]);
  });
}

// As solved(), with the half of t that is read.
Expr triangular(Expr t, Expr b, bool lower, int order) {
  const Expr value = triangular_solution(t, b, lower);
  if (order == 0) return value;
  const auto half = [&](Expr e) { return lower ? tril(e, 0) : triu(e, 0); };
  const auto forward = [&](Exprs v, Exprs d) {
    return triangular(v[0], d[1] - matmul(half(d[0]), triangular(v[0], v[1], lower, order - 1)), lower, order - 1);
  };
  return with_cotangents(with_tangent(value, {t, b}, forward), {t, b}, [&](Exprs v, Expr g) {
    const Expr q = triangular(transposed(v[0]), g, !lower, order - 1), x = triangular(v[0], v[1], lower, order - 1);
    const std::vector<Expr> out = cotangents_of_solution(g, q, x);
    return std::vector<Expr>{half(out[0]), out[1]};
  });
}

Expr symmetric(Expr a) { return (a + transposed(a)) * full_like(a, 0.5); }

// dl = l phi(l^-1 da l^-T), phi: the lower half, with half of the diagonal (Murray, 2016)
Expr cholesky_of(Expr a, int order) {
  const Expr value = cholesky_factor(symmetric(a));
  if (order == 0) return value;
  return with_tangent(value, {a}, [&](Exprs x, Exprs d) {
    const Expr l = cholesky_of(x[0], order - 1);
    const Expr y = triangular(l, eye(*a.graph, a.shape()[0], a.dtype()), true, order - 1);
    const Expr middle = matmul(matmul(y, symmetric(d[0])), transposed(y));
    const Expr half = (tril(middle, 0) + tril(middle, -1)) * full_like(middle, 0.5);
    return matmul(l, half);
  });
}

Expr masked(Expr x, std::string_view what, int64_t k, Op keep) {
  if (x.rank() < 2)
    throw Error("SG0101", std::string(what) + ": needs a matrix in the last two axes, not " + to_string(x.type()));
  const Expr row = position(x, x.rank() - 2), column = position(x, x.rank() - 1);
  return select(binary(keep, column, row + full_like(row, static_cast<double>(k))), x, zeros(*x.graph, x.type()));
}

}  // namespace

Expr eye(Graph& g, int64_t n, DType t) {
  if (n < 0) throw Error("SG0101", "eye: negative extent " + std::to_string(n));
  const Expr row = iota(g, {n, n}, 0), column = iota(g, {n, n}, 1);
  return cast(binary(Op::Eq, row, column), t);
}

Expr diagonal(Expr x) {
  const int r = x.rank();
  if (r < 2) throw Error("SG0101", "diagonal: needs a matrix in the last two axes, not " + to_string(x.type()));
  const int64_t n = std::min(x.shape()[r - 2], x.shape()[r - 1]);
  const Expr front = move_axis(move_axis(x, r - 1, 0), r - 1, 0), i = iota(*x.graph, {n}, 0);
  const Expr at[] = {i, i};
  return move_axis(gather(front, at), 0, r - 2);
}

Expr triu(Expr x, int64_t k) { return masked(x, "triu", k, Op::Ge); }
Expr tril(Expr x, int64_t k) { return masked(x, "tril", k, Op::Le); }

Expr cross(Expr a, Expr b) {
  const Shape s = broadcast_shapes(a.shape(), b.shape(), "cross");
  if (s.rank() == 0 || s[s.rank() - 1] != 3 || a.dtype() != b.dtype())
    throw Error("SG0101",
                "cross: needs three numbers in the last axis, not " + to_string(a.type()) + " and " + to_string(b.type()));
  const int last = s.rank() - 1;
  const Expr left = broadcast_to(a, s), right = broadcast_to(b, s);
  const auto turned = [&](Expr e, int64_t by) {
    const Expr parts[] = {window(e, last, by, 3 - by), window(e, last, 0, by)};
    return concat(parts, last);
  };
  return turned(left, 1) * turned(right, 2) - turned(left, 2) * turned(right, 1);
}

Expr norm(Expr x, std::span<const int64_t> axes) {
  if (!is_float(x.dtype())) throw Error("SG0101", "norm: not defined for " + to_string(x.type()));
  const auto length = [&](Expr e) { return unary(Op::Sqrt, reduce(Op::Sum, e * e, axes)); };
  return with_tangent(length(x), {x}, [&](Exprs v, Exprs d) {
    const Expr r = restore_axes(length(v[0]), x.shape(), axes);
    return reduce(Op::Sum, binary(Op::MaskedDiv, v[0], r) * d[0], axes);
  });
}

Expr variance(Expr x, std::span<const int64_t> axes) {
  const Expr rest = x - restore_axes(mean(x, axes), x.shape(), axes);
  return mean(rest * rest, axes);
}

Expr cholesky(Expr a) {
  require_square("cholesky", a);
  return cholesky_of(a, kOrder);
}

Expr solve_triangular(Expr t, Expr b, bool lower) {
  require_square("solve_triangular", t);
  require_columns("solve_triangular", t, b);
  return by_columns(b, [&](Expr columns) { return triangular(t, columns, lower, kOrder); });
}

Expr solve(Expr a, Expr b) {
  require_square("solve", a);
  require_columns("solve", a, b);
  return by_columns(b, [&](Expr columns) { return solved(a, columns, kOrder); });
}

Expr inv(Expr a) {
  require_square("inv", a);
  return inverse(a, kOrder);
}

Expr det(Expr a) {
  require_square("det", a);
  return determinant(a, kOrder);
}

}  // namespace spirograd::ir
