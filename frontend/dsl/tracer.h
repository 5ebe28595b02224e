// The trace in progress: its graph, its first mistake, and the one way by which operations become nodes.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frontend/ir/algebra.h"
#include "spirograd/array.h"
#include "spirograd/program.h"

namespace spirograd::detail {

struct Access {
  static uint32_t trace(Array a) { return a.trace_; }
  static uint32_t node(Array a) { return a.node_; }
  static Array array(uint32_t trace, ir::NodeId id) {
    Array a;
    a.trace_ = trace;
    a.node_ = id.v;
    return a;
  }
  static Index index(Array a) {
    Index i;
    i.value_ = a;
    return i;
  }
};

class Tracer {
 public:
  /// `loc`: where trace() was called.
  Tracer(std::vector<Param> params, Loc loc);

  /// The innermost trace of this thread, or null.
  static Tracer* current();
  /// Tells the hook of this thread about a mistake that no trace can return.
  static void report_outside(std::string_view what, const Loc& loc);

  std::shared_ptr<ir::Graph> graph() const { return graph_; }
  ir::Graph& nodes() { return *graph_; }
  const std::vector<Param>& params() const { return params_; }
  const std::optional<Error>& first_error() const { return first_error_; }

  /// Keeps the error if it is the first one. `loc` is used if the error has no place of its own.
  void report(Error error, const Loc& loc);
  /// While it lives, mistakes are noted and told to nobody; they are forgotten at its end. Pre: there was none before.
  class Trial {
   public:
    explicit Trial(Tracer& tracer) : tracer_(tracer), outer_(std::exchange(tracer.on_trial_, true)) {}
    ~Trial() {
      tracer_.on_trial_ = outer_;
      tracer_.first_error_.reset();
    }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

   private:
    Tracer& tracer_;
    bool outer_;
  };
  /// `loc`, or where that is unknown the place of the first operand that has one.
  Loc place_of(const Loc& loc, std::span<const Arg> args) const;
  /// Adds where each operand comes from.
  Error explained(Error error, std::span<const Arg> args) const;

  Array wrap(ir::Expr e) const { return Access::array(serial_, e.id); }
  bool owns(Array a) const { return Access::trace(a) == serial_; }
  ir::Expr expr(Array a) { return {graph_.get(), {Access::node(a)}}; }
  /// Whether the operand can be used here; if not, the reason has been reported.
  bool usable(std::string_view what, const Arg& arg);

 private:
  std::shared_ptr<ir::Graph> graph_;
  std::vector<Param> params_;
  Loc loc_;
  std::optional<Error> first_error_;
  bool on_trial_ = false;
  uint32_t serial_;
};

/// Makes `tracer` the current one for a scope.
class TraceScope {
 public:
  explicit TraceScope(Tracer& tracer);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Tracer* outer_;
};

/// How plain numbers among the operands get their type.
enum class Numbers : uint8_t {
  Together,   // that of the first array among the operands; without arrays: bool, i32 or f32
  Alone,      // each by itself: bool, i32 or f32
  MaskFirst,  // operand 0 by itself, the others together
};

/// The number as a value of that type; throws if it has none (2.5 as i32).
double rounded(std::string_view what, const Arg& number, DType dtype);
ir::Expr literal(ir::Graph& g, std::string_view what, const Arg& number, DType dtype);
std::vector<ir::Expr> resolve(Tracer& tracer, std::string_view what, std::span<const Arg> args, Numbers numbers);

/// Runs `make(graph, operands)` -> Exprs and notes the place of the nodes that it makes. No results where an operand has no
/// value or an Error is thrown, which is reported at `loc`.
template <class F>
std::vector<Array> operations(std::string_view what, std::span<const Arg> args, Numbers numbers, const Loc& loc, F&& make) {
  Tracer* tracer = Tracer::current();
  if (!tracer) {
    Tracer::report_outside(what, loc);
    return {};
  }
  for (const Arg& arg : args)
    if (!tracer->usable(what, arg)) return {};
  try {
    const uint32_t before = tracer->nodes().size();
    const std::vector<ir::Expr> in = resolve(*tracer, what, args, numbers);
    std::vector<Array> out;
    for (ir::Expr e : make(tracer->nodes(), std::span<const ir::Expr>(in))) out.push_back(tracer->wrap(e));
    for (uint32_t id = before; id < tracer->nodes().size(); ++id)
      tracer->nodes().note_loc({id}, tracer->place_of(loc, args));
    return out;
  } catch (const Error& error) {
    tracer->report(tracer->explained(error, args), tracer->place_of(loc, args));
    return {};
  }
}

/// The same with one result, which has no value where there is none.
template <class F>
Array operation(std::string_view what, std::span<const Arg> args, Numbers numbers, const Loc& loc, F&& make) {
  const auto one = [&](ir::Graph& g, std::span<const ir::Expr> in) { return std::array<ir::Expr, 1>{make(g, in)}; };
  const std::vector<Array> out = operations(what, args, numbers, loc, one);
  return out.empty() ? Array() : out[0];
}

}  // namespace spirograd::detail
