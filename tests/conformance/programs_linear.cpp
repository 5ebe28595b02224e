// The programs F01 to F18 through the C++ surface.
#include "tests/conformance/programs.h"

namespace spirograd::conformance {

void add_linear_programs(Programs& p) {
  p["F01"] = over({{3}}, [](Array x) { return sort(x) * cast(iota(3) + 1, x.dtype()); });
  p["F02"] = over({{3, 2}}, [](Array x) { return square(take_along_axis(x, argsort(x, 0, true))); });
  p["F03"] = over({{2, 2}, {2}}, [](Array a, Array b) { return solve(a, b); });
  p["F04"] = over({{2, 2}}, [](Array a) { return det(a); });
  p["F05"] = over({{2, 2}}, [](Array a) { return cholesky(a); });
  p["F06"] = over({{2, 2}}, [](Array a) { return inv(a); });
  p["F07"] = over({{}, {}}, [](Array x, Array y) { return stack({cbrt(x), hypot(x, y), norm(stack({x, y}))}); });
  p["F09"] = over({{4}}, [](Array x) {
    const auto [values, positions] = top_k(x, 2);
    return values * cast(positions + 1, x.dtype());
  });
  p["F10"] = over({{4}}, [](Array x) {
    const Array s = constant(i32({4}), {1, 0, 1, 0}), t = constant(i32({4}), {1, 0, 1, 1});
    return segment_max(x, s, 2) * segment_min(x, s, 2) + segment_prod(x, t, 2);
  });
  p["F11"] = over({{2}}, [](Array x) { return logcumsumexp(x); });
  p["F13"] = over({{2, 2}, {2}}, [](Array a, Array b) { return einsum("ij,j,kk->i", {a, b, a}); });
  p["F14"] = over({{1, 1, 4}, {1, 1, 2}}, [](Array x, Array w) { return conv(x, w, 1, {1, 0}); });
  p["F15"] = over({{1, 1, 4}}, [](Array x) { return max_pool(x, 2) * avg_pool(x, 3, 2, {1, 0}); });
  p["F16"] = over({{3}, {3}}, [](Array x, Array y) {
    const auto [re, im] = fft(x, y);
    return re * re + im * im;
  });
  p["F17"] = over({{5}, {5}}, [](Array x, Array w) {
    const auto [a, b] = rfft(x);
    const auto [c, d] = rfft(w);
    return irfft(a * c - b * d, a * d + b * c, 5);
  });
  p["F18"] = over({{4}}, [](Array x) {
    const auto [a, b] = rfft(x);
    const auto [c, d] = ifft(x);
    return stack({irfft(a, b * 0)(1), c(1) + d(1)});
  });
  p["F12"] = over({{2}}, [](Array x) { return erfinv(x); });
  p["F08"] = over({{2, 2}, {2}}, [](Array t, Array b) { return solve_triangular(t, b) + solve_triangular(t, b, false); });
}

}  // namespace spirograd::conformance
