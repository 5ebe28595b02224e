// What is known of a device, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "spirograd/vk.h"

namespace spirograd::cli {

/// "1.3.230"
std::string version_of(const vk::DeviceInfo& d);
/// Lines for all that is known: driver, hardware, what programs may use, what was measured, and each probe of the self-test.
std::string text_of(const vk::DeviceInfo& d);
/// The probes that say that numbers may be wrong though programs run, a line each.
std::vector<std::string> doubts_of(const vk::DeviceInfo& d);
nlohmann::json json_of(const vk::DeviceInfo& d);

}  // namespace spirograd::cli
