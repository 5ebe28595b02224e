// Derivatives and batches of C++ functions inside of a trace. Each takes a callable over Bundles (loops.h) that returns a
// Bundle, and may read arrays from around it; what it gives can be differentiated, batched and looped over in turn.
//
//   trace("fit", {{"w", f32({2})}, {"x", f32({4})}}, [](Array w, Array x) {
//     auto loss = [&](Array v) { return mean(square(v(0) + v(1) * x)); };
//     return fori(100, [&](Index, Array v) { return v - 0.1f * grad(loss)(v); }, w);
//   });
//
// Derivatives are taken by the first argument, or by those that `wrt<..>` names by number, from 0; these hold floats, but
// for fields of structs: integers and bools there carry no derivative and are 0 in it. Other arguments, and what is read
// from around, stay as they are. Mistakes (SG0201, SG0204, SG0205, shapes) are reported by trace(), as those of other
// operations. grad.h has the same for whole programs.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "spirograd/loops.h"
#include "spirograd/program.h"

namespace spirograd {

/// Numbers of arguments: grad(f, wrt<0, 2>). One gives its derivative alone, several give a tuple.
template <size_t... J>
inline constexpr std::index_sequence<J...> wrt = {};

namespace detail {

using FunctionBody = std::function<std::vector<Arg>(std::span<const Array>)>;

/// The value, then the gradient per argument.
std::vector<Array> gradient(const char* what, const std::vector<Arg>& at, const FunctionBody& body, const Loc& loc);
Array jacobian_of(const char* what, const std::vector<Arg>& at, const FunctionBody& body, int64_t chunk, const Loc& loc);
/// The results of `body` for each part of arrays along their axes, of one extent, stacked along the axes `out`, of which
/// `out_axes` takes the number of results. No axis: the whole array.
using LeafAxes = std::vector<std::optional<int64_t>>;
std::vector<Array> batch(const std::vector<Arg>& over, const LeafAxes& axes, const FunctionBody& body,
                         const std::function<LeafAxes()>& out_axes, const Loc& loc);

/// `values` with the derivative `body`: of the arguments, then of their tangents; gives the tangents of the values.
std::vector<Array> with_tangents(const std::vector<Arg>& values, const std::vector<Arg>& at, const FunctionBody& body,
                                 const Loc& loc);
/// The same, of the arguments, then of the cotangents of the values; gives the cotangents of the arguments.
std::vector<Array> with_cotangents(const std::vector<Arg>& values, const std::vector<Arg>& at, const FunctionBody& body,
                                   const Loc& loc);

/// A function and its derivative at a point.
struct Linear {
  std::vector<Array> values;
  using InDirection = std::function<std::vector<Array>(const char* what, const std::vector<Arg>& direction, const Loc& loc)>;
  InDirection derivative;
  InDirection values_beside;  // the values out of the loops that give the derivative, too
};
enum class Along : uint8_t { Tangents, Cotangents };
Linear linear(const char* what, Along along, const std::vector<Arg>& at, const FunctionBody& body, const Loc& loc);

/// `f` as a function of the leaves of its arguments W. Keeps the structure of what it returns.
template <class F, class Wrt, class... Args>
struct Partial;
template <class F, size_t... W, class... Args>
struct Partial<F, std::index_sequence<W...>, Args...> {
  static_assert(sizeof...(W) > 0 && ((W < sizeof...(Args)) && ...),
                "wrt<..> names arguments of the function by number, from 0");
  using All = std::tuple<Args...>;
  using Chosen = std::tuple<std::tuple_element_t<W, All>...>;
  using Traced = state_of<Chosen>;

  template <size_t J>
  static constexpr size_t place() {
    constexpr size_t named[] = {W...};
    for (size_t k = 0; k < sizeof...(W); ++k)
      if (named[k] == J) return k;
    return sizeof...(W);
  }
  template <size_t J>
  static decltype(auto) argument(const Traced& traced, const All& all) {
    if constexpr (place<J>() < sizeof...(W))
      return (std::get<place<J>()>(traced));
    else
      return (std::get<J>(all));
  }
  static auto call(F& f, const Traced& traced, const All& all) {
    return [&]<size_t... J>(std::index_sequence<J...>) { return f(argument<J>(traced, all)...); }
    (std::index_sequence_for<Args...>());
  }
  using Result =
      std::remove_cvref_t<decltype(call(std::declval<F&>(), std::declval<const Traced&>(), std::declval<const All&>()))>;

