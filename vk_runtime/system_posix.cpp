// POSIX systems: Linux, Android, macOS.
#include <dlfcn.h>
#include <fcntl.h>
#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "vk_runtime/errors.h"
#include "vk_runtime/system.h"

#ifdef __APPLE__
#include <crt_externs.h>
#else
extern char** environ;
#endif

namespace spirograd::vk {
namespace {

char**& environment() {
#ifdef __APPLE__
  return *_NSGetEnviron();
#else
  return environ;
#endif
}

}  // namespace

System this_system() {
#ifdef __APPLE__
  return System::MacOS;
#else
  return System::Linux;
#endif
}

void* open_library(const char* name) { return ::dlopen(name, RTLD_NOW | RTLD_LOCAL); }
void* symbol_of(void* library, const char* name) { return ::dlsym(library, name); }
int this_process() { return static_cast<int>(::getpid()); }
int duplicated_descriptor(int fd) { return ::fcntl(fd, F_DUPFD_CLOEXEC, 0); }
void close_descriptor(int fd) {
  if (fd >= 0) ::close(fd);
}

// Another list is put in the place of the environment's, and kept, for other threads may be reading it: setenv would free
// what they read.
bool with_variable(const char* name, const char* value, const std::function<void()>& f) {
  if (std::getenv(name)) return false;
  struct List {
    std::string text;
    std::vector<char*> entries;
  };
  static std::mutex mutex;
  static auto& kept = *new std::deque<List>;
  const std::lock_guard lock(mutex);
  List& list = kept.emplace_back();
  list.text = std::string(name) + "=" + value;
  char** const before = environment();
  for (char** entry = before; entry && *entry; ++entry) list.entries.push_back(*entry);
  list.entries.push_back(list.text.data());
  list.entries.push_back(nullptr);
  environment() = list.entries.data();
  const Defer restore([&] {
    if (environment() == list.entries.data())
      environment() = before;
    else
      ::unsetenv(name);  // somebody has set another one meanwhile
  });
  f();
  return true;
}

#ifdef __linux__
namespace {

constexpr char kApart[] = "spirograd-apart";

std::vector<pid_t> threads_apart() {
  std::vector<pid_t> out;
  std::error_code error;
  for (std::filesystem::directory_iterator task("/proc/self/task", error), end; !error && task != end;
       task.increment(error)) {
    std::ifstream file(task->path() / "comm");
    std::string name;
    if (std::getline(file, name) && name == kApart) out.push_back(static_cast<pid_t>(std::stol(task->path().filename())));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

// A thread inherits the name of the one that starts it, which tells those that are meant from all others. Drivers start a
// few more before those that compute.
void with_threads_apart(const std::function<void()>& f) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const std::vector<pid_t> old = threads_apart();
  {
    char name[16] = {};
    ::prctl(PR_GET_NAME, name);
    ::prctl(PR_SET_NAME, kApart);
    const Defer restore([&] { ::prctl(PR_SET_NAME, name); });
    f();
  }
  std::vector<pid_t> threads;
  const std::vector<pid_t> all = threads_apart();
  std::set_difference(all.begin(), all.end(), old.begin(), old.end(), std::back_inserter(threads));
  cpu_set_t mine;
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return;
  const auto processors = static_cast<size_t>(CPU_COUNT(&mine));
  if (processors < 2 || threads.size() < processors) return;
  size_t next = threads.size() - processors;
  for (int cpu = 0; cpu < CPU_SETSIZE && next < threads.size(); ++cpu) {
    if (!CPU_ISSET(cpu, &mine)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::sched_setaffinity(threads[next++], sizeof one, &one);
  }
}
#else
void with_threads_apart(const std::function<void()>& f) { f(); }
#endif

namespace {

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// The bytes go to a driver, so nobody else may have written them.
bool is_trusted(const struct stat& info) {
  return S_ISREG(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
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

std::optional<std::vector<uint8_t>> read_own_file(const std::string& path, uint64_t most) {
  // A pipe would block when it is opened, a link may lead to a device that never ends.
  const Descriptor d{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)};
  struct stat info {};
  if (d.fd < 0 || ::fstat(d.fd, &info) != 0 || !is_trusted(info)) return std::nullopt;
  if (static_cast<uint64_t>(info.st_size) > most) return std::nullopt;
  std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size));
  for (size_t have = 0; have < bytes.size();) {
    const ssize_t n = ::read(d.fd, bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    have += static_cast<size_t>(n);
  }
  return bytes;
}

bool replace_file(const std::string& path, std::span<const uint8_t> bytes) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  // A name that nobody can foresee, and a file that did not exist before and is private.
  std::string temporary = path + ".XXXXXX";
  const Descriptor d{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (d.fd < 0) return false;
  // Renaming replaces whatever stands there, but for folders: these stay.
  if (write_all(d.fd, bytes) && ::rename(temporary.c_str(), path.c_str()) == 0) return true;
  ::unlink(temporary.c_str());
  return false;
}

}  // namespace spirograd::vk
