// Bundles: what functions over arrays take and give. An Array; a std::tuple, std::pair, std::array or std::vector of
// Bundles; or a plain struct of 1 to 16 of them, nested as you like:
//
//   struct Model {
//     Array w, b;
//     static constexpr const char* fields[] = {"w", "b"};  // their names in messages and results; may be left out
//   };
//   Model slope = grad(loss)(model, x);                    // in the form of the argument
//
// Numbers are allowed beside arrays in tuples, where each becomes an Array; fields of structs are arrays. A struct that is
// written as a template, `template <class A> struct Model { A w, b; }`, is `Model<HostArray>` on the host (jit.h).
#pragma once

#include <array>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "spirograd/array.h"

namespace spirograd {

struct HostArray;

namespace detail {

template <class T>
inline constexpr bool is_tuple = requires {
  std::tuple_size<T>::value;
};
template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;
template <class T>
inline constexpr bool is_leaf = std::is_constructible_v<Arg, T> || std::is_same_v<T, HostArray>;
/// A struct of Bundles.
template <class T>
inline constexpr bool is_record = std::is_class_v<T>&& std::is_aggregate_v<T> && !is_tuple<T> && !is_list<T> && !is_leaf<T>;

/// Initialises any field.
struct AnyField {
  template <class T>
  operator T() const;
};
template <class T, size_t... J>
concept HasFields = requires {
  T{(static_cast<void>(J), AnyField())...};
};
template <class T, size_t N>
constexpr bool has_fields() {
  return []<size_t... J>(std::index_sequence<J...>) { return HasFields<T, J...>; }
  (std::make_index_sequence<N>());
}
inline constexpr size_t kMostFields = 16;
template <class T, size_t N = kMostFields + 1>
constexpr size_t field_count() {
  if constexpr (N == 0 || has_fields<T, N>())
    return N;
  else
    return field_count<T, N - 1>();
}

/// References to the fields of a struct, a tuple.
template <class T>
constexpr auto fields_of(T& r) {
  constexpr size_t n = field_count<std::remove_cv_t<T>>();
  static_assert(n >= 1 && n <= kMostFields, "a struct of arrays has 1 to 16 fields; put some into a struct of their own");
  // clang-format off
  if constexpr (n == 1) { auto& [a] = r; return std::tie(a); }
  else if constexpr (n == 2) { auto& [a, b] = r; return std::tie(a, b); }
  else if constexpr (n == 3) { auto& [a, b, c] = r; return std::tie(a, b, c); }
  else if constexpr (n == 4) { auto& [a, b, c, d] = r; return std::tie(a, b, c, d); }
  else if constexpr (n == 5) { auto& [a, b, c, d, e] = r; return std::tie(a, b, c, d, e); }
  else if constexpr (n == 6) { auto& [a, b, c, d, e, f] = r; return std::tie(a, b, c, d, e, f); }
  else if constexpr (n == 7) { auto& [a, b, c, d, e, f, g] = r; return std::tie(a, b, c, d, e, f, g); }
  else if constexpr (n == 8) { auto& [a, b, c, d, e, f, g, h] = r; return std::tie(a, b, c, d, e, f, g, h); }
  else if constexpr (n == 9) { auto& [a, b, c, d, e, f, g, h, i] = r; return std::tie(a, b, c, d, e, f, g, h, i); }
  else if constexpr (n == 10) { auto& [a, b, c, d, e, f, g, h, i, j] = r; return std::tie(a, b, c, d, e, f, g, h, i, j); }
  else if constexpr (n == 11) { auto& [a, b, c, d, e, f, g, h, i, j, k] = r;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k); }
  else if constexpr (n == 12) { auto& [a, b, c, d, e, f, g, h, i, j, k, l] = r;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l); }
  else if constexpr (n == 13) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = r;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m); }
  else if constexpr (n == 14) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o] = r;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o); }
  else if constexpr (n == 15) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p] = r;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p); }
  else if constexpr (n == 16) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q] = r;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q); }
  // clang-format on
}
template <class T>
using fields_type = decltype(fields_of(std::declval<T&>()));
template <class T, size_t J>
using field_type = std::remove_cvref_t<std::tuple_element_t<J, fields_type<T>>>;

/// The name of field `j`, or its number.
template <class T>
std::string field_name(size_t j) {
  if constexpr (requires { T::fields; }) {
    static_assert(std::size(T::fields) == field_count<T>(), "`fields` names each field of the struct");
    return T::fields[j];
  } else {
    return std::to_string(j);
  }
}

/// A Bundle like T with a Leaf for each of its arrays and numbers: what a body receives for a start of type T.
template <class T, class Leaf>
struct StateOf;
template <class T, class Leaf = Array>
using state_of = typename StateOf<std::remove_cvref_t<T>, Leaf>::type;

/// A struct with other leaves: itself, its template, else a tuple.
template <class T, class Leaf, class J>
struct RecordOf;
template <class T, class Leaf, size_t... J>
struct RecordOf<T, Leaf, std::index_sequence<J...>> {
  using type = std::conditional_t<(std::is_same_v<field_type<T, J>, state_of<field_type<T, J>, Leaf>> && ...), T,
                                  std::tuple<state_of<field_type<T, J>, Leaf>...>>;
};
template <template <class> class M, class A, class Leaf, size_t... J>
requires is_leaf<A>
struct RecordOf<M<A>, Leaf, std::index_sequence<J...>> {
  using type = M<Leaf>;
};

