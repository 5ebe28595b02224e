// Device memory in slabs: one VkDeviceMemory and one VkBuffer each, handed out in aligned pieces. Few allocations, and an
// array is a buffer handle, an offset and (where the device has them) an address.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "vk_runtime/functions.h"

namespace spirograd::vk {

/// Arrays: for kernels, device-local. Staging: for the host, always mapped.
enum class MemoryKind : uint8_t { Arrays, Staging };

struct Slab;

struct Allocation {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0, bytes = 0;
  uint8_t* mapped = nullptr;    // of the first byte; null where the host cannot reach it
  VkDeviceAddress address = 0;  // of the first byte; 0 without device addresses
  Slab* slab = nullptr;
};

struct MemoryConfig {
  VkPhysicalDeviceMemoryProperties properties{};
  bool device_address = false;
  bool direct = false;  // CPU and unified devices: arrays in memory that the host reads and writes in place
  uint64_t alignment = 256;
  uint64_t max_allocation = 0;      // maxMemoryAllocationSize, 0 if unknown
  uint64_t slab_bytes = 32u << 20;  // requests of more than half of it get a slab of their own
  std::string device;               // name, for errors
};

/// The best of the allowed memory types, or nothing. Coherent memory only, so nobody flushes. For arrays in direct mode the
/// host must reach the memory through its caches, for uncached reads are slower than a copy.
std::optional<uint32_t> choose_memory_type(const VkPhysicalDeviceMemoryProperties&, uint32_t allowed, MemoryKind,
                                           bool direct);

/// Thread-safe. All pieces are given back before it ends.
class Memory {
 public:
  Memory(const DeviceFns& fns, VkDevice device, MemoryConfig config);
  ~Memory();
  /// Throws SG0601 when there is no room, SG0303 when the device has no suitable memory.
  Allocation allocate(MemoryKind kind, uint64_t bytes);
  void release(const Allocation&);
  /// From now on nothing is given back: work may still use it.
  void abandon() { abandoned_ = true; }
  const MemoryConfig& config() const { return config_; }
  /// Number of VkDeviceMemory objects.
  size_t slab_count() const;

 private:
  std::unique_ptr<Slab> create_slab(MemoryKind kind, uint64_t bytes);
  void destroy_slab(Slab&);

  const DeviceFns& fns_;
  VkDevice device_;
  MemoryConfig config_;
  std::atomic<bool> abandoned_ = false;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Slab>> slabs_;
};

}  // namespace spirograd::vk
