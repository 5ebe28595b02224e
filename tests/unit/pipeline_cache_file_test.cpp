// Damaged or foreign cache files are never handed to a driver.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "vk_runtime/cache_file.h"

namespace spirograd::vk {
namespace pipeline_cache_file_test {

CacheIdentity identity() {
  CacheIdentity id;
  for (uint8_t i = 0; i < 16; ++i) id.device_uuid[i] = i, id.pipeline_cache_uuid[i] = static_cast<uint8_t>(100 + i);
  id.driver_version = 0x01020304;
  return id;
}

std::vector<uint8_t> payload() {
  std::vector<uint8_t> p(200);
  for (size_t i = 0; i < p.size(); ++i) p[i] = static_cast<uint8_t>(i * 7);
  return p;
}

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("spirograd_cache_" + std::to_string(::getpid()));
  Folder() { std::filesystem::remove_all(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

TEST(CacheFile, GivesBackWhatWasPacked) {
  EXPECT_EQ(unpack_cache(identity(), pack_cache(identity(), payload())), payload());
  EXPECT_EQ(unpack_cache(identity(), pack_cache(identity(), {})), std::vector<uint8_t>{});
}

TEST(CacheFile, EveryFlippedBitIsAColdStart) {
  const std::vector<uint8_t> good = pack_cache(identity(), payload());
  for (size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> bad = good;
      bad[i] = static_cast<uint8_t>(bad[i] ^ (1 << bit));
      ASSERT_FALSE(unpack_cache(identity(), bad)) << "byte " << i << ", bit " << bit;
    }
}

TEST(CacheFile, EveryTruncationIsAColdStart) {
  const std::vector<uint8_t> good = pack_cache(identity(), payload());
  for (size_t n = 0; n < good.size(); ++n) ASSERT_FALSE(unpack_cache(identity(), std::span(good).first(n))) << n;
  std::vector<uint8_t> longer = good;
  longer.push_back(0);
  EXPECT_FALSE(unpack_cache(identity(), longer));
}

TEST(CacheFile, OtherDriversAndDevicesStartCold) {
  const std::vector<uint8_t> good = pack_cache(identity(), payload());
  CacheIdentity other = identity();
  other.driver_version++;
  EXPECT_FALSE(unpack_cache(other, good));
  other = identity();
  other.device_uuid[15]++;
  EXPECT_FALSE(unpack_cache(other, good));
  other = identity();
  other.pipeline_cache_uuid[0]++;
  EXPECT_FALSE(unpack_cache(other, good));
  for (auto change : {+[](CacheIdentity& id) { id.vendor = 0x10de; }, +[](CacheIdentity& id) { id.device = 7; },
                      +[](CacheIdentity& id) { id.driver_uuid[8]++; }}) {
    other = identity();
    change(other);
    EXPECT_FALSE(unpack_cache(other, good));
  }
  EXPECT_NE(cache_path("/c", "pipelines", other), cache_path("/c", "pipelines", identity()));
}

TEST(CacheFile, SavesByRenamingAndLoads) {
  const Folder folder;
  const std::string path = cache_path((folder.path / "deep" / "er").string(), "pipelines", identity());
  EXPECT_FALSE(load_cache(path, identity()));
  ASSERT_TRUE(save_cache(path, identity(), payload()));
  EXPECT_EQ(load_cache(path, identity()), payload());
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 1u) << "a temporary file was left";
}

TEST(CacheFile, FilesThatOthersMayHaveWrittenAreNotTrusted) {
  const Folder folder;
  const std::string path = cache_path(folder.path.string(), "pipelines", identity());
  ASSERT_TRUE(save_cache(path, identity(), payload()));
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  for (const mode_t mode : {0620, 0602, 0666}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_FALSE(load_cache(path, identity())) << std::oct << mode;
  }
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_TRUE(load_cache(path, identity()));
  if (::chown(path.c_str(), 65534, 65534) == 0) {
    EXPECT_FALSE(load_cache(path, identity())) << "of another user";
  }
}

TEST(CacheFile, NothingButAFileIsRead) {
  const Folder folder;
  std::filesystem::create_directories(folder.path);
  const std::string path = cache_path(folder.path.string(), "pipelines", identity());
  const std::string real = (folder.path / "real").string();
  ASSERT_TRUE(save_cache(real, identity(), payload()));
  ASSERT_EQ(::symlink(real.c_str(), path.c_str()), 0);
  EXPECT_FALSE(load_cache(path, identity())) << "a link";
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(load_cache(path, identity())) << "a pipe that nobody writes to";
  ASSERT_TRUE(save_cache(path, identity(), payload())) << "it is replaced";
  EXPECT_EQ(load_cache(path, identity()), payload());
  ::unlink(path.c_str());
  std::filesystem::create_directory(path);
  EXPECT_FALSE(load_cache(path, identity())) << "a folder";
  EXPECT_FALSE(save_cache(path, identity(), payload()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 2) << "no temporary file";
}

// The system takes so many bytes of a file and no more, as a full disk does.
TEST(CacheFile, AFullDiskLeavesWhatWasThere) {
  const Folder folder;
  const std::string path = cache_path(folder.path.string(), "pipelines", identity());
  ASSERT_TRUE(save_cache(path, identity(), payload()));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t room : {0, 1, 4096}) {
    const rlimit full{room, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
    const bool saved = save_cache(path, identity(), std::vector<uint8_t>(10'000, 1));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_FALSE(saved) << room;
    EXPECT_EQ(load_cache(path, identity()), payload()) << room;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1) << "no temporary file";
  }
  std::signal(SIGXFSZ, ignored);
}

TEST(CacheFile, UnwritableFolderIsNoError) {
  const Folder folder;
  std::ofstream(folder.path) << "a file, not a folder";
  EXPECT_FALSE(save_cache(cache_path(folder.path.string(), "pipelines", identity()), identity(), payload()));
}

}  // namespace pipeline_cache_file_test
}  // namespace spirograd::vk
