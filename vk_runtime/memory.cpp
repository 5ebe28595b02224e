#include "vk_runtime/memory.h"

#include <algorithm>

#include "vk_runtime/errors.h"

namespace spirograd::vk {
namespace {

constexpr uint64_t kLeastBytes = 16;  // empty arrays get a place of their own, too

uint64_t round_up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

}  // namespace

struct Slab {
  MemoryKind kind = MemoryKind::Arrays;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t bytes = 0;
  uint8_t* mapped = nullptr;
  VkDeviceAddress address = 0;
  bool dedicated = false;
  std::map<uint64_t, uint64_t> free;  // offset -> bytes; neighbours are merged

  std::optional<uint64_t> take(uint64_t want) {
    for (auto it = free.begin(); it != free.end(); ++it) {
      if (it->second < want) continue;
      const uint64_t offset = it->first, rest = it->second - want;
      free.erase(it);
      if (rest > 0) free.emplace(offset + want, rest);
      return offset;
    }
    return std::nullopt;
  }
  void give(uint64_t offset, uint64_t size) {
    auto next = free.lower_bound(offset);
    if (next != free.end() && offset + size == next->first) {
      size += next->second;
      next = free.erase(next);
    }
    if (next != free.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += size;
        return;
      }
    }
    free.emplace(offset, size);
  }
  bool empty() const { return free.size() == 1 && free.begin()->second == bytes; }
};

std::optional<uint32_t> choose_memory_type(const VkPhysicalDeviceMemoryProperties& p, uint32_t allowed, MemoryKind kind,
                                           bool direct) {
  constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  std::vector<VkMemoryPropertyFlags> wishes;
  if (kind == MemoryKind::Staging) {
    wishes = {host | cached, host};
  } else if (direct) {
    wishes = {local | host | cached, local, 0};
  } else {
    wishes = {local, 0};
  }
  for (const VkMemoryPropertyFlags wish : wishes)
    for (uint32_t i = 0; i < p.memoryTypeCount; ++i) {
      const VkMemoryPropertyFlags flags = p.memoryTypes[i].propertyFlags;
      // Protected and lazily allocated memory, and the uncached kinds of one vendor, are not for us.
      if (flags & ~(local | host | cached)) continue;
      if ((allowed >> i & 1) && (flags & wish) == wish) return i;
    }
  return std::nullopt;
}

Memory::Memory(const DeviceFns& fns, VkDevice device, MemoryConfig config)
    : fns_(fns), device_(device), config_(std::move(config)) {}

Memory::~Memory() {
  if (abandoned_) return;
  for (const auto& slab : slabs_) destroy_slab(*slab);
}

size_t Memory::slab_count() const {
  const std::lock_guard lock(mutex_);
  return slabs_.size();
}

void Memory::destroy_slab(Slab& slab) {
  if (slab.buffer) fns_.vkDestroyBuffer(device_, slab.buffer, nullptr);
  if (slab.memory) fns_.vkFreeMemory(device_, slab.memory, nullptr);  // unmaps
}

std::unique_ptr<Slab> Memory::create_slab(MemoryKind kind, uint64_t bytes) {
  auto slab = std::make_unique<Slab>();
  bool done = false;
  const Defer undo([&] {
    if (!done) destroy_slab(*slab);
  });
  slab->kind = kind;
  slab->bytes = bytes;
  slab->free.emplace(0, bytes);

  const bool addressable = config_.device_address && kind == MemoryKind::Arrays;
  VkBufferCreateInfo buffer{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  buffer.size = bytes;
  buffer.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (kind == MemoryKind::Arrays) buffer.usage |= VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  if (addressable) buffer.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  check(fns_.vkCreateBuffer(device_, &buffer, nullptr, &slab->buffer), "vkCreateBuffer", config_.device);

  VkMemoryRequirements needs{};
  fns_.vkGetBufferMemoryRequirements(device_, slab->buffer, &needs);
  const auto type = choose_memory_type(config_.properties, needs.memoryTypeBits, kind, config_.direct);
  if (!type)
    throw Error("SG0303",
                "'" + config_.device + "' has no memory for " + (kind == MemoryKind::Staging ? "the host" : "arrays"));

  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  if (addressable) allocate.pNext = &flags;
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = *type;
  const VkResult r = fns_.vkAllocateMemory(device_, &allocate, nullptr, &slab->memory);
  if (r == VK_ERROR_OUT_OF_DEVICE_MEMORY || r == VK_ERROR_OUT_OF_HOST_MEMORY) {
    Error e("SG0601", "'" + config_.device + "' has no room for " + bytes_text(needs.size));
    e.notes.push_back("vkAllocateMemory answered " + result_name(r));
    const uint64_t heap = config_.properties.memoryHeaps[config_.properties.memoryTypes[*type].heapIndex].size;
    e.notes.push_back("the memory heap has " + bytes_text(heap) + " in all");
    if (config_.max_allocation && needs.size > config_.max_allocation) {
      e.notes.push_back("maxMemoryAllocationSize is " + bytes_text(config_.max_allocation));
    }
    throw e;
  }
  check(r, "vkAllocateMemory", config_.device);
  check(fns_.vkBindBufferMemory(device_, slab->buffer, slab->memory, 0), "vkBindBufferMemory", config_.device);

  const VkMemoryPropertyFlags flags_of_type = config_.properties.memoryTypes[*type].propertyFlags;
  const bool reachable =
      (flags_of_type & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) && (flags_of_type & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  if (kind == MemoryKind::Staging || (config_.direct && reachable && (flags_of_type & VK_MEMORY_PROPERTY_HOST_CACHED_BIT))) {
    void* data = nullptr;
    check(fns_.vkMapMemory(device_, slab->memory, 0, VK_WHOLE_SIZE, 0, &data), "vkMapMemory", config_.device);
    slab->mapped = static_cast<uint8_t*>(data);
  }
  if (addressable) {
    VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    info.buffer = slab->buffer;
    slab->address = fns_.vkGetBufferDeviceAddress(device_, &info);
  }
  done = true;
  return slab;
}

Allocation Memory::allocate(MemoryKind kind, uint64_t bytes) {
  const uint64_t want = round_up(std::max(bytes, kLeastBytes), config_.alignment);
  const std::lock_guard lock(mutex_);
  const auto piece = [&](Slab& slab, uint64_t offset) {
    return Allocation{
        slab.buffer, offset, want, slab.mapped ? slab.mapped + offset : nullptr, slab.address ? slab.address + offset : 0,
        &slab};
  };
  const bool dedicated = want > config_.slab_bytes / 2;
  if (!dedicated)
    for (const auto& slab : slabs_)
      if (slab->kind == kind && !slab->dedicated)
        if (const auto offset = slab->take(want)) return piece(*slab, *offset);
  slabs_.push_back(create_slab(kind, dedicated ? want : config_.slab_bytes));
  slabs_.back()->dedicated = dedicated;
  return piece(*slabs_.back(), *slabs_.back()->take(want));
}

void Memory::release(const Allocation& a) {
  if (!a.slab || abandoned_) return;
  const std::lock_guard lock(mutex_);
  a.slab->give(a.offset, a.bytes);
  if (!a.slab->dedicated || !a.slab->empty()) return;  // common slabs stay for the next session
  const auto it = std::find_if(slabs_.begin(), slabs_.end(), [&](const auto& s) { return s.get() == a.slab; });
  destroy_slab(**it);
  slabs_.erase(it);
}

}  // namespace spirograd::vk
