// Which pipelines of a device are there already: sessions of the same program share them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "spirograd/executable.h"

namespace spirograd::vk {

class Pipelines;

/// Thread-safe. Keeps nothing alive.
class SharedPipelines {
 public:
  /// All that pipelines depend on, by hash, and how much that is.
  struct Key {
    uint64_t hash = 0, words = 0;
    auto operator<=>(const Key&) const = default;
  };
  static Key key_of(const Executable& executable);

  /// Null where there are none, or none any more.
  std::shared_ptr<const Pipelines> find(Key key);
  void keep(Key key, const std::shared_ptr<const Pipelines>& pipelines);

 private:
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const Pipelines>> known_;
};

}  // namespace spirograd::vk
