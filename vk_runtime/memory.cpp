#include "vk_runtime/memory.h"

#include <algorithm>

#include "frontend/base/bytes_text.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/system.h"

namespace spirograd::vk {
namespace {

constexpr uint64_t kLeastBytes = 16;  // empty arrays get a place of their own, too

uint64_t round_up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

}  // namespace

struct Slab {
  Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab() {
    if (descriptor >= 0) close_descriptor(descriptor);
  }

  MemoryKind kind = MemoryKind::Arrays;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t bytes = 0;
  uint8_t* mapped = nullptr;
  VkDeviceAddress address = 0;
  bool dedicated = false, coherent = true;
  std::optional<SharedMemory> shared;  // as it was made, without a descriptor
  int descriptor = -1;                 // by which it was imported
  std::map<uint64_t, uint64_t> free;   // offset -> bytes; neighbours are merged

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

Error Memory::no_room(uint64_t bytes, const std::vector<uint32_t>& types, VkResult answer) const {
  Error e("SG0601", "'" + config_.device + "' has no room for " + bytes_text(bytes));
  if (answer != VK_SUCCESS) e.notes.push_back("vkAllocateMemory answered " + result_name(answer));
  std::vector<uint32_t> heaps;
  for (uint32_t t : types) {
    const uint32_t heap = config_.properties.memoryTypes[t].heapIndex;
    if (std::find(heaps.begin(), heaps.end(), heap) != heaps.end()) continue;
    heaps.push_back(heap);
    std::string note = "a memory heap has " + bytes_text(config_.properties.memoryHeaps[heap].size) + " in all";
    if (config_.room) note += ", of which " + bytes_text(config_.room(heap)) + " are left to this process";
    e.notes.push_back(std::move(note));
  }
  if (config_.max_allocation && bytes > config_.max_allocation)
    e.notes.push_back("maxMemoryAllocationSize is " + bytes_text(config_.max_allocation));
  return e;
}

// Returns the type. One that is full is followed by the next.
uint32_t Memory::allocate_memory(Slab& slab, VkMemoryRequirements needs, bool addressable, SharedMemory* shared) {
  const bool imports = shared && shared->fd >= 0;
  if (imports && needs.size > shared->bytes)
    throw Error("SG0501", "import: the memory has " + bytes_text(shared->bytes) + ", a buffer for the array takes " +
                              bytes_text(needs.size));
  if (imports) needs.size = shared->bytes;
  if (imports && shared->memory_type != SharedMemory::kAnyType)
    needs.memoryTypeBits &= shared->memory_type < 32 ? 1u << shared->memory_type : 0;
  const std::vector<uint32_t> types = plan_memory_types(config_.properties, needs.memoryTypeBits, slab.kind, config_.direct);
  if (types.empty())
    throw Error("SG0303",
                "'" + config_.device + "' has no memory for " + (slab.kind == MemoryKind::Staging ? "the host" : "arrays"));
  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  if (addressable) allocate.pNext = &flags;
  VkImportMemoryFdInfoKHR import{VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR};
  VkExportMemoryAllocateInfo exports{VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO};
  if (shared && !imports) {  // beside an import NVIDIA's driver 580 takes this for the whole request, and makes new memory
    exports.pNext = allocate.pNext;
    exports.handleTypes = shared->handle;
    allocate.pNext = &exports;
  }
  if (imports) {
    import.pNext = allocate.pNext;
    import.handleType = shared->handle;
    import.fd = shared->fd;
    allocate.pNext = &import;
  }
  allocate.allocationSize = needs.size;
  VkResult answer = VK_SUCCESS;
  for (uint32_t type : types) {
    if (needs.size > config_.properties.memoryHeaps[config_.properties.memoryTypes[type].heapIndex].size) continue;
    allocate.memoryTypeIndex = type;
    answer = or_null(fns_.vkAllocateMemory(device_, &allocate, nullptr, &slab.memory), slab.memory);
    if (answer == VK_SUCCESS) {
      if (imports) shared->fd = -1;
      return type;
    }
    if (answer != VK_ERROR_OUT_OF_DEVICE_MEMORY && answer != VK_ERROR_OUT_OF_HOST_MEMORY)
      check(answer, "vkAllocateMemory", config_.device);
  }
  throw no_room(needs.size, types, answer);
}

std::unique_ptr<Slab> Memory::create_slab(MemoryKind kind, uint64_t bytes, SharedMemory* shared) {
  auto slab = std::make_unique<Slab>();
  bool done = false;
  const Defer undo([&] {
    if (!done) destroy_slab(*slab);
  });
  slab->kind = kind;
  slab->bytes = bytes;
  slab->free.emplace(0, bytes);

  const bool addressable = config_.device_address && kind != MemoryKind::Staging;
  VkBufferCreateInfo buffer{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  buffer.size = bytes;
  buffer.usage = kind == MemoryKind::Staging ? VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT
                                             : usage_of_arrays(addressable);
  VkExternalMemoryBufferCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO};
  if (shared) {
    external.handleTypes = shared->handle;
    buffer.pNext = &external;
  }
  check(or_null(fns_.vkCreateBuffer(device_, &buffer, nullptr, &slab->buffer), slab->buffer), "vkCreateBuffer",
        config_.device);

  VkMemoryRequirements needs{};
  fns_.vkGetBufferMemoryRequirements(device_, slab->buffer, &needs);
  const uint32_t index = allocate_memory(*slab, needs, addressable, shared);
  const VkMemoryPropertyFlags type = config_.properties.memoryTypes[index].propertyFlags;
  if (shared) slab->shared = SharedMemory{-1, std::max(needs.size, shared->bytes), 0, index, shared->handle};
  check(fns_.vkBindBufferMemory(device_, slab->buffer, slab->memory, 0), "vkBindBufferMemory", config_.device);
  slab->coherent = type & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if (kind == MemoryKind::Staging || (kind == MemoryKind::Arrays && maps_arrays(type, config_.direct))) {
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

Allocation Memory::allocate_shared(uint64_t bytes, SharedMemory& how) {
  const uint64_t want = round_up(std::max(how.offset + bytes, kLeastBytes), config_.alignment);
  const std::lock_guard lock(mutex_);
  slabs_.push_back(create_slab(MemoryKind::Arrays, want, &how));
  Slab& slab = *slabs_.back();
  slab.dedicated = true;
  slab.free.clear();
  return {slab.buffer,
          how.offset,
          want,
          slab.mapped ? slab.mapped + how.offset : nullptr,
          slab.address ? slab.address + how.offset : 0,
          &slab};
}

SharedMemory Memory::share(const Allocation& a) const {
  SharedMemory out = a.slab->shared.value();
  out.offset = a.offset;
  if (a.slab->descriptor >= 0) {
    out.fd = duplicated_descriptor(a.slab->descriptor);
    if (out.fd < 0) throw Error("SG0601", "share: this process may open no more descriptors");
    return out;
  }
  VkMemoryGetFdInfoKHR info{VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR};
  info.memory = a.slab->memory;
  info.handleType = out.handle;
  check(fns_.vkGetMemoryFdKHR(device_, &info, &out.fd), "vkGetMemoryFdKHR", config_.device);
  return out;
}

void Memory::keep_descriptor(const Allocation& a, int fd) { a.slab->descriptor = fd; }

bool Memory::is_shared(const Allocation& a) { return a.slab && a.slab->shared; }

void Memory::release(const Allocation& a) {
  if (!a.slab || abandoned_) return;
  const std::lock_guard lock(mutex_);
  if (a.slab->shared)
    a.slab->free.emplace(0, a.slab->bytes);
  else
    a.slab->give(a.offset, a.bytes);
  if (!a.slab->dedicated || !a.slab->empty()) return;  // common slabs stay for the next session
  const auto it = std::find_if(slabs_.begin(), slabs_.end(), [&](const auto& s) { return s.get() == a.slab; });
  destroy_slab(**it);
  slabs_.erase(it);
}

namespace {

VkMappedMemoryRange range_of(const Allocation& a) {
  return {VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, nullptr, a.slab->memory, a.offset, a.bytes};
}

bool needs_care(const Allocation& a) { return a.mapped && !a.slab->coherent; }

}  // namespace

void Memory::flush(const Allocation& a) const {
  if (!needs_care(a)) return;
  const VkMappedMemoryRange range = range_of(a);
  check(fns_.vkFlushMappedMemoryRanges(device_, 1, &range), "vkFlushMappedMemoryRanges", config_.device);
}

void Memory::invalidate(const Allocation& a) const {
  if (!needs_care(a)) return;
  const VkMappedMemoryRange range = range_of(a);
  check(fns_.vkInvalidateMappedMemoryRanges(device_, 1, &range), "vkInvalidateMappedMemoryRanges", config_.device);
}

uint64_t Memory::trim() {
  if (abandoned_) return 0;
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  std::erase_if(slabs_, [&](const auto& slab) {
    if (!slab->empty()) return false;
    bytes += slab->bytes;
    destroy_slab(*slab);
    return true;
  });
  return bytes;
}

}  // namespace spirograd::vk
