// Heaps that are small or full, memory that has to be flushed, addresses that lie.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/pretend/state.h"

namespace spirograd::pretend {
namespace {

// What the host sees before it has invalidated anything.
constexpr int kStale = 0xDB;

bool visible_but_incoherent(VkMemoryPropertyFlags flags) {
  return (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) && !(flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
}

// Any pretended type will do for what the driver's only type is good for.
void pretend(const PretendedDevice& is, VkMemoryRequirements& needs) {
  if (!is.memory.empty()) needs.memoryTypeBits = (1u << is.memory.size()) - 1;
}

// Copies between what the host sees and what the device sees.
template <class Copy>
VkResult each_range(VkDevice device, uint32_t count, const VkMappedMemoryRange* ranges, Copy copy) {
  DeviceState& d = state_of(device);
  const std::lock_guard lock(d.mutex);
  for (uint32_t i = 0; i < count; ++i) {
    const Allocated& a = d.memory.at(ranges[i].memory);
    if (!a.shadow) continue;
    const uint64_t rest = a.bytes - ranges[i].offset;
    copy(a.host() + ranges[i].offset, a.device + ranges[i].offset, std::min<uint64_t>(ranges[i].size, rest));
  }
  return VK_SUCCESS;
}

}  // namespace

VkResult allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* allocator,
                         VkDeviceMemory* out) {
  DeviceState& d = state_of(device);
  const std::lock_guard lock(d.mutex);
  if (d.is.full_once == info->allocationSize && !std::exchange(d.refused, true)) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  VkMemoryAllocateInfo below = *info;
  Allocated a;
  a.bytes = info->allocationSize;
  if (!d.is.memory.empty()) {
    const MemoryType& type = d.is.memory[info->memoryTypeIndex];
    const Heap& heap = d.is.heaps[type.heap];
    if (a.bytes > std::min(heap.bytes, heap.available) - d.used[type.heap]) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    a.heap = type.heap;
    a.coherent = !visible_but_incoherent(type.flags);
    below.memoryTypeIndex = 0;
  }
  if (const VkResult r = d.below.allocate_memory(device, &below, allocator, out)) return r;
  if (!d.used.empty()) d.used[a.heap] += a.bytes;
  d.memory[*out] = std::move(a);
  return VK_SUCCESS;
}

void free_memory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* allocator) {
  DeviceState& d = state_of(device);
  const std::lock_guard lock(d.mutex);
  if (const auto it = d.memory.find(memory); it != d.memory.end()) {
    if (!d.used.empty()) d.used[it->second.heap] -= it->second.bytes;
    d.memory.erase(it);
  }
  d.below.free_memory(device, memory, allocator);
}

VkResult map_memory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size, VkMemoryMapFlags flags,
                    void** data) {
  DeviceState& d = state_of(device);
  const std::lock_guard lock(d.mutex);
  Allocated& a = d.memory.at(memory);
  if (a.coherent) return d.below.map_memory(device, memory, offset, size, flags, data);
  void* whole = nullptr;
  if (const VkResult r = d.below.map_memory(device, memory, 0, VK_WHOLE_SIZE, flags, &whole)) return r;
  a.device = static_cast<std::byte*>(whole);
  a.shadow = std::make_unique_for_overwrite<MapUnit[]>(a.bytes / sizeof(MapUnit) + 1);
  std::memset(a.host(), kStale, a.bytes);
  *data = a.host() + offset;
  return VK_SUCCESS;
}

void unmap_memory(VkDevice device, VkDeviceMemory memory) {
  DeviceState& d = state_of(device);
  const std::lock_guard lock(d.mutex);
  d.memory.at(memory).shadow.reset();
  d.below.unmap_memory(device, memory);
}

VkResult flush(VkDevice device, uint32_t count, const VkMappedMemoryRange* ranges) {
  return each_range(device, count, ranges, [](std::byte* host, std::byte* dev, uint64_t n) { std::memcpy(dev, host, n); });
}

VkResult invalidate(VkDevice device, uint32_t count, const VkMappedMemoryRange* ranges) {
  return each_range(device, count, ranges, [](std::byte* host, std::byte* dev, uint64_t n) { std::memcpy(host, dev, n); });
}

void requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements* needs) {
  DeviceState& d = state_of(device);
  d.below.requirements(device, buffer, needs);
  pretend(d.is, *needs);
}

void requirements2(VkDevice device, const VkBufferMemoryRequirementsInfo2* info, VkMemoryRequirements2* needs) {
  DeviceState& d = state_of(device);
  d.below.requirements2(device, info, needs);
  pretend(d.is, needs->memoryRequirements);
}

VkDeviceAddress address(VkDevice device, const VkBufferDeviceAddressInfo* info) {
  DeviceState& d = state_of(device);
  return d.is.addresses == Addresses::Zero ? 0 : d.below.address(device, info);
}

}  // namespace spirograd::pretend
