// Sums in which one element of each row is chosen by its place read that element, and nothing is looked at in between: the
// gradient of a minimum over computed distances takes as long as the distances of those that are nearest.
#pragma once

#include "frontend/rewrite/simplify.h"
#include "spirograd/program.h"

namespace spirograd::rewrite {

/// Pre: bulk and simplified. Post: bulk; equal over the reals: what is multiplied by the zero of an element that is not
/// chosen is taken as finite. A sum over the axis of the choice is a read; one over what the choice is made for, a scatter
/// of what is chosen, if that axis is long. An extreme whose place is computed as well is read there, if it is one of
/// reductions.
Program read_chosen(const Program& p, RuleLog* rules = nullptr);

}  // namespace spirograd::rewrite
