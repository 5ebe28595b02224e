// spirograd check: every way to compute a function and its derivatives must agree.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/cli/agreement.h"
#include "tools/cli/apart.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/suite.h"
#include "tools/cli/tool.h"
#include "tools/io/progress.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

int check(const Options& options) {
  if (options.has("--suite")) return check_suite(options);
  for (const char* of_the_suite : {"--patience", "--in-process"})
    if (options.has(of_the_suite)) throw usage_error(std::string("'") + of_the_suite + "' is an option of 'check --suite'");
  if (options.positional().empty()) throw usage_error("'check' needs a program, or --suite").hint("spirograd check --help");
  const AgreementOptions how{static_cast<uint64_t>(options.number("--seed", 1, 0)), options.number("--samples", 10, 1)};
  const Source source = load_source(options.positional()[0], options.value("--function").value_or(""));
  InputList list(source, options.inputs(), options.has("--cast"), element_type(options));
  Job job;
  if (list.any()) {
    job.program = list.instantiate();
    job.inputs = list.match(job.program);
  } else {
    job = random_job(list.instantiate_types(), how.seed);
    list.check_all_used(job.program);
  }
  const Engine engine(options);
  const std::vector<Agreement> lines = [&] {
    io::Progress progress("checking ...");
    return agreements(job, engine, how, [&](std::string_view stage) { progress.update(std::string(stage) + " ..."); });
  }();
  const bool ok = std::all_of(lines.begin(), lines.end(), [](const Agreement& l) { return l.ok; });

  if (options.has("--json")) {
    nlohmann::json all = nlohmann::json::array();
    for (const Agreement& l : lines)
      all.push_back(
          {{"check", l.what}, {"ok", l.ok}, {"error", json_number(l.error)}, {"detail", l.detail}, {"note", l.note}});
    print_json({{"device", engine.name()}, {"ok", ok}, {"seed", how.seed}, {"checks", all}});
    return ok ? kOk : kCheckFailed;
  }
  io::Table table({"", "", "", ""});
  for (const Agreement& l : lines) {
    table.add({l.ok ? "ok" : "FAIL", l.what, "worst rel. error " + io::short_number(l.error, 2), l.detail});
    if (!l.note.empty()) table.add({"", "  " + l.note});
  }
  std::string text = source.signature.name + " on " + engine.name() +
                     (list.any() || job.inputs.empty() ? "" : ", made-up inputs") + "\n" + table.str();
  print(text);
  return ok ? kOk : kCheckFailed;
}

}  // namespace

Command check_command() {
  return {"check",
          "compare interpreter, kernels and device; forward, reverse and differences",
          "FILE.sg [name=value ...] [options]\n       spirograd check --suite [options]",
          {"Without inputs, where shapes are fixed or given (N=5): floats are made up in [0, 1), everything else is 0.",
           "--suite examines a device as 'doctor' does, checks small programs of every kind on it, and measures a few: a",
           "report to send when something is wrong. It runs in a process of its own, so that a driver that crashes or hangs",
           "is a line of it.", "Exit status 1 if a line says FAIL."},
          {{"--suite", "", "the report of a device; takes --device, --form, --seed, --samples, --json", ""},
           {"--seed", "S", "of directions and made-up inputs; 1 if not given"},
           {"--samples", "N", "random directions for derivatives; 10 if not given"},
           function_option(),
           device_option(),
           form_option(),
           deterministic_option(),
           cast_option(),
           dtype_option(),
           json_option(),
           patience_option(),
           in_process_option()},
          {"spirograd check --suite > report.txt",
           "spirograd check model.sg x=x.npy w=w.npy N=8 --device interpreter --samples 50"},
          check,
          ""};
}

}  // namespace spirograd::cli
