// Windows, which has no signgam.
#include <cmath>

#include "frontend/ir/log_gamma.h"

namespace spirograd::ir {

double log_gamma(double x) { return std::lgamma(x); }

}  // namespace spirograd::ir
