// A disk without room for an output: an error, the old file as it was, and nothing beside it.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "spirograd/result.h"
#include "tools/io/files.h"

namespace spirograd::io {
namespace full_disk_test {

// The system takes so many bytes of a file and no more.
class Room {
 public:
  explicit Room(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit full{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &full);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~Room() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(FullDisk, OutputsAppearAllOrNone) {
  const auto folder = std::filesystem::temp_directory_path() / ("spirograd_full_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string small = (folder / "small").string(), large = (folder / "large").string();
  {
    OutputFiles old;
    old.add(large, "precious");
    old.commit();
  }
  for (const rlim_t bytes : {1, 5000}) {
    const Room room(bytes);
    const Result<void> written = guarded([&] {
      OutputFiles files;
      files.add(small, std::string(bytes, 'x'));
      files.add(large, std::string(10'000, 'x'));
      files.commit();
    });
    ASSERT_FALSE(written) << bytes;
    EXPECT_EQ(written.error().code, "SG0505");
    EXPECT_NE(written.error().str().find("large"), std::string::npos) << written.error().str();
  }
  const std::vector<uint8_t> kept = read_file(large);
  EXPECT_EQ(std::string(kept.begin(), kept.end()), "precious");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace full_disk_test
}  // namespace spirograd::io
