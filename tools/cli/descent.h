// One step of an optimiser as a program: what spirograd fit runs over and over with its state left on the device.
#pragma once

#include <string>
#include <vector>

#include "spirograd/host_array.h"
#include "spirograd/program.h"

namespace spirograd::cli {

/// Names of the library's optimisers, the one to take otherwise first.
std::vector<std::string> descent_methods();

struct DescentOptions {
  std::vector<std::string> by;
  std::string of;                 // "": the first scalar result
  std::string method;             // one of descent_methods()
  double rate = 0.01, bound = 0;  // a loss above the bound, infinite or NaN ends the work
  int64_t steps = 0;              // of the weights; the loss is looked at once more
  int64_t kept = 0;               // how many of the last losses the state holds
};

/// Each run looks at the loss of the weights that are there, notes it, and steps on. After a bad loss nothing changes any
/// more.
struct Descent {
  struct Fed {
    std::string result, param;
    Type type;
  };
  Program program;
  std::vector<HostArray> inputs;  // one per parameter: those of the function, then the state
  std::vector<Fed> fed;           // what a run reads is what the last one has written
  std::vector<size_t> weights;    // parameters of the function: those that `by` means
  std::vector<Fed> good;          // what they were at the last good loss
  Fed count, alive, losses;       // i32 looks so far; i32 0 after a bad loss; loss number j at j modulo `kept`
};

/// Errors as value_and_grad has them, SG0204 without a scalar result of floats.
Descent descent(const Program& loss, const std::vector<HostArray>& inputs, const DescentOptions& how);

}  // namespace spirograd::cli
