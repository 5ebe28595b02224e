// From findings to facts: pure, so that it is tested with devices that nobody has.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "spirograd/vk.h"
#include "vk_runtime/probe_findings.h"

namespace spirograd::vk {

struct Proof {
  Target target;
  bool full_barriers = false;     // every command waits for all before it
  std::string unusable;           // "right quotients and remainders (probe 12 of the self-test: ..)", or empty
  std::vector<Verdict> verdicts;  // one per probe, by number
};

/// Whether a deciding probe went wrong in the address form, so that what descriptors do decides between the forms.
bool doubts_addresses(std::span<const Finding> findings);

/// `offered`: the target as the driver describes it, with atomic_float_add where it is offered. What the findings do not
/// mention was not run: then facts that must be proved are off, and others are as offered.
Proof conclude(const Target& offered, std::span<const Finding> findings);

}  // namespace spirograd::vk
