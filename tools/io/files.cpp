#include "tools/io/files.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>

#include "frontend/base/characters.h"
#include "spirograd/result.h"
#include "tools/io/system.h"
#include "tools/io/temporary_files.h"
#include "tools/io/utf8.h"

namespace spirograd::io {
namespace {

namespace fs = std::filesystem;

// Pipes and devices may never end.
constexpr size_t kMaxStream = size_t{1} << 30;

Error cannot_write(const std::string& path, const std::string& why) {
  return Error("SG0505", "cannot write " + in_quotes(path) + ": " + why);
}
Error cannot_write(const std::string& path, std::error_code why) { return cannot_write(path, why.message()); }

// Renaming over a symbolic link would replace the link, so it is followed first.
fs::path target_of(const std::string& path) {
  std::error_code failed;
  fs::path at = native(path);
  for (int links = 0; links < 40 && fs::is_symlink(at, failed); ++links) {  // also where nothing stands at the end
    const fs::path next = fs::read_symlink(at, failed);
    if (failed) return native(path);
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return at;
}

fs::path folder_of(const fs::path& p) { return p.has_parent_path() ? p.parent_path() : fs::path("."); }

// Devices and pipes (/dev/null, /dev/stdout) are written to, not replaced; so are streams that lead to a file.
bool is_special(const std::string& path) {
  if (names_stream(path)) return true;
  std::error_code ignored;
  const fs::file_status s = fs::status(native(path), ignored);
  return fs::exists(s) && !fs::is_regular_file(s) && !fs::is_directory(s);
}

std::string random_suffix() {
  std::random_device source;
  std::string out = ".";
  for (int j = 0; j < 12; ++j) out += "abcdefghijklmnopqrstuvwxyz012345"[source() % 32];
  return out;
}

}  // namespace

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(native(path), ignored);
}

std::vector<uint8_t> read_file(const std::string& path) {
  const auto fail = [&](std::error_code why) -> Error {
    return Error("SG0504", "cannot read " + in_quotes(path) + ": " + why.message());
  };
  const auto last_error = [] { return std::error_code(errno ? errno : EIO, std::generic_category()); };
  errno = 0;
  std::ifstream file(native(path), std::ios::binary);
  if (!file) throw fail(last_error());
  std::error_code error;
  const fs::file_status status = fs::status(native(path), error);
  if (fs::is_directory(status)) throw fail(std::make_error_code(std::errc::is_a_directory));
  // The size is a first guess only: pipes have none, and files can change.
  const bool regular = fs::is_regular_file(status);
  const uintmax_t size = regular ? fs::file_size(native(path), error) : 65535;
  std::vector<uint8_t> out(error ? 65536 : static_cast<size_t>(size) + 1);
  size_t have = 0;
  while (file) {
    if (!regular && have > kMaxStream)
      throw Error("SG0504", "cannot read " + in_quotes(path) + ": it is no regular file and does not end");
    if (have == out.size()) out.resize(out.size() * 2);
    file.read(reinterpret_cast<char*>(out.data() + have), static_cast<std::streamsize>(out.size() - have));
    have += static_cast<size_t>(file.gcount());
  }
  if (file.bad()) throw fail(last_error());
  out.resize(have);
  return out;
}

void check_writable(const std::string& path) {
  if (path.empty()) throw Error("SG0505", "the name of an output file is empty");
  std::error_code ignored;
  if (fs::is_directory(native(path), ignored) || !native(path).has_filename()) throw cannot_write(path, "it is a folder");
  if (is_special(path)) return;
  const fs::path target = target_of(path), folder = folder_of(target);
  if (!fs::is_directory(folder, ignored))
    throw cannot_write(path, "there is no folder " + in_quotes(utf8(folder))).hint("mkdir -p " + utf8(folder));
  if (const std::error_code error = writable(utf8(folder))) throw cannot_write(path, error);
  if (!fs::exists(target, ignored)) return;
  if (const std::error_code error = writable(utf8(target))) throw cannot_write(path, error);
}

std::string file_identity(const std::string& path) {
  if (const auto known = identity_of(path)) return *known;
  std::error_code ignored;
  return utf8(fs::weakly_canonical(fs::absolute(target_of(path), ignored), ignored));
}

OutputFiles::~OutputFiles() {
  for (const Staged& s : staged_) remove_temporary(s.temporary);
}

void OutputFiles::add(const std::string& path, std::span<const uint8_t> contents) {
  check_writable(path);
  if (is_special(path)) {
    if (const std::error_code error = write_stream(path, contents)) throw cannot_write(path, error);
    return;
  }
  const fs::path target = target_of(path);
  // Noted before it exists, so that no signal can come in between.
  staged_.reserve(staged_.size() + 1);  // so that it is ours to remove as soon as it exists
  const Temporary temporary =
      note_temporary(utf8(folder_of(target) / native("." + utf8(target.filename()) + random_suffix())));
  staged_.push_back({temporary, utf8(target)});
  if (const std::error_code error = write_new_file(temporary.path(), contents, utf8(target)))
    throw cannot_write(path, error);
}

void OutputFiles::add(const std::string& path, std::string_view contents) {
  add(path, std::span(reinterpret_cast<const uint8_t*>(contents.data()), contents.size()));
}

void OutputFiles::commit() {
  const SignalsWait all_or_none;
  while (!staged_.empty()) {
    const Staged& s = staged_.front();
    std::error_code error;
    fs::rename(native(s.temporary.path()), native(s.path), error);
    if (error) throw cannot_write(s.path, error);
    forget_temporary(s.temporary);
    staged_.erase(staged_.begin());
  }
}

}  // namespace spirograd::io
