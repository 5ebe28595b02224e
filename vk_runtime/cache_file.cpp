#include "vk_runtime/cache_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace spirograd::vk {
namespace {

// Header: magic 8, version 4, driver version 4, device uuid 16, pipeline cache uuid 16, length 8, hash 8. Little-endian.
constexpr char kMagic[9] = "SPGCACHE";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeader = 64;
constexpr size_t kHashAt = 56;

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
  out.insert(out.end(), id.device_uuid.begin(), id.device_uuid.end());
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
  return (std::filesystem::path(folder) / (kind + "-" + hex + ".bin")).string();
}

namespace {

constexpr off_t kMostBytes = off_t{1} << 30;

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// The bytes go to a driver, so nobody else may have written them.
bool is_trusted(const struct stat& info) {
  return S_ISREG(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
         info.st_size <= kMostBytes;
}

bool write_all(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

std::optional<std::vector<uint8_t>> load_cache(const std::string& path, const CacheIdentity& id) {
  // A pipe would block when it is opened, a link may lead to a device that never ends.
  const Descriptor d{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)};
  struct stat info {};
  if (d.fd < 0 || ::fstat(d.fd, &info) != 0 || !is_trusted(info)) return std::nullopt;
  std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size));
  for (size_t have = 0; have < bytes.size();) {
    const ssize_t n = ::read(d.fd, bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    have += static_cast<size_t>(n);
  }
  return unpack_cache(id, bytes);
}

bool save_cache(const std::string& path, const CacheIdentity& id, std::span<const uint8_t> payload) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  // A name that nobody can foresee, and a file that did not exist before and is private.
  std::string temporary = path + ".XXXXXX";
  const Descriptor d{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (d.fd < 0) return false;
  // Renaming replaces whatever stands there, but for folders: these stay, and the cache is off.
  if (write_all(d.fd, pack_cache(id, payload)) && ::rename(temporary.c_str(), path.c_str()) == 0) return true;
  ::unlink(temporary.c_str());
  return false;
}

}  // namespace spirograd::vk
