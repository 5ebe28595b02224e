// The arms of an `if` on a scalar: what only one of them uses is computed only where it is the one that is taken. Elsewhere
// its place holds anything: nobody reads it, for selects throw it away.
#pragma once

#include <set>
#include <unordered_map>

#include "frontend/ir/condition.h"
#include "spirograd/target.h"

namespace spirograd::lower {

/// Estimated operations of one node, in the time of a busy device.
double work_of(const ir::Graph& g, const ir::Node& n, const Target& target);

class Arms {
 public:
  Arms() = default;
  /// Of the nodes below `results`, all of one scope.
  Arms(const ir::Graph& g, std::span<const ir::NodeId> results);

  /// What holds wherever anybody uses the node. Empty: it is used in any case.
  const ir::Conditions& of(ir::NodeId id) const;
  /// All flags that decide anything.
  const std::set<uint32_t>& flags() const { return flags_; }
  /// Those of arms that are so much work that it is worth a dispatch of its own to know whether they are taken.
  std::set<uint32_t> dear_flags(const ir::Graph& g, const Target& target) const;

 private:
  std::unordered_map<uint32_t, ir::Conditions> of_;  // nodes that are not used in any case
  std::set<uint32_t> flags_;
};

}  // namespace spirograd::lower
