// Bundles as wholes: one optimiser's step for all arrays of a model.
//
//   const Array w = ravel(model) - 0.1f * ravel(grad(loss)(model, x));
//   model = unravel(model, w);
//
//   model = map_fields([](Array w, Array g) { return w - 0.1f * g; }, model, grad(loss)(model, x));
#pragma once

#include "spirograd/bundle.h"

namespace spirograd {

namespace detail {
Array ravelled(const std::vector<Arg>& leaves, const Loc& loc);
std::vector<Array> unravelled(std::vector<Arg> like, const Arg& v);
/// The leaves as arrays.
std::vector<Array> leaves_of(const std::vector<Arg>& leaves, const Loc& loc);
/// The same, as many as `form` has, without values after an error; numbers have the element types of the form.
std::vector<Array> leaves_like(const std::vector<Array>& form, const std::vector<Arg>& leaves, const Loc& loc);
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

/// `f` of the arrays that stand at the same place in all of these Bundles, which have one form: a Bundle of that form. An
/// error (SG0404) where one has more arrays than another.
template <class F, class S, class... More>
detail::state_of<S> map_fields(F&& f, const S& first, const More&... more) {
  const Loc loc = Loc::here();
  const std::vector<Array> form = detail::leaves_of(detail::flattened(first, loc), loc);
  std::vector<Array> out;
  const auto map = [&](const auto&... others) {
    for (size_t j = 0; j < form.size(); ++j) out.push_back(f(form[j], others[j]...));
  };
  map(detail::leaves_like(form, detail::flattened(more, loc), loc)...);
  std::span<const Array> next = out;
  return detail::unflatten(first, next);
}

}  // namespace spirograd
