// What a parser is given by a fuzzer, or by the replay of what a fuzzer has found: bytes that anybody may have written. Each
// file beside this one is one parser. It reads them or refuses them by an Error; whatever else happens is a defect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace spirograd::fuzz {

/// Ends the process, which a fuzzer takes for a finding.
inline void demand(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", claim);
  std::abort();
}

}  // namespace spirograd::fuzz
