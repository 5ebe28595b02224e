#include "tests/pretend/expectations.h"

namespace spirograd::pretend {
namespace {

constexpr Expectation kExceptions[] = {
    {"least_limits", "doubles", "SG0303"},
    {"old", "*", kRight, "SG0303", "modules of SPIR-V 1.3, for Vulkan 1.1 with extensions"},
    {"fast_math", "not_a_number", kTold},
    {"fast_math", "doubles", "SG0303"},  // the probe of f64 compares NaN as well
    {"reassociates", "conformance", kTold},
    {"reassociates", "long_loops", kTold},
    {"reassociates", "steps", kTold},
    {"crowded", "memory", "SG0601"},
    {"lost_later", "*", "SG0310"},
    {"lost_at_once", "*", "SG0310"},
    {"no_room_once", "memory", "SG0601"},
};

}  // namespace

std::span<const Expectation> exceptions() { return kExceptions; }

Expectation expected(std::string_view device, std::string_view slice) {
  Expectation of_all{device, slice};
  for (const Expectation& e : kExceptions) {
    if (e.device != device) continue;
    if (e.slice == slice) return e;
    if (e.slice == "*") of_all = e;
  }
  return of_all;
}

}  // namespace spirograd::pretend
