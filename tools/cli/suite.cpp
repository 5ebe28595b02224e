#include "tools/cli/suite.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "spirograd/text.h"
#include "tools/cli/agreement.h"
#include "tools/cli/apart.h"
#include "tools/cli/device_text.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/speed.h"
#include "tools/cli/suite_programs.h"
#include "tools/cli/tool.h"
#include "tools/io/progress.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

using Json = nlohmann::json;

constexpr double kSecondsEach = 0.3;  // of measured programs

// All programs of a text at made-up inputs.
std::vector<Job> jobs_of(const char* text, uint64_t seed) {
  const text::Module module = text::parse(text, "suite.sg").value();
  std::vector<Job> out;
  for (const text::Signature& s : module.functions())
    out.push_back(random_job(text::instantiate(module, s.name).value(), seed));
  return out;
}

bool has_doubles(const Program& p) {
  return std::any_of(p.params.begin(), p.params.end(), [](const Param& q) { return q.type.dtype == DType::F64; });
}

Json checked(const Job& job, const Engine& engine, const AgreementOptions& how, Telling& tell) {
  Json out = {{"program", job.program.name}, {"ok", true}, {"failures", Json::array()}};
  if (has_doubles(job.program) && !engine.target().float64) return out["skipped"] = "the device has no f64", out;
  const auto fails = [&](const std::string& text) {
    out["ok"] = false;
    out["failures"].push_back(text);
  };
  try {
    double worst = 0;
    const std::vector<Agreement> all = agreements(job, engine, how, [&](std::string_view stage) { tell.trying(stage); });
    for (const Agreement& a : all) {
      if (a.what.ends_with("device = interpreter") || a.what.ends_with("kernels = interpreter"))
        worst = std::max(worst, a.error);
      if (a.ok) continue;
      fails(a.what + ", relative error " + io::short_number(a.error, 2) + (a.detail.empty() ? "" : ", " + a.detail) +
            (a.note.empty() ? "" : ": " + a.note));
    }
    out["comparisons"] = all.size();
    out["error"] = json_number(worst);
  } catch (const Error& e) {
    fails(e.str());
  }
  return out;
}

Json speed_of(const Job& job, const Engine& engine) {
  try {
    const Speed s = measure_speed(engine.device(), engine.compile_options(), job.program, job.inputs, kSecondsEach);
    return {{"program", job.program.name},
            {"seconds", s.device},
            {"first_seconds", s.compile + s.session + s.first},
            {"bytes", s.traffic.least},
            {"operations", s.operations}};
  } catch (const Error& e) {
    return {{"program", job.program.name}, {"failed", e.str()}};
  }
}

void tell_all(const Options& options, const AgreementOptions& how, Telling& tell) {
  const vk::DeviceOptions wish = device_wish(options);
  if (wish.select != kInterpreter) {
    tell.trying("creating the device");
    const vk::DeviceInfo info = vk::examine(wish, [&](std::string_view probe) { tell.trying(probe); }).value();
    tell.found({{"device", json_of(info)}, {"text", text_of(info)}});
    if (!info.unusable.empty()) return;
  }
  const Engine engine(options);
  for (const Job& job : jobs_of(kCheckedPrograms, how.seed)) tell.found({{"checked", checked(job, engine, how, tell)}});
  if (engine.is_interpreter()) return;
  tell.trying("measuring what it can do");
  const Limits limits = measure_limits(engine.device(), engine.form());
  tell.found({{"limits", {{"bytes_per_second", limits.bytes}, {"operations_per_second", limits.operations}}}});
  for (const Job& job : jobs_of(kMeasuredPrograms, how.seed)) {
    tell.trying("measuring " + job.program.name);
    tell.found({{"measured", speed_of(job, engine)}});
  }
}

std::string device_text(const Json& report) {
  if (!report.contains("device")) return "";
  return report["device"]["name"].get<std::string>() + "\n" + report["text"].get<std::string>() + "\n";
}

