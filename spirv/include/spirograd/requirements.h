// What a module or a program needs of a device: recorded where the module is written, compared with a Target before it runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spirograd/target.h"

namespace spirograd {

/// Nothing is needed of what is 0 or false.
struct Requirements {
  bool device_address = false;       // bufferDeviceAddress
  bool descriptors = false;          // storage buffers
  bool float64 = false;              // shaderFloat64
  bool atomic_float_add = false;     // shaderBufferFloat32AtomicAdd, proved
  bool signed_zero_inf_nan = false;  // the float controls that the module declares, for 32-bit floats
  bool round_to_even = false;
  uint32_t subgroup_operations = 0;  // bits of SubgroupOperation, in compute
  uint32_t subgroup_size = 0;        // exactly, in invocations; 0: any
  uint32_t workgroup = 0;            // invocations
  uint32_t groups = 0;               // workgroups of a dispatch that must not be folded: its kernel has no guard
  uint32_t buffers = 0;              // storage buffers of the stage
  uint32_t push_bytes = 0;           // of addresses or offsets, and of the numbers behind them (BindingForm)
  uint64_t shared_bytes = 0;
  uint64_t loop_iterations = 0;        // of the invocation that runs most, over all its loops together
  bool signed_zero_inf_nan64 = false;  // the float controls for 64-bit floats
  bool round_to_even64 = false;
  // What each device has, unless its self-test has seen it go wrong.
  bool exchange_float_add = false;  // f32 adds on buffers by compare-exchange
  bool integer_atomics = false;     // i32 and u32 adds on buffers
  bool shared_memory = false;       // and barriers
  bool float16_storage = false;     // storageBuffer16BitAccess
  bool float16_addresses = false;   // storagePushConstant16
  bool operator==(const Requirements&) const = default;
};

/// What both need together. Of two subgroup sizes the larger one is kept: kernels of one executable are made for one target.
Requirements joined(const Requirements& a, const Requirements& b);

struct Missing {
  std::string what;  // what is wanted and what the device has: "f64 arithmetic (shaderFloat64), which 'X' does not have"
  std::string hint;  // what to do about it
};

/// What `device`, which offers what the target says, lacks; empty if it has all.
std::vector<Missing> missing(const Requirements& needs, const Target& target, std::string_view device = "the device");

}  // namespace spirograd
