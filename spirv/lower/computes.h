// From the nodes that get a buffer to computes: what is computed over which domain, what it reads and writes, and about how
// much work it is.
#pragma once

#include <functional>
#include <set>

#include "spirv/lower/arms.h"
#include "spirv/lower/compute.h"
#include "spirv/lower/partition.h"
#include "spirv/lower/rfactor.h"
#include "spirv/lower/row_kernels.h"
#include "spirv/lower/split_scatter.h"
#include "spirv/lower/turned_stacks.h"

namespace spirograd::lower {

/// What the computes of a region refer to.
struct Region {
  ir::Graph& graph;
  const Target& target;
  const Partition& partition;
  const std::vector<ParamSource>& params;
  const Materialised& places;
  ExtentWalk& extent;
  const Arms& arms;
  const std::vector<Gate>& gates;    // of the loop whose body this is
  const NodeSet& made;               // what steps before this one compute
  const std::set<uint32_t>& alone;   // nodes whose computes share no kernel
  const std::set<uint32_t>& single;  // nodes whose invocations compute one point each
  const Scans& scans;
  const TurnedStacks& turned;
  const RowKernels& rows;
  const Scatters& scatters;
  const Partials& partial;
  const std::function<BufferRef(ir::NodeId)>& constant;  // the buffer of a constant array
  uint64_t loop_limit;                                   // iterations of one invocation
};

/// Where the value of a node with a buffer is: a parameter's, or the node's own.
BufferRef source_of(const Region& r, ir::NodeId id);

/// The computes that compute node `id`, one of the roots of the region; none for empty arrays. A scatter adds to what is in
/// its buffer, so that has to be zeroed before.
std::vector<Compute> computes_of(const Region& r, ir::NodeId id);

/// The roots that a kernel of these computes itself; parts of a whole that have a buffer of their own are loaded.
std::set<uint32_t> computed_roots(const Region& r, std::span<const Compute> group);
/// The same, and all that is stored though it only shows elements of another array: that one is read instead.
std::set<uint32_t> computed_roots_and_views(const Region& r, std::span<const Compute> group);

/// Where the rows from `start` on of a whole of this type lie.
BufferRef part_of(BufferRef whole, const Type& type, int64_t start);

/// Gives parts of a whole that have a buffer a place in that of the whole, if they lie there in one piece.
void place_parts(const ir::Graph& g, const Partition& partition, const std::function<BufferRef(ir::NodeId)>& scratch,
                 Materialised& places);

}  // namespace spirograd::lower
