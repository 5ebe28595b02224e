// What a device remembers of schedules that were measured on it.
#include "vk_runtime/cache_file.h"
#include "vk_runtime/choices_file.h"
#include "vk_runtime/device.h"

namespace spirograd::vk {

Choices Device::tuned() const {
  const std::string& folder = impl_->options.cache_dir;
  if (folder.empty()) return {};
  const CacheIdentity& id = impl_->facts.identity;
  const auto bytes = load_cache(cache_path(folder, "schedules", id), id);
  return bytes ? decode_choices(*bytes).value_or(Choices{}) : Choices{};
}

bool Device::remember(const Choices& choices) {
  const std::string& folder = impl_->options.cache_dir;
  if (folder.empty()) return false;
  const std::lock_guard lock(impl_->cache_mutex);
  const CacheIdentity& id = impl_->facts.identity;
  return save_cache(cache_path(folder, "schedules", id), id, encode_choices(joined(tuned(), choices)));
}

}  // namespace spirograd::vk
