// Convolutions and pooling.
#include "frontend/ir/convolution.h"
#include "frontend/dsl/forms.h"

namespace spirograd {
namespace {

ir::Moves moves_of(std::string_view what, const PerAxis& stride, const Padding& padding, const PerAxis& dilation) {
  return {stride.numbers, dilation.numbers,
          padding.name.empty() ? ir::Padding{false, padding.sides} : ir::padding_of(what, padding.name)};
}

}  // namespace

Array conv(Arg x, Arg w, PerAxis stride, Padding padding, PerAxis dilation, int64_t groups) {
  return detail::of_two("conv", x, w, [&](ir::Expr e, ir::Expr weights) {
    return ir::conv(e, weights, moves_of("conv", stride, padding, dilation), groups);
  });
}
Array max_pool(Arg x, PerAxis window, PerAxis stride, Padding padding) {
  return detail::of_one(
      "max_pool", x, [&](ir::Expr e) { return ir::max_pool(e, window.numbers, moves_of("max_pool", stride, padding, 1)); });
}
Array avg_pool(Arg x, PerAxis window, PerAxis stride, Padding padding) {
  return detail::of_one(
      "avg_pool", x, [&](ir::Expr e) { return ir::avg_pool(e, window.numbers, moves_of("avg_pool", stride, padding, 1)); });
}

}  // namespace spirograd
