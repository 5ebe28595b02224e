// A gradient over the processes of an MPI job, each with a part of the data on a device of its own:
//   mpirun -n 4 --bind-to none ranks_bench [EXTENT]     rows of data, 100,000 if not given
// Rank 0 prints one JSON object: milliseconds of a step, and of what it consists of, medians of several; how far the
// gradient is from that of one rank alone; and milliseconds to join arrays of some sizes, in an order that MPI chooses and
// in a fixed one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/shared_data.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/ranks.h"
#include "spirograd/text.h"
#include "spirograd/vk.h"

namespace {

using namespace spirograd;

constexpr int kSettling = 5, kSteps = 21;

double milliseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

// Loss and gradient of some rows, on a device of this process.
class Gradient {
 public:
  explicit Gradient(int64_t rows) {
    const std::vector<text::NamedType> types = {{"w", f32({64, 10})}, {"x", f32({rows, 64})}, {"y", f32({rows, 10})}};
    const text::Module module = text::parse(bench::kMixture, "mixture.sg").value();
    const Program program = value_and_grad(text::instantiate(module, "loss", types).value(), {"w"}).value();
    const auto device = vk::Device::create().value();
    CompileOptions options;
    options.form = device->preferred_form();
    session_ = vk::Session::create(device, compile(program, device->target(), options).value()).value();
  }

  void data(const HostArray& x, const HostArray& y) {
    session_->write("x", x).value();
    session_->write("y", y).value();
  }

  std::vector<HostArray> step(const HostArray& w) {
    session_->write("w", w).value();
    session_->run(1).value();
    return {session_->read("loss").value(), session_->read("d_w").value()};
  }

 private:
  std::unique_ptr<vk::Session> session_;
};

// All ranks take part: a step ends when the slowest of them has ended, and what it waits for counts as joining.
nlohmann::json steps(Ranks& ranks, int64_t extent) {
  const HostArray w = bench::waves(f32({64, 10}), 1.3, 0.1), x = bench::waves(f32({extent, 64}), 0.7, 1),
                  y = bench::waves(f32({extent, 10}), 0.9, 0.5);
  const Piece piece = ranks.piece(extent);
  Gradient part(piece.count);
  part.data(ranks.piece_of(x), ranks.piece_of(y));
  const std::vector<JoinedResult> how = {{"loss", Joined::Mean}, {"d_w", Joined::Mean}};
  std::vector<double> all, own;
  std::vector<HostArray> joined;
  for (int n = 0; n < kSettling + kSteps; ++n) {
    double gradient = 0;
    const double step = milliseconds([&] {
      std::vector<HostArray> mine;
      gradient = milliseconds([&] { mine = part.step(w); });
      joined = ranks.join(std::move(mine), how, piece.count).value();
    });
    if (n >= kSettling) all.push_back(step), own.push_back(gradient);
  }
  nlohmann::json out = {{"extent", extent}, {"step_ms", median(all)}, {"gradient_ms", median(own)}};
  if (ranks.rank() != 0) return out;
  Gradient whole(extent);
  whole.data(x, y);
  const std::vector<double> a = joined[1].values(), b = whole.step(w)[1].values();
  double difference = 0, size = 0;
  for (size_t j = 0; j < a.size(); ++j)
    difference = std::max(difference, std::abs(a[j] - b[j])), size = std::max(size, std::abs(b[j]));
  out["furthest"] = difference / size;
  return out;
}

nlohmann::json join_of(Ranks& ranks, int64_t elements) {
  const HostArray array = bench::waves(f32({elements}), 0.3, 1);
  const std::vector<JoinedResult> how = {{"sum", Joined::Sum}};
  nlohmann::json out = {{"elements", elements}};
  for (const bool fixed_order : {false, true}) {
    std::vector<double> times;
    for (int n = 0; n < kSettling + kSteps; ++n) {
      const double time = milliseconds([&] { ranks.join({{array}}, how, 1, {.fixed_order = fixed_order}).value(); });
      if (n >= kSettling) times.push_back(time);
    }
    out[fixed_order ? "fixed_order_ms" : "any_order_ms"] = median(times);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) try {
  const int64_t extent = argc > 1 ? std::atoll(argv[1]) : 100'000;
  const auto ranks = Ranks::world().value();
  nlohmann::json out = steps(*ranks, extent);
  out["ranks"] = ranks->size();
  for (const int64_t elements : {1'000, 100'000, 1'000'000}) out["joins"].push_back(join_of(*ranks, elements));
  if (ranks->rank() == 0) std::cout << out.dump() << std::endl;
} catch (const spirograd::Error& error) {
  return std::cerr << error.str(), 1;
}