std::string checked_text(const Json& programs) {
  io::Table table({"", "", "", ""});
  std::string failures;
  for (const Json& p : programs) {
    const std::string name = p["program"];
    if (p.contains("skipped")) {
      table.add({"-", name, p["skipped"]});
      continue;
    }
    const bool ok = p["ok"];
    const auto count = p.value("comparisons", size_t{0});
    table.add({ok ? "ok" : "FAIL", name, std::to_string(count) + " comparisons",
               p.contains("error") && p["error"].is_number()
                   ? "worst rel. error " + io::short_number(p["error"].get<double>(), 2)
                   : ""});
    for (const Json& failure : p["failures"]) failures += "FAIL  " + name + ": " + failure.get<std::string>() + "\n";
  }
  return table.str() + (failures.empty() ? "" : "\n") + failures;
}

std::string speeds_text(const Json& report) {
  if (!report.contains("limits")) return "";
  const double bytes = report["limits"]["bytes_per_second"], operations = report["limits"]["operations_per_second"];
  std::string out = "\nit copies " + io::short_number(bytes * 1e-9, 3) + " GB/s and computes " +
                    io::short_number(operations * 1e-9, 3) + " Gop/s now\n";
  io::Table table({"", ">replay", ">first call", ">GB/s", ">of copying", ">Gop/s", ">of computing"});
  const auto percent = [](double share) { return io::short_number(100 * share, 3) + " %"; };
  for (const Json& m : report["measured"]) {
    if (m.contains("failed")) {
      table.add({m["program"], m["failed"]});
      continue;
    }
    const double seconds = m["seconds"], moved = m["bytes"].get<double>() / seconds,
                 done = m["operations"].get<double>() / seconds;
    table.add({m["program"], io::ms(seconds), io::ms(m["first_seconds"]), io::short_number(moved * 1e-9, 3),
               percent(moved / bytes), io::short_number(done * 1e-9, 3), percent(done / operations)});
  }
  return out + table.str();
}

// In a process of its own. {"device": .., "text": .., "checked": [..], "limits": .., "measured": [..], "failed": ".."}
Json report_of(const Options& options) {
  std::vector<std::string> arguments = {"check", "--suite"};
  for (const char* name : {"--device", "--form", "--seed", "--samples"})
    if (const auto value = options.value(name)) arguments.insert(arguments.end(), {name, *value});
  Json report = {{"version", SPIROGRAD_VERSION}, {"checked", Json::array()}, {"measured", Json::array()}};
  io::Progress progress("starting ...");
  report["failed"] = run_apart(
      arguments, patience_of(options), [&](const std::string& what) { progress.update(what + " ..."); },
      [&](const Json& found) {
        for (const auto& [key, value] : found.items()) {
          Json& place = report[key];
          if (place.is_array())
            place.push_back(value);
          else
            place = value;
        }
      });
  return report;
}

}  // namespace

int check_suite(const Options& options) {
  if (!options.positional().empty()) throw usage_error("'check --suite' takes no '" + options.positional()[0] + "'");
  for (const char* of_a_program : {"--function", "--cast", "--dtype", "--deterministic"})
    if (options.has(of_a_program)) throw usage_error(std::string("'check --suite' takes no '") + of_a_program + "'");
  const AgreementOptions how{static_cast<uint64_t>(options.number("--seed", 1, 0)), options.number("--samples", 3, 1)};
  if (options.has("--in-process")) {
    Telling tell(patience_of(options));
    try {
      tell_all(options, how, tell);
      tell.found({{"ended", true}});
    } catch (const Error& e) {
      tell.found({{"error", e.str()}});
    }
    return kOk;
  }
  Json report = report_of(options);
  std::string failed = report["failed"];
  if (failed.empty() && report.contains("device") && report["device"]["unusable"] != "")
    failed = "the device cannot be used: " + report["device"]["unusable"].get<std::string>();
  const bool ok = failed.empty() &&
                  std::all_of(report["checked"].begin(), report["checked"].end(), [](const Json& p) { return p["ok"]; });
  if (options.has("--json")) {
    report.erase("text");  // says the same for people
    print_json(report);
  } else {
    print("spirograd " SPIROGRAD_VERSION "\n\n" + device_text(report) + checked_text(report["checked"]) +
          speeds_text(report) + (failed.empty() ? "" : "\nFAIL  " + failed + "\n"));
  }
  return ok ? kOk : kCheckFailed;
}

}  // namespace spirograd::cli
