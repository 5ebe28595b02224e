// Whole files in and out. Outputs are written beside their place and renamed once all of them are complete, so that no
// reader ever sees half a file, and a failure leaves nothing behind.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/io/temporary_files.h"

namespace spirograd::io {

/// Whether anything has that name, links followed.
bool exists(const std::string& path);

/// Throws SG0504 with the reason of the system; also for folders and for streams
/// of more than a gigabyte.
std::vector<uint8_t> read_file(const std::string& path);

/// Throws SG0505 if `path` cannot become a file: a folder, or in a folder that is missing or not writable. Writes nothing.
void check_writable(const std::string& path);

/// What tells one file from another whatever its names are: device and number of an existing file, links followed; else the
/// canonical path. Two outputs with the same identity would overwrite each other. "-" is stdout.
std::string file_identity(const std::string& path);

/// A group of outputs: all appear, or none. SIGINT, SIGTERM and SIGHUP remove what was not committed and then end the
/// process as ever, unless the process handles or ignores them itself; while files are renamed they wait.
class OutputFiles {
 public:
  OutputFiles() = default;
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;
  /// Removes what was not committed.
  ~OutputFiles();

  /// Writes the contents to a temporary file in the same folder; devices and pipes are written to as they are. An output may
  /// take the place of a file that was read before. Throws SG0505.
  void add(const std::string& path, std::span<const uint8_t> contents);
  void add(const std::string& path, std::string_view contents);
  /// Renames all to their final names. Throws SG0505.
  void commit();

 private:
  struct Staged {
    Temporary temporary;
    std::string path;
  };
  std::vector<Staged> staged_;
};

}  // namespace spirograd::io
