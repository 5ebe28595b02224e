// Arrays that stay on a device.
#include "vk_runtime/device_array.h"

#include "vk_runtime/errors.h"

namespace spirograd::vk {

Device::Impl& alive(const std::shared_ptr<Device>& device, const char* call) {
  if (!device) throw Error("SG0303", std::string(call) + ": the device is null");
  Device::Impl& d = Device::Impl::of(*device);
  d.check_alive();
  d.sweep();
  return d;
}

void check_contents(const std::string& what, const Type& type, const HostArray& contents) {
  if (contents.type != type)
    throw Error("SG0501", what + " is " + to_string(type) + ", and " + to_string(contents.type) + " is given");
  if (contents.bytes.size() != static_cast<uint64_t>(type.shape.count()) * host_bytes(type.dtype))
    throw Error("SG0501", what + " has " + std::to_string(contents.bytes.size()) + " bytes, too many or too few for " +
                              to_string(type));
}

DeviceArray::DeviceArray(std::shared_ptr<Storage> storage) : storage_(std::move(storage)) {}
DeviceArray::DeviceArray(DeviceArray&&) noexcept = default;
DeviceArray& DeviceArray::operator=(DeviceArray&&) noexcept = default;
DeviceArray::~DeviceArray() = default;

const std::shared_ptr<Storage>& storage_of(const DeviceArray& array, const char* call) {
  const std::shared_ptr<Storage>& storage = DeviceArrayAccess::storage(array);
  if (!storage)
    throw Error("SG0501", std::string(call) + ": the array was moved from, and is empty")
        .hint("use the array that it was moved to");
  return storage;
}

Result<DeviceArray> DeviceArray::create(const std::shared_ptr<Device>& device, const Type& type) {
  return guarded([&] {
    auto storage = std::make_shared<Storage>(alive(device, "DeviceArray::create"), type);
    storage->keeps = device;
    storage->upload(nullptr);
    return DeviceArray(std::move(storage));
  });
}

Result<DeviceArray> DeviceArray::create(const std::shared_ptr<Device>& device, const HostArray& contents) {
  return guarded([&] {
    check_contents("DeviceArray::create: the array", contents.type, contents);
    auto storage = std::make_shared<Storage>(alive(device, "DeviceArray::create"), contents.type);
    storage->keeps = device;
    storage->upload(&contents);
    return DeviceArray(std::move(storage));
  });
}

Result<DeviceArray> DeviceArray::adopt(const std::shared_ptr<Device>& device, const Type& type, const Slice& slice) {
  return guarded([&] {
    Device::Impl& d = alive(device, "DeviceArray::adopt");
    if (d.owned)
      throw Error("SG0303",
                  "DeviceArray::adopt: '" + d.name() + "' was made by Device::create, and has no buffers of a host")
          .hint("DeviceArray::create makes arrays on any device");
    const uint64_t element = spirograd::device_bytes(type.dtype);
    const uint64_t needed = static_cast<uint64_t>(type.shape.count()) * element;
    if (!slice.buffer || slice.bytes < needed || slice.offset % element != 0)
      throw Error("SG0501", "DeviceArray::adopt: the slice for " + to_string(type) + " must name a buffer, hold " +
                                std::to_string(needed) + " bytes and start at a multiple of " + std::to_string(element) +
                                "; it holds " + std::to_string(slice.bytes) + " from " + std::to_string(slice.offset));
    VkMemoryRequirements size{};  // all that Vulkan tells of a buffer's size: at least that
    d.fns.vkGetBufferMemoryRequirements(d.device, slice.buffer, &size);
    if (slice.offset > size.size || slice.bytes > size.size - slice.offset)
      throw Error("SG0501", "DeviceArray::adopt: the slice ends at byte " + std::to_string(slice.offset + slice.bytes) +
                                ", and the buffer has at most " + std::to_string(size.size));
    auto storage = std::make_shared<Storage>(d, type, slice);
    storage->keeps = device;
    return DeviceArray(std::move(storage));
  });
}

Type DeviceArray::type() const { return storage_ ? storage_->type : Type{}; }

Result<void> DeviceArray::upload(const HostArray& contents) {
  return guarded([&] {
    Storage& s = *storage_of(*this, "DeviceArray::upload");
    check_contents("DeviceArray::upload: the array", s.type, contents);
    s.d->check_alive();
    s.upload(&contents);
  });
}

Result<HostArray> DeviceArray::download() const {
  return guarded([&] {
    Storage& s = *storage_of(*this, "DeviceArray::download");
    s.d->check_alive();
    return s.download();
  });
}

}  // namespace spirograd::vk