  F& f;
  All all;
  Loc loc;
  std::optional<Result> result = {};

  Chosen chosen() const { return Chosen{std::get<W>(all)...}; }
  std::vector<Arg> leaves() const { return flattened(chosen(), loc); }
  FunctionBody body() {
    return [this](std::span<const Array> vars) {
      result.emplace(call(f, unflatten(chosen(), vars), all));
      return flattened(*result, loc);
    };
  }
  /// In the structure of the arguments W: one, or a tuple.
  auto like_arguments(std::span<const Array> arrays) const {
    Traced out = unflatten(chosen(), arrays);
    if constexpr (sizeof...(W) == 1)
      return std::get<0>(std::move(out));
    else
      return out;
  }
};
template <class F, class Wrt, class... Args>
Partial<F, Wrt, Args...> partial(F& f, Wrt, const Loc& loc, const Args&... args) {
  return {f, {args...}, loc};
}

}  // namespace detail

/// A function of the arguments of `f` that gives the derivative of its scalar float result.
template <class F, class Wrt = std::index_sequence<0>>
requires(!std::is_convertible_v<F, Program>) auto grad(F f, Wrt by = {}, Loc loc = Loc::here()) {
  return [f = std::move(f), by, loc](const auto&... args) mutable {
    auto p = detail::partial(f, by, loc, args...);
    const std::vector<Array> out = detail::gradient("grad", p.leaves(), p.body(), loc);
    return p.like_arguments(std::span(out).subspan(out.empty() ? 0 : 1));
  };
}

/// std::pair(value, derivative).
template <class F, class Wrt = std::index_sequence<0>>
requires(!std::is_convertible_v<F, Program>) auto value_and_grad(F f, Wrt by = {}, Loc loc = Loc::here()) {
  return [f = std::move(f), by, loc](const auto&... args) mutable {
    auto p = detail::partial(f, by, loc, args...);
    const std::vector<Array> out = detail::gradient("value_and_grad", p.leaves(), p.body(), loc);
    return std::pair(out.empty() ? Array() : out[0], p.like_arguments(std::span(out).subspan(out.empty() ? 0 : 1)));
  };
}

/// std::pair(f(args..), its derivative in a direction). `at`, `direction`: std::tuples, one Bundle per argument of `f`.
template <class F, class... Args, class... Directions>
auto jvp(F f, const std::tuple<Args...>& at, const std::tuple<Directions...>& direction, Loc loc = Loc::here()) {
  return std::apply(
      [&](const auto&... args) {
        auto p = detail::partial(f, std::index_sequence_for<Args...>(), loc, args...);
        const detail::Linear both = detail::linear("jvp", detail::Along::Tangents, p.leaves(), p.body(), loc);
        const std::vector<Arg> along = detail::flattened(direction, loc);
        const std::vector<Array> arrays = both.values_beside("jvp", along, loc);
        const std::vector<Array> tangents = both.derivative("jvp", along, loc);
        std::span<const Array> values = arrays, rest = tangents;
        auto value = detail::unflatten(*p.result, values);
        return std::pair(std::move(value), detail::unflatten(*p.result, rest));
      },
      at);
}

/// std::pair(f(args..), pullback): the pullback is a function from a cotangent, a Bundle like the result, to the cotangents
/// of all arguments. The value is computed once, however often the pullback is called.
template <class F, class... Args>
auto vjp(F f, const Args&... args) {
  const Loc loc = Loc::here();
  auto p = detail::partial(f, std::index_sequence_for<Args...>(), loc, args...);
  detail::Linear both = detail::linear("vjp", detail::Along::Cotangents, p.leaves(), p.body(), loc);
  std::span<const Array> values = both.values;
  auto value = detail::unflatten(*p.result, values);
  const auto chosen = p.chosen();
  return std::pair(std::move(value), [both, chosen, loc](const auto& cotangent) {
    const std::vector<Array> out = both.derivative("the pullback", detail::flattened(cotangent, loc), loc);
    std::span<const Array> next = out;
    auto all = detail::unflatten(chosen, next);
    if constexpr (sizeof...(Args) == 1)
      return std::get<0>(std::move(all));
    else
      return all;
  });
}

/// std::pair(f(args..), the derivative as a function of tangents of all arguments).
template <class F, class... Args>
auto linearize(F f, const Args&... args) {
  const Loc loc = Loc::here();
  auto p = detail::partial(f, std::index_sequence_for<Args...>(), loc, args...);
  detail::Linear both = detail::linear("linearize", detail::Along::Tangents, p.leaves(), p.body(), loc);
  std::span<const Array> values = both.values;
  const auto form = *p.result;
  auto value = detail::unflatten(form, values);
  return std::pair(std::move(value), [both, form, loc](const auto&... tangents) {
    const std::vector<Array> out =
        both.derivative("the linear function", detail::flattened(std::tuple(tangents...), loc), loc);
    std::span<const Array> next = out;
    return detail::unflatten(form, next);
  });
}

/// How many directions are taken at a time, one chunk after the other; 0: all at once. What one direction needs of memory is
/// there so many times.
struct Chunk {
  int64_t directions = 0;
};

/// A function of the arguments of `f`; the result's shape, then that of the argument. Both are one array. SG0404: a negative
/// chunk.
template <class F, class Wrt = std::index_sequence<0>>
auto jacobian(F f, Wrt by = {}, Chunk chunk = {}, Loc loc = Loc::here()) {
  return [f = std::move(f), by, chunk, loc](const auto&... args) mutable {
    auto p = detail::partial(f, by, loc, args...);
    return detail::jacobian_of("jacobian", p.leaves(), p.body(), chunk.directions, loc);
  };
}

/// The second derivatives of a scalar result by one array.
template <class F, class Wrt = std::index_sequence<0>>
auto hessian(F f, Wrt by = {}, Chunk chunk = {}, Loc loc = Loc::here()) {
  return [g = grad(std::move(f), by, loc), by, chunk, loc](const auto&... args) mutable {
    auto p = detail::partial(g, by, loc, args...);
    return detail::jacobian_of("hessian", p.leaves(), p.body(), chunk.directions, loc);
  };
}

/// hvp(f)(x, .., v): the second derivatives times a direction, one bundle like the argument, or for wrt<..> of several a
/// std::tuple of them. Gives a bundle like that.
template <class F, class Wrt = std::index_sequence<0>>
auto hvp(F f, Wrt by = {}, Loc loc = Loc::here()) {
  return [g = grad(std::move(f), by, loc), by, loc](const auto&... all) mutable {
    static_assert(sizeof...(all) >= 2, "hvp takes the arguments of the function, then a direction");
    const auto given = std::tie(all...);
    return [&]<size_t... J>(std::index_sequence<J...>) {
      auto p = detail::partial(g, by, loc, std::get<J>(given)...);
      const detail::Linear both = detail::linear("hvp", detail::Along::Tangents, p.leaves(), p.body(), loc);
      const std::vector<Array> out = both.derivative("hvp", detail::flattened(std::get<sizeof...(J)>(given), loc), loc);
      std::span<const Array> next = out;
      return detail::unflatten(*p.result, next);
    }
    (std::make_index_sequence<sizeof...(all) - 1>());
  };
}

/// Axes of vmap: one for all arguments, or `{0, whole}` with one for each, of which `whole` ones are shared by all parts.
inline constexpr std::nullopt_t whole = std::nullopt;
struct BatchAxes {
  detail::LeafAxes list;
  BatchAxes(int64_t axis) : list{axis} {}
  BatchAxes(std::initializer_list<std::optional<int64_t>> axes) : list(axes) {}
};

namespace detail {
/// The axes of the arrays of a std::tuple of bundles, from one for each bundle.
template <class T>
LeafAxes leaf_axes(const BatchAxes& axes, const T& bundles) {
  LeafAxes out;
  size_t j = 0;
  std::apply(
      [&](const auto&... part) {
        (out.resize(out.size() + flattened(part, {}).size(),
                    axes.list.empty() ? whole : axes.list[std::min(j++, axes.list.size() - 1)]),
         ...);
      },
      bundles);
  return out;
}
void check_axes(const char* which, size_t given, size_t wanted, const Loc& loc);
}  // namespace detail

/// f for each part of its arguments along an axis, side by side; results are stacked along the axis `out` of theirs:
/// vmap(f)(xs), vmap(f, {0, whole})(xs, w), vmap(f, 1, 1)(columns), for a tuple of results also vmap(f, 0, {0, 1})(xs).
template <class F>
auto vmap(F f, BatchAxes in = 0, BatchAxes out = 0, Loc loc = Loc::here()) {
  return [f = std::move(f), in, out, loc](const auto&... args) mutable {
    auto p = detail::partial(f, std::index_sequence_for<std::remove_cvref_t<decltype(args)>...>(), loc, args...);
    detail::check_axes("arguments", in.list.size(), sizeof...(args), loc);
    const auto out_axes = [&] {
      const auto results = [&] {
        if constexpr (detail::is_tuple<typename decltype(p)::Result>)
          return std::apply([](const auto&... part) { return std::tuple(part...); }, *p.result);
        else
          return std::tuple(*p.result);
      }();
      detail::check_axes("results", out.list.size(), std::tuple_size_v<decltype(results)>, loc);
      return detail::leaf_axes(out, results);
    };
    const std::vector<Array> arrays = detail::batch(p.leaves(), detail::leaf_axes(in, p.all), p.body(), out_axes, loc);
    std::span<const Array> next = arrays;
    return detail::unflatten(*p.result, next);
  };
}

/// A function with the values of `f` and the derivative that `rule` gives it: rule(args.., tangents..) returns
/// std::pair(value, tangent of the value), linear in the tangents; it is differentiated in turn for higher orders.
/// Arguments are floats; tangents of other fields of structs are 0.
template <class F, class R>
auto custom_jvp(F f, R rule, Loc loc = Loc::here()) {
  return [f = std::move(f), rule = std::move(rule), loc](const auto&... args) mutable {
    const auto value = f(args...);
    const std::tuple all(args...);
    const auto body = [&](std::span<const Array> leaves) {
      auto at = detail::unflatten(all, leaves);
      auto direction = detail::unflatten(all, leaves);
      return detail::flattened(std::apply(rule, std::tuple_cat(std::move(at), std::move(direction))).second, loc);
    };
    const std::vector<Array> out =
        detail::with_tangents(detail::flattened(value, loc), detail::flattened(all, loc), body, loc);
    std::span<const Array> next = out;
    return detail::unflatten(value, next);
  };
}

/// A function with the values of `f` and the derivative that `rule` gives it: rule(args.., cotangent of the value) returns
/// the cotangent of the argument, or a std::tuple of one for each. A rule that is linear in the cotangent serves forward
/// mode as well; any other (clipping, say) reverse mode alone, SG0208. Where `f` is a custom_jvp of one array, that
/// serves forward mode. The rule is differentiated in turn for higher orders. Arguments are floats; cotangents of other
/// fields of structs count for nothing.
template <class F, class R>
auto custom_vjp(F f, R rule, Loc loc = Loc::here()) {
  return [f = std::move(f), rule = std::move(rule), loc](const auto&... args) mutable {
    const auto value = f(args...);
    const std::tuple all(args...);
    const auto body = [&](std::span<const Array> leaves) {
      auto at = detail::unflatten(all, leaves);
      auto cotangent = detail::unflatten(value, leaves);
      return detail::flattened(std::apply(rule, std::tuple_cat(std::move(at), std::make_tuple(std::move(cotangent)))), loc);
    };
    const std::vector<Array> out =
        detail::with_cotangents(detail::flattened(value, loc), detail::flattened(all, loc), body, loc);
    std::span<const Array> next = out;
    return detail::unflatten(value, next);
  };
}

/// The results of a program for these arrays, inside of a trace.
std::vector<Array> call(const Program& program, const ArgList& args);

}  // namespace spirograd
