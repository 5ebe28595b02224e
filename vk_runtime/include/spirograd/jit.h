// C++ functions over arrays, compiled when they are called: traced once for each list of argument types, kept, and run on a
// device. For programs without a renderer; those that own a device use Session.
//
//   auto step = jit(value_and_grad([](Array w, Array x) { return mean(square(matmul(x, w))); }));
//   auto result = step(w, x);        // Result<std::pair<HostArray, HostArray>>
//   if (!result) ..                  // mistakes of the trace and of the device, as those of trace() and compile()
//   auto& [loss, gradient] = *result;
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
  /// One call at a time.
  Result<Out> run(std::span<const HostArray> inputs, const Make& make);
  std::vector<JitProgram> programs() const;
  void clear();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

template <class T>
using array_for = Array;

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
  requires(std::is_same_v<In, HostArray>&&...) auto operator()(const In&... in) const {
    using R = std::remove_cvref_t<std::invoke_result_t<F&, detail::array_for<In>...>>;
    using Host = detail::state_of<R, HostArray>;
    const std::vector<HostArray> inputs = {in...};
    const auto make = [&](std::vector<Param> params, std::any& form) {
      const auto body = [&](std::span<const Array> arrays) {
        return [&]<size_t... J>(std::index_sequence<J...>) {
          F f = f_;
          const R result = f(arrays[J]...);
          form = result;
          std::vector<Named> named;
          for (const Arg& a : detail::flattened(result, loc_)) named.emplace_back("", a);
          return named;
        }
        (std::index_sequence_for<In...>());
      };
      return detail::trace_with(name_, std::move(params), sizeof...(In), body, loc_);
    };
    Result<detail::JitCache::Out> out = cache_->run(inputs, make);
    if (!out) return Result<Host>(out.error());
    std::span<HostArray> next = out->arrays;
    return Result<Host>(detail::unflatten(std::any_cast<const R&>(out->form), next));
  }

  std::vector<JitProgram> programs() const { return cache_->programs(); }
  void clear() { cache_->clear(); }

 private:
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
