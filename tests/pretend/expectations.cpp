#include "tests/pretend/expectations.h"

namespace spirograd::pretend {
namespace {

constexpr Expectation kExceptions[] = {
    {"least_limits", "doubles", "SG0303"},
    {"least_limits", "conformance", kRight, "SG0303",
     "a step over more arrays than descriptors allow, as several dispatches"},
    {"four_buffers", "conformance", kRight, "SG0303",
     "a step over more arrays than descriptors allow; addresses have no limit"},
    {"low_grids", "sizes", kRight, "SG0303", "limits of their own for x and y when a grid is folded"},
    {"low_grids", "memory", kRight, "SG0303", "limits of their own for x and y when a grid is folded"},
    {"addresses_of_zero", "*", kRight, "SG0303", "a probe of addresses, and descriptors where they are wrong"},
    {"two_pointers", "*", kRight, kWrong, "a probe of addresses, and descriptors where they are wrong"},
    {"no_timelines", "*", kRight, "SG0303", "fences in place of timeline semaphores"},
    {"old", "*", kRight, "SG0303", "Vulkan 1.1 with extensions"},
    {"loses_exchanges", "scatter", kRight, kWrong, "sums without atomics where exchanges are wrong"},
    {"fast_math", "not_a_number", kRight, kWrong, "a probe of NaN, or comparisons of bits"},
    {"reassociates", "conformance", kRight, kWrong, "a probe of rounding, and functions that do without it"},
    {"reassociates", "long_loops", kRight, kWrong, "a probe of rounding, and functions that do without it"},
    {"reassociates", "steps", kRight, kWrong, "a probe of rounding, and functions that do without it"},
    {"carve_out", "memory", kRight, "SG0601", "another memory type where the first is full"},
    {"crowded", "memory", "SG0601"},
    {"incoherent", "*", kRight, "SG0303", "memory that is flushed and invalidated"},
    {"watchdog", "steps", kRight, "SG0310", "recordings cut into submissions by the work in them"},
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
