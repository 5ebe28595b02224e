// spirograd devices: what is here, what it can do, what was proved.
#include <nlohmann/json.hpp>

#include "spirograd/vk.h"
#include "spirv/executable/quirks.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/tool.h"
#include "tools/io/progress.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

std::string version_of(const vk::DeviceInfo& d) {
  return std::to_string(d.api_major) + "." + std::to_string(d.api_minor) + "." + std::to_string(d.api_patch);
}

std::string memory_of(const vk::DeviceInfo& d) {
  return io::short_number(static_cast<double>(d.memory_bytes) / 1e9, 3) + " GB";
}

std::vector<std::string> operations_of(const Target& t) {
  std::vector<std::string> names;
  for (const auto& [bit, name] : kSubgroupOperations)
    if (t.subgroup_operations & bit) names.emplace_back(name);
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
  return text.empty() ? "none" : text;
}

const char* yes_no(bool b) { return b ? "yes" : "no"; }

std::vector<std::string> quirks_of(const Target& t) {
  std::vector<std::string> names;
  for (const QuirkInfo& q : known_quirks())
    if (t.quirks & q.bit) names.emplace_back(q.name);
  return names;
}

std::vector<std::pair<std::string, std::string>> facts_of(const Target& t) {
  return {{"f64", yes_no(t.float64)},
          {"native atomic f32 add", yes_no(t.atomic_float_add)},
          {"device addresses", yes_no(t.device_address)},
          {"signed zero, inf, nan kept", yes_no(t.signed_zero_inf_nan)},
          {"rounding to even", yes_no(t.round_to_even)},
          {"the same for f64", std::string(yes_no(t.signed_zero_inf_nan64)) + ", " + yes_no(t.round_to_even64)},
          {"subgroup", std::to_string(t.subgroup_size)},
          {"subgroup operations", joined(operations_of(t))},
          {"invocations per workgroup", std::to_string(t.max_invocations)},
          {"shared memory", std::to_string(t.shared_bytes) + " bytes"},
          {"workgroups along x and y", std::to_string(t.max_groups) + " x " + std::to_string(t.max_groups_y)},
          {"storage buffers per stage", std::to_string(t.max_buffers)},
          {"push constants", std::to_string(t.max_push_bytes) + " bytes"},
          {"largest descriptor range", std::to_string(t.max_range) + " bytes"},
          {"invocations that keep it busy", std::to_string(t.price.busy)},
          {"neighbours", std::to_string(t.price.lanes)},
          {"quirks", joined(quirks_of(t))}};
}

nlohmann::json json_of(const vk::DeviceInfo& d) {
  const Target& t = d.target;
  nlohmann::json verdicts = nlohmann::json::array();
  for (const vk::Verdict& v : d.verdicts)
    verdicts.push_back({{"number", v.number}, {"name", v.name}, {"outcome", name(v.outcome)}, {"text", v.text}});
  return {{"index", d.index},
          {"name", d.name},
          {"driver", d.driver},
          {"type", name(d.type)},
          {"api", version_of(d)},
          {"memory_bytes", d.memory_bytes},
          {"unusable", d.unusable},
          {"verdicts", verdicts},
          {"target",
           {{"float64", t.float64},
            {"atomic_float_add", t.atomic_float_add},
            {"device_address", t.device_address},
            {"signed_zero_inf_nan", t.signed_zero_inf_nan},
            {"round_to_even", t.round_to_even},
            {"signed_zero_inf_nan64", t.signed_zero_inf_nan64},
            {"round_to_even64", t.round_to_even64},
            {"subgroup_size", t.subgroup_size},
            {"subgroup_operations", operations_of(t)},
            {"max_invocations", t.max_invocations},
            {"shared_bytes", t.shared_bytes},
            {"max_groups", t.max_groups},
            {"max_groups_y", t.max_groups_y},
            {"max_buffers", t.max_buffers},
            {"max_push_bytes", t.max_push_bytes},
            {"max_range", t.max_range},
            {"lanes", t.price.lanes},
            {"busy_invocations", t.price.busy},
            {"quirks", quirks_of(t)}}}};
}

std::string verdicts_of(const vk::DeviceInfo& d) {
  io::Table table({">", "", "", ""});
  for (const vk::Verdict& v : d.verdicts)
    table.add({"   " + std::to_string(v.number), v.name, std::string(name(v.outcome)), v.text});
  return table.str();
}

std::string details(const std::vector<vk::DeviceInfo>& all) {
  std::string out;
  for (const vk::DeviceInfo& d : all) {
    out += "\n" + std::to_string(d.index) + "  " + d.name + "\n";
    io::Table table({"", ""});
    table.add({"   driver", d.driver});
    if (!d.unusable.empty()) table.add({"   cannot be used: it lacks", d.unusable});
    for (const auto& [what, value] : facts_of(d.target)) table.add({"   " + what, value});
    out += table.str();
    if (!d.verdicts.empty()) out += "   self-test:\n" + verdicts_of(d);
  }
  return out;
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
               usable ? d.driver : "lacks " + d.unusable, memory_of(d), yes_no(d.target.float64),
               std::to_string(d.target.subgroup_size)});
  }
  std::string text = table.str();
  text += "default: " + (best.empty() ? "none can be used" : best) +
          "    choose: --device 1, --device llvmpipe, or SPIROGRAD_DEVICE=llvmpipe\n";
  if (verbose) text += details(all);
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
          false};
}

}  // namespace spirograd::cli
