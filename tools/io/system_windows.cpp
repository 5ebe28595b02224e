// Windows.
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <algorithm>
#include <atomic>

#include "tools/io/system.h"
#include "tools/io/utf8.h"

namespace spirograd::io {
namespace {

class Handle {
 public:
  explicit Handle(HANDLE h) : handle_(h) {}
  ~Handle() {
    if (*this) ::CloseHandle(handle_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  explicit operator bool() const { return handle_ != INVALID_HANDLE_VALUE; }
  HANDLE get() const { return handle_; }

 private:
  HANDLE handle_;
};

std::error_code last_error() { return {static_cast<int>(::GetLastError()), std::system_category()}; }

std::error_code write_all(const Handle& h, std::span<const uint8_t> contents) {
  while (!contents.empty()) {
    DWORD n = 0;
    if (!::WriteFile(h.get(), contents.data(), static_cast<DWORD>(std::min<size_t>(contents.size(), 1 << 30)), &n, nullptr))
      return last_error();
    contents = contents.subspan(n);
  }
  return {};
}

std::atomic<void (*)(int)> end_handler{nullptr};

BOOL WINAPI on_control(DWORD event) {
  if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) return FALSE;
  end_handler.load()(static_cast<int>(event));
  return TRUE;
}

}  // namespace

bool stderr_is_terminal() {
  const HANDLE console = ::GetStdHandle(STD_ERROR_HANDLE);
  DWORD mode = 0;
  return ::GetConsoleMode(console, &mode) && ::SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

uint64_t host_memory() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  return ::GlobalMemoryStatusEx(&status) ? status.ullTotalPhys : UINT64_MAX;
}

size_t drive_length(std::string_view path) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return path.size() > 2 && is_letter(path[0]) && path[1] == ':' && (path[2] == '\\' || path[2] == '/') ? 2 : 0;
}

bool names_stream(std::string_view path) { return path == "NUL" || path == "CON" || path.starts_with("\\\\.\\"); }

std::error_code writable(const std::string& path) {
  // Of a folder only an attempt would tell.
  const DWORD attributes = ::GetFileAttributesW(native(path).c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) return last_error();
  if ((attributes & FILE_ATTRIBUTE_READONLY) && !(attributes & FILE_ATTRIBUTE_DIRECTORY))
    return {ERROR_ACCESS_DENIED, std::system_category()};
  return {};
}

std::optional<std::string> identity_of(const std::string& path) {
  constexpr DWORD kShare = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  const bool is_stdout = path == "-";
  const Handle file(is_stdout ? INVALID_HANDLE_VALUE
                              : ::CreateFileW(native(path).c_str(), 0, kShare, nullptr, OPEN_EXISTING,
                                              FILE_FLAG_BACKUP_SEMANTICS, nullptr));  // that flag: folders too
  BY_HANDLE_FILE_INFORMATION info{};
  if (!::GetFileInformationByHandle(is_stdout ? ::GetStdHandle(STD_OUTPUT_HANDLE) : file.get(), &info)) return std::nullopt;
  return std::to_string(info.dwVolumeSerialNumber) + ":" + std::to_string(info.nFileIndexHigh) + ":" +
         std::to_string(info.nFileIndexLow);
}

std::error_code write_stream(const std::string& path, std::span<const uint8_t> contents) {
  constexpr DWORD kShare = FILE_SHARE_READ | FILE_SHARE_WRITE;
  const Handle h(::CreateFileW(native(path).c_str(), GENERIC_WRITE, kShare, nullptr, OPEN_EXISTING, 0, nullptr));
  return h ? write_all(h, contents) : last_error();
}

// Rights are those of the folder.
std::error_code write_new_file(const std::string& path, std::span<const uint8_t> contents, const std::string&) {
  const Handle h(::CreateFileW(native(path).c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr));
  return h ? write_all(h, contents) : last_error();
}

void on_end_request(void (*handler)(int request)) {
  if (end_handler.exchange(handler) == nullptr) ::SetConsoleCtrlHandler(on_control, TRUE);
}

void end_process(int) { ::ExitProcess(static_cast<UINT>(STATUS_CONTROL_C_EXIT)); }

void remove_file(const char* path) { ::DeleteFileW(native(path).c_str()); }

}  // namespace spirograd::io
