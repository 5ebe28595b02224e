// What GradBench's evaluations compute, written a second time as plain loops over scalars of any kind. Over complex numbers
// they give derivatives: f(x + ih) / h has the derivative as its imaginary part, exact for a tiny h, as nothing is
// subtracted.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <numeric>
#include <vector>

namespace spirograd::gradbench_test {

using Complex = std::complex<double>;
template <class S>
using Vector = std::vector<S>;
template <class S>
using Matrix = std::vector<std::vector<S>>;
using Reals = Vector<double>;
using RealMatrix = Matrix<double>;

constexpr double kStep = 1e-30;

/// Row i: derivatives of result i of `f` by each of `at`.
inline RealMatrix slopes(const std::function<Vector<Complex>(const Vector<Complex>&)>& f, const Reals& at) {
  RealMatrix out;
  for (size_t j = 0; j < at.size(); ++j) {
    Vector<Complex> z(at.begin(), at.end());
    z[j] += Complex(0, kStep);
    const Vector<Complex> y = f(z);
    out.resize(y.size(), Reals(at.size()));
    for (size_t i = 0; i < y.size(); ++i) out[i][j] = y[i].imag() / kStep;
  }
  return out;
}

inline Reals gradient(const std::function<Complex(const Vector<Complex>&)>& f, const Reals& at) {
  return slopes([&](const Vector<Complex>& z) { return Vector<Complex>{f(z)}; }, at)[0];
}

inline Reals flat(const RealMatrix& m) {
  Reals out;
  for (const Reals& row : m) out.insert(out.end(), row.begin(), row.end());
  return out;
}

template <class S>
S sum(const Vector<S>& v) {
  return std::accumulate(v.begin(), v.end(), S(0));
}

template <class S>
S log_sum_exp(const Vector<S>& x) {  // of small numbers: nothing to shift
  S total = 0;
  for (const S& e : x) total += std::exp(e);
  return std::log(total);
}

template <class S>
S least_squares(const Vector<S>& x, int n) {
  S total = 0;
  for (int i = 0; i < n; ++i) {
    const double t = -1 + i * 2.0 / (n - 1);
    S r = t > 0 ? 1 : t < 0 ? -1 : 0;
    for (size_t j = 0; j < x.size(); ++j) r -= x[j] * std::pow(t, static_cast<double>(j));
    total += r * r / 2.0;
  }
  return total;
}

template <class S>
Vector<S> runge_kutta(const Vector<S>& x, int steps) {
  const size_t n = x.size();
  const double h = 2.0 / steps;
  const auto slope = [&](const Vector<S>& y) {
    Vector<S> out(n);
    for (size_t i = 0; i < n; ++i) out[i] = i == 0 ? x[0] : x[i] * y[i - 1];
    return out;
  };
  const auto moved = [&](const Vector<S>& y, const Vector<S>& k, double by) {
    Vector<S> out(n);
    for (size_t i = 0; i < n; ++i) out[i] = y[i] + by * k[i];
    return out;
  };
  Vector<S> y(n, S(0));
  for (int s = 0; s < steps; ++s) {
    const Vector<S> a = slope(y), b = slope(moved(y, a, h / 2)), c = slope(moved(y, b, h / 2)), d = slope(moved(y, c, h));
    for (size_t i = 0; i < n; ++i) y[i] += h / 6 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]);
  }
  return y;
}

/// By plain expansion along the first row, which computes minors as often as they come.
template <class S>
S determinant(const Vector<S>& a, size_t n) {
  if (n == 0) return 1;
  S total = 0;
  for (size_t j = 0; j < n; ++j) {
    Vector<S> minor;
    for (size_t r = 1; r < n; ++r)
      for (size_t c = 0; c < n; ++c)
        if (c != j) minor.push_back(a[r * n + c]);
    total += (j % 2 == 0 ? 1.0 : -1.0) * a[j] * determinant(minor, n - 1);
  }
  return total;
}

