// Windows that move over the space axes of (batch, channels, space..): convolutions and pooling. Each is the comprehension
// that one would write; gradients are sums and gathers again. SG0101 for shapes, SG0404 for numbers that say nothing.
#pragma once

#include <string_view>
#include <vector>

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

/// Positions before and behind each space axis: two numbers per axis, or one for all. `same`: as many as give a result of
/// extent / stride, rounded up, the odd one behind.
struct Padding {
  bool same = false;
  std::vector<int64_t> sides = {0};
};
/// "same" or "valid", which is none.
Padding padding_of(std::string_view what, std::string_view name);

/// One number per space axis, or one for all.
struct Moves {
  std::vector<int64_t> stride, dilation;
  Padding padding;
};

/// w: (out, channels / groups, window..). Each group of results reads its group of channels; outside of x is 0.
Expr conv(Expr x, Expr w, const Moves& moves, int64_t groups);
/// Outside of x is nothing: the least number. No stride: that of the window.
Expr max_pool(Expr x, std::span<const int64_t> window, const Moves& moves);
/// The mean of what lies inside of x; NaN of nothing.
Expr avg_pool(Expr x, std::span<const int64_t> window, const Moves& moves);

}  // namespace spirograd::ir
