// POSIX systems: Linux, Android, macOS.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "tools/io/system.h"

namespace spirograd::io {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  /// False if the system could not keep what was written.
  bool close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

std::error_code last_error() { return {errno, std::generic_category()}; }

std::error_code write_all(const Descriptor& d, std::span<const uint8_t> contents) {
  while (!contents.empty()) {
    const ssize_t n = ::write(d.get(), contents.data(), contents.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return last_error();
    contents = contents.subspan(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

bool stderr_is_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && term && std::string_view(term) != "dumb";
}

uint64_t host_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(bytes) : UINT64_MAX;
}

size_t drive_length(std::string_view) { return 0; }

bool names_stream(std::string_view path) { return path.starts_with("/dev/") || path.starts_with("/proc/self/fd/"); }

std::error_code writable(const std::string& path) {
  return ::access(path.c_str(), W_OK) == 0 ? std::error_code() : last_error();
}

std::optional<std::string> identity_of(const std::string& path) {
  struct stat info {};
  if ((path == "-" ? ::fstat(STDOUT_FILENO, &info) : ::stat(path.c_str(), &info)) != 0) return std::nullopt;
  return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
}

std::error_code write_stream(const std::string& path, std::span<const uint8_t> contents) {
  const Descriptor d(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return d ? write_all(d, contents) : last_error();
}

std::error_code write_new_file(const std::string& path, std::span<const uint8_t> contents, const std::string& place) {
  Descriptor d(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!d) return last_error();
  if (const std::error_code error = write_all(d, contents)) return error;
  struct stat old {};
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const mode_t mode = ::stat(place.c_str(), &old) == 0 ? old.st_mode & 07777 : 0666 & ~mask;
  if (::fchmod(d.get(), mode) != 0 || !d.close()) return last_error();
  return {};
}

void on_end_request(void (*handler)(int request)) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old {};
    if (::sigaction(number, nullptr, &old) != 0 || (old.sa_flags & SA_SIGINFO) || old.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = handler;
    ours.sa_flags = SA_RESTART;
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(number, &ours, nullptr);
  }
}

void end_process(int request) {
  ::signal(request, SIG_DFL);
  ::raise(request);
}

void remove_file(const char* path) { ::unlink(path); }

}  // namespace spirograd::io
