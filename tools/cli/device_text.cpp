#include "tools/cli/device_text.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "spirv/executable/quirks.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

std::vector<std::string> operations_of(const Target& t) {
  std::vector<std::string> names;
  for (const auto& [bit, name] : kSubgroupOperations)
    if (t.subgroup_operations & bit) names.emplace_back(name);
  return names;
}

const char* yes_no(bool b) { return b ? "yes" : "no"; }

std::vector<std::string> quirks_of(const Target& t) {
  std::vector<std::string> names;
  for (const QuirkInfo& q : known_quirks())
    if (t.quirks & q.bit) names.emplace_back(q.name);
  return names;
}

std::vector<std::pair<std::string, std::string>> target_facts(const Target& t) {
  return {{"f64", yes_no(t.float64)},
          {"f16 in memory", yes_no(t.float16_storage)},
          {"native atomic f32 add", yes_no(t.atomic_float_add)},
          {"device addresses", yes_no(t.device_address)},
          {"signed zero, inf, nan kept", yes_no(t.signed_zero_inf_nan)},
          {"rounding to even", yes_no(t.round_to_even)},
          {"the same for f64", std::string(yes_no(t.signed_zero_inf_nan64)) + ", " + yes_no(t.round_to_even64)},
          {"subgroup", std::to_string(t.subgroup_size)},
          {"subgroup operations", io::listed(operations_of(t))},
          {"invocations per workgroup", std::to_string(t.max_invocations)},
          {"shared memory", std::to_string(t.shared_bytes) + " bytes"},
          {"workgroups along x and y", std::to_string(t.max_groups) + " x " + std::to_string(t.max_groups_y)},
          {"storage buffers per stage", std::to_string(t.max_buffers)},
          {"push constants", std::to_string(t.max_push_bytes) + " bytes"},
          {"largest descriptor range", std::to_string(t.max_range) + " bytes"},
          {"invocations that keep it busy", std::to_string(t.price.busy)},
          {"neighbours", std::to_string(t.price.lanes)},
          {"quirks", io::listed(quirks_of(t))}};
}

std::string rate(double bytes) { return io::short_number(bytes / 1e9, 3) + " GB/s"; }

// Pairs of what and how.
std::vector<std::pair<std::string, std::string>> facts_of(const vk::DeviceInfo& d) {
  std::vector<std::pair<std::string, std::string>> out = {
      {"driver", d.driver}, {"type", std::string(name(d.type))}, {"Vulkan", version_of(d)}};
  if (!d.unusable.empty()) out.emplace_back("cannot be used: it lacks", d.unusable);
  out.insert(out.end(), d.hardware.begin(), d.hardware.end());
  for (auto& fact : target_facts(d.target)) out.push_back(std::move(fact));
  const vk::Speeds& s = d.speeds;
  if (s.written > 0) out.emplace_back("the host writes", rate(s.written));
  if (s.read > 0) out.emplace_back("the host reads", rate(s.read));
  if (s.iterations > 0)
    out.emplace_back("loop of one invocation", io::short_number(s.iterations / 1e6, 3) + " million steps/s");
  if (s.compile > 0) out.emplace_back("compiling 1,500 instructions", io::ms(s.compile));
  return out;
}

}  // namespace

std::string version_of(const vk::DeviceInfo& d) {
  return std::to_string(d.api_major) + "." + std::to_string(d.api_minor) + "." + std::to_string(d.api_patch);
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
          {"hardware", d.hardware},
          {"verdicts", verdicts},
          {"speeds",
           {{"iterations_per_second", d.speeds.iterations},
            {"compile_seconds", d.speeds.compile},
            {"bytes_written_per_second", d.speeds.written},
            {"bytes_read_per_second", d.speeds.read}}},
          {"target",
           {{"float64", t.float64},
            {"float16_storage", t.float16_storage},
            {"float16_addresses", t.float16_addresses},
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

std::vector<std::string> doubts_of(const vk::DeviceInfo& d) {
  // Reassociation, rounding, comparisons with NaN, accuracy of quotients and of functions.
  constexpr std::array<uint32_t, 5> kOfNumbers = {17, 18, 19, 22, 23};
  std::vector<std::string> out;
  for (const vk::Verdict& v : d.verdicts) {
    const bool numbers = std::find(kOfNumbers.begin(), kOfNumbers.end(), v.number) != kOfNumbers.end();
    if (numbers && v.outcome == vk::Outcome::Wrong)
      out.push_back("'" + d.name + "' fails the probe '" + v.name + "': " + v.text);
  }
  return out;
}

std::string text_of(const vk::DeviceInfo& d) {
  io::Table facts({"", ""});
  for (const auto& [what, value] : facts_of(d)) facts.add({"   " + what, value});
  if (d.verdicts.empty()) return facts.str();
  io::Table probes({">", "", "", ""});
  for (const vk::Verdict& v : d.verdicts)
    probes.add({"   " + std::to_string(v.number), v.name, std::string(name(v.outcome)), v.text});
  return facts.str() + "   self-test:\n" + probes.str();
}

}  // namespace spirograd::cli
