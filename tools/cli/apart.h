// Work of a command in a process of its own, so that what a driver does to it becomes a line of the report: the command
// runs itself with --in-process, and reads lines of JSON.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/options.h"

namespace spirograd::cli {

/// What the process that works tells. It ends if it tells nothing for longer than `patience`: a driver that hangs holds its
/// thread for ever.
class Telling {
 public:
  explicit Telling(std::chrono::seconds patience);
  ~Telling();
  /// What is begun now.
  void trying(std::string_view what);
  /// What was found: an object.
  void found(const nlohmann::json& line);

 private:
  class Watchdog;
  std::unique_ptr<Watchdog> watchdog_;
};

/// Runs this program with `arguments` and the two options below. `trying` and `found` hear what it tells. Returns what ended
/// it early, "the driver hung while creating the device", or "".
std::string run_apart(std::vector<std::string> arguments, std::chrono::seconds patience,
                      const std::function<void(const std::string&)>& trying,
                      const std::function<void(nlohmann::json)>& found);

OptionSpec patience_option();
std::chrono::seconds patience_of(const Options& options);
OptionSpec in_process_option();

}  // namespace spirograd::cli
