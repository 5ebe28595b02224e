// --devices and --cut: a program over several devices, a piece of one axis of its inputs on each.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spirograd/shards.h"
#include "tools/cli/options.h"

namespace spirograd::cli {

OptionSpec devices_option();
OptionSpec cut_option();

/// What is typed after them. Empty where --devices is not given. Throws usage errors.
struct SeveralDevices {
  std::vector<std::string> devices;  // numbers or parts of names; one "all": all that can be used
  std::string axis;                  // as the types of inputs call it
  static std::optional<SeveralDevices> asked(const Options& options);
};

struct SharedOutcome {
  std::vector<HostArray> results;
  std::vector<ShardState> states;
};

/// `whole` for these inputs; `piece_of(n)` is the same program for n elements of the axis. How results come from pieces is
/// found out. Throws SG0301 to SG0304, SG0511, and usage errors.
SharedOutcome run_on_several(const SeveralDevices& how, const Options& options, const Program& whole,
                             const std::function<Program(int64_t)>& piece_of, std::span<const HostArray> inputs);

/// A line for each device: what it did, in how long.
std::string states_text(const std::vector<ShardState>& states);
nlohmann::json states_json(const std::vector<ShardState>& states);

}  // namespace spirograd::cli
