// What a compiler may know of a device: facts, no vendor names. A plain value; two devices with equal facts share
// executables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

namespace spirograd {

inline constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
inline constexpr uint64_t kNoLoopLimit = kNoLimit;

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

/// What work costs, and how it likes to be spread: what the rules of scheduling and fusion count with. Costs are in scalar
/// operations of a busy device. The defaults are those of a GPU of middling size, for Vulkan does not tell.
struct Prices {
  uint32_t lanes = 64;        // neighbouring invocations that should touch neighbouring elements
  uint32_t busy = 4096;       // invocations from which on the device is busy
  uint32_t tile = 8;          // elements that one invocation computes side by side, at most
  uint32_t unroll = 4;        // copies of a small loop's body that are written out
  double dispatch = 1e7;      // about 3 us
  double invocation = 30;     // starting one
  double load = 6;            // of an element of an array, by neighbours together
  double store = 48;          // other invocations compute while one waits: it is more than memory takes
  double shared_load = 0.75;  // of an element from the memory of a workgroup
  bool coalesces = true;      // loads of neighbours are served together; else an invocation reads a contiguous range fastest
  bool cooperates = true;     // barriers are cheap, and a workgroup has many lanes: it may share a reduction
  uint32_t workgroup = 64;    // invocations of a workgroup where they do not cooperate, if there is much work
  // Arrays between kernels that caches keep, or that are enough to keep a GPU busy, in bytes: where they take more, rows are
  // computed in turns; 0: never.
  uint64_t resident = 256u << 20;
  double iteration = 2e6;      // of a loop that one invocation runs alone: it waits for memory
  double submission = 1.6e11;  // of work in one submission, about 50 ms: systems reset devices that take long; 0: no bound
  bool operator==(const Prices&) const = default;
};
/// Of a GPU that holds so many invocations at a time; 0: it does not tell, and counts as one of middling size.
Prices gpu_prices(uint32_t resident);
/// Of a driver that runs on the host's processors, `lanes` invocations at once on each of `cores`.
Prices software_prices(uint32_t lanes, uint32_t cores);

/// What some drivers do, and is worked around for them (spirv/executable/quirks.h).
enum Quirk : uint32_t {
  kSlowLocalIndex = 1,   // LocalInvocationIndex costs scalar divisions
  kCostlyExactness = 2,  // an operation that may not be contracted is a call
  kGatheredLoads = 4,    // lanes that load neighbours gather them one by one
  kScatteredStores = 8,  // those that store neighbours scatter them; descriptors can be pushed, through which one store does
  kTruncatesByLane = 16,  // f32 become integers one lane after the other
};

struct Target {
  Prices price;
  uint32_t quirks = 0;                            // bits of Quirk
  bool float64 = false;                           // shaderFloat64
  bool float16_storage = false;                   // storageBuffer16BitAccess: arrays of f16
  bool float16_addresses = false;                 // and storagePushConstant16: through addresses, too
  bool atomic_float_add = false;                  // f32 add on buffers, offered and proved by the self-test
  bool exchange_float_add = true;                 // the same by compare-exchange; false: the self-test saw it go wrong
  bool integer_atomics = true;                    // i32 and u32 adds on buffers; so with these
  bool shared_memory = true;                      // and barriers: the invocations of a workgroup may work together
  bool folded_grids = true;                       // more than max_groups workgroups, in rows
  bool dispatch_base = true;                      // dispatches that begin at any workgroup: long ones are cut
  bool signed_zero_inf_nan = false;               // SignedZeroInfNanPreserve for 32-bit floats may be declared
  bool round_to_even = false;                     // RoundingModeRTE for 32-bit floats may be declared
  bool device_address = true;                     // buffers may be reached through addresses
  bool descriptors = true;                        // and through descriptors
  uint32_t subgroup_size = 1;                     // invocations; 1: unknown. Kernels that combine lanes are made for it
  uint32_t subgroup_operations = kSubgroupBasic;  // bits of SubgroupOperation
  uint32_t max_invocations = 128;                 // per workgroup
  uint32_t shared_bytes = 16384;                  // memory of one workgroup
  uint32_t max_groups = 65535;                    // along x
  uint32_t max_buffers = 4;                       // storage buffers per stage
  uint32_t max_push_bytes = 128;
  uint64_t max_range = 128u << 20;  // bytes of one storage-buffer descriptor
  uint64_t max_array = kNoLimit;    // bytes of one array, as far as the self-test has seen them reached
  // Loop iterations that one invocation may run, over all its loops together: as many as the self-test has seen run. Some
  // drivers end loops early without a word.
  uint64_t max_loop_iterations = kNoLoopLimit;
  uint32_t max_groups_y = 65535;       // along y
  bool signed_zero_inf_nan64 = false;  // as signed_zero_inf_nan and round_to_even, for 64-bit floats; where modes of the two
  bool round_to_even64 = false;        // widths depend on each other, both are there or neither
  bool operator==(const Target&) const = default;
};

/// Loop iterations that one invocation should run at most: those that it may, and that end before a submission should.
inline uint64_t loop_limit(const Target& t) {
  const double in_time = t.price.submission / t.price.iteration;
  return in_time > 0 && in_time < 1e18 ? std::min(t.max_loop_iterations, static_cast<uint64_t>(in_time))
                                       : t.max_loop_iterations;
}

/// Whether kernels may be written for subgroups of so many lanes, which know how to do this (SubgroupOperation).
inline bool lanes_can(const Target& t, uint32_t operation) {
  const uint32_t needed = kSubgroupBasic | operation;
  return t.subgroup_size > 1 && (t.subgroup_operations & needed) == needed;
}

/// The same, of lanes which read each other's values.
inline bool exchanges_lanes(const Target& t) { return lanes_can(t, kSubgroupShuffle); }

/// Whether the invocations of a workgroup may work together, and it pays.
inline bool shares_work(const Target& t) { return t.shared_memory && t.price.cooperates; }

}  // namespace spirograd
