// spirograd devices: what is here, what it can do, what was proved.
#include <nlohmann/json.hpp>

#include "spirograd/vk.h"
#include "tools/cli/device_text.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/tool.h"
#include "tools/io/progress.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

std::string memory_of(const vk::DeviceInfo& d) {
  return io::short_number(static_cast<double>(d.memory_bytes) / 1e9, 3) + " GB";
}

int devices(const Options& options) {
  if (!options.positional().empty()) throw usage_error("'devices' takes no '" + options.positional()[0] + "'");
  const bool verbose = options.has("--verbose"), json = options.has("--json");
  const std::vector<vk::DeviceInfo> all = [&] {
    const io::Progress progress("testing devices ...");
    return vk::devices(verbose || json).value();
  }();
  if (json) {
    nlohmann::json out = nlohmann::json::array();
    for (const vk::DeviceInfo& d : all) out.push_back(json_of(d));
    print_json({{"devices", out}});
    return kOk;
  }
  io::Table table({">#", "name", "type", "api", "driver", ">memory", "f64", ">subgroup"});
  std::string best;
  for (const vk::DeviceInfo& d : all) {
    const bool usable = d.unusable.empty();
    if (usable && best.empty()) best = std::to_string(d.index);
    table.add({std::to_string(d.index), d.name, std::string(name(d.type)), version_of(d),
               usable ? d.driver : "lacks " + d.unusable, memory_of(d), d.target.float64 ? "yes" : "no",
               std::to_string(d.target.subgroup_size)});
  }
  std::string text = table.str();
  text += "default: " + (best.empty() ? "none can be used" : best) +
          "    choose: --device 1, --device llvmpipe, or SPIROGRAD_DEVICE=llvmpipe\n";
  if (verbose)
    for (const vk::DeviceInfo& d : all) text += "\n" + std::to_string(d.index) + "  " + d.name + "\n" + text_of(d);
  print(text);
  return kOk;
}

}  // namespace

Command devices_command() {
  return {"devices",
          "list Vulkan devices, what they can do and what was proved",
          "[options]",
          {"Devices are listed best first; the first that can be used is the default."},
          {{"--verbose", "", "all facts, and the verdicts of the self-test", "-v"}, json_option()},
          {"spirograd devices", "spirograd devices -v"},
          devices,
          ""};
}

}  // namespace spirograd::cli
