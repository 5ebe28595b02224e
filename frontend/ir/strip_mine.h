// Loops over chunks of their steps: for devices whose loops are limited, and so that reverse mode keeps fewer states.
#pragma once

#include <functional>

#include "frontend/ir/loop.h"
#include "spirograd/keep.h"

namespace spirograd::ir {

using RunLoop = std::function<std::vector<Expr>(Graph&, const Loop&)>;

struct StripMined {
  std::vector<Expr> results;  // those of the loop
  NodeId outer;               // the loop over chunks
};

/// A loop over chunks of `chunk` steps, whose body runs the steps of one chunk by `inner` (map_accum, or more levels), and
/// `inner` of what is left. Pre: 0 < chunk < length.
StripMined strip_mine(Graph& g, NodeId loop, int64_t chunk, const RunLoop& inner);

/// Steps per chunk: `most`, or fewer, but more than half, where that divides the length.
int64_t chunk_length(int64_t length, int64_t most);

/// Bytes that reverse mode keeps for each step of a loop.
using BytesPerStep = int64_t (*)(Graph&, NodeId loop);

/// The loop as map_accum gives it, or in rounds of steps, so that its reverse mode keeps what `keep` says. `what`: its name
/// in errors. `bytes` is asked where a budget is given.
std::vector<Expr> keeping(Graph& g, std::string_view what, const Keep& keep, std::vector<Expr> results, BytesPerStep bytes);

}  // namespace spirograd::ir
