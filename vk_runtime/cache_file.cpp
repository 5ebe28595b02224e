#include "vk_runtime/cache_file.h"

#include <cstdio>
#include <cstring>

#include "vk_runtime/system.h"

namespace spirograd::vk {
namespace {

// Header: magic 8, version 4, driver version 4, vendor 4, device 4, device uuid 16, driver uuid 16, pipeline cache uuid 16,
// length 8, hash 8. Little-endian.
constexpr char kMagic[9] = "SPGCACHE";
constexpr uint32_t kVersion = 2;
constexpr size_t kHeader = 88;
constexpr size_t kHashAt = 80;

void put(std::vector<uint8_t>& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

uint64_t fnv(uint64_t h, std::span<const uint8_t> bytes) {
  for (uint8_t b : bytes) h = (h ^ b) * 0x100000001b3u;
  return h;
}

// Over everything but the place of the hash.
uint64_t hash_of(std::span<const uint8_t> file) {
  return fnv(fnv(0xcbf29ce484222325u, file.first(kHashAt)), file.subspan(kHeader));
}

std::vector<uint8_t> header(const CacheIdentity& id, uint64_t length) {
  std::vector<uint8_t> out(kMagic, kMagic + 8);
  put(out, kVersion, 4);
  put(out, id.driver_version, 4);
  put(out, id.vendor, 4);
  put(out, id.device, 4);
  out.insert(out.end(), id.device_uuid.begin(), id.device_uuid.end());
  out.insert(out.end(), id.driver_uuid.begin(), id.driver_uuid.end());
  out.insert(out.end(), id.pipeline_cache_uuid.begin(), id.pipeline_cache_uuid.end());
  put(out, length, 8);
  put(out, 0, 8);
  return out;
}

}  // namespace

uint64_t hash64(std::span<const uint8_t> bytes) { return fnv(0xcbf29ce484222325u, bytes); }

std::vector<uint8_t> pack_cache(const CacheIdentity& id, std::span<const uint8_t> payload) {
  std::vector<uint8_t> out = header(id, payload.size());
  out.insert(out.end(), payload.begin(), payload.end());
  const uint64_t h = hash_of(out);
  for (size_t i = 0; i < 8; ++i) out[kHashAt + i] = static_cast<uint8_t>(h >> (8 * i));
  return out;
}

std::optional<std::vector<uint8_t>> unpack_cache(const CacheIdentity& id, std::span<const uint8_t> file) {
  if (file.size() < kHeader) return std::nullopt;
  const std::vector<uint8_t> expected = header(id, file.size() - kHeader);
  if (std::memcmp(file.data(), expected.data(), kHashAt) != 0) return std::nullopt;
  uint64_t h = 0;
  for (size_t i = 0; i < 8; ++i) h |= uint64_t{file[kHashAt + i]} << (8 * i);
  if (h != hash_of(file)) return std::nullopt;
  return std::vector<uint8_t>(file.begin() + kHeader, file.end());
}

std::string cache_path(const std::string& folder, const std::string& kind, const CacheIdentity& id) {
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(hash64(header(id, 0))));
  return folder + "/" + kind + "-" + hex + ".bin";
}

std::optional<std::vector<uint8_t>> load_cache(const std::string& path, const CacheIdentity& id) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  const std::optional<std::vector<uint8_t>> bytes = read_own_file(path, kMostBytes);
  return bytes ? unpack_cache(id, *bytes) : std::nullopt;
}

bool save_cache(const std::string& path, const CacheIdentity& id, std::span<const uint8_t> payload) {
  return replace_file(path, pack_cache(id, payload));
}

}  // namespace spirograd::vk
