// Loops with a state: fold, scan, map_accum, fori. The body runs on symbolic values; the number of steps is static. State,
// elements and outputs are Bundles (bundle.h): arrays, tuples, lists and plain structs of them. Numbers are allowed where a
// start or a result is given: in a start they take the element type with which the body agrees (the body runs again for
// each that is tried; f64 beside f64 arrays, else f32 or i32 first). What the body captures from outside is evaluated once,
// before the loop.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "spirograd/bundle.h"
#include "spirograd/keep.h"

namespace spirograd {

namespace detail {

struct LoopRequest {
  const char* what;               // for messages
  std::optional<int64_t> length;  // absent: the outer extent of the elements
  bool reverse = false;
  bool rows = false;  // scan: stack the new states themselves, the start in front
  std::vector<Arg> start, elements;
  Loc loc;
  Keep keep = {};
};
struct StepResult {
  std::vector<Arg> state, outputs;
};
using LoopBody = std::function<StepResult(std::span<const Array> state, std::span<const Array> elements)>;
/// Final states, then stacks of the outputs.
std::vector<Array> run_loop(const LoopRequest& request, const LoopBody& body);
/// `combine` gives a row of each array for the rows of earlier and of later ones.
std::vector<Array> combine_rows(
    const char* what, std::span<const Arg> rows, bool reverse,
    const std::function<std::vector<Arg>(std::span<const Array>, std::span<const Array>)>& combine, const Loc& loc);
std::vector<Array> count_loop(LoopRequest request,
                              const std::function<std::vector<Arg>(Index, std::span<const Array>)>& body);

/// Of while_loop: `next` where `go`, and 1 for true, as i32.
Array choose(const Arg& go, const Arg& next, const Arg& kept, const Loc& loc);
Array counted(const Arg& go, const Loc& loc);

/// What the condition and one step of a while_loop make of a state, for the bound that they tell.
struct Counting {
  std::vector<Arg> state, next;
  std::optional<Array> go;
};
/// That bound; an error of the trace where they do not count.
int64_t counted_bound(const std::vector<Arg>& start, const Counting& step, const Loc& loc);

template <class F, class S, class E>
auto map_accum(LoopRequest request, F& body, const S& start, const E& elements) {
  using Result = decltype(body(std::declval<state_of<S>>(), std::declval<state_of<E>>()));
  static_assert(is_tuple<std::remove_cvref_t<Result>> && std::tuple_size_v<std::remove_cvref_t<Result>> == 2,
                "the body of map_accum returns std::pair(new state, output)");
  using Output = std::remove_cvref_t<std::tuple_element_t<1, std::remove_cvref_t<Result>>>;
  std::optional<Output> traced;
  request.start = flattened(start, request.loc);
  request.elements = flattened(elements, request.loc);
  const Loc loc = request.loc;
  const std::vector<Array> out = run_loop(request, [&](std::span<const Array> s, std::span<const Array> e) {
    auto result = body(unflatten(start, s), unflatten(elements, e));
    traced.emplace(std::get<1>(result));
    return StepResult{flattened(std::get<0>(result), loc), flattened(std::get<1>(result), loc)};
  });
  std::span<const Array> next = out;
  state_of<S> final_state = unflatten(start, next);
  return std::pair(std::move(final_state), unflatten(*traced, next));
}

template <class F, class S, class E>
state_of<S> fold_rows(const char* name, bool all_states, F&& body, const S& start, const E& elements, const Loc& loc,
                      const Keep& keep) {
  const std::vector<Array> out =
      run_loop({name, {}, false, all_states, flattened(start, loc), flattened(elements, loc), loc, keep},
               [&](std::span<const Array> s, std::span<const Array> e) {
                 return StepResult{flattened(body(unflatten(start, s), unflatten(elements, e)), loc), {}};
               });
  std::span<const Array> next = out;
  return unflatten(start, next);
}

}  // namespace detail

/// state = body(state, element) for the rows of `elements` in order; the last state. `keep`: what reverse mode keeps of the
/// states, here and below (keep.h).
template <class F, class S, class E>
detail::state_of<S> fold(F&& body, const S& start, const E& elements, Keep keep = {}, Loc loc = Loc::here()) {
  return detail::fold_rows("fold", false, body, start, elements, loc, keep);
}

/// All states of the fold, the start included: one row more than there are elements.
template <class F, class S, class E>
detail::state_of<S> scan(F&& body, const S& start, const E& elements, Keep keep = {}, Loc loc = Loc::here()) {
  return detail::fold_rows("scan", true, body, start, elements, loc, keep);
}

/// Row j of the result is that of rows 0 .. j put together by `combine`(earlier, later), which must be associative: long
/// scans run in parts beside one another. `reverse`: of rows j .. n-1, those behind being the earlier ones.
template <class F, class E>
detail::state_of<E> associative_scan(F&& combine, const E& elements, bool reverse = false, Loc loc = Loc::here()) {
  const std::vector<Arg> rows = detail::flattened(elements, loc);
  const std::vector<Array> out = detail::combine_rows(
      "associative_scan", rows, reverse,
      [&](std::span<const Array> earlier, std::span<const Array> later) {
        return detail::flattened(combine(detail::unflatten(elements, earlier), detail::unflatten(elements, later)), loc);
      },
      loc);
  std::span<const Array> next = out;
  return detail::unflatten(elements, next);
}

/// body(state, element) -> std::pair(new state, output). Gives std::pair(last state, outputs stacked along a new axis 0).
template <class F, class S, class E>
auto map_accum_l(F&& body, const S& start, const E& elements, Keep keep = {}, Loc loc = Loc::here()) {
  return detail::map_accum({"map_accum_l", {}, false, false, {}, {}, std::move(loc), keep}, body, start, elements);
}
/// The same from the last element to the first; row j of the outputs still belongs to row j of the elements.
template <class F, class S, class E>
auto map_accum_r(F&& body, const S& start, const E& elements, Keep keep = {}, Loc loc = Loc::here()) {
  return detail::map_accum({"map_accum_r", {}, true, false, {}, {}, std::move(loc), keep}, body, start, elements);
}

/// state = body(i, state) for i = 0 .. steps-1; the last state.
template <class F, class S>
detail::state_of<S> fori(int64_t steps, F&& body, const S& start, Keep keep = {}, Loc loc = Loc::here()) {
  const std::vector<Array> out = detail::count_loop(
      {"fori", steps, false, false, detail::flattened(start, loc), {}, loc, keep},
      [&](Index i, std::span<const Array> s) { return detail::flattened(body(i, detail::unflatten(start, s)), loc); });
  std::span<const Array> next = out;
  return detail::unflatten(start, next);
}

/// While `condition(state)`, one bool, holds: state = body(state); at most `at_most` times. std::pair(the last state, the
/// number of steps, i32): at_most + 1 says that the bound has cut it off. Those behind the last one change nothing and
/// carry no derivative: an invocation with a state of its own leaves the loop, dispatches of much work see that it has
/// ended, and reverse mode keeps the state of all of them.
template <class C, class F, class S>
std::pair<detail::state_of<S>, Array> while_loop(C&& condition, F&& body, const S& start, int64_t at_most, Keep keep = {},
                                                 Loc loc = Loc::here()) {
  const auto step = [&](Index, const auto& state_and_count) {
    const auto& [state, count] = state_and_count;
    const Array go = condition(state);
    std::vector<Arg> next = detail::flattened(body(state), loc);
    const std::vector<Arg> kept = detail::flattened(state, loc);
    std::vector<Array> chosen;
    for (size_t j = 0; j < next.size() && j < kept.size(); ++j) chosen.push_back(detail::choose(go, next[j], kept[j], loc));
    std::span<const Array> rest = chosen;
    return std::pair(detail::unflatten(state, rest), count + detail::counted(go, loc));
  };
  auto [state, count] = fori(at_most, step, std::pair(start, detail::counted(false, loc)), keep, loc);
  return {state, count + detail::counted(condition(state), loc)};
}

/// The same where condition and body count, as `i < 10` and `i + 1` from 0 on: the bound follows. What is compared is a
/// whole number of the state; it starts, is moved and ends at numbers that depend on no array. SG0404 says why there is no
/// bound.
template <class C, class F, class S>
std::pair<detail::state_of<S>, Array> while_loop(C&& condition, F&& body, const S& start, Keep keep = {},
                                                 Loc loc = Loc::here()) {
  detail::Counting seen;
  const auto step = [&](Index, const auto& state) {
    seen.go = condition(state);
    seen.state = detail::flattened(state, loc);
    const auto next = body(state);
    seen.next = detail::flattened(next, loc);
    return next;
  };
  fori(1, step, start, {}, loc);
  return while_loop(condition, body, start, detail::counted_bound(detail::flattened(start, loc), seen, loc), keep, loc);
}

}  // namespace spirograd
