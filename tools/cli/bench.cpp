// spirograd bench: how fast a function and its gradient run, where the time goes, and how far that is from what the device
// can do.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "spirograd/grad.h"
#include "tools/cli/chrome_trace.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/speed.h"
#include "tools/cli/tool.h"
#include "tools/io/files.h"
#include "tools/io/progress.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

constexpr size_t kShownSteps = 8;

struct Measured {
  std::string what;
  Speed speed;
};

std::string percent(double share) { return io::short_number(share * 100, 3) + " %"; }
std::string bytes(uint64_t n) {
  static constexpr const char* kUnits[] = {" B", " KB", " MB", " GB", " TB"};
  double x = static_cast<double>(n);
  size_t unit = 0;
  for (; x >= 1000 && unit < 4; ++unit) x /= 1000;
  return io::short_number(x, 3) + kUnits[unit];
}
std::string per_second(double x, const char* unit) { return io::short_number(x * 1e-9, 3) + " G" + unit + "/s"; }

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

bool has_gradient(const Program& p, const Options& options) {
  if (options.has("--wrt")) return true;
  const auto is_loss = [](const ProgramResult& r) { return is_float(r.type.dtype) && r.type.shape.rank() == 0; };
  const auto is_weight = [](const Param& q) { return is_float(q.type.dtype); };
  return std::any_of(p.results.begin(), p.results.end(), is_loss) &&
         std::any_of(p.params.begin(), p.params.end(), is_weight);
}

std::string measured_text(const Measured& m, const Limits& limits) {
  const Speed& s = m.speed;
  std::string out = "\n" + m.what + "\n";
  out += "  first call   compiled in " + io::ms(s.compile) + ", pipelines in " + io::ms(s.session) + ", first run " +
         io::ms(s.first) + "\n";
  out += "  replay       " + io::ms(s.replay) + " (best " + io::ms(s.best) + ", median of " + std::to_string(s.replays) +
         "), " + io::ms(s.device) + " on the device\n";
  out += "  plan         " + std::to_string(s.kernels) + " kernels, " + std::to_string(s.dispatches) + " dispatches, " +
         bytes(s.scratch) + " of scratch memory\n";
  out += "  memory       " + bytes(s.traffic.moved) + " moved, " + bytes(s.traffic.least) +
         " at least; at the speed of copying, the least takes " +
         percent(ratio(static_cast<double>(s.traffic.least) / limits.bytes, s.device)) + " of the time\n";
  out += "  arithmetic   " + io::short_number(s.operations * 1e-6, 3) + " Mop; at full speed, they take " +
         percent(ratio(s.operations / limits.operations, s.device)) + " of the time\n";
  if (s.steps.empty()) return out;
  double all = 0;
  for (const StepSpeed& step : s.steps) all += step.seconds;
  io::Table table({">  time", ">share", ">runs", ">GB/s", ">Gop/s", "step"});
  for (size_t j = 0; j < std::min(kShownSteps, s.steps.size()); ++j) {
    const StepSpeed& step = s.steps[j];
    table.add({"  " + io::ms(step.seconds), percent(ratio(step.seconds, all)), std::to_string(step.runs),
               io::short_number(ratio(static_cast<double>(step.bytes) * 1e-9, step.seconds), 3),
               io::short_number(ratio(step.operations * 1e-9, step.seconds), 3), step.label});
  }
  out += table.str();
  if (s.steps.size() > kShownSteps) out += "  and " + std::to_string(s.steps.size() - kShownSteps) + " more steps\n";
  return out;
}

