#include "tools/cli/apart.h"

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "tools/cli/tool.h"
#include "tools/io/subprocess.h"

namespace spirograd::cli {

using Json = nlohmann::json;

class Telling::Watchdog {
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

Telling::Telling(std::chrono::seconds patience) : watchdog_(std::make_unique<Watchdog>(patience)) {}
Telling::~Telling() = default;

void Telling::trying(std::string_view what) {
  watchdog_->heard_of(what);
  print(Json{{"trying", what}}.dump() + "\n");
}

void Telling::found(const Json& line) { print(line.dump() + "\n"); }

std::string run_apart(std::vector<std::string> arguments, std::chrono::seconds patience,
                      const std::function<void(const std::string&)>& trying, const std::function<void(Json)>& found) {
  std::string now = "starting";
  Json last;
  arguments.insert(arguments.end(), {"--in-process", "--patience", std::to_string(patience.count())});
  const io::Ended ended = io::run_process(io::own_program(), arguments, [&](const std::string& line) {
    Json value = Json::parse(line, nullptr, false);
    if (!value.is_object()) return;  // drivers print too
    if (value.contains("trying")) return trying(now = value["trying"]);
    last = value;
    if (!value.contains("hung") && !value.contains("error")) found(std::move(value));
  });
  if (last.contains("hung")) return "the driver hung while " + now;
  if (last.contains("error")) return last["error"];
  if (!ended.how.empty()) return "the driver ended the process by " + ended.how + " while " + now;
  return last.is_null() ? "the process ended with status " + std::to_string(ended.status) : "";
}

OptionSpec patience_option() {
  return {"--patience", "SECONDS", "how long a driver may be silent before it is given up (60)", ""};
}

std::chrono::seconds patience_of(const Options& options) {
  return std::chrono::seconds(options.number("--patience", 60, 1));
}

OptionSpec in_process_option() {
  return {"--in-process", "", "without a process of its own: lines of JSON, as they come", ""};
}

}  // namespace spirograd::cli
