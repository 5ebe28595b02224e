#include "vk_runtime/shared_pipelines.h"

#include <vector>

#include "vk_runtime/cache_file.h"

namespace spirograd::vk {

SharedPipelines::Key SharedPipelines::key_of(const Executable& e) {
  std::vector<uint32_t> all = {static_cast<uint32_t>(e.form)};
  for (const KernelBinary& k : e.kernels) {
    all.insert(all.end(), {static_cast<uint32_t>(k.words.size()), k.bindings, k.needs.subgroup_size});
    all.insert(all.end(), k.words.begin(), k.words.end());
  }
  return {hash64({reinterpret_cast<const uint8_t*>(all.data()), all.size() * sizeof(uint32_t)}), all.size()};
}

std::shared_ptr<const Pipelines> SharedPipelines::find(Key key) {
  const std::lock_guard lock(mutex_);
  const auto at = known_.find(key);
  return at == known_.end() ? nullptr : at->second.lock();
}

void SharedPipelines::keep(Key key, const std::shared_ptr<const Pipelines>& pipelines) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  known_[key] = pipelines;
}

}  // namespace spirograd::vk
