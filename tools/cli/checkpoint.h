// The state of a descent as a file, from which it goes on to the numbers that it would have reached without a stop.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/descent.h"

namespace spirograd::cli {

struct CheckpointPlan {
  std::string path;  // .npz; "": none
  bool resume = false;
  int64_t steps = 0;    // between two of them; 0: by time
  double seconds = 30;  // the same in time
};

/// What a checkpoint belongs to: two fits with equal ones have the same steps.
struct FitIdentity {
  uint64_t program = 0, inputs = 0;
};
FitIdentity identity_of(const Program& loss, const std::vector<HostArray>& inputs, const Descent& d,
                        const DescentOptions& how);

/// `state`: one array for each of d.fed, in their order; `losses`: of all looks so far. Appears complete or not at all.
/// Throws SG0505.
void write_checkpoint(const std::string& path, const FitIdentity& identity, const Descent& d,
                      const std::vector<HostArray>& state, const std::vector<double>& losses);

/// Puts the state into d.inputs; the losses of all looks so far. Throws SG0501, SG0504, SG0510 for another fit's.
std::vector<double> read_checkpoint(const std::string& path, const FitIdentity& identity, Descent& d);

}  // namespace spirograd::cli
