// Fits a Gaussian mixture to points by gradient steps. First evaluates the likelihood and its gradient on every Vulkan
// device found and compares them with the double-precision reference interpreter; then climbs on the best device and draws
// the result.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "frontend/ir/eval.h"
#include "samples/gmm_model.h"
#include "samples/gmm_objective.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirograd/vk.h"
#include "tools/io/png.h"
#include "tools/io/progress.h"
#include "tools/io/table.h"

namespace {

using namespace spirograd;
using namespace samples;

struct Options {
  std::string data = "samples/data/old_faithful.csv", program = "samples/gmm.sg", picture = "old_faithful.png", device;
  int components = 2, steps = 300;
};

constexpr const char* kUsage =
    "usage: gmm_demo [--data FILE.csv] [--program FILE.sg] [--picture FILE.png] [--device NAME] [--components K] [--steps "
    "N]\n"
    "Evaluates the mixture's likelihood and gradient on every Vulkan device, fits it on the best one, and draws the fit.\n"
    "example: gmm_demo --components 3 --steps 500 --picture three.png\n"
    "example: gmm_demo --device llvmpipe\n";

Options parse_options(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    if (key == "--help" || key == "-h") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    }
    if (i + 1 == argc) throw Error("", "unknown option or missing value: '" + key + "'").hint("gmm_demo --help");
    const std::string value = argv[++i];
    const auto count = [&] {
      char* end = nullptr;
      const long n = std::strtol(value.c_str(), &end, 10);
      if (*end || n < 1 || n > 100000) throw Error("", key + " needs a positive whole number, got '" + value + "'");
      return static_cast<int>(n);
    };
    if (key == "--data")
      o.data = value;
    else if (key == "--program")
      o.program = value;
    else if (key == "--picture")
      o.picture = value;
    else if (key == "--device")
      o.device = value;
    else if (key == "--components")
      o.components = count();
    else if (key == "--steps")
      o.steps = count();
    else
      throw Error("", "unknown option '" + key + "'").hint("gmm_demo --help");
  }
  return o;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw Error("SG0501", "cannot read '" + path + "'");
  return text.str();
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

double norm(std::span<const std::vector<double>> parts) {
  double square = 0;
  for (const auto& part : parts)
    for (double x : part) square += x * x;
  return std::sqrt(square);
}

/// Largest difference to the reference, relative to the largest element of the array it is in.
double deviation(const std::vector<std::vector<double>>& have, const std::vector<ir::Array>& want) {
  double worst = 0;
  for (size_t r = 0; r < have.size(); ++r) {
    double scale = 1e-30;
    for (double x : want[r].data) scale = std::max(scale, std::abs(x));
    for (size_t i = 0; i < have[r].size(); ++i) worst = std::max(worst, std::abs(have[r][i] - want[r].data[i]) / scale);
  }
  return worst;
}

std::vector<std::vector<double>> values_of(const std::vector<HostArray>& arrays) {
  std::vector<std::vector<double>> out;
  for (const HostArray& a : arrays) out.push_back(a.values());
  return out;
}

struct Row {
  std::unique_ptr<vk::Session> session;
  bool right = false;
};

// Compiles and runs the gradient on one device and adds its line to the table.
Row evaluate_on(const std::shared_ptr<vk::Device>& device, const Program& gradient, const std::vector<HostArray>& inputs,
                const std::vector<ir::Array>& reference, io::Table& table) {
  const Executable exe = compile(gradient, device->target(), {.form = device->preferred_form()}).value();
  Row row{vk::Session::create(device, exe).value()};
  const auto outputs = values_of(row.session->run(inputs).value());
  std::vector<double> times;
  for (int i = 0; i < 30; ++i) {
    const double begin = seconds();
    row.session->run(inputs).value();
    times.push_back(seconds() - begin);
  }
  std::nth_element(times.begin(), times.begin() + 15, times.end());
  const uint64_t dispatches = runs(exe.steps, Step::Kind::Dispatch);
  const double worst = deviation(outputs, reference);
  row.right = worst < 1e-4;
  table.add({device->info().name, format("%.4f", outputs[0][0]), format("%.4f", norm(std::span(outputs).subspan(1))),
             format("%.1e", worst) + (row.right ? "" : "  WRONG"), std::to_string(dispatches),
             format("%.2f ms", 1e3 * times[15])});
  return row;
}

