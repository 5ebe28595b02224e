#include "tests/pretend/expectations.h"

namespace spirograd::pretend {
namespace {

// clang-format off
constexpr Expectation kExceptions[] = {
    {"least_limits", "doubles", "SG0303"},
    {"least_limits", "halves", "SG0303"},
    {"ancient", "*", "SG0303"},
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
// clang-format on

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
