// Keeps the kernels of a partition small: in what reads too many buffers for one, or is more code than drivers take well, a
// part is stored.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "spirv/lower/partition.h"

namespace spirograd::lower {

class Cuts {
 public:
  /// Reads and adds to the roots of the partition, whose order, loops and packed results are known by then.
  Cuts(const ir::Graph& g, const Target& target, Partition& partition);

  /// Stores nodes near the middle of each computation that is too large: these.
  std::vector<ir::NodeId> limit_sizes();
  /// What one kernel stores to read less is one array more for another that had computed it: until all read few enough.
  void settle();
  /// Whether one kernel may hold the loop: with its operands, or what they are computed from.
  bool may_run_inside(ir::NodeId loop);

 private:
  size_t buffers_read(const Extent& e) const { return buffers_of(c_, e.leaves); }
  size_t buffers_written(ir::NodeId loop);
  size_t own_buffers(ir::NodeId loop);
  bool fits(const Extent& e) const;
  void store(ir::NodeId id);
  void limit_size(ir::NodeId id);
  void store_operands(ir::NodeId id);
  void store_to_read_less(ir::NodeId id);
  ir::NodeId best_cut(ir::NodeId root, const Extent& whole, const std::set<uint32_t>& vain);

  const ir::Graph& g_;
  const Target& target_;
  Partition& c_;
  ExtentWalk extent_;
  size_t leaf_limit_;                                              // buffers that one kernel reads
  std::unordered_map<uint32_t, std::vector<ir::NodeId>> results_;  // of loops; empty until one is asked for
  std::vector<ir::NodeId> made_;
  size_t stored_to_read_less_ = 0;  // nodes
};

/// Parameters and the like: no kernel computes them.
bool is_leaf(const ir::Node& n);

}  // namespace spirograd::lower
