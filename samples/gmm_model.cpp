#include "samples/gmm_model.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <sstream>
#include <utility>

#include "samples/gmm_objective.h"
#include "samples/picture.h"

namespace samples {

using spirograd::Error;
using spirograd::HostArray;

std::vector<double> Points::scaled() const {
  std::vector<double> out;
  for (const auto& p : raw)
    for (size_t a : {0, 1}) out.push_back((p[a] - mean[a]) / deviation[a]);
  return out;
}

spirograd::Result<Points> read_points(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error("SG0501", "cannot read '" + path + "'");
  Points out;
  std::string line;
  bool titles = true;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    if (std::exchange(titles, false)) continue;
    std::istringstream fields(line);
    std::array<double, 2> p;
    char comma = 0;
    if (!(fields >> p[0] >> comma >> p[1]) || comma != ',')
      return Error("SG0501", "'" + line + "' is not two numbers with a comma between them").at({path, number, 1});
    out.raw.push_back(p);
  }
  if (out.raw.size() < 3) return Error("SG0501", "'" + path + "' holds fewer than three points");
  const double n = static_cast<double>(out.raw.size());
  for (size_t a : {0, 1}) {
    for (const auto& p : out.raw) out.mean[a] += p[a] / n;
    for (const auto& p : out.raw) out.deviation[a] += (p[a] - out.mean[a]) * (p[a] - out.mean[a]) / n;
    out.deviation[a] = std::sqrt(out.deviation[a]);
  }
  return out;
}

Mixture start(const Points& points, int k) {
  Mixture m;
  m.k = k;
  // Evenly spaced along the first coordinate; all components begin round and equally heavy.
  std::vector<std::array<double, 2>> sorted = points.raw;
  std::sort(sorted.begin(), sorted.end());
  for (int j = 0; j < k; ++j) {
    const auto& p = sorted[(2 * static_cast<size_t>(j) + 1) * sorted.size() / (2 * static_cast<size_t>(k))];
    for (size_t a : {0, 1}) m.parts[1].push_back((p[a] - points.mean[a]) / points.deviation[a]);
  }
  m.parts[0].assign(static_cast<size_t>(k), 0);
  m.parts[2].assign(2 * static_cast<size_t>(k), 0);
  m.parts[3].assign(static_cast<size_t>(k), 0);
  return m;
}

std::vector<HostArray> inputs_of(const Mixture& m, const Points& points) {
  using spirograd::f32;
  const int64_t n = static_cast<int64_t>(points.raw.size()), k = m.k;
  const double gamma = 1;
  const int wishart_m = 0;
  return {HostArray(f32({k}), m.parts[0]),
          HostArray(f32({k, 2}), m.parts[1]),
          HostArray(f32({k, 2}), m.parts[2]),
          HostArray(f32({k, 1}), m.parts[3]),
          HostArray(f32({n, 2}), points.scaled()),
          HostArray(f32(), {gamma}),
          HostArray(f32(), {static_cast<double>(wishart_m)}),
          HostArray(f32(), {gmm_constant(static_cast<int>(n), 2, m.k, gamma, wishart_m)})};
}

void Ascent::step(Mixture& m, const std::array<std::vector<double>, 4>& gradient) {
  const double rate = rate_ * (1 - 0.9 * done_ / steps_);
  ++done_;
  for (size_t part = 0; part < 4; ++part) {
    mean_[part].resize(gradient[part].size());
    square_[part].resize(gradient[part].size());
    for (size_t i = 0; i < gradient[part].size(); ++i) {
      const double g = gradient[part][i];
      mean_[part][i] += 0.1 * (g - mean_[part][i]);
      square_[part][i] += 0.001 * (g * g - square_[part][i]);
      const double mean = mean_[part][i] / (1 - std::pow(0.9, done_)),
                   square = square_[part][i] / (1 - std::pow(0.999, done_));
      m.parts[part][i] += rate * mean / (std::sqrt(square) + 1e-8);
    }
  }
}

