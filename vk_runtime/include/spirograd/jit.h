// C++ functions over arrays, compiled when they are called: traced once for each list of argument types, kept, and run on a
// device. For programs without a renderer; those that own a device use Session.
//
//   auto step = jit(value_and_grad([](Array w, Array x) { return mean(square(matmul(x, w))); }));
//   auto result = step(w, x);        // Result<std::pair<HostArray, HostArray>>
//   if (!result) ..                  // mistakes of the trace and of the device, as those of trace() and compile()
//   auto& [loss, gradient] = *result;
//
// Arguments and results are Bundles (bundle.h). A struct that is a template, Model<Array>, is a Model<HostArray> here; any
// other one is a std::tuple of its fields, also as an argument of a callable that says that it takes the struct.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include "spirograd/compile.h"
#include "spirograd/loops.h"
#include "spirograd/trace.h"
#include "spirograd/vk.h"

namespace spirograd {

struct JitOptions {
  std::shared_ptr<vk::Device> device = nullptr;  // null: the best one, made at the first call
  size_t most = 16;                              // programs kept; the one that was not used for longest goes first
  bool deterministic = false;                    // as in CompileOptions
  std::string name = "jit";
  bool tuned = false;  // with the schedules that the device remembers (tune.h)
};

/// A program that is kept.
struct JitProgram {
  std::vector<Type> types;    // of the arguments
  uint64_t calls = 0;         // since it was made
  double seconds = 0;         // that tracing and compiling took
  uint64_t device_bytes = 0;  // of its session
};

namespace detail {

class JitCache {
 public:
  explicit JitCache(JitOptions options);
  ~JitCache();
  using Make = std::function<Result<Program>(std::vector<Param> params, std::any& form)>;
  struct Out {
    std::vector<HostArray> arrays;
    std::any form;  // what `make` left there for these types
  };
  /// One call at a time. `structure`: how the callable takes the inputs, which programs of the same types may differ in.
  Result<Out> run(std::span<const HostArray> inputs, const std::string& structure, const Make& make);
  std::vector<JitProgram> programs() const;
  void clear();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Leaves are all HostArrays.
template <class T>
inline constexpr bool is_host = [] {
  if constexpr (is_list<T>)
    return is_host<typename T::value_type>;
  else if constexpr (is_tuple<T>)
    return []<size_t... J>(std::index_sequence<J...>) { return (is_host<std::tuple_element_t<J, T>> && ...); }
  (std::make_index_sequence<std::tuple_size_v<T>>());
  else if constexpr (is_record<T>) return []<size_t... J>(std::index_sequence<J...>) {
    return (is_host<field_type<T, J>> && ...);
  }
  (std::make_index_sequence<field_count<T>()>());
  else return std::is_same_v<T, HostArray>;
}();

/// What argument `J` of a callable is made of: the struct that it says, else arrays in the form of `In`.
template <class Taken, size_t J, class In>
auto argument_form() {
  if constexpr (has_records<Taken>)
    return std::type_identity<std::tuple_element_t<J, Taken>>();
  else
    return std::type_identity<state_of<In>>();
}

/// The arrays of an argument, and its structure: brackets around lists and tuples, and names of fields.
template <class T>
void take_in(const T& value, std::vector<HostArray>& arrays, std::string& structure) {
  const auto add = [&](const HostArray& a, const std::string& path) {
    arrays.push_back(a);
    structure += path + ",";
  };
  if constexpr (is_list<T> || is_tuple<T>) {
    structure += "(";
    if constexpr (is_list<T>)
      for (const auto& part : value) take_in(part, arrays, structure);
    else
      std::apply([&](const auto&... part) { (take_in(part, arrays, structure), ...); }, value);
    structure += ")";
  } else {
    each_leaf(value, "", add);
  }
}

}  // namespace detail

/// What jit gives. Copies share their programs. Calls from several threads wait for one another.
template <class F>
class Jitted {
 public:
  Jitted(F f, JitOptions options, Loc loc)
      : f_(std::move(f)),
        name_(options.name),
        loc_(std::move(loc)),
        cache_(std::make_shared<detail::JitCache>(std::move(options))) {}

  /// The results of the function, in the structure that it gives them: HostArrays for Arrays. Errors: those of trace, of
  /// compile, of vk::Device and vk::Session.
  template <class... In>
  requires(detail::is_host<In>&&...) auto operator()(const In&... in) const {
    return called(std::index_sequence_for<In...>(), in...);
  }

  std::vector<JitProgram> programs() const { return cache_->programs(); }
  void clear() { cache_->clear(); }

 private:
  using Taken = detail::taken_by<F>;

  template <size_t... J, class... In>
  auto called(std::index_sequence<J...>, const In&... in) const {
    using Forms = std::tuple<typename decltype(detail::argument_form<Taken, J, In>())::type...>;
    using R = std::remove_cvref_t<std::invoke_result_t<F&, std::tuple_element_t<J, Forms>...>>;
    using Host = detail::state_of<R, HostArray>;
    std::vector<HostArray> inputs;
    std::string structure;
    (detail::take_in(in, inputs, structure), ...);
    const std::tuple<const In&...> given(in...);
    const auto make = [&](std::vector<Param> params, std::any& form) {
      const auto body = [&](std::span<const Array> arrays) {
        [[maybe_unused]] const auto argument = [&]<size_t K>(std::integral_constant<size_t, K>) {
          using A = std::tuple_element_t<K, Forms>;
          static_assert(detail::leaf_count<A>() == detail::leaf_count<std::tuple_element_t<K, std::tuple<In...>>>(),
                        "jit: a struct is given a HostArray for each of its fields");
          if constexpr (detail::leaf_count<A>() >= 0)
            return detail::unflatten(A(), arrays);
          else
            return detail::unflatten(std::get<K>(given), arrays);
        };
        const Forms all{argument(std::integral_constant<size_t, J>())...};
        F f = f_;
        const R result = std::apply(f, all);
        form = result;
        std::vector<Named> named;
        for (Arg a : detail::flattened(result, loc_)) {
          a.field.clear();
          named.emplace_back("", std::move(a));
        }
        return named;
      };
      return detail::trace_with(name_, std::move(params), detail::kAnyNumber, {}, body, loc_);
    };
    Result<detail::JitCache::Out> out = cache_->run(inputs, structure, make);
    if (!out) return Result<Host>(out.error());
    std::span<HostArray> next = out->arrays;
    return Result<Host>(detail::unflatten(std::any_cast<const R&>(out->form), next));
  }

  F f_;
  std::string name_;
  Loc loc_;
  std::shared_ptr<detail::JitCache> cache_;
};

/// A function of HostArrays that runs `f`, a callable over Arrays, on a device. `f` is traced when a list of argument types
/// is met for the first time: what it does besides (printing, counting) happens then, and what it captures is taken then.
template <class F>
Jitted<F> jit(F f, JitOptions options = {}, Loc loc = Loc::here()) {
  return {std::move(f), std::move(options), std::move(loc)};
}

}  // namespace spirograd
