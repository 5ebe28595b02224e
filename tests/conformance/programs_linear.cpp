// The programs F01 to F08 through the C++ surface.
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
  p["F08"] = over({{2, 2}, {2}}, [](Array t, Array b) { return solve_triangular(t, b) + solve_triangular(t, b, false); });
}

}  // namespace spirograd::conformance
