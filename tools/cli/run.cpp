// spirograd run: evaluates a function.
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "tools/cli/bundle_source.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/several_devices.h"
#include "tools/cli/tool.h"

namespace spirograd::cli {
namespace {

// What is run, before there is a device.
struct Work {
  std::vector<HostArray> inputs;
  std::vector<std::pair<std::string, std::string>> names;  // of the results
  std::function<Engine::Outcome(const Engine&, std::span<const HostArray>)> run;
  std::function<SharedOutcome(const SeveralDevices&, std::span<const HostArray>)> run_on_several;  // not of bundles
};

Work work_of_text(const Options& options) {
  const auto source =
      std::make_shared<const Source>(load_source(options.positional()[0], options.value("--function").value_or("")));
  const auto list = std::make_shared<InputList>(*source, options.inputs(), options.has("--cast"), element_type(options));
  const Program program = list->instantiate();
  Work out{list->match(program), {}, {}, {}};
  for (const ProgramResult& r : program.results) out.names.emplace_back(r.name, "");
  out.run = [program, measure = options.has("--time")](const Engine& engine, std::span<const HostArray> inputs) {
    return engine.run(program, inputs, measure);
  };
  out.run_on_several = [program, source, list, options](const SeveralDevices& how, std::span<const HostArray> inputs) {
    const auto piece_of = [&](int64_t n) { return list->instantiate_part(how.axis, n); };
    return run_on_several(how, options, program, piece_of, inputs);
  };
  return out;
}

Work work_of_bundle(const Options& options) {
  const std::string path = options.positional()[0];
  for (const char* compiling : {"--function", "--deterministic", "--tuned", "--dtype", "--devices"})
    if (options.has(compiling))
      throw usage_error("'" + std::string(compiling) + "' is of no use: a bundle is compiled already");
  const Bundle bundle = load_bundle_file(path);
  const Source source = source_of(bundle, path);
  InputList list(source, options.inputs(), options.has("--cast"));
  Work out{list.match(list.instantiate_types()), {}, {}, {}};
  for (const Param& p : outputs_of(bundle.forms.front())) out.names.emplace_back(p.name, "");
  out.run = [bundle, path, measure = options.has("--time")](const Engine& engine, std::span<const HostArray> inputs) {
    const Executable executable = form_for(bundle, engine.target(), engine.form(), path).value();
    return engine.run(executable, bundle.program, inputs, measure);
  };
  return out;
}

int run(const Options& options) {
  const Outputs outputs(options);
  const Work work = is_bundle(options.positional()[0]) ? work_of_bundle(options) : work_of_text(options);
  const auto& names = work.names;
  outputs.check_names(names);

  std::optional<Engine> engine;  // none: several devices
  Engine::Outcome outcome;
  std::vector<ShardState> states;
  if (const auto several = SeveralDevices::asked(options)) {
    SharedOutcome shared = work.run_on_several(*several, work.inputs);
    outcome.results = std::move(shared.results);
    states = std::move(shared.states);
  } else {
    outcome = work.run(engine.emplace(options), work.inputs);
  }
  std::vector<NamedArray> results;
  for (size_t j = 0; j < outcome.results.size(); ++j) results.push_back({names[j].first, "", std::move(outcome.results[j])});

  if (options.has("--json")) {
    nlohmann::json out, all = nlohmann::json::object();
    for (const NamedArray& r : results) all[r.name] = result_json(r.array, outputs.file_of(r));
    if (engine)
      out["device"] = engine->name();
    else
      out["devices"] = states_json(states);
    out["results"] = all;
    if (options.has("--time")) out["time"] = time_json(outcome);
    outputs.write(results);
    print_json(out);
    return kOk;
  }
  if (outputs.any()) {
    outputs.write(results);
  } else {
    std::string text;
    for (const NamedArray& r : results) text += result_text(r);
    print(text);
  }
  if (!engine) std::fputs(states_text(states).c_str(), stderr);
  if (options.has("--time")) std::fputs(time_text(*engine, outcome).c_str(), stderr);
  return kOk;
}

}  // namespace

Command run_command() {
  return {"run",
          "evaluate a function of a program, or a bundle",
          "FILE.sg|FILE.sgb [name=value ...] [-o name=file.npy ...] [options]",
          {"Inputs are matched by name; 'spirograd --help' lists their forms. Without -o all results are printed."},
          with_program_options({output_option("write a result; '-' prints it; FILE.npz alone takes all")},
                               {time_option(), devices_option(), cut_option()}),
          {"spirograd run blur.sg image=photo.npy sigma=1.5 -o out=blurred.npy",
           "spirograd run sum.sg x=random:7:1000xf32 --device interpreter"},
          run};
}

}  // namespace spirograd::cli
