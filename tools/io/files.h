// Whole files in and out. Outputs are written beside their place and renamed once all of them are complete, so that no
// reader ever sees half a file, and a failure leaves nothing behind.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spirograd::io {

/// Throws SG0504 with the reason of the system; also for folders and for streams
/// of more than a gigabyte.
std::vector<uint8_t> read_file(const std::string& path);

/// Throws SG0505 if `path` cannot become a file: a folder, or in a folder that is missing or not writable. Writes nothing.
void check_writable(const std::string& path);

/// A group of outputs: all appear, or none.
class OutputFiles {
 public:
  OutputFiles() = default;
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;
  /// Removes what was not committed.
  ~OutputFiles();

  /// Writes the contents to a temporary file in the same folder. Throws SG0505.
  void add(const std::string& path, std::span<const uint8_t> contents);
  void add(const std::string& path, std::string_view contents);
  /// Renames all to their final names. Throws SG0505.
  void commit();

 private:
  struct Staged {
    std::string temporary, path;
  };
  std::vector<Staged> staged_;
};

}  // namespace spirograd::io