void fit(vk::Session& session, Mixture& mixture, const Points& points, const Options& options) {
  Ascent ascent(0.1, options.steps);
  double first = 0, last = 0;
  auto progress = std::make_unique<io::Progress>("fitting");
  for (int step = 0; step < options.steps; ++step) {
    const auto outputs = values_of(session.run(inputs_of(mixture, points)).value());
    last = outputs[0][0];
    if (step == 0) first = last;
    progress->update("step " + std::to_string(step + 1) + "/" + std::to_string(options.steps) +
                     format("  log-likelihood %.3f", last));
    ascent.step(mixture, {outputs[1], outputs[2], outputs[3], outputs[4]});
  }
  progress.reset();  // the line of results comes after it
  std::printf("log-likelihood %.3f -> %.3f in %d steps\n", first, last, options.steps);
  if (!(last > first)) throw Error("SG0901", "the likelihood did not rise");
}

int run(const Options& options) {
  const Points points = read_points(options.data).value();
  const int n = static_cast<int>(points.raw.size());
  Mixture mixture = start(points, options.components);
  const std::vector<HostArray> inputs = inputs_of(mixture, points);

  // The objective stands once as text and once in C++. Both are the same program.
  const text::Module module = text::parse(read_text(options.program), options.program).value();
  const Program traced = gmm(n, 2, options.components).value();
  std::vector<text::NamedType> types;
  for (size_t j = 0; j < inputs.size(); ++j) types.push_back({traced.params[j].name, inputs[j].type});
  const Program objective = text::instantiate(module, "gmm", types).value();
  const bool same = text::print(objective) == text::print(traced);
  std::printf("objective: %s and samples/gmm_objective.h %s\n", options.program.c_str(),
              same ? "give the same program" : "DIFFER");
  const Program gradient = value_and_grad(objective, {"alpha", "mu", "q", "l"}).value();

  std::printf("data:      %s, %d points, %d components\n\n", options.data.c_str(), n, options.components);
  const std::vector<ir::Array> reference = ir::evaluate(gradient, values_of(inputs));
  io::Table table({"device", ">log-likelihood", ">|gradient|", ">deviation", ">dispatches", ">time per call"});
  std::vector<std::vector<double>> exact;
  for (const ir::Array& a : reference) exact.push_back(a.data);
  table.add(
      {"interpreter (f64)", format("%.4f", exact[0][0]), format("%.4f", norm(std::span(exact).subspan(1))), "-", "-", "-"});

  std::unique_ptr<vk::Session> best;
  std::string best_name;
  bool all_right = same;
  for (const vk::DeviceInfo& info : vk::devices().value()) {
    if (!info.unusable.empty()) {
      table.add({info.name, "lacks " + info.unusable, "", "", "", ""});
      continue;
    }
    const auto device = vk::Device::create({.select = std::to_string(info.index)}).value();
    Row row = evaluate_on(device, gradient, inputs, reference, table);
    all_right = all_right && row.right;
    const bool wanted = options.device.empty() || info.name.find(options.device) != std::string::npos;
    if (wanted && row.right && !best) {
      best = std::move(row.session);
      best_name = info.name;
    }
  }
  std::fputs(table.str().c_str(), stdout);
  if (!best)
    throw Error("SG0304",
                "no device" + (options.device.empty() ? "" : " called '" + options.device + "'") + " gave the right result");

  std::printf("\nfitting on %s\n", best_name.c_str());
  fit(*best, mixture, points, options);
  for (const Component& c : components(mixture, points))
    std::printf("  weight %.3f  mean (%.3f, %.2f)  deviations (%.3f, %.2f)\n", c.weight, c.mean[0], c.mean[1],
                std::sqrt(c.covariance[0][0]), std::sqrt(c.covariance[1][1]));
  constexpr int kWidth = 720, kHeight = 480;
  io::Picture picture(kWidth, kHeight);
  picture.rgb = draw(mixture, points, kWidth, kHeight);
  io::write_png(options.picture, picture);
  std::printf("picture:   %s\n", options.picture.c_str());
  return all_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse_options(argc, argv));
  } catch (const Error& e) {
    std::cerr << e.str() << "\n";
    return 1;
  }
}
