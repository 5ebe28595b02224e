// Whether every way to compute a program and its derivatives agrees: interpreter, bulk and simplified program, kernels on
// the host, device; forward mode, reverse mode, differences.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/job.h"

namespace spirograd::cli {

/// One comparison.
struct Agreement {
  bool ok = true;
  std::string what, detail;
  double error = 0;  // relative, the worst
  std::string note;  // of a failure: both values, and what is to blame where that is known
};

struct AgreementOptions {
  uint64_t seed = 1;     // of directions
  int64_t samples = 10;  // random directions for derivatives
};

/// All of them at the job's inputs. `stage`, if given, hears what comes next. Throws what the transformations and the device
/// say.
std::vector<Agreement> agreements(const Job& job, const Engine& engine, const AgreementOptions& options,
                                  const std::function<void(std::string_view)>& stage = {});

/// Made-up inputs of a program: floats in [0, 1), integers and truth values 0.
Job random_job(Program program, uint64_t seed);

}  // namespace spirograd::cli
