// Steps of a descent until there are enough of them, the loss goes wrong, or a person wants them to end.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/checkpoint.h"
#include "tools/cli/descent.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"

namespace spirograd::cli {

/// As many losses as a device keeps for the host to read.
constexpr int64_t kMostLooks = 4096;

/// What happens beside the steps.
struct Watch {
  int64_t every = 0;  // steps between two lines of the loss; 0: none
  bool json = false;  // the lines
  CheckpointPlan checkpoint;
};

struct Minimum {
  DType real = DType::F32;     // of the loss
  std::vector<double> losses;  // one per look, the bad one at the end included
  size_t before = 0;           // how many of them a checkpoint brought
  bool diverged = false, interrupted = false;
  double seconds = 0;
  std::vector<NamedArray> weights;  // of the last good loss
  size_t good() const { return losses.size() - (diverged ? 1 : 0); }
};

/// Prints the lines that `watch` wants, shows progress, writes checkpoints. A checkpoint that cannot be written is told on
/// stderr and tried again later; the last one has to succeed. Throws SG0510 and what compile() and sessions say.
Minimum minimise(const Engine& engine, const Program& program, const std::vector<HostArray>& inputs,
                 const DescentOptions& how, const Watch& watch);

/// Six digits.
std::string loss_text(double loss);

}  // namespace spirograd::cli
