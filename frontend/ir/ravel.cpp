#include "frontend/ir/ravel.h"

#include "frontend/ir/algebra.h"
#include "frontend/ir/composite.h"

namespace spirograd::ir {
namespace {

// What is ravelled: one element type, and how many elements.
Type vector_of(const char* what, std::span<const Expr> arrays) {
  Type out{DType::Bool, {0}};
  for (const Expr& a : arrays) {
    if (!is_float(a.dtype())) continue;
    if (is_float(out.dtype) && a.dtype() != out.dtype)
      throw Error("SG0101", std::string(what) + ": there are arrays of " + std::string(name(out.dtype)) + " and of " +
                                std::string(name(a.dtype())))
          .hint("ravel those of one element type, or cast them");
    out = {a.dtype(), {out.shape[0] + a.shape().count()}};
  }
  if (!is_float(out.dtype))
    throw Error("SG0101", std::string(what) + ": there are no floats").hint("give it arrays of f32 or f64");
  return out;
}

}  // namespace

Expr ravel(std::span<const Expr> arrays) {
  vector_of("ravel", arrays);
  std::vector<Expr> parts;
  for (const Expr& a : arrays)
    if (is_float(a.dtype())) parts.push_back(reshape(a, {a.shape().count()}));
  return parts.size() == 1 ? parts[0] : concat(parts, 0);
}

std::vector<Expr> unravel(std::span<const Expr> like, Expr v) {
  const Type want = vector_of("unravel", like);
  if (v.type() != want)
    throw Error("SG0101", "unravel: the floats are " + to_string(want) + ", given " + to_string(v.type()));
  std::vector<Expr> out;
  int64_t at = 0;
  for (const Expr& a : like) {
    const int64_t n = a.shape().count();
    out.push_back(is_float(a.dtype()) ? reshape(slice(v, 0, at, at + n), a.shape()) : a);
    if (is_float(a.dtype())) at += n;
  }
  return out;
}

}  // namespace spirograd::ir
