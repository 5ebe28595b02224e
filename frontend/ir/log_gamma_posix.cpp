// Linux, Android, macOS: in none of them a part of POSIX, and in all of them there.
#include <cmath>

#include "frontend/ir/log_gamma.h"

namespace spirograd::ir {

double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

}  // namespace spirograd::ir
