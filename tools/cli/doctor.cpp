// spirograd doctor: each device is examined in a process of its own, so that what a driver does to it becomes a line of the
// report.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "spirograd/vk.h"
#include "tools/cli/apart.h"
#include "tools/cli/device_text.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/tool.h"
#include "tools/io/progress.h"

namespace spirograd::cli {
namespace {

using Json = nlohmann::json;

int examine_here(const std::optional<std::string>& device, std::chrono::seconds patience) {
  Telling tell(patience);
  if (!device) {
    tell.trying("loading the drivers");
    Json names = Json::array();
    for (const vk::DeviceInfo& d : vk::devices().value()) names.push_back(d.name);
    tell.found({{"names", names}});
    return kOk;
  }
  vk::DeviceOptions options;
  options.select = *device;
  options.cache_dir = cache_folder();
  tell.trying("creating the device");
  const Result<vk::DeviceInfo> info = vk::examine(options, [&](std::string_view what) { tell.trying(what); });
  tell.found(info ? Json{{"device", json_of(*info)}, {"text", text_of(*info)}} : Json{{"error", info.error().str()}});
  return kOk;
}

// In a process of its own. What it found, or what happened instead: {"failed": "hung while ..."}.
Json examine_apart(const std::optional<std::string>& device, std::chrono::seconds patience, io::Progress& progress,
                   const std::string& name) {
  std::vector<std::string> arguments = {"doctor"};
  if (device) arguments.insert(arguments.end(), {"--device", *device});
  Json out;
  const std::string failed = run_apart(
      arguments, patience, [&](const std::string& what) { progress.say(name + what + " ..."); },
      [&](Json found) { out = std::move(found); });
  return failed.empty() ? out : Json{{"failed", failed}};
}

// Of what examine_apart gives.
std::string finding_text(const Json& found) {
  return found.contains("failed") ? "   " + found["failed"].get<std::string>() + "\n" : found["text"].get<std::string>();
}

bool is_well(const Json& found) {
  return !found.contains("failed") && found["device"]["unusable"].get<std::string>().empty();
}

int doctor(const Options& options) {
  if (!options.positional().empty()) throw usage_error("'doctor' takes no '" + options.positional()[0] + "'");
  const std::optional<std::string> wanted = options.value("--device");
  const std::chrono::seconds patience = patience_of(options);
  if (options.has("--in-process")) return examine_here(wanted, patience);
  std::vector<std::pair<std::string, Json>> report;  // name, what was found
  {
    io::Progress progress("loading the drivers ...");
    std::vector<std::pair<std::string, std::string>> devices;  // how to select it, name
    if (wanted) {
      devices = {{*wanted, *wanted}};
    } else {
      const Json list = examine_apart(std::nullopt, patience, progress, "");
      if (list.contains("failed")) throw Error("SG0302", std::string(list["failed"]));
      for (const Json& name : list["names"]) devices.emplace_back(std::to_string(devices.size()), name);
    }
    for (const auto& [select, name] : devices) {
      Json found = examine_apart(select, patience, progress, name + ": ");
      report.emplace_back(found.contains("device") ? found["device"]["name"].get<std::string>() : name, std::move(found));
    }
  }
  if (options.has("--json")) {
    Json all = Json::array();
    for (const auto& [name, found] : report)
      all.push_back(found.contains("device") ? found["device"] : Json{{"name", name}, {"failed", found["failed"]}});
    print_json({{"devices", all}});
  } else {
    std::string text;
    for (const auto& [name, found] : report) text += (text.empty() ? "" : "\n") + name + "\n" + finding_text(found);
    print(text);
  }
  return std::all_of(report.begin(), report.end(), [](const auto& r) { return is_well(r.second); }) ? kOk : kCheckFailed;
}

}  // namespace

Command doctor_command() {
  return {"doctor",
          "examine devices: what they are, and a line for each probe of what they do right",
          "[options]",
          {"Each device is examined in a process of its own: a driver that crashes or hangs is a line of the report.",
           "Ends with status 1 if a device cannot be used."},
          {{"--device", "D", "only this one: a number or a part of the name", "-d"},
           json_option(),
           patience_option(),
           in_process_option()},
          {"spirograd doctor", "spirograd doctor --json > my-gpu.json", "spirograd doctor -d nvidia"},
          doctor,
          ""};
}

}  // namespace spirograd::cli
