// Fourier transforms: pairs of arrays.
#include "frontend/ir/fourier.h"

#include "frontend/dsl/forms.h"

namespace spirograd {
namespace {

// The operation of both parts, its real and its imaginary part.
template <class F>
std::pair<Array, Array> parts(std::string_view what, const Arg& re, const Arg& im, F&& make) {
  const auto part = [&](ir::Expr ir::Complex::*which) {
    return detail::of_two(what, re, im, [&](ir::Expr a, ir::Expr b) { return make(ir::Complex{a, b}).*which; });
  };
  return {part(&ir::Complex::re), part(&ir::Complex::im)};
}

}  // namespace

std::pair<Array, Array> fft(Arg re, Arg im, int axis) {
  return parts("fft", re, im, [&](ir::Complex x) { return ir::fft(x, axis); });
}
std::pair<Array, Array> ifft(Arg re, Arg im, int axis) {
  return parts("ifft", re, im, [&](ir::Complex x) { return ir::ifft(x, axis); });
}
std::pair<Array, Array> rfft(Arg x, int axis) {
  return {detail::of_one("rfft", x, [&](ir::Expr e) { return ir::rfft(e, axis).re; }),
          detail::of_one("rfft", x, [&](ir::Expr e) { return ir::rfft(e, axis).im; })};
}
Array irfft(Arg re, Arg im, std::optional<int64_t> n, int axis) {
  return detail::of_two("irfft", re, im, [&](ir::Expr a, ir::Expr b) {
    const int64_t extent = a.shape()[ir::normal_axis("irfft", axis, a.type())];
    return ir::irfft({a, b}, n.value_or(2 * (extent - 1)), axis);
  });
}

}  // namespace spirograd
