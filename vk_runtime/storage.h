// The memory of an array on a device: a piece of ours, or of a buffer of the host. Sessions and DeviceArrays share it.
#pragma once

#include <functional>
#include <memory>

#include "spirograd/host_array.h"
#include "vk_runtime/device.h"
#include "vk_runtime/recorder.h"

namespace spirograd::vk {

/// Elements of the host to words of the device and back: a bool is a byte here and a word there.
void to_device(const HostArray& from, uint8_t* to);
void from_device(const uint8_t* from, HostArray& to);

struct Storage {
  /// What an array has of memory, so that two arrays can exchange it.
  struct Piece {
    Allocation mine;  // none where it is the host's
    Place place;
    uint64_t number = 0;  // no two of a device are alike, even where one takes the place of another that is gone
    uint64_t used = 0;    // up to this point of the timeline, work may use it
  };

  /// Of our own. Throws SG0601.
  Storage(Device::Impl& device, Type type);
  /// In memory that is shared, exported or imported (Memory::allocate_shared).
  Storage(Device::Impl& device, Type type, SharedMemory& how);
  /// The host's. Pre: large enough.
  Storage(Device::Impl& device, Type type, const Slice& slice);
  /// Gives the memory back when the work that uses it has ended.
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  bool is_hosts() const { return piece.mine.slab == nullptr; }
  uint64_t bytes() const { return spirograd::device_bytes(type); }
  /// Waits for the work that uses it. Pre: contents of the type, or none for zeros.
  void upload(const HostArray* contents);
  HostArray download();
  /// To another device, through the host.
  void move_to(Device::Impl& other);

  std::shared_ptr<Device> keeps;  // of DeviceArrays: the device stays as long as they do
  Device::Impl* d;
  Type type;
  Piece piece;

 private:
  using Write = std::function<void(VkCommandBuffer, const Allocation& staging)>;
  void through_staging(const std::function<void(uint8_t*)>& before, const Write& write,
                       const std::function<void(const uint8_t*)>& after);
};

}  // namespace spirograd::vk
