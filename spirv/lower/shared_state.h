// What members of a workgroup that runs a loop have to tell each other of its state.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/ir/loop.h"

namespace spirograd::lower {

/// Of the body of one loop.
class SharedNodes {
 public:
  /// `most_own`: elements of one array that a member computes.
  SharedNodes(const ir::Graph& g, const ir::LoopParts& parts, int64_t members, int64_t most_own);

  /// The nodes whose elements others than their owner read, by level: those of one need none of the same or a later one.
  /// None: not all of them can be shared. Once.
  std::optional<std::vector<std::vector<ir::NodeId>>> levels();

  /// Instructions that compute it from what is in memory; none: from what a member keeps in its registers, too. Pre:
  /// levels() are known.
  std::optional<double> code_from_memory(ir::NodeId id) const;

  /// What members compute for themselves alone out of what is in memory, by `least` instructions or more: the last nodes of
  /// that kind before the results. Pre: levels() are known.
  std::vector<ir::NodeId> from_memory(double least) const;

 private:
  bool shareable(ir::NodeId id) const;
  bool computed(ir::NodeId id) const;
  void visit(ir::NodeId id, bool own);

  const ir::Graph& g_;
  const std::vector<ir::NodeId> results_;
  const std::vector<ir::NodeId> order_;
  const std::unordered_map<uint32_t, bool> depends_;  // on the accumulators
  const int64_t members_, most_own_;
  std::vector<std::pair<ir::NodeId, bool>> open_;
  std::set<uint64_t> seen_;
  std::set<uint32_t> shared_;
};

}  // namespace spirograd::lower
