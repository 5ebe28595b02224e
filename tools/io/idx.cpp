#include "tools/io/idx.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <new>

namespace spirograd::io {
namespace {

Error bad_idx(const std::string& where, const std::string& why) {
  return Error("SG0501", where + " is no valid IDX file: " + why);
}

struct IdxType {
  uint8_t code;
  char kind;
  int width;
};
constexpr IdxType kIdxTypes[] = {{8, 'u', 1}, {9, 'i', 1}, {11, 'i', 2}, {12, 'i', 4}, {13, 'f', 4}, {14, 'f', 8}};

bool is_gzip(const std::vector<uint8_t>& contents) {
  return contents.size() >= 2 && contents[0] == 0x1f && contents[1] == 0x8b;
}

// At most `most` bytes of what is packed.
std::vector<uint8_t> unpacked(const std::vector<uint8_t>& packed, size_t most, const std::string& where) {
  z_stream z{};
  if (inflateInit2(&z, MAX_WBITS + 16) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_streamp)> end(&z, inflateEnd);
  std::vector<uint8_t> out;
  size_t in = 0, filled = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END && filled < most) {
    if (filled == out.size()) out.resize(std::min(most, std::max<size_t>(65536, 2 * out.size())));
    z.next_in = const_cast<Bytef*>(packed.data() + in);
    z.avail_in = static_cast<uInt>(std::min<size_t>(packed.size() - in, 1u << 30));
    z.next_out = out.data() + filled;
    z.avail_out = static_cast<uInt>(std::min<size_t>(out.size() - filled, 1u << 30));
    const uInt given = z.avail_in, offered = z.avail_out;
    status = inflate(&z, Z_NO_FLUSH);
    in += given - z.avail_in;
    filled += offered - z.avail_out;
    if (status != Z_OK && status != Z_STREAM_END)
      throw bad_idx(where, in == packed.size() ? "its gzip data end early" : "its gzip data are damaged");
  }
  out.resize(filled);
  return out;
}

struct IdxHeader {
  IdxType type;
  size_t length;  // of the header
  Shape shape;
  uint64_t bytes;  // of the data
};

IdxHeader header_of(const std::vector<uint8_t>& file, const std::string& where) {
  if (file.size() < 4) throw bad_idx(where, "it is too short");
  if (file[0] != 0 || file[1] != 0) throw bad_idx(where, "it does not begin with two zeros");
  const auto type = std::ranges::find_if(kIdxTypes, [&](const IdxType& t) { return t.code == file[2]; });
  if (type == std::end(kIdxTypes)) throw bad_idx(where, "element type " + std::to_string(file[2]) + " is unknown");
  const size_t rank = file[3];
  if (rank > static_cast<size_t>(kMaxUserRank))
    throw Error("SG0501", where + " has " + std::to_string(rank) + " axes, more than " + std::to_string(kMaxUserRank));
  IdxHeader h{*type, 4 + 4 * rank, {}, static_cast<uint64_t>(type->width)};
  if (file.size() < h.length) throw bad_idx(where, "it is too short");
  uint64_t bound = h.bytes;
  for (size_t j = 0; j < rank; ++j) {
    uint64_t extent = 0;
    for (size_t k = 0; k < 4; ++k) extent = extent << 8 | file[4 + 4 * j + k];
    if (extent != 0 && bound > (uint64_t{1} << 62) / extent) throw bad_idx(where, "its shape is too large");
    bound *= std::max<uint64_t>(extent, 1);
    h.bytes *= extent;
    h.shape.push_back(static_cast<int64_t>(extent));
  }
  return h;
}

}  // namespace

bool is_idx(const std::string& path) {
  std::string name = path.substr(path.find_last_of("/\\") + 1);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name.ends_with(".idx") || name.ends_with("-ubyte");
}

FileArray parse_idx(const std::vector<uint8_t>& contents, const std::string& where) {
  const bool packed = is_gzip(contents);
  constexpr size_t kLongestHeader = 4 + 4 * 255;
  const IdxHeader h = header_of(packed ? unpacked(contents, kLongestHeader, where) : contents, where);
  const uint64_t whole = h.length + h.bytes;
  std::vector<uint8_t> inflated;
  if (packed) inflated = unpacked(contents, static_cast<size_t>(whole) + 1, where);
  const std::vector<uint8_t>& file = packed ? inflated : contents;
  if (file.size() != whole)
    throw bad_idx(where, "shape " + to_string(h.shape) + " needs " + std::to_string(h.bytes) + " bytes of data, it has " +
                             (packed && file.size() > whole ? "more" : std::to_string(file.size() - h.length)))
        .hint(file.size() < whole ? "the file is incomplete: copy or save it again" : "");
  FileArray a;
  a.kind = h.type.kind;
  a.width = h.type.width;
  a.shape = h.shape;
  a.bytes.assign(file.begin() + static_cast<std::ptrdiff_t>(h.length), file.end());
  const size_t w = static_cast<size_t>(a.width);
  for (size_t at = 0; at + w <= a.bytes.size(); at += w)
    std::reverse(a.bytes.begin() + static_cast<std::ptrdiff_t>(at), a.bytes.begin() + static_cast<std::ptrdiff_t>(at + w));
  return a;
}

std::vector<uint8_t> idx_bytes(const HostArray& a) {
  uint8_t code = 0;
  switch (a.type.dtype) {
    case DType::Bool: code = 8; break;
    case DType::I32: code = 12; break;
    case DType::F32: code = 13; break;
    case DType::F64: code = 14; break;
    case DType::U32: throw Error("SG0508", "an IDX file has no u32 elements").hint("write a .npy file, or i32(x)");
    case DType::F16: throw Error("SG0508", "an IDX file has no f16 elements").hint("write a .npy file, or f32(x)");
  }
  std::vector<uint8_t> out = {0, 0, code, static_cast<uint8_t>(a.type.shape.rank())};
  for (const int64_t extent : a.type.shape) {
    if (extent > 0xffffffff) throw Error("SG0508", "an extent of " + std::to_string(extent) + " does not fit an IDX file");
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(extent >> shift));
  }
  const size_t width = host_bytes(a.type.dtype);
  for (size_t at = 0; at < a.bytes.size(); at += width)
    for (size_t k = width; k-- > 0;) out.push_back(a.bytes[at + k]);
  return out;
}

}  // namespace spirograd::io
