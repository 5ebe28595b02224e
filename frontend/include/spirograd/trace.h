// trace: runs a C++ lambda once on symbolic arrays and gives the Program that it describes.
//
//   auto program = trace("loss", {{"w", f32({3})}, {"x", f32({100, 3})}}, [](Array w, Array x) {
//     return Named("loss", mean(square(matmul(x, w))));
//   });
#pragma once

#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "spirograd/array.h"
#include "spirograd/program.h"
#include "spirograd/result.h"

namespace spirograd {

/// A result with a name. Results without one are called `out`, or `out0`, `out1`, .. if there are several.
struct Named {
  std::string name;
  Arg value;
  Named(std::string n, Arg v) : name(std::move(n)), value(std::move(v)) {}
};

/// Called with each mistake at the spot where it is made, on the thread that traces: log it, or set a breakpoint. Also the
/// only news of arrays that are used while no trace runs. One hook per thread; an empty function removes it.
void on_error(std::function<void(const Error&)> hook);

namespace detail {

using TraceBody = std::function<std::vector<Named>(std::span<const Array>)>;
Result<Program> trace_with(std::string name, std::vector<Param> params, int body_arity, const TraceBody& body,
                           const Loc& loc);

inline constexpr int kMaxTracedParams = 32;
inline constexpr int kAnyNumber = -1;

template <class F, size_t N>
constexpr bool takes() {
  return []<size_t... J>(std::index_sequence<J...>) {
    return std::invocable<F&, decltype(static_cast<void>(J), Array())...>;
  }
  (std::make_index_sequence<N>());
}

/// Number of arrays that F takes; -2 if it can't be told.
template <class F, size_t N = 0>
constexpr int arity() {
  if constexpr (std::invocable<F&, std::span<const Array>>)
    return kAnyNumber;
  else if constexpr (takes<F, N>())
    return static_cast<int>(N);
  else if constexpr (N < kMaxTracedParams)
    return arity<F, N + 1>();
  else
    return -2;
}

template <class R>
void collect(R&& result, const Loc& loc, std::vector<Named>& out) {
  using T = std::remove_cvref_t<R>;
  if constexpr (std::is_same_v<T, Named>)
    out.push_back(result);
  else if constexpr (requires { std::tuple_size<T>::value; })
    std::apply([&](const auto&... part) { (collect(part, loc, out), ...); }, result);
  else if constexpr (std::is_same_v<T, std::vector<Array>> || std::is_same_v<T, std::vector<Named>>)
    for (const auto& part : result) collect(part, loc, out);
  else {
    static_assert(std::is_constructible_v<Arg, T>,
                  "trace: the lambda returns arrays: Array, Named, std::tuple or std::vector");
    out.emplace_back("", Arg(result, loc));
  }
}

}  // namespace detail

/// The program that `body` describes. `body` takes one Array per parameter, or a std::span<const Array> of all of them, and
/// returns an Array, a Named, a std::tuple of such, or a std::vector<Array>. Parameters and results have rank 0 to 6.
/// Exceptions of the body itself pass through.
template <class F>
Result<Program> trace(std::string name, std::vector<Param> params, F&& body, Loc loc = Loc::here()) {
  constexpr int n = detail::arity<F>();
  static_assert(n != -2, "trace: the lambda takes up to 32 arguments of type Array, or a std::span<const Array>");
  const auto call = [&](std::span<const Array> in) {
    std::vector<Named> results;
    if constexpr (n == detail::kAnyNumber) {
      detail::collect(body(in), loc, results);
    } else if constexpr (n >= 0) {
      [&]<size_t... J>(std::index_sequence<J...>) { detail::collect(body(in[J]...), loc, results); }
      (std::make_index_sequence<static_cast<size_t>(n)>());
    }
    return results;
  };
  return detail::trace_with(std::move(name), std::move(params), n, call, loc);
}

}  // namespace spirograd
