// Training steps whose weights stay on the device, on every Vulkan device: `run(n)` of one step against the same steps as
// one program that has the loop inside, and against a run for each step with the weights through the host.
//   steps_bench [STEPS]
// Prints one JSON object per device and problem: milliseconds for all steps, medians of several, taken in turns.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>

#include "spirograd/compile.h"
#include "spirograd/text.h"
#include "spirograd/vk.h"

namespace {

using namespace spirograd;

constexpr int kTurns = 5;

// Each has a loss of weights, samples and results.
struct Problem {
  const char *name, *loss;
  int64_t inputs, outputs, batch;
};
const Problem kProblems[] = {
    {"line", "mean(square(sum(w * x, axis=1) - y))", 2, 1, 100},
    {"least squares", "mean(square(x @ w - y))", 64, 8, 256},
    {"classes", "-mean(sum(log_softmax(x @ w) * y, axis=1))", 784, 10, 64},
    {"many classes", "-mean(sum(log_softmax(x @ w) * y, axis=1))", 784, 32, 128},
};

std::string source(const Problem& p, int64_t steps) {
  const auto n = [](int64_t x) { return std::to_string(x); };
  const bool one = p.outputs == 1;
  const std::string w = "f32[" + n(p.inputs) + (one ? "]" : "," + n(p.outputs) + "]");
  const std::string y = "f32[" + n(p.batch) + (one ? "]" : "," + n(p.outputs) + "]");
  const std::string parameters = "(w: " + w + ", x: f32[" + n(p.batch) + "," + n(p.inputs) + "], y: " + y + ")";
  std::string out = "def loss" + parameters + " -> f32 = " + p.loss + "\n";
  if (steps == 0)
    return out + "def main" + parameters + " -> (loss: f32, w_next: " + w +
           ") {\n  let (l, g) = value_and_grad(loss)(w, x, y)\n  (l, w - 0.01 * g)\n}\n";
  return out + "def main" + parameters + " -> (loss: f32, w_next: " + w + ") {\n" +
         "  let step = fn(i, (w, l)) => {\n    let (l, g) = value_and_grad(loss)(w, x, y)\n    (w - 0.01 * g, l)\n  }\n" +
         "  let (w, l) = fori(" + n(steps) + ", step, (w, 0.0))\n  (l, w)\n}\n";
}

std::unique_ptr<vk::Session> session(const std::shared_ptr<vk::Device>& device, const std::string& text) {
  const Program p = text::instantiate(text::parse(text, "steps.sg").value()).value();
  return vk::Session::create(device, compile(p, device->target(), {.form = device->preferred_form()}).value()).value();
}

HostArray waves(const Type& type, double frequency, double size) {
  std::vector<double> values;
  for (int64_t i = 0; i < type.shape.count(); ++i) values.push_back(size * std::sin(frequency * static_cast<double>(i)));
  return HostArray(type, values);
}

double milliseconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

void measure(const std::shared_ptr<vk::Device>& device, const Problem& p, int64_t steps) {
  const bool one = p.outputs == 1;
  const HostArray w = waves(one ? f32({p.inputs}) : f32({p.inputs, p.outputs}), 1.3, 0.1);
  const HostArray x = waves(f32({p.batch, p.inputs}), 0.7, 1);
  const HostArray y = waves(one ? f32({p.batch}) : f32({p.batch, p.outputs}), 0.9, 0.5);
  const auto step = session(device, source(p, 0)), whole = session(device, source(p, steps)),
             host = session(device, source(p, 0));
  vk::DeviceArray weights = vk::DeviceArray::create(device, w).value();
  step->bind("w", weights).value();
  step->feed("w_next", "w").value();
  for (const auto& s : {step.get(), whole.get()}) {
    s->write("x", x).value();
    s->write("y", y).value();
  }
  whole->write("w", w).value();
  std::vector<double> by_step, by_program, by_host;
  double furthest = 0;
  for (int turn = 0; turn <= kTurns; ++turn) {
    weights.upload(w).value();
    const double a = milliseconds([&] { step->run(steps).value(); });
    const double b = milliseconds([&] { whole->run(1).value(); });
    HostArray now = w;
    const double c = milliseconds([&] {
      for (int64_t k = 0; k < steps; ++k) now = std::move(host->run(std::vector{now, x, y}).value()[1]);
    });
    const std::vector<double> have = weights.download().value().values(), want = whole->read("w_next").value().values();
    for (size_t i = 0; i < have.size(); ++i) furthest = std::max(furthest, std::abs(have[i] - want[i]));
    if (turn == 0) continue;  // the driver compiles kernels when they are first used
    by_step.push_back(a), by_program.push_back(b), by_host.push_back(c);
  }
  std::printf(
      "{\"device\": \"%s\", \"problem\": \"%s\", \"weights\": \"%s\", \"batch\": %lld, \"steps\": %lld, \"run_n_ms\": %.2f, "
      "\"one_program_ms\": %.2f, \"through_host_ms\": %.2f, \"ratio\": %.3f, \"furthest\": %.1e}\n",
      device->info().name.c_str(), p.name, to_string(w.type).c_str(), static_cast<long long>(p.batch),
      static_cast<long long>(steps), median(by_step), median(by_program), median(by_host),
      median(by_step) / median(by_program), furthest);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  const int64_t steps = argc > 1 ? std::atoll(argv[1]) : 1000;
  for (const vk::DeviceInfo& info : vk::devices().value()) {
    vk::DeviceOptions options;
    options.select = std::to_string(info.index);
    const auto device = vk::Device::create(options).value();
    for (const Problem& p : kProblems) measure(device, p, steps);
  }
} catch (const spirograd::Error& error) {
  return std::cerr << error.str(), 1;
}
