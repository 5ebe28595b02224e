// Products of arrays that are read at places which may lie beyond their ends: the adjoint of a convolution is read so. The
// arrays are read there instead, as copies with zeros around them, and whoever sums the products up leaves out what lies
// beyond: what the zeros are multiplied by may be infinite.
#pragma once

#include <optional>
#include <set>

#include "spirv/lower/access.h"
#include "spirv/lower/rewritten.h"

namespace spirograd::lower {

/// Lets an array be read along an axis at these places: where they may lie beyond its ends, as a copy with zeros there, and
/// places are counted from its beginning. False: they are not known, or far beyond.
bool read_inside(ir::Expr& array, int axis, ir::Expr& places);

/// Whether an array is made of others by elements and layout alone, and little larger, so that it costs little to compute
/// where it is copied.
bool is_made_of_arrays(const ir::Graph& g, ir::NodeId id, const NodeSet& stored);

struct GatheredProduct {
  ir::Expr product;                // wherever the places lie
  std::optional<ir::Expr> inside;  // whether they lie in the arrays: along the first axes of the product. None: all do
  std::set<uint32_t> copies;       // to be stored
};

/// Of a gather. None: it reads something else, or places that are not known.
std::optional<GatheredProduct> gathered_product(ir::Graph& g, ir::NodeId gather, const NodeSet& stored);

}  // namespace spirograd::lower
