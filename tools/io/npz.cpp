// After PKWARE's APPNOTE 6.3: sections 4.3.7 (local header), 4.3.12 (central directory), 4.3.14 to 4.3.16 (its end), 4.5.3
// (zip64).
#include "tools/io/npz.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <new>
#include <unordered_set>

#include "frontend/base/near_name.h"

namespace spirograd::io {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr uint64_t kEndBytes = 22, kCentralBytes = 46, kLocalBytes = 30, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr uint64_t kMax16 = 0xffff, kMax32 = 0xffffffff;
// Deflate makes at most 1032 bytes of one.
constexpr uint64_t kMaxRatio = 1032;

// zlib counts in 32 bits.
template <class F>
void in_parts(uint64_t size, F&& f) {
  for (uint64_t at = 0; at < size;) {
    const uint64_t n = std::min<uint64_t>(size - at, 1u << 30);
    f(at, static_cast<uInt>(n));
    at += n;
  }
}

uint32_t crc_of(std::span<const uint8_t> data) {
  uLong crc = crc32(0, nullptr, 0);
  in_parts(data.size(), [&](uint64_t at, uInt n) { crc = crc32(crc, data.data() + at, n); });
  return static_cast<uint32_t>(crc);
}

std::string array_name(const std::string& member) {
  return member.ends_with(".npy") ? member.substr(0, member.size() - 4) : member;
}

}  // namespace

NpzReader::NpzReader(std::vector<uint8_t> contents, std::string where)
    : file_(std::move(contents)), where_(std::move(where)) {
  read_directory();
}

Error NpzReader::malformed(const std::string& why) const {
  return Error("SG0501", where_ + " is no valid .npz file: " + why);
}

uint64_t NpzReader::number(uint64_t at, int bytes) const {
  if (at > file_.size() || file_.size() - at < static_cast<uint64_t>(bytes)) throw malformed("it is truncated");
  uint64_t x = 0;
  for (int i = bytes; i-- > 0;) x = x << 8 | file_[at + static_cast<uint64_t>(i)];
  return x;
}

void NpzReader::read_directory() {
  if (file_.size() < kEndBytes) throw malformed("it is too short");
  // The end record stands last, before a comment of at most 65535 bytes.
  uint64_t end = file_.size() - kEndBytes;
  const uint64_t lowest = end > kMax16 ? end - kMax16 : 0;
  while (number(end, 4) != kEnd || end + kEndBytes + number(end + 20, 2) != file_.size()) {
    if (end == lowest) throw malformed("it has no zip directory");
    --end;
  }
  uint64_t count = number(end + 10, 2), bytes = number(end + 12, 4), at = number(end + 16, 4);
  if ((count == kMax16 || bytes == kMax32 || at == kMax32) && end >= kLocator64Bytes &&
      number(end - kLocator64Bytes, 4) == kLocator64) {
    const uint64_t end64 = number(end - kLocator64Bytes + 8, 8);
    if (end64 > end || end - end64 < kEnd64Bytes || number(end64, 4) != kEnd64)
      throw malformed("its zip64 directory is missing");
    count = number(end64 + 32, 8);
    bytes = number(end64 + 40, 8);
    at = number(end64 + 48, 8);
  }
  if (at > end || bytes > end - at || count > bytes / kCentralBytes)
    throw malformed("its directory does not lie inside the file");
  const uint64_t directory_end = at + bytes;
  std::unordered_set<std::string> seen;
  for (; count > 0; --count) {
    if (directory_end - at < kCentralBytes || number(at, 4) != kCentral) throw malformed("its directory is damaged");
    Member m;
    m.flags = static_cast<uint16_t>(number(at + 8, 2));
    m.method = static_cast<uint16_t>(number(at + 10, 2));
    m.crc = static_cast<uint32_t>(number(at + 16, 4));
    m.packed = number(at + 20, 4);
    m.size = number(at + 24, 4);
    m.header_at = number(at + 42, 4);
    const uint64_t name = number(at + 28, 2), extra = number(at + 30, 2), comment = number(at + 32, 2);
    at += kCentralBytes;
    if (directory_end - at < name + extra + comment) throw malformed("its directory is damaged");
    m.name.assign(file_.begin() + static_cast<std::ptrdiff_t>(at), file_.begin() + static_cast<std::ptrdiff_t>(at + name));
    read_zip64(m, at + name, at + name + extra);
    if (!seen.insert(m.name).second) throw malformed("it holds '" + m.name + "' twice");
    members_.push_back(std::move(m));
    at += name + extra + comment;
  }
}

// Fields that do not fit 32 bits are in the extra field with id 1, in this order.
void NpzReader::read_zip64(Member& m, uint64_t at, uint64_t end) const {
  while (end - at >= 4) {
    const uint64_t id = number(at, 2), bytes = number(at + 2, 2);
    at += 4;
    if (bytes > end - at) throw malformed("its directory is damaged");
    const uint64_t next = at + bytes;
    if (id == 1)
      for (uint64_t* field : {&m.size, &m.packed, &m.header_at}) {
        if (*field != kMax32) continue;
        if (next - at < 8) throw malformed("its directory is damaged");
        *field = number(at, 8);
        at += 8;
      }
    at = next;
  }
}

std::vector<std::string> NpzReader::names() const {
  std::vector<std::string> out;
  for (const Member& m : members_) out.push_back(array_name(m.name));
  return out;
}

