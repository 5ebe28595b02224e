// spirograd tune: schedules that a program runs faster with on this device, found by measuring and remembered.
#include "spirograd/tune.h"

#include <nlohmann/json.hpp>

#include "spirograd/grad.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/tool.h"
#include "tools/io/progress.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

std::string searched(const Tuning& t) {
  return std::to_string(t.tried) + " schedules tried for " + std::to_string(t.asked) + " pieces of work" +
         (t.refused > 0 ? ", " + std::to_string(t.refused) + " refused" : "") +
         (t.complete ? ": all there are\n" : ": the time was up, more are left (--seconds)\n");
}

std::string kept(const Tuning& t) {
  if (t.remembered) return "remembered: run, grad and bench use it with --tuned\n";
  return cache_folder().empty() ? "not remembered: there is no cache folder (SPIROGRAD_CACHE)\n" : "not remembered\n";
}

std::string tuning_text(const Tuning& t, const std::string& what, const std::string& device) {
  if (t.computes.empty())
    return what + " on " + device + ": " + io::ms(t.seconds_before) + ", nothing is clearly faster\n" + searched(t);
  std::string out = what + " on " + device + ": " + io::ms(t.seconds_after) + " instead of " + io::ms(t.seconds_before) +
                    ", " + io::short_number(t.seconds_before / t.seconds_after, 3) + " times as fast\n";
  for (const TunedCompute& c : t.computes) {
    out += "\n" + c.what + "\n";
    io::Table table({"", "", ">"});
    table.add({"  before", c.before, io::ms(c.seconds_before)});
    table.add({"  after", c.after, io::ms(c.seconds_after)});
    out += table.str();
  }
  return out + "\n" + searched(t) + kept(t);
}

nlohmann::json tuning_json(const Tuning& t) {
  nlohmann::json computes = nlohmann::json::array();
  for (const TunedCompute& c : t.computes)
    computes.push_back({{"compute", c.what},
                        {"before", {{"schedule", c.before}, {"seconds", c.seconds_before}}},
                        {"after", {{"schedule", c.after}, {"seconds", c.seconds_after}}}});
  return {{"computes", computes}, {"before", t.seconds_before}, {"after", t.seconds_after}, {"asked", t.asked},
          {"tried", t.tried},     {"refused", t.refused},       {"complete", t.complete},   {"remembered", t.remembered}};
}

int run_tune(const Options& options) {
  TuneOptions how;
  how.seconds = options.positive("--seconds", 20);
  const Source source = load_source(options.positional()[0], options.value("--function").value_or(""));
  InputList list(source, options.inputs(), options.has("--cast"), element_type(options));
  Program program = list.instantiate();
  const std::vector<HostArray> inputs = list.match(program);
  const Engine engine(options);
  if (engine.is_interpreter()) throw usage_error("'tune' measures devices; the interpreter has no schedules");
  std::string what = source.signature.name;
  if (options.has("--wrt")) {
    program = value_and_grad(program, options.names("--wrt")).value();
    what += " and its gradient";
  }
  how.compile = engine.compile_options();
  io::Progress progress("measuring " + what + " ...");
  how.progress = [&](std::string_view tried) { progress.update("tuning " + what + ", " + std::string(tried)); };
  const Tuning found = tune(program, engine.device(), inputs, how).value();
  progress.say("");
  if (options.has("--json")) {
    nlohmann::json out = tuning_json(found);
    out["device"] = engine.name();
    out["driver"] = engine.device()->info().driver;
    out["what"] = what;
    print_json(out);
  } else {
    print(tuning_text(found, what, engine.name()));
  }
  return kOk;
}

}  // namespace

Command tune_command() {
  return {"tune",
          "find schedules that a function runs faster with on this device",
          "FILE.sg [name=value ...] [options]",
          {"Tries schedules next to those of the rules, for the dearest work first: each is compiled, compared by its",
           "results, and replayed in turns with the best so far, which it has to beat by 5 %. What is found is kept in the",
           "cache folder for this device and driver; run, grad and bench use it where they are given --tuned.",
           "Times are those of the whole function, inputs and outputs on the device. With --tuned the search goes on from",
           "what is remembered."},
          with_program_options({{"--wrt", "A,B", "tune the function with its gradient by these parameters", ""},
                                {"--seconds", "S", "how long to search, about (20)", ""}}),
          {"spirograd tune product.sg a=random:1:512x512 b=random:2:512x512",
           "spirograd tune model.sg x=x.npy w=w.npy --wrt w --seconds 60"},
          run_tune};
}

}  // namespace spirograd::cli