/// Sum of the squared distances, and the Newton step: from a centroid to the mean of what is nearest to it.
struct Clusters {
  double cost = 0;
  RealMatrix step;
};
inline Clusters clusters(const RealMatrix& points, const RealMatrix& centroids) {
  Clusters out{0, centroids};
  RealMatrix sums(centroids.size(), Reals(centroids[0].size()));
  Reals counts(centroids.size());
  for (const Reals& p : points) {
    size_t nearest = 0;
    double least = INFINITY;
    for (size_t j = 0; j < centroids.size(); ++j) {
      double distance = 0;
      for (size_t d = 0; d < p.size(); ++d) distance += (p[d] - centroids[j][d]) * (p[d] - centroids[j][d]);
      if (distance < least) least = distance, nearest = j;
    }
    out.cost += least;
    counts[nearest] += 1;
    for (size_t d = 0; d < p.size(); ++d) sums[nearest][d] += p[d];
  }
  for (size_t j = 0; j < centroids.size(); ++j)
    for (size_t d = 0; d < centroids[j].size(); ++d) out.step[j][d] -= sums[j][d] / counts[j];
  return out;
}

/// `parameters`: alpha[k], mu[k][d], q[k][d], l[k][d (d - 1) / 2], one after another.
template <class S>
S mixture(const Vector<S>& parameters, const RealMatrix& x, size_t k, double gamma, double m) {
  const size_t n = x.size(), d = x[0].size(), below = d * (d - 1) / 2;
  const S *alpha = parameters.data(), *mu = alpha + k, *q = mu + k * d, *l = q + k * d;
  S total = -static_cast<double>(n) *
            (log_sum_exp(Vector<S>(alpha, alpha + k)) + 0.5 * static_cast<double>(d) * std::log(2 * std::numbers::pi));
  for (size_t i = 0; i < n; ++i) {
    Vector<S> terms;
    for (size_t j = 0; j < k; ++j) {
      S term = alpha[j];
      for (size_t r = 0; r < d; ++r) {
        S z = std::exp(q[j * d + r]) * (x[i][r] - mu[j * d + r]);
        for (size_t c = 0, at = 0; c < d; at += d - 1 - c, ++c)
          if (c < r) z += l[j * below + at + r - c - 1] * (x[i][c] - mu[j * d + c]);
        term += q[j * d + r] - 0.5 * z * z;
      }
      terms.push_back(term);
    }
    total += log_sum_exp(terms);
  }
  const double freedom = static_cast<double>(d) + m + 1, dims = static_cast<double>(d);
  double log_gamma = dims * (dims - 1) / 4 * std::log(std::numbers::pi);
  for (size_t j = 1; j <= d; ++j) log_gamma += std::lgamma(freedom / 2 + (1 - static_cast<double>(j)) / 2);
  total += static_cast<double>(k) * (freedom * dims * std::log(gamma / std::sqrt(2.0)) - log_gamma);
  for (size_t i = 0; i < k * d; ++i) total += m * q[i] - gamma * gamma / 2 * std::exp(2.0 * q[i]);
  for (size_t i = 0; i < k * below; ++i) total -= gamma * gamma / 2 * l[i] * l[i];
  return total;
}

