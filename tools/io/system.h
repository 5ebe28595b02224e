// What the file formats and the command-line tool need of the operating system, each in one file: system_posix.cpp,
// system_windows.cpp. Paths are UTF-8.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace spirograd::io {

/// Whether stderr is a terminal that understands escape codes.
bool stderr_is_terminal();

/// Bytes of the machine's memory; UINT64_MAX if that is not known.
uint64_t host_memory();

/// Length of the drive that a path begins with, whose colon separates nothing: 2 of "C:\x.npy" on Windows; else 0.
size_t drive_length(std::string_view path);

/// Names that are written to as they are, whatever they lead to: "/dev/stdout", "NUL".
bool names_stream(std::string_view path);

/// Whether this user may write to a file, or into a folder, that exists.
std::error_code writable(const std::string& path);

/// The same text for all names of an existing file, links followed; "-" is stdout.
std::optional<std::string> identity_of(const std::string& path);

/// Writes to a device or pipe.
std::error_code write_stream(const std::string& path, std::span<const uint8_t> contents);
/// Makes a file that is not there yet, private while it is written. Complete, it has the rights of the file `place`, or,
/// where there is none, those of any new one.
std::error_code write_new_file(const std::string& path, std::span<const uint8_t> contents, const std::string& place);

/// From now on requests to end the process (SIGINT, SIGTERM, SIGHUP; Ctrl-C, Ctrl-Break) go to `handler`, in a context where
/// little is allowed: that of a POSIX signal handler. Not those that the process has chosen to handle or to ignore.
void on_end_request(void (*handler)(int request));
/// Ends the process as the request would have.
void end_process(int request);
/// Removes a file; allowed in a handler.
void remove_file(const char* path);

}  // namespace spirograd::io
