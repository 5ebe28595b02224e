// Results of a loop inside of a kernel that share a buffer, so that a kernel may have any number of them.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/ir/graph.h"
#include "spirograd/target.h"

namespace spirograd::lower {

struct Pack {
  uint32_t loop = 0;
  int number = 0;      // among those of the loop
  uint64_t first = 0;  // element of the buffer
};
using PackedResults = std::unordered_map<uint32_t, Pack>;  // by Proj

/// Results of one element type share a buffer. Those of the region keep buffers of their own, unless a loop has many of
/// them.
PackedResults packed_results(const ir::Graph& g, std::span<const ir::NodeId> order, std::span<const ir::NodeId> results,
                             const Target& target);

struct PackBuffer {
  Type type;                                            // of all of it
  std::vector<std::pair<ir::NodeId, uint64_t>> arrays;  // and the bytes before each
};
/// The buffers of those loops for which `in_kernel` holds.
std::vector<PackBuffer> pack_buffers(const ir::Graph& g, std::span<const ir::NodeId> order, const PackedResults& packed,
                                     const std::function<bool(uint32_t)>& in_kernel);

}  // namespace spirograd::lower