/// `parameters`: main[2 layers][4 bits], then extra[3][bits].
template <class S>
S recurrent_loss(const Vector<S>& parameters, const RealMatrix& state, const RealMatrix& sequence) {
  const size_t layers = state.size() / 2, bits = state[0].size();
  const S* extra = &parameters[layers * 8 * bits];
  const auto logistic = [](const S& x) { return 1.0 / (1.0 + std::exp(-x)); };
  Matrix<S> shown(layers, Vector<S>(bits)), kept = shown;
  for (size_t i = 0; i < layers; ++i)
    for (size_t b = 0; b < bits; ++b) shown[i][b] = state[2 * i][b], kept[i][b] = state[2 * i + 1][b];
  S total = 0;
  for (size_t t = 0; t + 1 < sequence.size(); ++t) {
    Vector<S> y(bits);
    for (size_t b = 0; b < bits; ++b) {
      S x = sequence[t][b] * extra[b];
      for (size_t i = 0; i < layers; ++i) {
        const auto gate = [&](size_t g, const S& v) {
          const S* weights = &parameters[i * 8 * bits];
          return v * weights[g * bits + b] + weights[(4 + g) * bits + b];
        };
        const S forget = logistic(gate(0, x)), enter = logistic(gate(1, shown[i][b])), leave = logistic(gate(2, x));
        kept[i][b] = kept[i][b] * forget + enter * std::tanh(gate(3, shown[i][b]));
        x = shown[i][b] = leave * std::tanh(kept[i][b]);
      }
      y[b] = x * extra[bits + b] + extra[2 * bits + b];
    }
    S total_exp = 2;
    for (const S& v : y) total_exp += std::exp(v);
    for (size_t b = 0; b < bits; ++b) total += sequence[t + 1][b] * (y[b] - std::log(total_exp));
  }
  return -total / static_cast<double>(bits * (sequence.size() - 1));
}

template <class S>
Vector<S> cross(const S* a, const S* b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// v turned around r by the length of r.
template <class S>
Vector<S> turned(const Vector<S>& r, const Vector<S>& v) {
  const S angle = std::sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
  const Vector<S> axis = {r[0] / angle, r[1] / angle, r[2] / angle}, side = cross(axis.data(), v.data());
  const S along = (axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2]) * (1.0 - std::cos(angle));
  Vector<S> out;
  for (size_t i = 0; i < 3; ++i) out.push_back(v[i] * std::cos(angle) + side[i] * std::sin(angle) + axis[i] * along);
  return out;
}

/// `z`: a camera[11], a point[3], a weight.
template <class S>
Vector<S> reprojection(const Vector<S>& z, const Reals& feature) {
  const Vector<S> at = turned<S>({z[0], z[1], z[2]}, {z[11] - z[3], z[12] - z[4], z[13] - z[5]});
  const S u = at[0] / at[2], v = at[1] / at[2], square = u * u + v * v;
  const S scale = z[6] * (1.0 + z[9] * square + z[10] * square * square);
  return {z[14] * (u * scale + z[7] - feature[0]), z[14] * (v * scale + z[8] - feature[1])};
}

struct Hand {
  Vector<int> parents;
  Matrix<Reals> base_relatives, inverse_base_absolutes;
  RealMatrix base_positions, weights;
  Matrix<int> triangles;
  bool is_mirrored = false;
};

template <class S>
Matrix<S> product(const Matrix<S>& a, const RealMatrix& b) {
  Matrix<S> out(a.size(), Vector<S>(b[0].size(), S(0)));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b[0].size(); ++j)
      for (size_t k = 0; k < b.size(); ++k) out[i][j] += a[i][k] * b[k][j];
  return out;
}

template <class S>
Matrix<S> hand_vertices(const Vector<S>& theta, const Hand& hand) {
  const size_t bones = hand.parents.size();
  Vector<Matrix<S>> absolute(bones);
  for (size_t i = 0; i < bones; ++i) {
    const size_t finger = (i - 2) / 4, joint = (i - 2) % 4, at = 6 + 4 * finger;
    const bool moves = i >= 2 && joint < 3;
    const S bend = moves ? theta[at + (joint == 0 ? 0 : joint + 1)] : S(0),
            spread = moves && joint == 0 ? theta[at + 1] : S(0);
    Matrix<S> m(4, Vector<S>(4, S(0)));
    for (size_t r = 0; r < 4; ++r) {  // columns: around x by bend, then around z by spread
      const Reals& b = hand.base_relatives[i][r];
      const S x = b[0] * std::cos(spread) + b[1] * std::sin(spread), y = b[1] * std::cos(spread) - b[0] * std::sin(spread);
      m[r] = {x, y * std::cos(bend) + b[2] * std::sin(bend), b[2] * std::cos(bend) - y * std::sin(bend), S(b[3])};
    }
    if (hand.parents[i] >= 0) {
      const Matrix<S>& up = absolute[static_cast<size_t>(hand.parents[i])];
      Matrix<S> joined(4, Vector<S>(4, S(0)));
      for (size_t r = 0; r < 4; ++r)
        for (size_t c = 0; c < 4; ++c)
          for (size_t k = 0; k < 4; ++k) joined[r][c] += up[r][k] * m[k][c];
      m = joined;
    }
    absolute[i] = m;
  }
  Matrix<S> out;
  for (size_t v = 0; v < hand.base_positions.size(); ++v) {
    Vector<S> p(3, S(0));
    for (size_t i = 0; i < bones; ++i) {
      const Matrix<S> m = product(absolute[i], hand.inverse_base_absolutes[i]);
      for (size_t r = 0; r < 3; ++r)
        for (size_t c = 0; c < 4; ++c) p[r] += hand.weights[v][i] * m[r][c] * hand.base_positions[v][c];
    }
    if (hand.is_mirrored) p[0] = -p[0];
    p = turned<S>({theta[0], theta[1], theta[2]}, p);
    for (size_t r = 0; r < 3; ++r) p[r] += theta[3 + r];
    out.push_back(p);
  }
  return out;
}

