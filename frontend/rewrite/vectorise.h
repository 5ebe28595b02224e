// The bulk-operation transformation: removes every build. After Figures 9 to 11 of "Dual-Numbers Reverse AD for Functional
// Array Languages" (Smeding, Konarski, Peyton Jones, Fitzgibbon; arXiv 2507.12640), with guards where reads may be out of
// range, axis-parametric operations instead of transposes, and batched loops.
#pragma once

#include "spirograd/program.h"

namespace spirograd::rewrite {

/// A program with the same parameters, and results of the same values and types, in which
///  - there is no Build and no IndexVar, also not in the bodies of loops;
///  - scalar indices read only from parameters, constants, array literals, scatters and results of loops.
/// Always ends: each rule moves the build or the index closer to the leaves. Time is kept within a constant factor: a term
/// is pushed apart by at most IndexPusher::kMaxReads indices. Memory: an array inside a build is stored for all values of
/// the index at once; what was one array literal or scatter per index becomes a batch of them. Throws Error SG0101 if an
/// intermediate array gets more than kMaxRank axes.
Program vectorise(const Program& program);

}  // namespace spirograd::rewrite
