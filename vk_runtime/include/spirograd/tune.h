// Schedules that a device runs faster than those of the rules, found by measuring. What is computed stays the same within
// what docs/accuracy.md says of any schedule.
//
//   auto tuning = tune(program, device, inputs, {.seconds = 30});   // Result<Tuning>; remembered in the cache folder
//   CompileOptions options;
//   options.choices = device->tuned();                              // later, also in another process
//   auto executable = compile(program, device->target(), options);
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirograd/compile.h"
#include "spirograd/host_array.h"
#include "spirograd/vk.h"

namespace spirograd {

struct TuneOptions {
  double seconds = 20;     // about, the compiler's and the driver's time included; what has begun is ended
  CompileOptions compile;  // as the program will be compiled; its choices are where the search begins
  bool remember = true;    // in the cache folder of the device, for Device::tuned()
  std::function<void(std::string_view)> progress = {};  // hears of each schedule before it is tried
};

/// A piece of work that has got another schedule.
struct TunedCompute {
  std::string what;                              // "sum of f32[512,512]"
  std::string before, after;                     // schedules
  double seconds_before = 0, seconds_after = 0;  // of the whole program at that time
};

struct Tuning {
  std::vector<TunedCompute> computes;            // in the order in which they were found
  Choices choices;                               // the same for CompileOptions; empty: nothing clearly better was found
  double seconds_before = 0, seconds_after = 0;  // of the whole program, taken in turns when the search had ended
  size_t asked = 0;                              // pieces of work with a schedule
  size_t tried = 0;                              // schedules that were compiled, compared and measured,
  size_t refused = 0;                            // of which the device could not run, or gave other results
  bool complete = false;                         // no neighbour is left to try
  bool remembered = false;                       // in the cache folder, if there was anything to keep
};

/// Goes through the computes of the program, the dearest first, and tries schedules next to the chosen one: each is
/// compiled, run on the inputs, compared with the first results, and replayed in turns with the best so far. It is taken if
/// it is clearly faster: 5 % in the median, and in more rounds than chance would have it. In the end the best and what the
/// search began with are measured once more, and if that is not clear either nothing is changed. Memory for three sessions
/// is needed. Errors: those of compile and of Session for the schedules that it begins with.
Result<Tuning> tune(const Program& program, const std::shared_ptr<vk::Device>& device, std::span<const HostArray> inputs,
                    const TuneOptions& options = {});

}  // namespace spirograd