/// `us`: none where correspondences are vertices, else two for each, which are triangles then.
template <class S>
Vector<S> hand_errors(const Vector<S>& theta, const Vector<S>& us, const Hand& hand, const Vector<int>& correspondences,
                      const RealMatrix& points) {
  const Matrix<S> at = hand_vertices(theta, hand);
  Vector<S> out;
  for (size_t i = 0; i < points.size(); ++i) {
    const auto which = static_cast<size_t>(correspondences[i]);
    for (size_t r = 0; r < 3; ++r) {
      const auto corner = [&](size_t k) { return at[static_cast<size_t>(hand.triangles[which][k])][r]; };
      out.push_back(points[i][r] - (us.empty() ? at[which][r]
                                               : us[2 * i] * corner(0) + us[2 * i + 1] * corner(1) +
                                                     (1.0 - us[2 * i] - us[2 * i + 1]) * corner(2)));
    }
  }
  return out;
}

/// Where the descent that the suite prescribes ends: its rate doubles after ten successes and halves after a failure.
inline Reals descent(const std::function<double(const Reals&)>& f, const std::function<Reals(const Reals&)>& slope,
                     Reals x) {
  const auto length = [](const Reals& v) { return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0)); };
  double value = f(x), rate = 1e-5;
  Reals g = slope(x);
  for (int hits = 0; length(g) > 1e-5;) {
    if (hits == 10) {
      rate *= 2;
      hits = 0;
      continue;
    }
    Reals next = x, move = x;
    for (size_t i = 0; i < x.size(); ++i) move[i] = rate * g[i], next[i] = x[i] - move[i];
    if (length(move) <= 1e-5) break;
    if (const double there = f(next); there < value) {
      x = next, value = there, g = slope(x);
      ++hits;
    } else {
      rate /= 2;
      hits = 0;
    }
  }
  return x;
}

/// The square of where the particle crosses the axis; the force written out.
template <class S>
S particle_miss(const S& w) {
  Vector<S> x = {0, 8}, v = {0.75, 0};
  while (true) {
    Vector<S> force(2, S(0));
    for (const Vector<S>& charge : {Vector<S>{10.0, 10.0 - w}, Vector<S>{10.0, 0.0}}) {
      const S dx = x[0] - charge[0], dy = x[1] - charge[1], d = std::sqrt(dx * dx + dy * dy);
      force[0] += dx / (d * d * d);
      force[1] += dy / (d * d * d);
    }
    for (size_t i = 0; i < 2; ++i) x[i] += 0.1 * v[i];
    if (std::real(x[1]) <= 0) {
      const S at = x[0] - x[1] / v[1] * v[0];
      return at * at;
    }
    for (size_t i = 0; i < 2; ++i) v[i] += 0.1 * force[i];
  }
}

}  // namespace spirograd::gradbench_test
