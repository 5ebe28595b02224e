// How much of its domain one invocation of a section computes: a choice by counting, without any effect on results.
#pragma once

#include "spirv/lower/section.h"

namespace spirograd::lower {

/// The block of a domain that one invocation computes. Blocks of reductions share what they read: a 4 x 4 block of a matrix
/// product loads 8 elements for 16 multiplications.
struct Block {
  Shape extents;             // per axis of the domain; each divides the domain's extent
  int64_t side_by_side = 1;  // or: elements of the flattened domain, neighbours next to each other
};
Block block_of(const Section& s, const Target& t);

/// Invocations that run a section in these blocks.
int64_t invocations(const Section& s, const Target& t);

/// Neighbouring invocations that should touch neighbouring elements.
int64_t lanes(const Target& t);

}  // namespace spirograd::lower
