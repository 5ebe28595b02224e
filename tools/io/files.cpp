#include "tools/io/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "spirograd/result.h"
#include "tools/io/temporary_files.h"

namespace spirograd::io {
namespace {

namespace fs = std::filesystem;

// Pipes and devices may never end.
constexpr size_t kMaxStream = size_t{1} << 30;

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::string quoted(const std::string& path) { return "'" + path + "'"; }

Error cannot_write(const std::string& path, const std::string& why) {
  return Error("SG0505", "cannot write " + quoted(path) + ": " + why);
}

// Renaming over a symbolic link would replace the link, so it is followed first.
fs::path target_of(const std::string& path) {
  std::error_code failed;
  fs::path at = path;
  for (int links = 0; links < 40 && fs::is_symlink(at, failed); ++links) {  // also where nothing stands at the end
    const fs::path next = fs::read_symlink(at, failed);
    if (failed) return path;
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return at;
}

fs::path folder_of(const fs::path& p) { return p.has_parent_path() ? p.parent_path() : fs::path("."); }

// Devices and pipes (/dev/null, /dev/stdout) are written to, not replaced; so are streams that lead to a file.
bool is_special(const std::string& path) {
  if (path.starts_with("/dev/") || path.starts_with("/proc/self/fd/")) return true;
  std::error_code ignored;
  const fs::file_status s = fs::status(path, ignored);
  return fs::exists(s) && !fs::is_regular_file(s) && !fs::is_directory(s);
}

std::string random_suffix() {
  std::random_device source;
  std::string out = ".";
  for (int j = 0; j < 12; ++j) out += "abcdefghijklmnopqrstuvwxyz012345"[source() % 32];
  return out;
}

void write_all(int fd, std::span<const uint8_t> contents, const std::string& path) {
  while (!contents.empty()) {
    const ssize_t n = ::write(fd, contents.data(), contents.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw cannot_write(path, std::strerror(errno));
    contents = contents.subspan(static_cast<size_t>(n));
  }
}

}  // namespace

std::vector<uint8_t> read_file(const std::string& path) {
  const auto fail = [&](int code) -> Error {
    return Error("SG0504", "cannot read " + quoted(path) + ": " + std::strerror(code));
  };
  Descriptor d{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (d.fd < 0) throw fail(errno);
  struct stat info {};
  if (::fstat(d.fd, &info) != 0) throw fail(errno);
  if (S_ISDIR(info.st_mode)) throw fail(EISDIR);
  // The size is a first guess only: pipes have none, and files can change.
  std::vector<uint8_t> out(S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size) + 1 : 65536);
  size_t have = 0;
  for (;;) {
    if (!S_ISREG(info.st_mode) && have > kMaxStream)
      throw Error("SG0504", "cannot read " + quoted(path) + ": it is no regular file and does not end");
    if (have == out.size()) out.resize(out.size() * 2);
    const ssize_t n = ::read(d.fd, out.data() + have, out.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw fail(errno);
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  out.resize(have);
  return out;
}

void check_writable(const std::string& path) {
  if (path.empty()) throw Error("SG0505", "the name of an output file is empty");
  std::error_code ignored;
  if (fs::is_directory(path, ignored) || path.back() == '/') throw cannot_write(path, "it is a folder");
  if (is_special(path)) return;
  const fs::path target = target_of(path), folder = folder_of(target);
  if (!fs::is_directory(folder, ignored))
    throw cannot_write(path, "there is no folder " + quoted(folder.string())).hint("mkdir -p " + folder.string());
  if (::access(folder.c_str(), W_OK) != 0) throw cannot_write(path, std::strerror(errno));
  if (fs::exists(target, ignored) && ::access(target.c_str(), W_OK) != 0) throw cannot_write(path, std::strerror(errno));
}

std::string file_identity(const std::string& path) {
  struct stat info {};
  if (path == "-" ? ::fstat(STDOUT_FILENO, &info) == 0 : ::stat(path.c_str(), &info) == 0)
    return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
  std::error_code ignored;
  return fs::weakly_canonical(fs::absolute(target_of(path), ignored), ignored).string();
}

OutputFiles::~OutputFiles() {
  for (const Staged& s : staged_) remove_temporary(s.temporary);
}

void OutputFiles::add(const std::string& path, std::span<const uint8_t> contents) {
  check_writable(path);
  if (is_special(path)) {
    const Descriptor d{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (d.fd < 0) throw cannot_write(path, std::strerror(errno));
    write_all(d.fd, contents, path);
    return;
  }
  const fs::path target = target_of(path);
  // Noted before it exists, so that no signal can come in between.
  staged_.reserve(staged_.size() + 1);  // so that it is ours to remove as soon as it exists
  const Temporary temporary =
      note_temporary((folder_of(target) / ("." + target.filename().string() + random_suffix())).string());
  Descriptor d{::open(temporary.path(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (d.fd < 0) {
    const int why = errno;
    forget_temporary(temporary);
    throw cannot_write(path, std::strerror(why));
  }
  staged_.push_back({temporary, target.string()});
  write_all(d.fd, contents, path);
  // Temporary files are private; outputs get the rights of the file they replace, or those of any new file.
  struct stat old {};
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const mode_t mode = ::stat(target.c_str(), &old) == 0 ? old.st_mode & 07777 : 0666 & ~mask;
  if (::fchmod(d.fd, mode) != 0) throw cannot_write(path, std::strerror(errno));
  const int fd = d.fd;
  d.fd = -1;
  if (::close(fd) != 0) throw cannot_write(path, std::strerror(errno));
}

void OutputFiles::add(const std::string& path, std::string_view contents) {
  add(path, std::span(reinterpret_cast<const uint8_t*>(contents.data()), contents.size()));
}

void OutputFiles::commit() {
  const SignalsWait all_or_none;
  while (!staged_.empty()) {
    const Staged& s = staged_.front();
    if (::rename(s.temporary.path(), s.path.c_str()) != 0) throw cannot_write(s.path, std::strerror(errno));
    forget_temporary(s.temporary);
    staged_.erase(staged_.begin());
  }
}

}  // namespace spirograd::io
