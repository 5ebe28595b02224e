// Gradients shared among devices: the time of a step on each device alone, on all of them in equal parts, and in the parts
// that were chosen by what was measured; and how far the results are from those of the first device.
//   shards_bench [EXTENT]     of the data, 400,000 if not given
// Prints one JSON object for each problem: milliseconds of a step, medians of several, data written once.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/shared_data.h"
#include "spirograd/grad.h"
#include "spirograd/shards.h"
#include "spirograd/text.h"

namespace {

using namespace spirograd;

constexpr int kSteps = 40, kSettling = 15;  // the division is settled by then

struct Problem {
  const char *name, *text;
};
const Problem kProblems[] = {
    {"classes",
     "def loss(w: f32[64,10], x: f32[N,64], y: f32[N,10]) -> (loss: f32) = -mean(sum(log_softmax(x @ w) * y, axis=1))"},
    {"mixture", bench::kMixture},
};

struct Measured {
  double milliseconds = 0;
  std::vector<double> gradient;
  std::vector<ShardState> states;
};

Measured measure(std::vector<std::shared_ptr<vk::Device>> devices, const text::Module& module,
                 const std::vector<HostArray>& inputs, bool by_speed) {
  const MakeProgram make = [&](std::span<const Param> params) {
    std::vector<text::NamedType> types;
    for (const Param& p : params) types.push_back({p.name, p.type});
    return value_and_grad(text::instantiate(module, "loss", types).value(), {"w"});
  };
  ShardOptions options;
  options.cut = {{"x", 0}, {"y", 0}};
  options.results = {{"loss", Joined::Mean, 0}, {"d_w", Joined::Mean, 0}};
  options.measure = by_speed;
  const std::vector<Param> params = {{"w", inputs[0].type}, {"x", inputs[1].type}, {"y", inputs[2].type}};
  const auto shards = Shards::create(std::move(devices), make, params, options).value();
  for (size_t j = 0; j < params.size(); ++j) shards->write(params[j].name, inputs[j]).value();
  Measured out;
  std::vector<double> times;
  for (int step = 0; step < kSettling + kSteps; ++step) {
    shards->write("w", inputs[0]).value();  // as a step of training does
    const auto start = std::chrono::steady_clock::now();
    const std::vector<HostArray> results = shards->run().value();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (step >= kSettling) times.push_back(took.count());
    out.gradient = results[1].values();
  }
  std::nth_element(times.begin(), times.begin() + kSteps / 2, times.end());
  out.milliseconds = times[kSteps / 2];
  out.states = shards->states();
  return out;
}

double furthest(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference = std::max(difference, std::abs(a[i] - b[i])), size = std::max(size, std::abs(a[i]));
  return difference / size;
}

}  // namespace

int main(int argc, char** argv) try {
  const int64_t extent = argc > 1 ? std::atoll(argv[1]) : 400'000;
  const std::vector<std::shared_ptr<vk::Device>> devices = usable_devices().value();
  const std::vector<HostArray> inputs = {bench::waves(f32({64, 10}), 1.3, 0.1), bench::waves(f32({extent, 64}), 0.7, 1),
                                         bench::waves(f32({extent, 10}), 0.9, 0.5)};
  for (const Problem& p : kProblems) {
    const text::Module module = text::parse(p.text, "shards.sg").value();
    nlohmann::json out = {{"problem", p.name}, {"extent", extent}, {"alone", nlohmann::json::array()}};
    std::vector<double> reference;
    for (const auto& device : devices) {
      const Measured alone = measure({device}, module, inputs, false);
      if (reference.empty()) reference = alone.gradient;
      out["alone"].push_back({{"device", device->info().name}, {"ms", alone.milliseconds}});
    }
    for (const bool by_speed : {false, true}) {
      const Measured all = measure(devices, module, inputs, by_speed);
      nlohmann::json parts = nlohmann::json::array();
      for (const ShardState& s : all.states)
        parts.push_back(static_cast<double>(s.count) / static_cast<double>(std::max<int64_t>(1, extent)));
      out[by_speed ? "by_speed" : "equal"] = {
          {"ms", all.milliseconds}, {"parts", parts}, {"furthest", furthest(reference, all.gradient)}};
    }
    std::cout << out.dump() << std::endl;
  }
} catch (const spirograd::Error& error) {
  return std::cerr << error.str(), 1;
}
