// The devices that the layer plays: what each says of itself, and where it lies. What a row leaves out is as the driver has
// it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace spirograd::pretend {

struct Heap {
  uint64_t bytes = 0;
  VkMemoryHeapFlags flags = 0;
  uint64_t available = UINT64_MAX;  // others hold the rest
};
/// Memory that the host sees without being coherent loses what is not flushed, and shows nothing before it is invalidated.
struct MemoryType {
  VkMemoryPropertyFlags flags = 0;
  uint32_t heap = 0;
};

enum class Addresses : uint8_t {
  Right,
  Missing,     // not offered
  Zero,        // offered, but every buffer is at 0
  TwoPointers  // what a kernel reads through its third pointer, and through those behind it, is zero
};

struct PretendedDevice {
  std::string_view name, what;

  // What it says. 0: as the driver.
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  uint32_t api_version = 0;
  uint32_t storage_buffers = 0;  // per stage
  uint32_t invocations = 0;      // per workgroup
  uint32_t shared_bytes = 0;
  uint32_t offset_alignment = 0;  // of storage buffers
  uint32_t storage_range = 0;     // bytes of one descriptor
  uint32_t subgroup_size = 0;     // the driver's stays what it is: if sizes can be asked for, this one is a lie
  std::array<uint32_t, 3> groups{};
  bool subgroup_control = true, timelines = true, float_atomics = true, doubles = true, halves = true, float_controls = true;
  bool timestamps = true, portability_subset = false;
  VkDriverId driver = {};
  std::span<const Heap> heaps{};
  std::span<const MemoryType> memory{};

  // What it does. 0: what it should.
  Addresses addresses = Addresses::Right;
  uint32_t loses_additions = 0;    // of so many invocations, the last one's native f32 additions to memory
  uint32_t loses_exchanges = 0;    // of so many invocations, what the last one's compare-exchanges should store
  bool fast_math = false;          // comparisons of floats take it that there is no NaN
  bool reassociates = false;       // sums and differences of floats are those of reals
  bool reassociates_free = false;  // those that may be contracted are
  bool ignores_base = false;       // parts of dispatches begin at the first workgroup
  uint32_t loop_iterations = 0;    // after so many, all loops of an invocation end without a word
  double killed_above = 0;         // submissions that take so many nanoseconds of a GPU (state.h) lose the device
  double submission = 0;           // the price that goes with it; 0: what is taken for a GPU that nobody knows
  uint32_t lost_at = 0;            // the submission at which it is lost
  uint64_t full_once = 0;          // bytes for which it has no room the first time
};

std::span<const PretendedDevice> pretended_devices();
/// Null if there is none of that name.
const PretendedDevice* find_device(std::string_view name);

inline constexpr const char* kVariable = "SPIROGRAD_PRETEND";  // names the device to be
inline constexpr const char* kLayerName = "VK_LAYER_SPIROGRAD_pretend";

}  // namespace spirograd::pretend
