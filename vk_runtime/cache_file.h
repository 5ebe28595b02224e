// Files of the cache folder: a header that ties the contents to one device and driver, and a hash over all of it. Drivers
// may crash on a damaged pipeline cache, so anything that does not match byte for byte counts as absent.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace spirograd::vk {

/// Who may use a cache file.
struct CacheIdentity {
  std::array<uint8_t, 16> device_uuid{};
  std::array<uint8_t, 16> pipeline_cache_uuid{};
  uint32_t driver_version = 0;
  uint32_t vendor = 0, device = 0;
  std::array<uint8_t, 16> driver_uuid{};
  bool operator==(const CacheIdentity&) const = default;
};

/// FNV-1a, 64 bits: any change of one byte changes it.
uint64_t hash64(std::span<const uint8_t> bytes);

std::vector<uint8_t> pack_cache(const CacheIdentity&, std::span<const uint8_t> payload);
/// The payload, or nothing unless magic, version, identity, length and hash all match.
std::optional<std::vector<uint8_t>> unpack_cache(const CacheIdentity&, std::span<const uint8_t> file);

/// `folder`/`kind`-<hash of the identity>.bin
std::string cache_path(const std::string& folder, const std::string& kind, const CacheIdentity&);
std::optional<std::vector<uint8_t>> load_cache(const std::string& path, const CacheIdentity&);
/// Writes a temporary file and renames it; makes the folder. False when that failed: the cache is only a convenience.
bool save_cache(const std::string& path, const CacheIdentity&, std::span<const uint8_t> payload);

}  // namespace spirograd::vk
