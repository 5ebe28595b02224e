// How fast an executable runs on a device, and how fast anything can.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "spirograd/compile.h"
#include "spirograd/executable.h"
#include "spirograd/host_array.h"
#include "spirograd/program.h"
#include "spirograd/vk.h"

namespace spirograd::cli {

/// Of one kind of work, per second of device time.
struct Limits {
  double bytes = 0;       // read and written by a kernel that copies 64 MiB
  double operations = 0;  // on floating-point numbers, of a kernel that multiplies and adds in registers
};

/// One step of the plan, all its runs together.
struct StepSpeed {
  std::string label;
  uint64_t runs = 0;
  double seconds = 0;     // 0 where the device has no timestamps
  uint64_t bytes = 0;     // of its operands, each once per run
  double operations = 0;  // on floating-point numbers
};

/// A run of a step, seconds since the first of its replay began.
struct StepEvent {
  std::string label;
  double begin = 0, end = 0;
  uint64_t bytes = 0;     // of its operands
  double operations = 0;  // on floating-point numbers
};

struct Replays {
  size_t runs = 0;
  vk::Timing median;  // device: 0 where the device has no timestamps
  double best = 0;    // of the host's times, in seconds
};
/// Bytes of device memory.
struct Traffic {
  uint64_t moved = 0;  // operands of all steps, each once per run
  uint64_t least = 0;  // inputs and outputs, each once
};
Traffic traffic(const Executable& e);
/// Of inputs and outputs, each once.
uint64_t least_bytes(const Executable& e);

/// Until about so many seconds have passed, or so many replays; at least one. Throws what they answer.
Replays replay_for(vk::Session& session, double seconds, size_t most);

double seconds_since(std::chrono::steady_clock::time_point start);

struct Speed {
  double compile = 0;           // source program to SPIR-V; seconds, like all that follow
  double session = 0;           // pipelines and memory
  double first = 0;             // the first run, with its copies and what the driver compiles only then
  double replay = 0, best = 0;  // median and fastest replay, seen by the host
  double device = 0;            // median between timestamps; that of replays where there are none
  size_t replays = 0, kernels = 0;
  uint64_t dispatches = 0;
  Traffic traffic;
  uint64_t scratch = 0;
  double operations = 0;          // on floating-point numbers, in all invocations
  std::vector<StepSpeed> steps;   // the slowest first; none where they were not timed
  std::vector<StepEvent> events;  // of one replay, in order; none where steps were not timed
};

/// Replays for about so many seconds. Throws what compile() and sessions say.
Speed measure_speed(const std::shared_ptr<vk::Device>& device, const CompileOptions& how, const Program& program,
                    std::span<const HostArray> inputs, double seconds);

/// Takes about a second.
Limits measure_limits(const std::shared_ptr<vk::Device>& device, BindingForm form);

}  // namespace spirograd::cli
