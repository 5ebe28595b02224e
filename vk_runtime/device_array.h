// The inside of a DeviceArray, for sessions.
#pragma once

#include "vk_runtime/storage.h"

namespace spirograd::vk {

struct DeviceArrayAccess {
  static const std::shared_ptr<Storage>& storage(const DeviceArray& array) { return array.storage_; }
};

/// The device, after what is no longer in use on it was freed. Throws SG0303 where it is null, and where it is lost.
Device::Impl& alive(const std::shared_ptr<Device>& device, const char* call);
/// Throws SG0501 where the array was moved from.
const std::shared_ptr<Storage>& storage_of(const DeviceArray& array, const char* call);
/// Throws SG0501, beginning with `what`, unless the contents are of that type.
void check_contents(const std::string& what, const Type& type, const HostArray& contents);

}  // namespace spirograd::vk
