#include "frontend/ir/counted.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/ir/eval.h"
#include "frontend/ir/traverse.h"
#include "spirograd/program.h"

namespace spirograd::ir {
namespace {

// The value of a number that depends on nothing.
std::optional<double> known(const Graph& g, Expr e) {
  if (!e || e.rank() != 0) return std::nullopt;
  for (NodeId id : postorder(g, {&e.id, 1}))
    if (g[id].op == Op::Param || g[id].op == Op::Var || g[id].free_vars != 0) return std::nullopt;
  // Only read, and only here.
  const Program p = {"number", {std::shared_ptr<const Graph>(), &g}, {}, {{"", e.id.v, e.type()}}};
  return evaluate(p, {})[0].data[0];
}

// A comparison that has to hold for another step: a number of the state on the left.
struct Goes {
  Op op;
  size_t j;  // of the state
  Expr to;
};

// b < a of a > b.
Op turned(Op op) {
  if (op == Op::Lt) return Op::Gt;
  if (op == Op::Le) return Op::Ge;
  if (op == Op::Gt) return Op::Lt;
  return op == Op::Ge ? Op::Le : op;
}

// What holds where a comparison does not.
Op denied(Op op) {
  if (op == Op::Lt) return Op::Ge;
  if (op == Op::Le) return Op::Gt;
  if (op == Op::Gt) return Op::Le;
  return op == Op::Ge ? Op::Lt : Op::Ne;
}

bool holds(Op op, double a, double b) {
  return op == Op::Lt ? a < b : op == Op::Le ? a <= b : op == Op::Gt ? a > b : op == Op::Ge ? a >= b : a != b;
}
bool compares(Op op) { return op == Op::Lt || op == Op::Le || op == Op::Gt || op == Op::Ge || op == Op::Ne; }

std::vector<Goes> comparisons(std::span<const Expr> state, Expr condition) {
  std::vector<Goes> out;
  std::vector<std::pair<Expr, bool>> open = {{condition, true}};
  while (!open.empty()) {
    const auto [e, holds] = open.back();
    open.pop_back();
    if (e.op() == Op::Not) {
      open.emplace_back(e.in(0), !holds);
    } else if (e.op() == (holds ? Op::And : Op::Or)) {
      open.emplace_back(e.in(1), holds);
      open.emplace_back(e.in(0), holds);
    } else if (holds ? compares(e.op()) : (compares(e.op()) && e.op() != Op::Ne) || e.op() == Op::Eq) {
      const Op op = holds ? e.op() : denied(e.op());
      for (size_t j = 0; j < state.size(); ++j) {
        if (e.in(0) == state[j]) out.push_back({op, j, e.in(1)});
        if (e.in(1) == state[j]) out.push_back({turned(op), j, e.in(0)});
      }
    }
  }
  return out;
}

// What a step adds to a number of the state.
std::optional<double> added(const Graph& g, Expr from, Expr next) {
  if (!next || (next.op() != Op::Add && next.op() != Op::Sub)) return std::nullopt;
  const bool minus = next.op() == Op::Sub;
  if (next.in(0) == from) {
    const std::optional<double> by = known(g, next.in(1));
    return by && minus ? -*by : by;
  }
  return !minus && next.in(1) == from ? known(g, next.in(0)) : std::nullopt;
}

CountedSteps unknown(std::string why) { return {std::nullopt, std::move(why)}; }

CountedSteps steps_until(const Graph& g, const Goes& goes, std::span<const Expr> start, std::span<const Expr> state,
                         std::span<const Expr> next) {
  const DType type = state[goes.j].dtype();
  if (is_float(type)) return unknown("the condition compares floats, of which rounding decides how many steps there are");
  const std::optional<double> to = known(g, goes.to), from = known(g, start[goes.j]);
  if (!to) return unknown("what the condition compares with depends on the input or on the state");
  if (!from) return unknown("the number that the condition compares starts at what depends on the input");
  if (!holds(goes.op, *from, *to)) return {0, ""};
  const std::optional<double> by = added(g, state[goes.j], next[goes.j]);
  if (!by || *by == 0) return unknown("the step does not add a known number to what the condition compares");
  const bool up = *by > 0;
  if (goes.op != Op::Ne && up != (goes.op == Op::Lt || goes.op == Op::Le))
    return unknown("the step moves away from what the condition compares with");
  // Up to the first number for which it does not hold; that of != has to be hit.
  const bool beyond = goes.op == Op::Le || goes.op == Op::Ge;
  const double distance = (up ? *to - *from : *from - *to) + (beyond ? 1 : 0), stride = std::abs(*by);
  if (goes.op == Op::Ne && (distance < 0 || std::fmod(distance, stride) != 0))
    return unknown("the step moves past what the condition compares with");
  const double steps = std::ceil(distance / stride), last = *from + steps * *by;
  const bool is_signed = type == DType::I32;
  const double least = is_signed ? std::numeric_limits<int32_t>::min() : 0,
               most = is_signed ? std::numeric_limits<int32_t>::max() : std::numeric_limits<uint32_t>::max();
  if (last < least || last > most) return unknown("what the condition compares wraps around before the loop ends");
  return {static_cast<int64_t>(steps), ""};
}

}  // namespace

CountedSteps counted_steps(const Graph& g, std::span<const Expr> start, std::span<const Expr> state, Expr condition,
                           std::span<const Expr> next) {
  CountedSteps best = unknown("the condition does not compare a whole number of the state with a known one");
  bool first = true;
  for (const Goes& goes : comparisons(state, condition)) {
    const CountedSteps found = steps_until(g, goes, start, state, next);
    if (found.at_most ? !best.at_most || *found.at_most < *best.at_most : first) best = found;
    first = false;
  }
  return best;
}

}  // namespace spirograd::ir
