// What differs between operating systems, each in one file: system_posix.cpp, system_windows.cpp. And the names under which
// they know the Vulkan loader, as a table that any of them can test. Paths are UTF-8.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spirograd::vk {

enum class System : uint8_t { Linux, MacOS, Windows };
System this_system();

/// Libraries that may export vkGetInstanceProcAddr, in the order in which they are tried: the loader by itself, then in the
/// folders where it is usually installed, and last a driver that may take its place.
std::span<const char* const> loader_names(System);
/// What to do where a part of Vulkan is missing.
enum class Part : uint8_t { Loader, Driver, ValidationLayer };
std::string_view install_hint(Part, System);
std::string install_hint(Part);  // on this system

/// Stays open until the process ends. Null where there is none, or the file is no library.
void* open_library(const char* name);
void* symbol_of(void* library, const char* name);

/// Number of this process.
int this_process();

/// Calls `f` while the environment of this process has that variable; false, and nothing is called, where it has one of that
/// name already or there is no way to lend it one. Other threads see it as well, and nothing that they read is freed.
bool with_variable(const char* name, const char* value, const std::function<void()>& f);

/// Calls `f`. Threads that this one starts meanwhile get a processor each, if there are as many as this one may run on: some
/// systems wake two of them on one processor and leave the other idle for milliseconds. Nothing else happens where the
/// system knows of no such thing.
void with_threads_apart(const std::function<void()>& f);

/// Another descriptor of the same open file; -1 where that is none, or the system has no such thing.
int duplicated_descriptor(int fd);
/// Nothing of -1.
void close_descriptor(int fd);

/// The contents of a file that nobody but this user can have written, of `most` bytes at most; else nothing. Never blocks.
std::optional<std::vector<uint8_t>> read_own_file(const std::string& path, uint64_t most);
/// Puts a file that only this user may read in the place of another, or of none, at once: nobody sees half of it. Makes the
/// folder. False where that failed.
bool replace_file(const std::string& path, std::span<const uint8_t> bytes);

}  // namespace spirograd::vk
