// build: an array written element by element. `build(n, [&](Index i) { return x(i) * x(n - 1 - i); })`.
// The body runs once, on a symbolic index; it may use anything from around it and may contain builds and loops.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "spirograd/bundle.h"

namespace spirograd {

namespace detail {
/// The leaves of what the body gives.
using BuildBody = std::function<std::vector<Arg>(std::span<const Index>)>;
/// An array for each; none after a mistake.
std::vector<Array> build_over(const Shape& extents, int body_indices, const BuildBody& body, const Loc& loc);

/// `body` applied to the first N indices.
template <size_t N, class F>
auto call_with(F& body, std::span<const Index> i) {
  return [&]<size_t... J>(std::index_sequence<J...>) { return body(i[J]...); }
  (std::make_index_sequence<N>());
}

/// How many indices `F` takes: 1 to 6, 0 if none of these.
template <class F, size_t N = 1>
constexpr size_t index_count() {
  constexpr bool fits = []<size_t... J>(std::index_sequence<J...>) {
    return std::invocable<F&, decltype(static_cast<void>(J), Index())...>;
  }
  (std::make_index_sequence<N>());
  if constexpr (fits)
    return N;
  else if constexpr (N < kMaxUserRank)
    return index_count<F, N + 1>();
  else
    return 0;
}
}  // namespace detail

/// result[i, j, .., rest] = body(i, j, ..)[rest]: one index per extent, at most 6. The element type is that of the body. Of
/// a body that gives a Bundle: a Bundle of such arrays.
template <class F>
auto build(Shape extents, F&& body, Loc loc = Loc::here()) {
  constexpr size_t n = detail::index_count<F>();
  static_assert(n > 0, "the body of build takes one Index per extent: build({n, m}, [&](Index i, Index j) { ... })");
  if constexpr (n > 0) {
    using Form = std::remove_cvref_t<decltype(detail::call_with<n>(body, std::span<const Index>()))>;
    std::optional<Form> form;
    const auto call = [&](std::span<const Index> i) {
      form.emplace(detail::call_with<n>(body, i));
      return detail::flattened(*form, loc);
    };
    const std::vector<Array> all = detail::build_over(extents, static_cast<int>(n), call, loc);
    if (!form) {  // after a mistake
      if constexpr (detail::is_leaf<Form>) return Array();
      call(std::vector<Index>(n));  // on indices without value: the structure is needed
    }
    std::span<const Array> next = all;
    return detail::unflatten(*form, next);
  } else {
    return Array();
  }
}

template <class F>
auto build(int64_t extent, F&& body, Loc loc = Loc::here()) {
  return build(Shape{extent}, std::forward<F>(body), std::move(loc));
}

}  // namespace spirograd
