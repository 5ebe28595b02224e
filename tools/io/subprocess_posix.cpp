#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "spirograd/result.h"
#include "tools/io/subprocess.h"

extern char** environ;

namespace spirograd::io {
namespace {

[[noreturn]] void cannot_start(const std::string& program, int error) {
  throw Error("SG0504", "cannot start '" + program + "': " + std::strerror(error));
}

}  // namespace

Ended run_process(const std::string& program, const std::vector<std::string>& arguments,
                  const std::function<void(const std::string&)>& line) {
  int ends[2];
  if (::pipe(ends) != 0) cannot_start(program, errno);
  const std::unique_ptr<FILE, int (*)(FILE*)> out(::fdopen(ends[0], "r"), &std::fclose);
  ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), program);
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) cannot_start(program, error);
  char* text = nullptr;
  size_t room = 0;
  for (ssize_t n = 0; (n = ::getline(&text, &room, out.get())) > 0;)
    line(std::string(text, static_cast<size_t>(text[n - 1] == '\n' ? n - 1 : n)));
  std::free(text);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return {WEXITSTATUS(status), ""};
  const int number = WTERMSIG(status);
  return {128 + number, "signal " + std::to_string(number) + " (" + ::strsignal(number) + ")"};
}

std::string own_program() {
#ifdef __APPLE__
  std::string path(4096, '\0');
  auto size = static_cast<uint32_t>(path.size());
  if (::_NSGetExecutablePath(path.data(), &size) == 0) return path.c_str();
  return "";
#else
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
#endif
}

}  // namespace spirograd::io
