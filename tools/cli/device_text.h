// What is known of a device, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "spirograd/vk.h"

namespace spirograd::cli {

/// "1.3.230"
std::string version_of(const vk::DeviceInfo& d);
/// Pairs of what and how: driver, hardware, what programs may use, and what was measured.
std::vector<std::pair<std::string, std::string>> facts_of(const vk::DeviceInfo& d);
/// A line for each probe of the self-test.
std::string verdicts_of(const vk::DeviceInfo& d);
/// The probes that say that numbers may be wrong though programs run, a line each.
std::vector<std::string> doubts_of(const vk::DeviceInfo& d);
nlohmann::json json_of(const vk::DeviceInfo& d);

}  // namespace spirograd::cli
