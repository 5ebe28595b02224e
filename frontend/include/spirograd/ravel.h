// Bundles as vectors: one optimiser's step for all arrays of a model.
//
//   const Array w = ravel(model) - 0.1f * ravel(grad(loss)(model, x));
//   model = unravel(model, w);
#pragma once

#include "spirograd/bundle.h"

namespace spirograd {

namespace detail {
Array ravelled(const std::vector<Arg>& leaves, const Loc& loc);
std::vector<Array> unravelled(std::vector<Arg> like, const Arg& v);
}  // namespace detail

/// The floats of all arrays in a Bundle, one array after the other, row-major: [n]. Integers and bools are left out. An
/// error (SG0101) where there are no floats, or some of f32 and some of f64. Plain numbers are floats.
template <class T>
Array ravel(const T& bundle, Loc loc = Loc::here()) {
  return detail::ravelled(detail::flattened(bundle, loc), loc);
}

/// The inverse: a Bundle of the form of `like` with the floats of `v`, [n]; integers and bools are those of `like`.
template <class S>
detail::state_of<S> unravel(const S& like, Arg v) {
  const std::vector<Array> all = detail::unravelled(detail::flattened(like, v.loc), v);
  std::span<const Array> next = all;
  return detail::unflatten(like, next);
}

}  // namespace spirograd