std::vector<Component> components(const Mixture& m, const Points& points) {
  double total = 0;
  for (double a : m.parts[0]) total += std::exp(a);
  std::vector<Component> out;
  for (size_t j = 0; j < static_cast<size_t>(m.k); ++j) {
    // The root is [[a, 0], [l, b]]; the covariance is the inverse of root^T root, stretched back to the units of the data.
    const double a = std::exp(m.parts[2][2 * j]), b = std::exp(m.parts[2][2 * j + 1]), l = m.parts[3][j];
    const double sx = points.deviation[0], sy = points.deviation[1], det = a * a * b * b;
    Component c;
    c.weight = std::exp(m.parts[0][j]) / total;
    for (size_t axis : {0, 1}) c.mean[axis] = points.mean[axis] + points.deviation[axis] * m.parts[1][2 * j + axis];
    c.covariance = {
        {{b * b / det * sx * sx, -b * l / det * sx * sy}, {-b * l / det * sx * sy, (a * a + l * l) / det * sy * sy}}};
    out.push_back(c);
  }
  return out;
}

double density(const Component& c, double x, double y) {
  const auto& s = c.covariance;
  const double det = s[0][0] * s[1][1] - s[0][1] * s[1][0], dx = x - c.mean[0], dy = y - c.mean[1];
  const double square = (s[1][1] * dx * dx - 2 * s[0][1] * dx * dy + s[0][0] * dy * dy) / det;
  return std::exp(-0.5 * square) / (2 * std::numbers::pi * std::sqrt(det));
}

namespace {

constexpr Colour kColours[] = {
    {0.13, 0.44, 0.71}, {0.84, 0.37, 0.10}, {0.20, 0.60, 0.30}, {0.55, 0.30, 0.65}, {0.75, 0.60, 0.10}};

// The points that lie `deviations` standard deviations from the mean: mean + deviations * L (cos t, sin t), L L^T the
// covariance.
std::vector<std::array<double, 2>> ellipse(const Component& c, double deviations) {
  const double l00 = std::sqrt(c.covariance[0][0]), l10 = c.covariance[1][0] / l00;
  const double l11 = std::sqrt(c.covariance[1][1] - l10 * l10);
  std::vector<std::array<double, 2>> out;
  for (int i = 0; i <= 180; ++i) {
    const double u = deviations * std::cos(i * std::numbers::pi / 90), v = deviations * std::sin(i * std::numbers::pi / 90);
    out.push_back({c.mean[0] + l00 * u, c.mean[1] + l10 * u + l11 * v});
  }
  return out;
}

}  // namespace

std::vector<uint8_t> draw(const Mixture& m, const Points& points, int width, int height) {
  std::array<double, 2> low = points.raw[0], high = points.raw[0];
  for (const auto& p : points.raw)
    for (size_t a : {0, 1}) {
      low[a] = std::min(low[a], p[a]);
      high[a] = std::max(high[a], p[a]);
    }
  const double mx = 0.12 * (high[0] - low[0]), my = 0.12 * (high[1] - low[1]);
  Picture picture(width, height, {low[0] - mx, high[0] + mx}, {low[1] - my, high[1] + my});
  const std::vector<Component> parts = components(m, points);
  const auto colour = [&](size_t j) { return kColours[j % std::size(kColours)]; };
  for (size_t j = 0; j < parts.size(); ++j) {
    const double peak = density(parts[j], parts[j].mean[0], parts[j].mean[1]);
    picture.shade(colour(j), [&](double x, double y) { return 0.35 * density(parts[j], x, y) / peak; });
  }
  for (const auto& p : points.raw) {
    size_t best = 0;
    for (size_t j = 1; j < parts.size(); ++j)
      if (parts[j].weight * density(parts[j], p[0], p[1]) > parts[best].weight * density(parts[best], p[0], p[1])) best = j;
    picture.disc(p[0], p[1], 3.6, {1, 1, 1});
    picture.disc(p[0], p[1], 2.6, colour(best));
  }
  for (size_t j = 0; j < parts.size(); ++j)
    for (double deviations : {1.0, 2.0}) picture.curve(ellipse(parts[j], deviations), 2, colour(j));
  picture.axes(1, 10);
  return picture.rgb();
}

}  // namespace samples