nlohmann::json measured_json(const Measured& m) {
  const Speed& s = m.speed;
  nlohmann::json steps = nlohmann::json::array();
  for (const StepSpeed& step : s.steps)
    steps.push_back({{"step", step.label},
                     {"runs", step.runs},
                     {"seconds", step.seconds},
                     {"bytes", step.bytes},
                     {"operations", step.operations}});
  return {{"what", m.what},
          {"compile", s.compile},
          {"session", s.session},
          {"first", s.first},
          {"replay", {{"median", s.replay}, {"best", s.best}, {"device", s.device}, {"runs", s.replays}}},
          {"kernels", s.kernels},
          {"dispatches", s.dispatches},
          {"scratch_bytes", s.scratch},
          {"moved_bytes", s.traffic.moved},
          {"least_bytes", s.traffic.least},
          {"operations", s.operations},
          {"steps", steps}};
}

void write_trace(const std::string& path, const std::string& device, std::span<const Measured> all) {
  std::vector<Traced> traced;
  for (const Measured& m : all) traced.push_back({m.what, &m.speed});
  io::OutputFiles files;
  files.add(path, chrome_trace(device, traced).dump(1) + "\n");
  files.commit();
  tell("wrote " + path + "\n");
}

int bench(const Options& options) {
  const double seconds = options.positive("--seconds", 1);
  const std::optional<std::string> trace = options.value("--trace");
  if (trace) io::check_writable(*trace);
  const Source source = load_source(options.positional()[0], options.value("--function").value_or(""));
  InputList list(source, options.inputs(), options.has("--cast"), element_type(options));
  const Program value = list.instantiate();
  const std::vector<HostArray> inputs = list.match(value);
  const Engine engine(options);
  if (engine.is_interpreter()) throw usage_error("'bench' measures devices; the interpreter is there to be right, not fast");

  std::vector<std::pair<std::string, Program>> programs = {{"value", value}};
  if (has_gradient(value, options))
    programs.emplace_back("value and gradient", value_and_grad(value, options.names("--wrt")).value());
  io::Progress progress("measuring what " + engine.name() + " can do ...");
  const Limits limits = measure_limits(engine.device(), engine.form());
  std::vector<Measured> all;
  for (const auto& [what, program] : programs) {
    progress.say("measuring " + what + " ...");
    all.push_back({what, measure_speed(engine.device(), engine.compile_options(), program, inputs, seconds)});
  }
  progress.say("");
  if (trace) write_trace(*trace, engine.name(), all);

  if (options.has("--json")) {
    nlohmann::json out = {{"device", engine.name()},
                          {"driver", engine.device()->info().driver},
                          {"function", source.signature.name},
                          {"limits", {{"bytes_per_second", limits.bytes}, {"operations_per_second", limits.operations}}},
                          {"measured", nlohmann::json::array()}};
    for (const Measured& m : all) out["measured"].push_back(measured_json(m));
    print_json(out);
    return kOk;
  }
  std::string text = source.signature.name + " on " + engine.name() + ": it copies " + per_second(limits.bytes, "B") +
                     " and computes " + per_second(limits.operations, "op") + " now\n";
  for (const Measured& m : all) text += measured_text(m, limits);
  print(text);
  return kOk;
}

}  // namespace

Command bench_command() {
  return {"bench",
          "measure how fast a function and its gradient run",
          "FILE.sg [name=value ...] [options]",
          {"Tells the first call and replays apart, shows the slowest steps, and compares with what the device",
           "reaches in the same run: the bytes per second of a kernel that copies, the operations per second of one",
           "that multiplies and adds in registers. Inputs and outputs stay on the device while it replays.",
           "Bytes are those of operands, each once per step; operations are those on floating-point numbers."},
          {{"--wrt", "A,B", "parameters to differentiate by; all float parameters if not given", ""},
           {"--seconds", "S", "how long to replay each (1)", ""},
           {"--trace", "FILE.json", "write the first call and the steps of a replay for trace viewers (Perfetto)", ""},
           function_option(),
           device_option(),
           form_option(),
           tuned_option(),
           cast_option(),
           dtype_option(),
           json_option()},
          {"spirograd bench model.sg x=random:7:1000x64xf32 w=ones:64xf32 --wrt w",
           "spirograd bench model.sg N=1000 --trace steps.json"},
          bench};
}

}  // namespace spirograd::cli
