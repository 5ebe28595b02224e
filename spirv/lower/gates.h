// Kernels of what only one arm of an `if` uses read its flag first, and end where the other arm is taken.
#pragma once

#include "spirv/lower/computes.h"

namespace spirograd::lower {

/// The gates of whatever computes these nodes and nothing else.
std::vector<Gate> gates_of(const Region& r, std::span<const ir::NodeId> ids);

/// Gives a compute of these nodes its gates, if it takes longer than a dispatch.
void close_where_unwanted(const Region& r, std::span<const ir::NodeId> ids, Compute& s);

/// Opens an If around what nobody may want. False: it is wanted in any case. `together`: by a workgroup, which has to see
/// that all of its invocations read the same: it does not ask for flags in buffers that the kernel writes, too.
bool open_gates(Inliner& inliner, kernel::Builder& b, std::span<const Compute> group, bool together);

/// Flags that the computes load in any case, and that are not asked once for the whole kernel.
std::set<uint32_t> flags_read(const ir::Graph& g, const Arms& arms, std::span<const Compute> group,
                              const Materialised& materialised, const std::vector<ParamSource>& params);

}  // namespace spirograd::lower