template <class T, size_t... J>
constexpr bool holds_numbers(std::index_sequence<J...>) {
  return (std::is_arithmetic_v<field_type<T, J>> || ...);
}
template <class T, class Leaf>
struct StateOf {
  static_assert(is_leaf<T> || is_record<T>, "these are arrays, or tuples, pairs, lists and plain structs of them");
  template <class U>
  static auto kind() {
    if constexpr (is_leaf<U>) {
      return std::type_identity<Leaf>();
    } else {
      using Fields = std::make_index_sequence<field_count<U>()>;
      static_assert(!holds_numbers<U>(Fields()), "fields of structs are arrays: capture a number, or make it an Array");
      return RecordOf<U, Leaf, Fields>();
    }
  }
  using type = typename decltype(kind<T>())::type;
};
template <class T, class Leaf>
struct StateOf<std::vector<T>, Leaf> {
  using type = std::vector<state_of<T, Leaf>>;
};
template <class T, size_t N, class Leaf>
struct StateOf<std::array<T, N>, Leaf> {
  using type = std::array<state_of<T, Leaf>, N>;
};
template <class... Ts, class Leaf>
struct StateOf<std::tuple<Ts...>, Leaf> {
  using type = std::tuple<state_of<Ts, Leaf>...>;
};
template <class A, class B, class Leaf>
struct StateOf<std::pair<A, B>, Leaf> {
  using type = std::pair<state_of<A, Leaf>, state_of<B, Leaf>>;
};

/// visit(leaf, path) from left to right. The path is that of fields from the outermost struct on, as `hidden.w`; empty
/// outside of structs.
template <class T, class Visit>
void each_leaf(const T& value, const std::string& path, Visit& visit) {
  const auto below = [&](const std::string& part) { return path.empty() ? part : path + "." + part; };
  if constexpr (is_list<T>) {
    for (size_t k = 0; k < value.size(); ++k) each_leaf(value[k], path.empty() ? path : below(std::to_string(k)), visit);
  } else if constexpr (is_tuple<T>) {
    size_t k = 0;
    const auto visit_part = [&](const auto& part) {
      each_leaf(part, path.empty() ? path : below(std::to_string(k)), visit);
      ++k;
    };
    std::apply([&](const auto&... part) { (visit_part(part), ...); }, value);
  } else if constexpr (is_record<T>) {
    size_t k = 0;
    std::apply([&](const auto&... part) { (each_leaf(part, below(field_name<T>(k++)), visit), ...); }, fields_of(value));
  } else {
    visit(value, path);
  }
}

/// The leaves of a Bundle as operands; those of structs know their fields.
template <class T>
std::vector<Arg> flattened(const T& value, const Loc& loc) {
  std::vector<Arg> out;
  const auto add = [&](const auto& leaf, const std::string& path) {
    using Leaf = std::remove_cvref_t<decltype(leaf)>;
    static_assert(std::is_constructible_v<Arg, Leaf>, "these are arrays, or tuples, pairs, lists and plain structs of them");
    out.emplace_back(leaf, loc);
    out.back().field = path;
  };
  each_leaf(value, "", add);
  return out;
}

/// The inverse: a Bundle of the structure of `like`, filled from `next` on. Missing leaves have no value.
template <class T, class Leaf>
state_of<T, std::remove_const_t<Leaf>> unflatten(const T& like, std::span<Leaf>& next) {
  using L = std::remove_const_t<Leaf>;
  const auto take = [&] {
    if (next.empty()) return L();
    L leaf = std::move(next.front());
    next = next.subspan(1);
    return leaf;
  };
  // Braces: the parts are taken from left to right.
  const auto all = [&](const auto&... part) { return state_of<T, L>{unflatten(part, next)...}; };
  if constexpr (is_list<T>) {
    state_of<T, L> out;
    for (const auto& part : like) out.push_back(unflatten(part, next));
    return out;
  } else if constexpr (is_tuple<T>) {
    return std::apply(all, like);
  } else if constexpr (is_record<T>) {
    return std::apply(all, fields_of(like));
  } else {
    return take();
  }
}

/// The number of leaves that every Bundle of type T has; -1 where values differ, as lists do.
template <class T>
constexpr int leaf_count();
template <class... Ts>
constexpr int leaf_sum(std::type_identity<std::tuple<Ts...>>) {
  return ((leaf_count<std::remove_cvref_t<Ts>>() < 0) || ...) ? -1 : (leaf_count<std::remove_cvref_t<Ts>>() + ... + 0);
}
template <class T>
constexpr int leaf_count() {
  if constexpr (is_list<T>)
    return -1;
  else if constexpr (is_tuple<T>)
    return []<size_t... J>(std::index_sequence<J...>) {
      return leaf_sum(std::type_identity<std::tuple<std::tuple_element_t<J, T>...>>());
    }
  (std::make_index_sequence<std::tuple_size_v<T>>());
  else if constexpr (is_record<T>) return leaf_sum(std::type_identity<fields_type<T>>());
  else return 1;
}

template <class R, class... A>
std::type_identity<std::tuple<std::remove_cvref_t<A>...>> arguments_of(const std::function<R(A...)>*);
template <class F>
constexpr auto call_of() {
  if constexpr (requires { std::function(std::declval<std::decay_t<F>>()); })
    return decltype(arguments_of(static_cast<decltype(std::function(std::declval<std::decay_t<F>>()))*>(nullptr)))();
  else
    return std::type_identity<void>();
}
/// A std::tuple of what a callable takes; void where that is open, as in templates.
template <class F>
using taken_by = typename decltype(call_of<F>())::type;

}  // namespace detail
}  // namespace spirograd
