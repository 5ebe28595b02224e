// Windows.
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "vk_runtime/system.h"

namespace spirograd::vk {

System this_system() { return System::Windows; }

// The system's folder alone: a library of that name beside a document is not the loader.
void* open_library(const char* name) { return ::LoadLibraryExA(name, nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS); }
void* symbol_of(void* library, const char* name) {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name));
}
int duplicated_descriptor(int) { return -1; }
void close_descriptor(int) {}
int this_process() { return static_cast<int>(::GetCurrentProcessId()); }

// Libraries may have environments of their own here.
bool with_variable(const char*, const char*, const std::function<void()>&) { return false; }

void with_threads_apart(const std::function<void()>& f) { f(); }

namespace {

std::filesystem::path native(const std::string& utf8) { return std::u8string(utf8.begin(), utf8.end()); }

}  // namespace

// Folders of a user are closed to others; who may write a file is not looked at.
std::optional<std::vector<uint8_t>> read_own_file(const std::string& utf8, uint64_t most) {
  const std::filesystem::path path = native(utf8);
  std::error_code error;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, error))) return std::nullopt;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error || size > most) return std::nullopt;
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()))) return std::nullopt;
  return bytes;
}

bool replace_file(const std::string& utf8, std::span<const uint8_t> bytes) {
  const std::filesystem::path path = native(utf8);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::filesystem::path temporary = path;
  temporary += "." + std::to_string(std::random_device()());
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();  // a file that is open cannot be renamed
  if (file && ::MoveFileExW(temporary.c_str(), path.c_str(), MOVEFILE_REPLACE_EXISTING)) return true;
  std::filesystem::remove(temporary, error);
  return false;
}

}  // namespace spirograd::vk
