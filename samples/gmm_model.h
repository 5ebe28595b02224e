// The mixture model of the demo on the host: data, parameters, and what people want to see of a fitted mixture.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "spirograd/host_array.h"
#include "spirograd/result.h"

namespace samples {

/// Points of two coordinates, scaled to mean 0 and deviation 1 for the fit.
struct Points {
  std::vector<std::array<double, 2>> raw;
  std::array<double, 2> mean{}, deviation{};
  std::vector<double> scaled() const;  // row-major [n, 2]
};

/// Lines of `x,y` after lines beginning with '#' and one of column names. Error SG0501 with the line that cannot be read.
spirograd::Result<Points> read_points(const std::string& path);

/// Parameters of the mixture in the order of the program: alpha [k], mu [k,2], q [k,2], l [k,1].
struct Mixture {
  int k = 2;
  std::array<std::vector<double>, 4> parts;
};

/// Unit spheres around points spread over the data.
Mixture start(const Points& points, int k);

/// Inputs of the program in its order.
std::vector<spirograd::HostArray> inputs_of(const Mixture& m, const Points& points);

/// Adam, upwards. The usual constants; `rate` falls linearly to a tenth over the run.
class Ascent {
 public:
  Ascent(double rate, int steps) : rate_(rate), steps_(steps) {}
  void step(Mixture& m, const std::array<std::vector<double>, 4>& gradient);

 private:
  double rate_;
  int steps_, done_ = 0;
  std::array<std::vector<double>, 4> mean_, square_;
};

/// A component in the units of the data.
struct Component {
  double weight;
  std::array<double, 2> mean;
  std::array<std::array<double, 2>, 2> covariance;
};
std::vector<Component> components(const Mixture& m, const Points& points);

/// Density of one component at a point, without its weight.
double density(const Component& c, double x, double y);

/// A PNG-ready picture: points coloured by component, densities, ellipses of one and two standard deviations. Row-major RGB.
std::vector<uint8_t> draw(const Mixture& m, const Points& points, int width, int height);

}  // namespace samples
