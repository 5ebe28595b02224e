// The loader of imports that reads files.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "spirograd/text.h"

namespace spirograd::text {

// Nothing but a regular file is opened: whoever opens a pipe may wait for ever.
Result<std::string> read_file(const std::string& path) {
  return guarded([&] {
    const std::filesystem::path place(std::u8string(path.begin(), path.end()));
    std::error_code failed;
    const std::filesystem::file_status status = std::filesystem::status(place, failed);
    if (!std::filesystem::exists(status)) throw Error("SG0504", "there is no such file");
    if (!std::filesystem::is_regular_file(status)) throw Error("SG0504", "it is no regular file");
    std::ifstream file(place, std::ios::binary);
    if (!file) throw Error("SG0504", "it cannot be read");
    return std::string(std::istreambuf_iterator<char>(file), {});
  });
}

}  // namespace spirograd::text
