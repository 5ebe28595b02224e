// One step of an optimiser as a program: what spirograd fit runs over and over with its state left on the device.
#pragma once

#include <string>
#include <vector>

#include "spirograd/host_array.h"
#include "spirograd/program.h"

namespace spirograd::cli {

/// Names of the library's optimisers, the one to take otherwise first.
std::vector<std::string> descent_methods();

/// What an input may become: each step ends at the nearest such value.
struct Bounds {
  std::string name;
  double low, high;  // infinite: none
};

/// Steps that see `part` of the `all` elements of an axis that inputs have in common: those that come next in an order that
/// the seed decides, so that each is seen once until all are.
struct Batch {
  struct Axis {
    size_t param;
    int axis;
  };
  std::string variable;  // of the shapes
  std::vector<Axis> axes;
  int64_t all = 0, part = 0;  // part == 0: no batches
  uint64_t seed = 1;
};

struct DescentOptions {
  std::vector<std::string> by;
  std::string of;                 // "": the first scalar result
  std::string method;             // one of descent_methods()
  double rate = 0.01, bound = 0;  // a loss above the bound, infinite or NaN ends the work
  int64_t steps = 0;              // of the weights; the loss is looked at once more
  int64_t kept = 0;               // how many of the last losses the state holds
  std::vector<Bounds> bounds;
  Batch batch;
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

/// `loss` takes the part of a batch, `inputs` are whole. Errors as value_and_grad has them, SG0204 without a scalar result
/// of floats; usage errors for bounds of what does not change and batches of what does.
Descent descent(const Program& loss, const std::vector<HostArray>& inputs, const DescentOptions& how);

}  // namespace spirograd::cli
