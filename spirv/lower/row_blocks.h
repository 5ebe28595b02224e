// Loops over the rows of a batch: where no step reads another row of the state than its own, a block of some rows is a loop
// for itself, of a workgroup. Its body is that of all rows, made anew for so many.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/ir/loop.h"

namespace spirograd::lower {

struct RowBlocks {
  struct Operand {
    ir::NodeId node;
    int axis;  // of what a step is given of it, along which rows lie; kNoRow (row_axis.h): every block reads all of it
  };
  int64_t rows = 0, block = 0;    // in all, and of a block; no rows are left over
  ir::LoopParts parts;            // of the loop of one block
  std::vector<Operand> operands;  // acc.., es.., consts.. of that: an array may be more than one of them
  std::vector<int> axes;          // of each result of a step, or kNoRow: all blocks find the same
  int64_t count() const { return rows / block; }
};

/// What a loop is given, or one block of it.
std::vector<RowBlocks::Operand> operands_of(const ir::Node& map_accum, const RowBlocks* blocks);

/// The rows of a loop: the first extent of all arrays of its state; scalars beside them are no part of any row. None: they
/// differ.
std::optional<int64_t> rows_of_state(const ir::Graph& g, const ir::LoopParts& parts);

/// Pre: `block` divides the rows of the loop, and there are two blocks at least. None: a step mixes rows, or what it
/// computes cannot be cut.
std::optional<RowBlocks> in_row_blocks(ir::Graph& g, ir::NodeId loop, int64_t block);

}  // namespace spirograd::lower
