#include "frontend/ir/condition.h"

#include <algorithm>

namespace spirograd::ir {

std::optional<Condition> condition_of(const Graph& g, NodeId mask) {
  bool value = true;
  for (;;) {
    const Node& n = g[mask];
    if (n.op == Op::Not) {
      value = !value;
    } else if (n.type.shape.rank() == 0 || !is_unary_layout(n.op) || n.op == Op::Window) {  // a window has zeros outside
      break;
    }
    mask = n.in[0];
  }
  const Node& flag = g[mask];
  if (flag.type.shape.rank() > 0 || flag.op == Op::Const) return std::nullopt;
  return Condition{mask, value};
}

Conditions with(Conditions all, Condition more) {
  if (std::ranges::find(all, more) == all.end()) all.push_back(more);
  return all;
}

Conditions common(const Conditions& a, const Conditions& b) {
  Conditions out = a;
  std::erase_if(out, [&](const Condition& c) { return std::ranges::find(b, c) == b.end(); });
  return out;
}

Conditions without(const Conditions& a, const Conditions& b) {
  Conditions out = a;
  std::erase_if(out, [&](const Condition& c) { return std::ranges::find(b, c) != b.end(); });
  return out;
}

}  // namespace spirograd::ir
