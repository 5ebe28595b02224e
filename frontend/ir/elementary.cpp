#include "frontend/ir/elementary.h"

#include "frontend/ir/close_rule.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/make_node.h"

namespace spirograd::ir {
namespace {

using Exprs = std::span<const Expr>;

Expr hypot_of(Expr x, Expr y) {
  const Expr a = unary(Op::Abs, x), b = unary(Op::Abs, y), infinity = infinite_like(x);
  const Expr most = binary(Op::Max, a, b), least = binary(Op::Min, a, b);
  const Expr ratio = binary(Op::MaskedDiv, least, most);
  const Expr r = most * unary(Op::Sqrt, full_like(x, 1) + ratio * ratio);
  const Expr endless = either(binary(Op::Eq, a, infinity), binary(Op::Eq, b, infinity));
  return select(endless, infinity, r);
}

// One step of Newton's method corrects what the exponent 1/3, which is no float, leaves wrong for large and small x.
Expr cbrt_of(Expr x) {
  const Expr a = unary(Op::Abs, x), r = binary(Op::Pow, a, full_like(x, 1.0 / 3));
  const Expr better = r - (r - a / (r * r)) * full_like(x, 1.0 / 3);
  const Expr plain = either(binary(Op::Eq, a, full_like(x, 0)), binary(Op::Eq, a, infinite_like(x)));
  const Expr root = select(plain, a, better);
  return select(binary(Op::Lt, x, full_like(x, 0)), -root, root);
}

}  // namespace

Expr clamp(Expr x, Expr lo, Expr hi) { return binary_broadcast(Op::Min, binary_broadcast(Op::Max, x, lo), hi); }

Expr mix(Expr x, Expr y, Expr t) {
  require_float(x, "mix");
  return binary_broadcast(Op::Add, x, binary_broadcast(Op::Mul, binary_broadcast(Op::Sub, y, x), t));
}

Expr ceil(Expr x) { return -function_of(Op::Floor, -x); }

Expr round(Expr x) {
  const Expr below = function_of(Op::Floor, x), rest = x - below, half = full_like(x, 0.5), two = full_like(x, 2);
  const Expr odd = binary(Op::Ne, below, two * unary(Op::Floor, below * half));
  const Expr tie_up = both(binary(Op::Eq, rest, half), odd);
  return select(either(binary(Op::Gt, rest, half), tie_up), below + full_like(x, 1), below);
}

Expr trunc(Expr x) { return select(binary(Op::Lt, x, full_like(x, 0)), ceil(x), function_of(Op::Floor, x)); }

Expr ceil_to_int(Expr x) { return cast(ceil(x), DType::I32); }
Expr round_to_int(Expr x) { return cast(round(x), DType::I32); }

Expr hypot(Expr x, Expr y) {
  require_float(x, "hypot");
  const Shape s = broadcast_shapes(x.shape(), y.shape(), "hypot");
  const Expr left = broadcast_to(x, s), right = broadcast_to(y, s);
  return with_tangent(hypot_of(left, right), {left, right}, [](Exprs v, Exprs d) {
    const Expr r = hypot_of(v[0], v[1]);
    return binary(Op::MaskedDiv, v[0], r) * d[0] + binary(Op::MaskedDiv, v[1], r) * d[1];
  });
}

Expr cbrt(Expr x) {
  require_float(x, "cbrt");
  return with_tangent(cbrt_of(x), {x}, [](Exprs v, Exprs d) {
    const Expr r = cbrt_of(v[0]);
    return d[0] / (full_like(r, 3) * r * r);
  });
}

}  // namespace spirograd::ir
