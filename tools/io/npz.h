// NumPy's .npz files: zip archives of .npy members. Reads stored and deflated members, also in zip64; writes stored members.
// Every offset, size and checksum is verified. Errors: SG0501 malformed, SG0503 no such member.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/io/npy.h"

namespace spirograd::io {

class NpzReader {
 public:
  /// `where` names the file in errors.
  NpzReader(std::vector<uint8_t> contents, std::string where);

  /// Names of the arrays, without ".npy", in the order of the file.
  std::vector<std::string> names() const;
  FileArray read(const std::string& name) const;

 private:
  struct Member {
    std::string name;
    uint16_t flags = 0, method = 0;
    uint32_t crc = 0;
    uint64_t packed = 0, size = 0, header_at = 0;
  };
  Error malformed(const std::string& why) const;
  uint64_t number(uint64_t at, int bytes) const;
  void read_directory();
  void read_zip64(Member& m, uint64_t at, uint64_t end) const;
  std::vector<uint8_t> inflated(const Member& m, uint64_t at) const;

  std::vector<uint8_t> file_;
  std::string where_;
  std::vector<Member> members_;
};

std::vector<uint8_t> npz_bytes(const std::vector<std::pair<std::string, HostArray>>& arrays);

}  // namespace spirograd::io
