// The probes of the self-test: what each one asks, and what follows if the answer is wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace spirograd::vk {

enum class Weight : uint8_t {
  Decides,   // a fact of the target, or whether the device can be used
  Recorded,  // told to people
};

struct ProbeRow {
  uint32_t number;
  std::string_view name;
  Weight weight;
  std::string_view otherwise;  // what is done, or what it means
};

/// In order, from 1 on.
std::span<const ProbeRow> probe_table();

}  // namespace spirograd::vk
