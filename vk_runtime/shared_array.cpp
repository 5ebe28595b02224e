// Arrays in memory that others reach, too.
#include "vk_runtime/device_array.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/system.h"

namespace spirograd::vk {
namespace {

// Throws SG0303 unless buffers of the device can be exported, or imported, by such handles.
void check_offered(Device::Impl& d, const char* call, VkExternalMemoryHandleTypeFlagBits handle,
                   VkExternalMemoryFeatureFlagBits feature) {
  const auto lacks = [&](const std::string& what) {
    return Error("SG0303", std::string(call) + ": '" + d.name() + "' lacks " + what)
        .hint("download() and upload() move the contents through the host");
  };
  if (!d.plan.enable_external_memory_fd || !d.fns.vkGetMemoryFdKHR) throw lacks("VK_KHR_external_memory_fd");
  VkPhysicalDeviceExternalBufferInfo info{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO};
  info.usage = usage_of_arrays(d.plan.enable_device_address);
  info.handleType = handle;
  VkExternalBufferProperties has{VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
  d.instance_fns.vkGetPhysicalDeviceExternalBufferProperties(d.physical, &info, &has);
  const VkExternalMemoryFeatureFlags features = has.externalMemoryProperties.externalMemoryFeatures;
  if (!(features & feature) || features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT)
    throw lacks("buffers with such handles (" + std::to_string(handle) + ")");
}

}  // namespace

Result<DeviceArray> DeviceArray::create_shared(const std::shared_ptr<Device>& device, const Type& type,
                                               VkExternalMemoryHandleTypeFlagBits handle) {
  return guarded([&] {
    Device::Impl& d = alive(device, "create_shared");
    check_offered(d, "create_shared", handle, VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT);
    SharedMemory how;
    how.handle = handle;
    auto storage = std::make_shared<Storage>(d, type, how);
    storage->keeps = device;
    storage->upload(nullptr);
    return DeviceArray(std::move(storage));
  });
}

Result<SharedMemory> DeviceArray::share() const {
  return guarded([&] {
    const Storage& s = *storage_of(*this, "share");
    s.d->check_alive();
    if (!Memory::is_shared(s.piece.mine))
      throw Error("SG0501", "share: the array, " + to_string(s.type) + ", is in memory that cannot be shared")
          .hint("DeviceArray::create_shared makes one that can");
    return s.d->memory->share(s.piece.mine);
  });
}

Result<DeviceArray> DeviceArray::import(const std::shared_ptr<Device>& device, const Type& type,
                                        const SharedMemory& memory) {
  return guarded([&] {
    Device::Impl& d = alive(device, "import");
    check_offered(d, "import", memory.handle, VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT);
    const uint64_t needed = static_cast<uint64_t>(type.shape.count()) * spirograd::device_bytes(type.dtype);
    if (memory.fd < 0) throw Error("SG0501", "import: there is no descriptor").hint("share() of the other array makes one");
    if (memory.offset % 256 != 0 || memory.offset > memory.bytes || needed > memory.bytes - memory.offset)
      throw Error("SG0501", "import: " + to_string(type) + " takes " + std::to_string(needed) +
                                " bytes from a multiple of 256; the memory has " + std::to_string(memory.bytes) +
                                ", and the array would begin at " + std::to_string(memory.offset));
    // Ours until a driver has it; the caller's is taken at the end, when nothing can fail any more.
    SharedMemory own = memory;
    own.fd = duplicated_descriptor(memory.fd);
    if (own.fd < 0) throw Error("SG0501", "import: " + std::to_string(memory.fd) + " is no open descriptor");
    const Defer close_what_nobody_took([&] { close_descriptor(own.fd); });
    auto storage = std::make_shared<Storage>(d, type, own);
    storage->keeps = device;
    d.memory->keep_descriptor(storage->piece.mine, memory.fd);  // for whom it is shared with again
    return DeviceArray(std::move(storage));
  });
}

}  // namespace spirograd::vk
