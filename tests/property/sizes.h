// Programs by size class, each as value, forward and reverse, on the interpreter, the host evaluator of its kernels and a
// device. A failure is shrunk and printed as a file for tests/property/seeds, the programs that are checked first in every
// run.
//
// SPIROGRAD_SEED chooses other programs, SPIROGRAD_SECONDS checks each class for so long instead of a fixed number of
// programs, SPIROGRAD_FOUND names a folder in which failures are kept.
#pragma once

#include "spirograd/executable.h"
#include "spirograd/target.h"
#include "support/sized_program.h"
#include "tests/property/property.h"

namespace spirograd::property {

using test::SizeClass;
using test::SizedProgram;

enum class Mode : uint8_t { Value, Forward, Reverse };
inline constexpr std::array<std::string_view, 3> kModeNames = {"value", "forward", "reverse"};

/// Where programs run.
struct Engine {
  std::string name;
  Target target;
  /// On a device; throws Error. None: the host evaluator alone.
  std::function<std::vector<HostArray>(const Executable&, const std::vector<HostArray>&)> device;
  bool loses_infinities = false;  // takes x * 0 for 0 whatever x is
  bool rounds_freely = false;     // may be off in the last bits of quotients and roots
  bool every_form = false;        // both binding forms for each program, not in turns
};

/// What became of the programs of one mode. What was refused, or is too long to wait for, has not passed.
struct Tally {
  int agreed = 0, refused = 0, too_long = 0, by_f64 = 0, found = 0;
};
using Tallies = std::array<Tally, 3>;

/// Checks programs of one class, `count` of them or as long as SPIROGRAD_SECONDS says, and prints what was covered. Failures
/// are test failures.
Tallies check_sizes(const Engine&, SizeClass, uint64_t count);

/// Checks every program in tests/property/seeds.
void check_seeds(const Engine&);

}  // namespace spirograd::property
