// Time of the mixture's value and gradient on every Vulkan device. Input: a file of the ADBench suite (gmm_d*_K*.txt), or
// made up.
//   gmm_bench FILE.txt | gmm_bench N D K
// Prints one JSON object per device: milliseconds (medians of 30 calls that leave data on the device), dispatches, bytes,
// compile times.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>

#include "frontend/ir/eval.h"
#include "samples/gmm_objective.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/vk.h"

namespace {

using namespace spirograd;

struct Problem {
  int n = 0, d = 0, k = 0, m = 0;
  double gamma = 1;
  std::vector<double> alpha, mu, q, l, x;
};

Problem read(const char* path) {
  std::ifstream file(path);
  Problem p;
  if (!(file >> p.d >> p.k >> p.n)) throw Error("SG0501", std::string("cannot read '") + path + "'");
  const auto take = [&](std::vector<double>& to, size_t count) {
    for (double v; to.size() < count && file >> v;) to.push_back(v);
    if (to.size() < count) throw Error("SG0501", std::string("'") + path + "' ends too early");
  };
  const auto d = static_cast<size_t>(p.d), k = static_cast<size_t>(p.k);
  take(p.alpha, k);
  take(p.mu, k * d);
  for (size_t j = 0; j < k; ++j) {  // per component: the logarithms of the diagonal, then the strict lower part by columns
    take(p.q, (j + 1) * d);
    take(p.l, (j + 1) * d * (d - 1) / 2);
  }
  take(p.x, static_cast<size_t>(p.n) * d);
  file >> p.gamma >> p.m;
  return p;
}

Problem make(int n, int d, int k) {
  Problem p{n, d, k};
  std::mt19937 random(31337);
  std::normal_distribution<double> normal;
  const auto fill = [&](std::vector<double>& to, int count) {
    for (int i = 0; i < count; ++i) to.push_back(normal(random));
  };
  fill(p.alpha, k);
  fill(p.mu, k * d);
  fill(p.q, k * d);
  fill(p.l, k * d * (d - 1) / 2);
  fill(p.x, n * d);
  return p;
}

double milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Measured {
  double compile, session, first, median, best;
  std::vector<HostArray> results;
  size_t dispatches;
  uint64_t bytes, words;
};

Measured measure(const Program& program, const std::vector<HostArray>& inputs, const std::shared_ptr<vk::Device>& device) {
  Measured m{};
  const double t0 = milliseconds();
  const Executable exe = compile(program, device->target(), {.form = device->preferred_form()}).value();
  const double t1 = milliseconds();
  const auto session = vk::Session::create(device, exe).value();
  const double t2 = milliseconds();
  m.results = session->run(inputs).value();
  const double t3 = milliseconds();
  std::vector<double> times;
  for (int i = 0; i < 30; ++i) times.push_back(1e3 * session->replay().value().host);
  std::sort(times.begin(), times.end());
  m.compile = t1 - t0;
  m.session = t2 - t1;
  m.first = t3 - t2;
  m.median = times[times.size() / 2];
  m.best = times[0];
  m.dispatches = runs(exe.steps, Step::Kind::Dispatch);
  for (const KernelBinary& k : exe.kernels) m.words += k.words.size();
  m.bytes = session->device_bytes();
  return m;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2 && argc != 4) {
      std::fprintf(stderr, "usage: gmm_bench FILE.txt | gmm_bench N D K\n");
      return 2;
    }
    const Problem p = argc == 2 ? read(argv[1]) : make(std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]));
    const double begin = milliseconds();
    const Program value = gmm(p.n, p.d, p.k).value();
    const double traced = milliseconds();
    const Program gradient = value_and_grad(value, {"alpha", "mu", "q", "l"}).value();
    const double differentiated = milliseconds();
    const std::vector<std::vector<double>> raw = {
        p.alpha, p.mu, p.q, p.l, p.x, {p.gamma}, {static_cast<double>(p.m)}, {gmm_constant(p.n, p.d, p.k, p.gamma, p.m)}};
    std::vector<HostArray> inputs;
    for (size_t j = 0; j < raw.size(); ++j) inputs.emplace_back(value.params[j].type, raw[j]);
    for (const vk::DeviceInfo& info : vk::devices().value()) {
      if (!info.unusable.empty()) continue;
      const auto device = vk::Device::create({.select = std::to_string(info.index)}).value();
      const Measured v = measure(value, inputs, device), g = measure(gradient, inputs, device);
      std::printf(
          "{\"device\": \"%s\", \"n\": %d, \"d\": %d, \"k\": %d, \"value\": %.6g, \"trace_ms\": %.2f, \"grad_ms\": %.2f,\n",
          device->info().name.c_str(), p.n, p.d, p.k, g.results[0].values()[0], traced - begin, differentiated - traced);
      const auto print = [](const char* name, const Measured& m) {
        std::printf(
            " \"%s\": {\"median_ms\": %.3f, \"best_ms\": %.3f, \"dispatches\": %zu, \"compile_ms\": %.1f, \"session_ms\": "
            "%.1f, "
            "\"first_run_ms\": %.1f, \"spirv_words\": %llu, \"device_bytes\": %llu},\n",
            name, m.median, m.best, m.dispatches, m.compile, m.session, m.first, static_cast<unsigned long long>(m.words),
            static_cast<unsigned long long>(m.bytes));
      };
      print("value_only", v);
      print("gradient", g);
      std::printf(" \"ratio\": %.2f}\n", g.median / v.median);
    }
    return 0;
  } catch (const Error& e) {
    std::cerr << e.str() << "\n";
    return 1;
  }
}
