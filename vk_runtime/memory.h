// Device memory in slabs: one VkDeviceMemory and one VkBuffer each, handed out in aligned pieces. Few allocations, and an
// array is a buffer handle, an offset and (where the device has them) an address.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "spirograd/result.h"
#include "spirograd/vk.h"
#include "vk_runtime/functions.h"
#include "vk_runtime/memory_plan.h"

namespace spirograd::vk {

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
  bool direct = false;              // CPU and unified devices: arrays in memory that the host reads and writes in place
  uint64_t alignment = 256;         // of pieces; a multiple of nonCoherentAtomSize, so that no two share an atom
  uint64_t max_allocation = 0;      // maxMemoryAllocationSize, 0 if unknown
  uint64_t slab_bytes = 32u << 20;  // requests of more than half of it get a slab of their own
  std::string device;               // name, for errors
  /// Bytes of a heap that this process may still have; empty where the driver does not say.
  std::function<uint64_t(uint32_t heap)> room;
};

/// Of a buffer that kernels, fills and copies reach.
constexpr VkBufferUsageFlags usage_of_arrays(bool addressable) {
  VkBufferUsageFlags usage =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (addressable) usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  return usage;
}

/// Thread-safe. All pieces are given back before it ends.
class Memory {
 public:
  Memory(const DeviceFns& fns, VkDevice device, MemoryConfig config);
  ~Memory();
  /// Throws SG0601 when there is no room, SG0303 when the device has no suitable memory.
  Allocation allocate(MemoryKind kind, uint64_t bytes);
  /// Of its own, exported or imported as `how` says: that of import has so many bytes and, if it says so, that type. A
  /// descriptor that has been taken is -1 afterwards, also where this throws.
  Allocation allocate_shared(uint64_t bytes, SharedMemory& how);
  /// A descriptor for what allocate_shared has made. Pre: it did.
  SharedMemory share(const Allocation&) const;
  /// Keeps a descriptor of what allocate_shared has imported, to share it again; closed with it.
  void keep_descriptor(const Allocation&, int fd);
  static bool is_shared(const Allocation&);
  void release(const Allocation&);
  /// Before the device reads what the host wrote to a mapped piece, and before the host reads what the device wrote.
  /// Nothing where memory is coherent. Throw vulkan_error.
  void flush(const Allocation&) const;
  void invalidate(const Allocation&) const;
  /// Gives back slabs that nobody uses, which are kept for the next session otherwise. Returns their bytes.
  uint64_t trim();
  /// From now on nothing is given back: work may still use it.
  void abandon() { abandoned_ = true; }
  const MemoryConfig& config() const { return config_; }
  /// Number of VkDeviceMemory objects.
  size_t slab_count() const;

 private:
  std::unique_ptr<Slab> create_slab(MemoryKind kind, uint64_t bytes, SharedMemory* shared = nullptr);
  uint32_t allocate_memory(Slab& slab, VkMemoryRequirements needs, bool addressable, SharedMemory* shared);
  Error no_room(uint64_t bytes, const std::vector<uint32_t>& types, VkResult answer) const;
  void destroy_slab(Slab&);

  const DeviceFns& fns_;
  VkDevice device_;
  MemoryConfig config_;
  std::atomic<bool> abandoned_ = false;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Slab>> slabs_;
};

}  // namespace spirograd::vk
