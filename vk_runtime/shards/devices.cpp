#include <optional>

#include "spirograd/shards.h"

namespace spirograd {

Result<std::vector<std::shared_ptr<vk::Device>>> usable_devices(const vk::DeviceOptions& options) {
  return guarded([&] {
    const std::vector<vk::DeviceInfo> found = vk::devices(false, options.get_instance_proc_addr).value();
    std::vector<std::shared_ptr<vk::Device>> out;
    std::optional<Error> reason;
    for (const vk::DeviceInfo& info : found) {
      vk::DeviceOptions wish = options;
      wish.select = std::to_string(info.index);
      Result<std::shared_ptr<vk::Device>> device = vk::Device::create(wish);
      if (device)
        out.push_back(std::move(*device));
      else if (!reason)
        reason = device.error();
    }
    if (out.empty()) throw Error("SG0303", "no device can be used").note(reason ? reason->message : "");
    return out;
  });
}

}  // namespace spirograd
