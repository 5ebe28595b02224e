#include "tools/cli/minimise.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/interrupt.h"
#include "tools/cli/speed.h"
#include "tools/cli/tool.h"
#include "tools/io/progress.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

constexpr double kSecondsPerBatch = 0.1;  // how long Ctrl-C waits, about

// A descent under way: on a device, or interpreted run by run.
class Stepper {
 public:
  Stepper(const Engine& engine, const Descent& d) : descent_(d), inputs_(d.inputs) {
    if (engine.is_interpreter()) return;
    session_ = vk::Session::create(engine.device(), engine.compiled(d.program)).value();
    for (size_t j = 0; j < inputs_.size(); ++j) session_->write(d.program.params[j].name, inputs_[j]).value();
    for (const Descent::Fed& f : d.fed) session_->feed(f.result, f.param).value();
  }
  void run(int64_t steps) {
    if (session_) {
      session_->run(steps).value();
      return;
    }
    for (int64_t j = 0; j < steps; ++j) {
      const std::vector<HostArray> results = interpret(descent_.program, inputs_);
      for (const Descent::Fed& f : descent_.fed) input(f) = results[place(descent_.program.results, f.result)];
    }
  }
  HostArray read(const Descent::Fed& f) { return session_ ? session_->read(f.result).value() : input(f); }
  std::vector<HostArray> state() {
    std::vector<HostArray> out;
    for (const Descent::Fed& f : descent_.fed) out.push_back(read(f));
    return out;
  }

 private:
  static size_t place(const auto& all, const std::string& name) {
    return static_cast<size_t>(std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; }) -
                               all.begin());
  }
  HostArray& input(const Descent::Fed& f) { return inputs_[place(descent_.program.params, f.param)]; }
  const Descent& descent_;
  std::vector<HostArray> inputs_;
  std::unique_ptr<vk::Session> session_;
};

// When the next checkpoint is due, and its writing.
class Checkpoints {
 public:
  using Clock = std::chrono::steady_clock;
  Checkpoints(const CheckpointPlan& plan, FitIdentity identity, const Descent& d, int64_t done)
      : plan_(plan), identity_(identity), descent_(d), written_(done), at_(Clock::now()) {}
  /// How many steps may be run until then.
  int64_t room(int64_t done) const {
    return plan_.path.empty() || plan_.steps == 0 ? kMostLooks : plan_.steps - done % plan_.steps;
  }
  /// `last`: all that was done has to be in the file.
  void reached(Stepper& stepper, const std::vector<double>& losses, bool last) {
    const int64_t done = static_cast<int64_t>(losses.size());
    if (plan_.path.empty() || done == written_) return;
    const bool due = plan_.steps > 0 ? done % plan_.steps == 0 : seconds_since(at_) >= plan_.seconds;
    if (!due && !last) return;
    at_ = Clock::now();
    try {
      write_checkpoint(plan_.path, identity_, descent_, stepper.state(), losses);
      written_ = done;
    } catch (const Error& e) {
      if (last) throw;
      tell("warning: no checkpoint after step " + std::to_string(done - 1) + ": " + e.message + "\n");
    }
  }

 private:
  const CheckpointPlan& plan_;
  FitIdentity identity_;
  const Descent& descent_;
  int64_t written_;
  Clock::time_point at_;
};

std::string line_of(int64_t step, double loss, bool json) {
  if (json) return nlohmann::json{{"step", step}, {"loss", json_number(loss)}}.dump() + "\n";
  return "step " + std::to_string(step) + "  loss " + loss_text(loss) + "\n";
}

}  // namespace

std::string loss_text(double x) { return io::short_number(x, 6); }

Minimum minimise(const Engine& engine, const Program& program, const std::vector<HostArray>& inputs,
                 const DescentOptions& how, const Watch& watch) {
  io::Progress progress("compiling " + program.name + " ...");
  Descent d = descent(program, inputs, how);
  const FitIdentity identity = identity_of(program, inputs, d, how);
  Minimum out;
  out.real = d.losses.type.dtype;
  if (watch.checkpoint.resume) out.losses = read_checkpoint(watch.checkpoint.path, identity, d);
  out.before = out.losses.size();
  Stepper stepper(engine, d);
  Checkpoints checkpoints(watch.checkpoint, identity, d, static_cast<int64_t>(out.before));
  const StopOnInterrupt interrupt;
  const auto start = std::chrono::steady_clock::now();
  const int64_t looks = how.steps + 1;
  int64_t done = static_cast<int64_t>(out.before), batch = 1;
  while (done < looks && !out.diverged && !(out.interrupted = interrupt.asked())) {
    batch = std::min({batch, looks - done, how.kept, checkpoints.room(done)});
    const auto before = std::chrono::steady_clock::now();
    stepper.run(batch);
    const double took = seconds_since(before);
    const int64_t now = static_cast<int64_t>(stepper.read(d.count).values()[0]);
    const std::vector<double> ring = stepper.read(d.losses).values();
    out.diverged = stepper.read(d.alive).values()[0] == 0;
    std::string lines;
    for (; done < now; ++done) {
      out.losses.push_back(ring[static_cast<size_t>(done % how.kept)]);
      if (watch.every > 0 && done % watch.every == 0) lines += line_of(done, out.losses.back(), watch.json);
    }
    if (!lines.empty()) print(lines);
    if (!out.diverged) checkpoints.reached(stepper, out.losses, false);
    out.seconds = seconds_since(start);
    const double rate = static_cast<double>(done - static_cast<int64_t>(out.before)) / out.seconds;
    progress.update("step " + std::to_string(done - 1) + " of " + std::to_string(how.steps) + ", loss " +
                    loss_text(out.losses.back()) + ", " + io::short_number(rate, 3) + " steps/s, " +
                    io::short_number(static_cast<double>(looks - done) / rate, 2) + " s left");
    batch = std::max<int64_t>(
        1, std::min(2 * batch, static_cast<int64_t>(static_cast<double>(batch) * kSecondsPerBatch / std::max(took, 1e-6))));
  }
  if (!out.diverged) checkpoints.reached(stepper, out.losses, true);
  // Read from the inputs where no step has run.
  for (size_t j = 0; j < d.weights.size() && out.good() > 0; ++j) {
    const bool ran = out.losses.size() > out.before;
    const auto kept = std::ranges::find_if(d.program.params, [&](const Param& p) { return p.name == d.good[j].param; });
    out.weights.push_back({program.params[d.weights[j]].name, "",
                           ran ? stepper.read(d.good[j]) : d.inputs[static_cast<size_t>(kept - d.program.params.begin())]});
  }
  return out;
}

}  // namespace spirograd::cli
