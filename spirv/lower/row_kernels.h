// Rows of one kernel. Maps over the same rows, and what is computed of each of these rows alone, as in a softmax or a
// normalisation and their derivatives, are one kernel on devices whose workgroups take a row each, and on processors, where
// a subgroup or an invocation takes a short one: a row is read once, stays in registers, and what nobody else asks for is
// not stored.
#pragma once

#include <map>
#include <set>
#include <span>

#include "spirv/lower/partition.h"
#include "spirv/lower/rfactor.h"

namespace spirograd::lower {

/// What such a kernel stores. Its compute is that of the first one in the order of the region.
struct RowKernel {
  std::vector<ir::NodeId> maps;  // over one domain, whose last axis is the row; none: only rows are stored, of their shape
  std::vector<ir::NodeId> rows;  // a value for each row
  int64_t code = 0;              // estimated instructions for an element
};

struct RowKernels {
  std::map<uint32_t, RowKernel> kernels;  // by their first node
  std::set<uint32_t> others;              // nodes that one of them stores, which have no compute of their own
};

/// Of what is stored, all but what a kernel of rows may store, too: partial results that are those of whole rows, and what
/// others stretch.
std::set<uint32_t> without_rows(std::set<uint32_t> stored, const Partials& partial, const std::set<uint32_t>& stretched);

/// Takes what nobody else asks for from the roots of the partition. Those in `apart` are not taken into kernels, and
/// `results` are stored.
RowKernels find_row_kernels(const ir::Graph& g, std::span<const ir::NodeId> results, const std::set<uint32_t>& apart,
                            Partition& partition, const Target& target);

}  // namespace spirograd::lower
