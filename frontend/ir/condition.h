// Conditions that hold for whole arrays or not at all: those of an `if` on a scalar, whose masks are one bool in all places.
#pragma once

#include <optional>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::ir {

struct Condition {
  NodeId flag;  // a bool of rank 0, and what it has to be
  bool value = true;
  bool operator==(const Condition&) const = default;
  Condition operator!() const { return {flag, !value}; }
};

/// All of them hold. Each once, in the order in which they were met.
using Conditions = std::vector<Condition>;

/// Where this mask of a select is true. None: it may differ from place to place, or is a constant.
std::optional<Condition> condition_of(const Graph& g, NodeId mask);

/// `all` and one more.
Conditions with(Conditions all, Condition more);
/// Those in both.
Conditions common(const Conditions& a, const Conditions& b);
/// Those of `a` that are not in `b`.
Conditions without(const Conditions& a, const Conditions& b);

}  // namespace spirograd::ir
