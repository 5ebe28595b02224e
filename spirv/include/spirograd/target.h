// What a compiler may know of a device: facts, no vendor names. A plain value; two devices with equal facts share
// executables.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace spirograd {

inline constexpr uint64_t kNoLoopLimit = std::numeric_limits<uint64_t>::max();

/// Operations of subgroups, in compute; the bits are those of Vulkan.
enum SubgroupOperation : uint32_t {
  kSubgroupBasic = 1,
  kSubgroupVote = 2,
  kSubgroupArithmetic = 4,
  kSubgroupBallot = 8,
  kSubgroupShuffle = 16,
};
struct SubgroupOperationName {
  SubgroupOperation bit;
  std::string_view name;
};
inline constexpr SubgroupOperationName kSubgroupOperations[] = {{kSubgroupBasic, "basic"},
                                                                {kSubgroupVote, "vote"},
                                                                {kSubgroupArithmetic, "arithmetic"},
                                                                {kSubgroupBallot, "ballot"},
                                                                {kSubgroupShuffle, "shuffle"}};

struct Target {
  bool cpu = false;                      // a software driver: much work per invocation, no barriers, few dispatches
  bool float64 = false;                  // shaderFloat64
  bool atomic_float_add = false;         // f32 add on buffers, offered and proved by the self-test
  bool signed_zero_inf_nan = false;      // SignedZeroInfNanPreserve for 32-bit floats may be declared
  bool round_to_even = false;            // RoundingModeRTE for 32-bit floats may be declared
  bool device_address = true;            // buffers may be reached through addresses
  uint32_t subgroup_size = 1;            // invocations; 1: unknown. Kernels that combine lanes are made for it
  uint32_t subgroup_operations = kSubgroupBasic;  // bits of SubgroupOperation
  uint32_t max_invocations = 128;        // per workgroup
  uint32_t shared_bytes = 16384;         // memory of one workgroup
  uint32_t max_groups = 65535;           // per grid axis
  uint32_t max_buffers = 4;              // storage buffers per stage
  uint32_t max_push_bytes = 128;
  uint64_t max_range = 128u << 20;       // bytes of one storage-buffer descriptor
  // Loop iterations that one invocation may run, over all its loops together: as many as the self-test has seen run. Some
  // drivers end loops early without a word.
  uint64_t max_loop_iterations = kNoLoopLimit;
  uint32_t cores = 2;                    // processors that share one dispatch: host threads, or compute units of a GPU
  bool operator==(const Target&) const = default;
};

}  // namespace spirograd
