// spirograd fit: minimises a function by some of its inputs, which stay on the device from the first step to the last.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "frontend/base/near_name.h"
#include "frontend/base/number.h"
#include "tools/cli/descent.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/speed.h"
#include "tools/cli/tool.h"
#include "tools/io/files.h"
#include "tools/io/npz.h"
#include "tools/io/progress.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

constexpr int64_t kMostLooks = 4096;      // between two looks of the host
constexpr double kSecondsPerBatch = 0.1;  // how long Ctrl-C waits, about

volatile std::sig_atomic_t asked_to_stop = 0;

// The first Ctrl-C asks to stop, the next does what it does elsewhere.
void on_interrupt(int number) {
  asked_to_stop = 1;
  std::signal(number, SIG_DFL);
}

class StopOnInterrupt {
 public:
  StopOnInterrupt() : before_(std::signal(SIGINT, on_interrupt)) {
    asked_to_stop = 0;
    if (before_ != SIG_DFL) std::signal(SIGINT, before_);
  }
  ~StopOnInterrupt() {
    if (before_ == SIG_DFL) std::signal(SIGINT, SIG_DFL);
  }
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;

 private:
  void (*before_)(int);
};

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

double positive(const Options& options, const std::string& name, double otherwise) {
  const auto text = options.value(name);
  if (!text) return otherwise;
  const ParsedNumber parsed = parse_number(*text);
  const double x = parsed.value;
  if (parsed.length != text->size() || !(x > 0) || !std::isfinite(x))
    throw usage_error("'" + name + "' needs a positive number, not '" + *text + "'");
  return x;
}

DescentOptions descent_options(const Options& options) {
  DescentOptions how;
  how.by = options.names("--by");
  if (how.by.empty()) throw usage_error("'fit' needs the inputs to change").hint("--by w,b");
  how.of = options.value("--of").value_or("");
  const std::vector<std::string> methods = descent_methods();
  how.method = options.value("--method").value_or(methods[0]);
  if (std::find(methods.begin(), methods.end(), how.method) == methods.end())
    throw usage_error("'--method' is one of " + io::listed(methods) + ", not '" + how.method + "'")
        .hint(did_you_mean(how.method, methods));
  how.steps = options.number("--steps", 1000, 1);
  if (how.steps > std::numeric_limits<int32_t>::max() - 1) throw usage_error("'--steps' counts to 2147483646");
  how.rate = positive(options, "--rate", 0.01);
  how.bound = positive(options, "--bound", std::numeric_limits<float>::max());
  how.kept = std::min(how.steps + 1, kMostLooks);
  return how;
}

// Where the state and the losses go, "" for nowhere.
struct Places {
  std::string save, history;
};

Places places(const Options& options) {
  const auto one = [&](const char* option, const char* ending) {
    const std::string path = options.value(option).value_or("");
    if (path.empty() && options.has(option)) throw usage_error("'" + std::string(option) + "' needs the name of a file");
    if (path.empty()) return path;
    if (!path.ends_with(ending)) throw usage_error("'" + path + "' does not end in " + ending);
    io::check_writable(path);
    return path;
  };
  return {one("--save", ".npz"), one("--history", ".npy")};
}

struct Outcome {
  DType real = DType::F32;     // of the loss
  std::vector<double> losses;  // one per look, the bad one at the end included
  bool diverged = false, interrupted = false;
  double seconds = 0;
  std::vector<NamedArray> weights;  // of the last good loss
  size_t good() const { return losses.size() - (diverged ? 1 : 0); }
};

std::string text_of(double x) { return io::short_number(x, 6); }

Outcome minimise(const Engine& engine, const Program& program, const std::vector<HostArray>& inputs,
                 const DescentOptions& how, int64_t every) {
  io::Progress progress("compiling " + program.name + " ...");
  const Descent d = descent(program, inputs, how);
  Stepper stepper(engine, d);
  Outcome out;
  out.real = d.losses.type.dtype;
  const StopOnInterrupt guard;
  const auto start = std::chrono::steady_clock::now();
  const int64_t looks = how.steps + 1;
  int64_t done = 0, batch = 1;
  while (done < looks && !out.diverged && !(out.interrupted = asked_to_stop != 0)) {
    batch = std::min({batch, looks - done, how.kept});
    const auto before = std::chrono::steady_clock::now();
    stepper.run(batch);
    const double took = seconds_since(before);
    const int64_t now = static_cast<int64_t>(stepper.read(d.count).values()[0]);
    const std::vector<double> ring = stepper.read(d.losses).values();
    out.diverged = stepper.read(d.alive).values()[0] == 0;
    std::string lines;
    for (; done < now; ++done) {
      out.losses.push_back(ring[static_cast<size_t>(done % how.kept)]);
      if (every > 0 && done % every == 0)
        lines += "step " + std::to_string(done) + "  loss " + text_of(out.losses.back()) + "\n";
    }
    if (!lines.empty()) print(lines);
    out.seconds = seconds_since(start);
    const double rate = static_cast<double>(done) / out.seconds;
    progress.update("step " + std::to_string(done - 1) + " of " + std::to_string(how.steps) + ", loss " +
                    text_of(out.losses.back()) + ", " + io::short_number(rate, 3) + " steps/s, " +
                    io::short_number(static_cast<double>(looks - done) / rate, 2) + " s left");
    batch = std::max<int64_t>(
        1, std::min(2 * batch, static_cast<int64_t>(static_cast<double>(batch) * kSecondsPerBatch / std::max(took, 1e-6))));
  }
  for (size_t j = 0; j < d.weights.size() && out.good() > 0; ++j)
    out.weights.push_back({program.params[d.weights[j]].name, "", stepper.read(d.good[j])});
  return out;
}

