// spirograd doctor: each device is examined in a process of its own, so that what a driver does to it becomes a line of the
// report.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "spirograd/vk.h"
#include "tools/cli/device_text.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/tool.h"
#include "tools/io/progress.h"
#include "tools/io/subprocess.h"

namespace spirograd::cli {
namespace {

using Json = nlohmann::json;

// Ends the process if nothing is heard of for too long: a driver that hangs holds its thread for ever.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds patience) : patience_(patience), thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void heard_of(std::string_view what) {
    const std::lock_guard lock(mutex_);
    what_ = what;
    ++count_;
    changed_.notify_all();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      const int seen = count_;
      if (changed_.wait_for(lock, patience_, [&] { return ended_ || count_ != seen; })) continue;
      print(Json{{"hung", what_}}.dump() + "\n");
      std::_Exit(kDeviceError);
    }
  }

  const std::chrono::seconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_ = "loading the drivers";
  int count_ = 0;
  bool ended_ = false;
  std::thread thread_;
};

// In this process: lines of JSON, what is tried before what it gave.
int examine_here(const std::optional<std::string>& device, std::chrono::seconds patience) {
  Watchdog watchdog(patience);
  const auto say = [&](std::string_view what) {
    watchdog.heard_of(what);
    print(Json{{"trying", what}}.dump() + "\n");
  };
  if (!device) {
    say("loading the drivers");
    Json names = Json::array();
    for (const vk::DeviceInfo& d : vk::devices().value()) names.push_back(d.name);
    print(Json{{"names", names}}.dump() + "\n");
    return kOk;
  }
  vk::DeviceOptions options;
  options.select = *device;
  options.cache_dir = cache_folder();
  say("creating the device");
  const Result<vk::DeviceInfo> info = vk::examine(options, say);
  const Json line = info ? Json{{"device", json_of(*info)}, {"text", text_of(*info)}} : Json{{"error", info.error().str()}};
  print(line.dump() + "\n");
  return kOk;
}

// In a process of its own. The last line, or what happened instead: {"failed": "hung while ..."}.
Json examine_apart(const std::optional<std::string>& device, std::chrono::seconds patience, io::Progress& progress,
                   const std::string& name) {
  std::string trying = "starting";
  Json last;
  std::vector<std::string> arguments = {"doctor", "--in-process", "--patience", std::to_string(patience.count())};
  if (device) arguments.insert(arguments.end(), {"--device", *device});
  const io::Ended ended = io::run_process(io::own_program(), arguments, [&](const std::string& line) {
    Json value = Json::parse(line, nullptr, false);
    if (!value.is_object()) return;  // drivers print too
    if (value.contains("trying")) {
      trying = value["trying"];
      progress.say(name + trying + " ...");
    } else {
      last = std::move(value);
    }
  });
  if (last.contains("hung")) return {{"failed", "the driver hung while " + trying}};
  if (last.contains("error")) return {{"failed", last["error"]}};
  if (!ended.how.empty()) return {{"failed", "the driver ended the process by " + ended.how + " while " + trying}};
  if (last.is_null()) return {{"failed", "the process ended with status " + std::to_string(ended.status)}};
  return last;
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
  const std::chrono::seconds patience(options.number("--patience", 60, 1));
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
           {"--patience", "SECONDS", "how long a driver may be silent before it is given up (60)", ""},
           {"--in-process", "", "without a process of its own: lines of JSON, as they come", ""}},
          {"spirograd doctor", "spirograd doctor --json > my-gpu.json", "spirograd doctor -d nvidia"},
          doctor,
          ""};
}

}  // namespace spirograd::cli
