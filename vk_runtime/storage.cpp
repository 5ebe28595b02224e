#include "vk_runtime/storage.h"

#include <cstring>

#include "vk_runtime/errors.h"
#include "vk_runtime/system.h"

namespace spirograd::vk {
namespace {

// Memory that waits for its work, without the array.
struct Freed {
  Freed(Device::Impl& device, const Allocation& allocation) : d(device), a(allocation) {}
  ~Freed() { d.memory->release(a); }
  Freed(const Freed&) = delete;
  Freed& operator=(const Freed&) = delete;
  Device::Impl& d;
  Allocation a;
};

void release(Device::Impl& d, const Storage::Piece& piece) {
  if (!piece.mine.slab || !d.may_destroy()) return;
  if (!d.still_runs(piece.used)) return d.memory->release(piece.mine);
  d.leave({[&d, used = piece.used] { return d.still_runs(used); }, std::make_shared<Freed>(d, piece.mine)});
}

Storage::Piece piece_of(Device::Impl& d, const Allocation& a) { return {a, {a.buffer, a.offset, a.address}, ++d.pieces}; }
Storage::Piece piece_of_ours(Device::Impl& d, uint64_t bytes) {
  return piece_of(d, d.memory->allocate(MemoryKind::Arrays, bytes));
}
Storage::Piece piece_of_shared(Device::Impl& d, uint64_t bytes, SharedMemory& how) {
  return piece_of(d, d.memory->allocate_shared(bytes, how));
}

}  // namespace

void to_device(const HostArray& from, uint8_t* to) {
  if (from.type.dtype != DType::Bool) {
    if (!from.bytes.empty()) std::memcpy(to, from.bytes.data(), from.bytes.size());
    return;
  }
  for (size_t i = 0; i < from.bytes.size(); ++i) {
    const uint32_t word = from.bytes[i] != 0;
    std::memcpy(to + 4 * i, &word, 4);
  }
}

void from_device(const uint8_t* from, HostArray& to) {
  if (to.type.dtype != DType::Bool) {
    if (!to.bytes.empty()) std::memcpy(to.bytes.data(), from, to.bytes.size());
    return;
  }
  for (size_t i = 0; i < to.bytes.size(); ++i) {
    uint32_t word = 0;
    std::memcpy(&word, from + 4 * i, 4);
    to.bytes[i] = word != 0;
  }
}

Storage::Storage(Device::Impl& device, Type t) : d(&device), type(t) { piece = piece_of_ours(device, bytes()); }

Storage::Storage(Device::Impl& device, Type t, SharedMemory& how) : d(&device), type(t) {
  piece = piece_of_shared(device, bytes(), how);
}

Storage::Storage(Device::Impl& device, Type t, const Slice& slice) : d(&device), type(t) {
  piece.place = {slice.buffer, slice.offset, 0};
  piece.number = ++device.pieces;
  if (!device.plan.enable_device_address || !slice.buffer) return;
  VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
  info.buffer = slice.buffer;
  piece.place.address = device.fns.vkGetBufferDeviceAddress(device.device, &info) + slice.offset;
}

Storage::~Storage() { release(*d, piece); }

// Buffers of the host may have been used by anything before, and may be after.
void Storage::through_staging(const std::function<void(uint8_t*)>& before, const Write& write,
                              const std::function<void(const uint8_t*)>& after) {
  const Allocation staging = d->memory->allocate(MemoryKind::Staging, bytes());
  VkCommandPool pool = VK_NULL_HANDLE;
  const Defer release_both([&] {
    if (!d->may_destroy()) return;
    if (pool) d->fns.vkDestroyCommandPool(d->device, pool, nullptr);
    d->memory->release(staging);
  });
  before(staging.mapped);
  d->memory->flush(staging);
  VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool_info.queueFamilyIndex = d->queue_family;
  d->check(or_null(d->fns.vkCreateCommandPool(d->device, &pool_info, nullptr, &pool), pool), "vkCreateCommandPool");
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = pool;
  allocate.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  d->check(d->fns.vkAllocateCommandBuffers(d->device, &allocate, &commands), "vkAllocateCommandBuffers");
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  d->check(d->fns.vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  memory_barrier(d->fns, commands, kAllUses, kOurUses);
  write(commands, staging);
  memory_barrier(d->fns, commands, kOurUses, kAllUses);
  memory_barrier(d->fns, commands, kOurUses, kHostReads);
  d->check(d->fns.vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  d->wait(d->submit_point(commands));
  d->memory->invalidate(staging);
  after(staging.mapped);
}

void Storage::upload(const HostArray* contents) {
  if (bytes() == 0) return;
  const auto fill = [&](uint8_t* to) { contents ? to_device(*contents, to) : void(std::memset(to, 0, bytes())); };
  if (piece.used > 0) d->wait(piece.used);
  if (piece.mine.mapped) {
    fill(piece.mine.mapped);
    d->memory->flush(piece.mine);
    return;
  }
  const auto copy = [&](VkCommandBuffer commands, const Allocation& staging) {
    const VkBufferCopy region{staging.offset, piece.place.offset, bytes()};
    d->fns.vkCmdCopyBuffer(commands, staging.buffer, piece.place.buffer, 1, &region);
  };
  through_staging(fill, copy, [](const uint8_t*) {});
}

HostArray Storage::download() {
  HostArray out(type);
  if (bytes() == 0) return out;
  if (piece.used > 0) d->wait(piece.used);
  if (piece.mine.mapped) {
    d->memory->invalidate(piece.mine);
    from_device(piece.mine.mapped, out);
    return out;
  }
  const auto copy = [&](VkCommandBuffer commands, const Allocation& staging) {
    const VkBufferCopy region{piece.place.offset, staging.offset, bytes()};
    d->fns.vkCmdCopyBuffer(commands, piece.place.buffer, staging.buffer, 1, &region);
  };
  through_staging([](uint8_t*) {}, copy, [&](const uint8_t* from) { from_device(from, out); });
  return out;
}

void Storage::move_to(Device::Impl& other) {
  if (d == &other) return;
  if (Memory::is_shared(piece.mine)) {  // the same memory, for others know it
    if (piece.used > 0) d->wait(piece.used);
    SharedMemory memory = d->memory->share(piece.mine);
    const Defer close_what_nobody_took([&] { close_descriptor(memory.fd); });
    const Piece from = std::exchange(piece, piece_of_shared(other, bytes(), memory));
    return release(*std::exchange(d, &other), from);
  }
  const HostArray contents = download();
  const Piece from = std::exchange(piece, piece_of_ours(other, bytes()));
  release(*std::exchange(d, &other), from);
  upload(&contents);
}

}  // namespace spirograd::vk
