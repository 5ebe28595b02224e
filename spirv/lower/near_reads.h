// Arrays of which a sum reads elements that are far apart, each in another page of memory, as copies in which they lie
// together. An identity on values, bit for bit.
#pragma once

#include <set>

#include "spirv/lower/access.h"

namespace spirograd::lower {

/// The products of short sums (several_axes), whose last axis is the one that is summed, over such copies: their axes along
/// which a sum only steps lie behind the others, and before the one along which lanes are neighbours. `stored`: nodes that
/// have a buffer; `copies`: those of them that this contraction has had made, and in their place those that are to be
/// stored.
ir::Expr with_near_reads(ir::Graph& g, ir::Expr products, const NodeSet& stored, std::set<uint32_t>& copies);

/// Whether lanes that are neighbours read elements of an array that are not, as of a convolution with a stride: such rows
/// are in no array, and copies of windows are large.
bool steps_along_lanes(ir::Graph& g, ir::Expr products, const NodeSet& stored);

}  // namespace spirograd::lower