// Both files appear, or none.
void write(const Places& places, const Outcome& o) {
  io::OutputFiles files;
  std::string log;
  if (!places.save.empty() && !o.weights.empty()) {
    std::vector<std::pair<std::string, HostArray>> all;
    for (const NamedArray& w : o.weights) all.emplace_back(w.name, w.array);
    files.add(places.save, io::npz_bytes(all));
    log += "wrote " + places.save + "  " + std::to_string(all.size()) + " arrays\n";
  }
  if (!places.history.empty() && !o.losses.empty()) {
    const HostArray history(Type{o.real, {static_cast<int64_t>(o.losses.size())}}, o.losses);
    files.add(places.history, io::npy_bytes(history));
    log += "wrote " + places.history + "  " + to_string(history.type) + "\n";
  }
  files.commit();
  tell(log);
}

nlohmann::json outcome_json(const Outcome& o, const DescentOptions& how, const Engine& engine, const Places& places) {
  nlohmann::json weights = nlohmann::json::object();
  for (const NamedArray& w : o.weights) weights[w.name] = result_json(w.array, places.save);
  nlohmann::json out = {{"device", engine.name()},
                        {"method", how.method},
                        {"rate", how.rate},
                        {"seconds", o.seconds},
                        {"ended", o.interrupted ? "interrupted" : "steps"},
                        {"inputs", weights}};
  if (o.good() == 0) return out;
  out["steps"] = o.good() - 1;
  out["first_loss"] = json_number(o.losses.front());
  out["loss"] = json_number(o.losses[o.good() - 1]);
  return out;
}

Error divergence(const Outcome& o, const DescentOptions& how) {
  const double bad = o.losses.back();
  const std::string what = std::isnan(bad)   ? "is not a number"
                           : std::isinf(bad) ? "is infinite"
                                             : "is " + text_of(bad) + ", beyond the bound of " + text_of(how.bound);
  if (o.good() == 0)
    return Error("SG0209", "fit: the loss " + what + " before the first step").hint("other inputs to start from");
  return Error("SG0209", "fit: the loss " + what + " after step " + std::to_string(o.good()) + "; after step " +
                             std::to_string(o.good() - 1) + " it was " + text_of(o.losses[o.good() - 1]))
      .hint("smaller steps: --rate " + io::short_number(how.rate / 10));
}

int fit(const Options& options) {
  const DescentOptions how = descent_options(options);
  const Places where = places(options);
  const bool json = options.has("--json");
  const int64_t every = options.has("--every") ? options.number("--every", 0, 1) : 0;
  if (json && every > 0) throw usage_error("'--every' and '--json' exclude each other");
  const Source source = load_source(options.positional()[0], options.value("--function").value_or(""));
  InputList list(source, options.inputs(), options.has("--cast"), element_type(options));
  const Program program = list.instantiate();
  const std::vector<HostArray> inputs = list.match(program);
  const Engine engine(options);
  const Outcome o = minimise(engine, program, inputs, how, every);
  write(where, o);
  if (o.diverged) throw divergence(o, how);
  if (json) {
    print_json(outcome_json(o, how, engine, where));
  } else if (o.good() > 0) {
    std::string text = "loss = " + text_of(o.losses.back()) + " after " + std::to_string(o.losses.size() - 1) +
                       " steps, from " + text_of(o.losses.front()) + "\n";
    if (where.save.empty())
      for (const NamedArray& w : o.weights) text += result_text(w);
    print(text);
  }
  if (!o.interrupted) return kOk;
  tell("stopped as asked, " + std::to_string(std::max<size_t>(o.losses.size(), 1) - 1) + " of " + std::to_string(how.steps) +
       " steps done\n");
  return kInterrupted;
}

}  // namespace

Command fit_command() {
  return {"fit",
          "minimise a function by some of its inputs",
          "FILE.sg --by a,b [name=value ...] [options]",
          {"Steps against the gradient of the first scalar result. The inputs that change stay on the device meanwhile.",
           "A loss that is NaN, infinite or beyond --bound ends the work with an error. Ctrl-C ends it after the steps that",
           "run. Whatever ends it, --save gets the inputs that belong to the last good loss, to start from again.",
           "The first Ctrl-C waits for that, the second does not."},
          with_program_options({{"--by", "A,B", "the inputs to change; the name of a struct means its floats"},
                                {"--of", "NAME", "the result to minimise; the first scalar if not given"},
                                {"--steps", "N", "how many (1000)"},
                                {"--rate", "R", "the length of a step (0.01)"},
                                {"--method", "NAME", "one of the library's optimisers: " + io::listed(descent_methods())},
                                {"--bound", "L", "a loss beyond it, above or below 0, ends the work"},
                                {"--every", "K", "print the loss every K steps"},
                                {"--save", "FILE.npz", "write what the inputs have become, by name"},
                                {"--history", "FILE.npy", "write the loss before the first step and after each"}}),
          {"spirograd fit model.sg --by w,b x=x.npy y=y.npy w=zeros:64 b=0 --steps 5000 --save fitted.npz",
           "spirograd fit model.sg --by w,b x=x.npy y=y.npy fitted.npz --rate 0.001 --history losses.npy"},
          fit};
}

}  // namespace spirograd::cli
