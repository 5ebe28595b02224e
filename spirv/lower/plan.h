// What lowering makes of a program: kernels in the kernel IR, buffers, and a list of steps. Emission turns it into an
// Executable; evaluate.h runs it on the host.
#pragma once

#include <string>
#include <vector>

#include "frontend/ir/graph.h"
#include "spirograd/executable.h"
#include "spirograd/program.h"
#include "spirograd/result.h"
#include "spirograd/target.h"
#include "spirv/kernel/kernel.h"
#include "spirv/schedule/rules.h"

namespace spirograd::lower {

/// How a part of a kernel runs, for people.
struct ScheduleLine {
  std::string what, how;
};

/// A range inside a buffer that starts `offset` bytes in.
struct BufferRef {
  uint32_t buffer = 0;
  uint64_t offset = 0;
  bool operator==(const BufferRef&) const = default;
};

/// An array in scratch that a loop writes for one that walks its steps back, a row for each step.
struct KeptRows {
  BufferRef place;
  Type type;            // of all rows
  std::string value;    // "state", or the operation that computes it
  Loc at;               // in the source
  int64_t times = 1;    // how often it is kept
  bool rounds = false;  // before rounds of steps, which run again to be walked back
};

/// A kernel that somebody else wrote.
struct GivenKernel {
  std::string name;
  std::vector<uint32_t> words;  // SPIR-V
  uint32_t workgroup = 1, bindings = 0;
  Requirements needs;
  bool operator==(const GivenKernel&) const = default;
};

struct Plan {
  std::vector<kernel::Kernel> kernels;
  std::vector<GivenKernel> given;   // numbered behind the others
  std::vector<BufferDesc> buffers;  // inputs, outputs, then constants and scratch
  std::vector<Step> steps;
  uint32_t n_inputs = 0, n_outputs = 0;
  uint64_t scratch_bytes = 0;
  std::vector<std::vector<ScheduleLine>> schedules;  // one list per kernel
  std::vector<KeptRows> kept;
};

/// Pre: `p` is bulk. Post: running the steps in order gives the program's results in the output buffers.
/// Throws SG03xx where the target lacks what the program asks for.
Plan lower(const Program& p, const Target& target, const schedule::Scheduler& scheduler = {});

}  // namespace spirograd::lower
