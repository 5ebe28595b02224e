// What running the probes has shown, before anybody draws conclusions; and how the cache folder keeps it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spirograd/vk.h"
#include "spirv/executable/probe.h"

namespace spirograd::vk {

struct Finding {
  uint32_t number = 0;
  uint32_t part = kWholeProbe;
  BindingForm form = BindingForm::Descriptors;
  Outcome outcome = Outcome::NotRun;
  uint64_t value = 0;  // of probe 5: iterations that an invocation got; of 22 and 23: ULP
  std::string text;    // what is wrong; or what was measured
  bool operator==(const Finding&) const = default;
};

struct Findings {
  std::vector<Finding> list;
  Speeds speeds;
  bool thorough = false;  // the device was examined
  bool any(Outcome o) const {
    return std::any_of(list.begin(), list.end(), [o](const Finding& f) { return f.outcome == o; });
  }
  bool operator==(const Findings&) const = default;
};

/// What became of these outputs, a finding for each number and part.
std::vector<Finding> judged(const Probe& probe, BindingForm form, std::span<const std::vector<uint32_t>> outputs);
/// The same outcome for all that the probe answers for.
std::vector<Finding> same_for_all(const Probe& probe, BindingForm form, Outcome outcome, const std::string& text);

/// key: of the probes and of what the device offered when they ran. Nothing unless it is this one.
std::vector<uint8_t> encode(const Findings& findings, uint64_t key);
std::optional<Findings> decode(std::span<const uint8_t> bytes, uint64_t key);

}  // namespace spirograd::vk
