// What drivers do wrong or slowly, each with what is done about it: found by whom, when, and seen by which test. What
// depends on the driver has a bit of Target::quirks, which is set where devices are looked at; the other rows are written
// around for all drivers, because nothing is lost by it.
#pragma once

#include <span>
#include <string_view>

#include "spirograd/target.h"

namespace spirograd {

struct QuirkInfo {
  uint32_t bit;  // of Target::quirks, 0: for all drivers
  std::string_view name, drivers, seen, symptom, instead, test;
};

std::span<const QuirkInfo> known_quirks();

}  // namespace spirograd
