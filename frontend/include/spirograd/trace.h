// trace: runs a C++ lambda once on symbolic arrays and gives the Program that it describes.
//
//   auto program = trace("loss", {{"w", f32({3})}, {"x", f32({100, 3})}}, [](Array w, Array x) {
//     return Named("loss", mean(square(matmul(x, w))));
//   });
//
// A parameter that is a struct of arrays (bundle.h) is declared by the types of its fields, one after the other, and gives
// the program one parameter for each: `{"model", {f32({3}), f32()}}` gives `model.w` and `model.b`.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "spirograd/bundle.h"
#include "spirograd/program.h"
#include "spirograd/result.h"

namespace spirograd {

/// A result with a name. Results without one are called `out`, or `out0`, `out1`, .. if there are several.
struct Named {
  std::string name;
  Arg value;
  Named(std::string n, Arg v) : name(std::move(n)), value(std::move(v)) {}
};

/// The arrays of a bundle with a name: those of a struct are called `name.field`.
template <class T>
std::vector<Named> named(const std::string& name, const T& bundle, Loc loc = Loc::here()) {
  std::vector<Named> out;
  for (Arg& a : detail::flattened(bundle, loc)) out.emplace_back(name, std::move(a));
  return out;
}

/// What a program takes: a name and a type, or the types of the fields of a struct.
struct Declared {
  std::string name;
  std::vector<Type> types;
  bool is_struct = false;
  Declared(std::string n, Type t) : name(std::move(n)), types{std::move(t)} {}
  Declared(const Param& p) : Declared(p.name, p.type) {}
  Declared(std::string n, std::vector<Type> fields) : name(std::move(n)), types(std::move(fields)), is_struct(true) {}
};
struct Params {
  std::vector<Declared> list;
  Params() = default;
  Params(std::initializer_list<Declared> declared) : list(declared) {}
  Params(const std::vector<Param>& params) : list(params.begin(), params.end()) {}
};

/// Called with each mistake at the spot where it is made, on the thread that traces: log it, or set a breakpoint. Also the
/// only news of arrays that are used while no trace runs. One hook per thread; an empty function removes it.
void on_error(std::function<void(const Error&)> hook);

namespace detail {

using TraceBody = std::function<std::vector<Named>(std::span<const Array>)>;
/// `fields`: for each argument of the body the paths of its fields, of one that is no struct nothing.
Result<Program> trace_with(std::string name, const Params& params, int body_arity,
                           const std::vector<std::vector<std::string>>& fields, const TraceBody& body, const Loc& loc);

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
  else if constexpr (is_tuple<T>)
    std::apply([&](const auto&... part) { (collect(part, loc, out), ...); }, result);
  else if constexpr (is_list<T>)
    for (const auto& part : result) collect(part, loc, out);
  else {
    static_assert(std::is_constructible_v<Arg, T> || is_record<T>,
                  "trace: the lambda returns arrays: Array, Named, std::tuple, std::vector or a struct of arrays");
    for (Named& n : named("", result, loc)) out.push_back(std::move(n));
  }
}

template <class T>
std::vector<std::string> field_paths() {
  std::vector<std::string> out;
  if constexpr (!is_leaf<T>) {
    const auto add = [&](const auto&, const std::string& path) {
      out.push_back(path.empty() ? std::to_string(out.size()) : path);
    };
    each_leaf(T(), "", add);
  }
  return out;
}

/// Arguments among which there are structs.
template <class Taken>
inline constexpr bool has_records = false;
template <class... A>
inline constexpr bool has_records<std::tuple<A...>> = (is_record<A> || ...);

template <class F>
Result<Program> trace_arrays(std::string name, const Params& params, F& body, const Loc& loc) {
  constexpr int n = arity<F>();
  static_assert(n != -2, "trace: the lambda takes up to 32 arguments of type Array, or a std::span<const Array>");
  const auto call = [&](std::span<const Array> in) {
    std::vector<Named> results;
    if constexpr (n == kAnyNumber) {
      collect(body(in), loc, results);
    } else if constexpr (n >= 0) {
      [&]<size_t... J>(std::index_sequence<J...>) { collect(body(in[J]...), loc, results); }
      (std::make_index_sequence<static_cast<size_t>(n)>());
    }
    return results;
  };
  return trace_with(std::move(name), params, n, {}, call, loc);
}

/// `body` over structs, one declaration for each argument.
template <class F, class... A>
Result<Program> trace_records(std::string name, const Params& params, F& body, std::type_identity<std::tuple<A...>>,
                              const Loc& loc) {
  static_assert(((leaf_count<A>() >= 0) && ...), "trace: parameters hold no lists, whose length nobody knows");
  const auto call = [&](std::span<const Array> in) {
    std::vector<Named> results;
    std::apply([&](auto&&... a) { collect(body(std::move(a)...), loc, results); }, std::tuple<A...>{unflatten(A(), in)...});
    return results;
  };
  return trace_with(std::move(name), params, sizeof...(A), {field_paths<A>()...}, call, loc);
}

}  // namespace detail

/// The program that `body` describes. `body` takes one Array or struct of arrays per parameter, or a std::span<const Array>
/// of all of them, and returns an Array, a Named, a struct, or tuples and vectors of such. Parameters and results have rank
/// 0 to 6. Exceptions of the body itself pass through.
template <class F>
Result<Program> trace(std::string name, const Params& params, F&& body, Loc loc = Loc::here()) {
  using Taken = detail::taken_by<F>;
  if constexpr (detail::has_records<Taken>) {
    return detail::trace_records(std::move(name), params, body, std::type_identity<Taken>(), loc);
  } else {
    return detail::trace_arrays(std::move(name), params, body, loc);
  }
}

}  // namespace spirograd
