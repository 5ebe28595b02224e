// std::lgamma, safe to call from several threads: where it writes a global variable, signgam, another takes its place.
#pragma once

namespace spirograd::ir {

double log_gamma(double x);

}  // namespace spirograd::ir
