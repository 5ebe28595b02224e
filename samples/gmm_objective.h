// Logarithm of the posterior of a Gaussian mixture with a Wishart prior, as the ADBench suite states it (in its first form,
// in which the sign of the prior is opposite to that of the likelihood). One program per set of shapes: n points of d
// coordinates, k components. Q_j is lower triangular, exp(q_j) on its diagonal and l_j, column by column, below it; it is a
// root of the inverse covariance of component j.
#pragma once

#include <cmath>
#include <numbers>

#include "spirograd/build.h"
#include "spirograd/ops.h"
#include "spirograd/trace.h"

/// log of the multivariate gamma function of dimension d.
inline double log_gamma(double a, int d) {
  double sum = 0.25 * d * (d - 1) * std::log(std::numbers::pi);
  for (int j = 1; j <= d; ++j) sum += std::lgamma(a + 0.5 * (1 - j));
  return sum;
}

/// All terms that depend on the shapes and on the prior's gamma and m only.
inline double gmm_constant(int n, int d, int k, double gamma, int m) {
  const double freedom = d + m + 1;
  const double wishart = freedom * d * (std::log(gamma) - 0.5 * std::log(2.0)) - log_gamma(0.5 * freedom, d);
  return -0.5 * n * d * std::log(2 * std::numbers::pi) - k * wishart;
}

/// Parameters alpha, mu, q, l, x, gamma, m, constant (see gmm_constant); result "loglik".
inline spirograd::Result<spirograd::Program> gmm(int n, int d, int k) {
  using namespace spirograd;
  const std::vector<Param> params = {
      {"alpha", f32({k})}, {"mu", f32({k, d})}, {"q", f32({k, d})}, {"l", f32({k, d * (d - 1) / 2})},
      {"x", f32({n, d})},  {"gamma", f32()},    {"m", f32()},       {"constant", f32()}};
  return trace("gmm", params, [&](Array alpha, Array mu, Array q, Array l, Array x, Array gamma, Array m, Array constant) {
    const Array root = build({k, d, d}, [&](Index j, Index r, Index c) {
      const Index below = c * d - quot(c * (c + 1), 2) + (r - c - 1);
      return select(r == c, exp(q(j, r)), select(c < r, l(j, below), 0.0f));
    });
    const Array beta = build({n, k}, [&](Index i, Index j) {
      const Array z = build(d, [&](Index r) { return sum(root(j, r) * (x(i) - mu(j))); });
      return alpha(j) + sum(q(j)) - 0.5f * sum(square(z));
    });
    const Array likelihood = sum(logsumexp(beta, 1)) - n * logsumexp(alpha);
    const Array prior = 0.5f * gamma * gamma * sum(square(root)) - m * sum(q);
    return Named("loglik", likelihood + prior + constant);
  });
}
