// What a device has to do right before programs run on it: small programs without inputs, and what they have to give. They
// are made when Spirograd is built (spirv/probes), the runtime carries them as words and runs them once per device and
// driver.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "spirograd/executable.h"

namespace spirograd {

/// Parts of a probe that decide different facts: of 30 two, of 4 one.
enum ProbePart : uint32_t { kWholeProbe = 0, kLanePart = 1, kLaneSumPart = 2, kBasePart = 3 };

/// What a range of an output has to hold.
struct Expectation {
  uint32_t number = 0;  // of the probe, as in the table of the self-test
  uint32_t part = kWholeProbe;
  std::string what;                           // "sums in 64 places"
  uint32_t output = 0, first = 0, count = 0;  // 32-bit words of that output, from the first one on
  bool steps = false;                         // word i is words[0] + i words[1]; else it is words[i]
  uint32_t ulps = 0;                          // the words are f32, and this far from these is near enough
  std::vector<uint32_t> words;
  bool operator==(const Expectation&) const = default;
};

/// One program, which may answer for several numbers of the table.
struct Probe {
  std::string name;
  bool thorough = false;                             // takes long, or much memory: only where a device is examined
  Executable program;                                // no inputs and no kernels; Step::work in whole submissions
  std::array<std::vector<KernelBinary>, 2> kernels;  // by binding form
  std::vector<Expectation> expected;
};

/// The probe in one binding form.
Executable in_form(const Probe& probe, BindingForm form);

std::vector<uint32_t> pack_probes(std::span<const Probe> probes);
/// Pre: what pack_probes gave.
std::vector<Probe> unpack_probes(std::span<const uint32_t> words);

/// Loops that are tried, as trips of an outer and an inner loop. An invocation steps a generator in the inner one, of which
/// no compiler has a closed form, and reports its state, the steps and the rounds of the outer loop that were really run.
struct LoopCase {
  uint32_t outer, inner;
};
inline constexpr std::array<LoopCase, 7> kLoopCases = {
    {{1, 0}, {1, 1}, {1, 2}, {0, 5}, {1, 70'000}, {1, 1'000'003}, {1000, 1001}}};
inline constexpr uint32_t kLoopReport = 3;  // words
constexpr uint32_t next_state(uint32_t state) {
  const uint32_t next = state * 1664525u + 1013904223u;
  return (next >> 31) != 0 ? next ^ 0x5a5a5a5au : next;
}

}  // namespace spirograd