FileArray NpzReader::read(const std::string& name) const {
  const auto it = std::find_if(members_.begin(), members_.end(),
                               [&](const Member& m) { return array_name(m.name) == name || m.name == name; });
  if (it == members_.end()) {
    std::string all;
    const size_t n_told = std::min<size_t>(members_.size(), 20);
    for (size_t j = 0; j < n_told; ++j) all += (j ? ", " : "") + array_name(members_[j].name);
    if (n_told < members_.size()) all += " and " + std::to_string(members_.size() - n_told) + " more";
    throw Error("SG0503", where_ + " holds no array '" + name + "'")
        .note("it holds: " + (all.empty() ? "nothing" : all))
        .hint(did_you_mean(name, names()));
  }
  const Member& m = *it;
  if (m.flags & 1) throw malformed("'" + m.name + "' is encrypted");
  if (m.header_at > file_.size() || number(m.header_at, 4) != kLocal)
    throw malformed("'" + m.name + "' is not where its directory says");
  const uint64_t at = m.header_at + kLocalBytes + number(m.header_at + 26, 2) + number(m.header_at + 28, 2);
  if (at > file_.size() || m.packed > file_.size() - at) throw malformed("'" + m.name + "' is truncated");
  std::vector<uint8_t> data;
  if (m.method == 0) {
    if (m.size != m.packed) throw malformed("'" + m.name + "' has two sizes");
    data.assign(file_.begin() + static_cast<std::ptrdiff_t>(at), file_.begin() + static_cast<std::ptrdiff_t>(at + m.packed));
  } else if (m.method == 8) {
    data = inflated(m, at);
  } else {
    throw malformed("'" + m.name + "' is packed with method " + std::to_string(m.method) +
                    "; stored and deflated members are read");
  }
  if (crc_of(data) != m.crc) throw malformed("the checksum of '" + m.name + "' is wrong");
  return parse_npy(std::move(data), where_ + ":" + array_name(m.name));
}

std::vector<uint8_t> NpzReader::inflated(const Member& m, uint64_t at) const {
  if (m.size / kMaxRatio > m.packed)
    throw malformed("'" + m.name + "' claims to unpack to " + std::to_string(m.size) + " bytes");
  std::vector<uint8_t> out(m.size);
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_streamp)> end(&z, inflateEnd);
  uint64_t in = 0, filled = 0;
  uint8_t surplus = 0;  // zlib wants a place for output even where none is left
  int status = Z_OK;
  while (status == Z_OK) {
    z.next_in = const_cast<Bytef*>(file_.data() + at + in);
    z.avail_in = static_cast<uInt>(std::min<uint64_t>(m.packed - in, 1u << 30));
    const uInt room = static_cast<uInt>(std::min<uint64_t>(m.size - filled, 1u << 30));
    z.next_out = room ? out.data() + filled : &surplus;
    z.avail_out = room ? room : 1;
    const uInt given = z.avail_in, offered = z.avail_out;
    status = inflate(&z, Z_NO_FLUSH);
    in += given - z.avail_in;
    filled += offered - z.avail_out;
    if (filled > m.size) break;
  }
  if (status != Z_STREAM_END || filled != m.size || in != m.packed)
    throw malformed("the packed data of '" + m.name + "' are damaged");
  return out;
}

std::vector<uint8_t> npz_bytes(const std::vector<std::pair<std::string, HostArray>>& arrays) {
  std::vector<uint8_t> out, directory;
  const auto put = [](std::vector<uint8_t>& to, uint64_t x, int bytes) {
    for (int i = 0; i < bytes; ++i) to.push_back(static_cast<uint8_t>(x >> (8 * i)));
  };
  for (const auto& [name, array] : arrays) {
    const std::vector<uint8_t> data = npy_bytes(array);
    const std::string member = name + ".npy";
    const uint32_t crc = crc_of(data);
    const uint64_t header_at = out.size();
    // Both headers: version needed, flags, method, time, date (1980-01-01), checksum, sizes (in the zip64 field), name,
    // extra.
    const auto common = [&](std::vector<uint8_t>& to, uint64_t extra) {
      for (uint64_t x : {uint64_t{45}, uint64_t{0}, uint64_t{0}, uint64_t{0}, uint64_t{0x21}}) put(to, x, 2);
      for (uint64_t x : {uint64_t{crc}, kMax32, kMax32}) put(to, x, 4);
      put(to, member.size(), 2);
      put(to, extra, 2);
    };
    const auto zip64 = [&](std::vector<uint8_t>& to, std::initializer_list<uint64_t> fields) {
      put(to, 1, 2);
      put(to, 8 * fields.size(), 2);
      for (uint64_t x : fields) put(to, x, 8);
    };
    put(out, kLocal, 4);
    common(out, 20);
    out.insert(out.end(), member.begin(), member.end());
    zip64(out, {data.size(), data.size()});
    out.insert(out.end(), data.begin(), data.end());

    put(directory, kCentral, 4);
    put(directory, 45, 2);
    common(directory, 28);
    for (int bytes : {2, 2, 2, 4}) put(directory, 0, bytes);  // comment, disk, attributes
    put(directory, kMax32, 4);
    directory.insert(directory.end(), member.begin(), member.end());
    zip64(directory, {data.size(), data.size(), header_at});
  }
  const uint64_t directory_at = out.size(), n = arrays.size();
  out.insert(out.end(), directory.begin(), directory.end());
  const uint64_t end64 = out.size();
  put(out, kEnd64, 4);
  put(out, kEnd64Bytes - 12, 8);
  for (int i = 0; i < 2; ++i) put(out, 45, 2);
  for (int i = 0; i < 2; ++i) put(out, 0, 4);
  for (uint64_t x : {n, n, uint64_t{directory.size()}, directory_at}) put(out, x, 8);
  put(out, kLocator64, 4);
  put(out, 0, 4);
  put(out, end64, 8);
  put(out, 1, 4);
  put(out, kEnd, 4);
  put(out, 0, 4);
  for (int i = 0; i < 2; ++i) put(out, kMax16, 2);
  for (int i = 0; i < 2; ++i) put(out, kMax32, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace spirograd::io
