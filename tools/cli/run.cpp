// spirograd run: evaluates a function.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/tool.h"

namespace spirograd::cli {
namespace {

int run(const Options& options) {
  const Outputs outputs(options);
  const Source source = load_source(options.positional()[0], options.value("--function").value_or(""));
  InputList list(source, options.inputs(), options.has("--cast"), element_type(options));
  const Program program = list.instantiate();
  const std::vector<HostArray> inputs = list.match(program);
  std::vector<std::pair<std::string, std::string>> names;
  for (const ProgramResult& r : program.results) names.emplace_back(r.name, "");
  outputs.check_names(names);

  const Engine engine(options);
  Engine::Outcome outcome = engine.run(program, inputs, options.has("--time"));
  std::vector<NamedArray> results;
  for (size_t j = 0; j < outcome.results.size(); ++j) results.push_back({names[j].first, "", std::move(outcome.results[j])});

  if (options.has("--json")) {
    nlohmann::json out, all = nlohmann::json::object();
    for (const NamedArray& r : results) all[r.name] = result_json(r.array, outputs.file_of(r));
    out["device"] = engine.name();
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
  if (options.has("--time")) std::fputs(time_text(engine, outcome).c_str(), stderr);
  return kOk;
}

}  // namespace

Command run_command() {
  return {"run",
          "evaluate a function of a program",
          "FILE.sg [name=value ...] [-o name=file.npy ...] [options]",
          {"Inputs are matched by name; 'spirograd --help' lists their forms. Without -o all results are printed."},
          with_program_options({output_option("write a result; '-' prints it; FILE.npz alone takes all")}, {time_option()}),
          {"spirograd run blur.sg image=photo.npy sigma=1.5 -o out=blurred.npy",
           "spirograd run sum.sg x=random:7:1000xf32 --device interpreter"},
          run};
}

}  // namespace spirograd::cli
