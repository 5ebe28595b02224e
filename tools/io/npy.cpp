// The header is a Python literal, {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }; read here by a strict little
// parser.
#include "tools/io/npy.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

namespace spirograd::io {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are copied as they lie in the file");

constexpr std::string_view kMagic("\x93NUMPY", 6);

Error malformed(const std::string& where, const std::string& why) {
  return Error("SG0501", where + " is no valid .npy file: " + why);
}

struct Header {
  std::string descr;
  bool fortran = false, structured = false;
  std::vector<uint64_t> shape;
};

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Header parse() {
    Header h;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        if (peek() == '[') {
          h.structured = true;
          skip_list();
        } else {
          h.descr = string();
        }
      } else if (key == "fortran_order" && !order) {
        order = true;
        h.fortran = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        h.shape = tuple();
      } else {
        throw malformed(where_, "unexpected key '" + key + "' in the header");
      }
      if (accept('}')) break;
      expect(',');
    }
    if (peek() != 0) throw malformed(where_, "text after the header");
    if (!descr || !order || !shape) throw malformed(where_, "the header lacks 'descr', 'fortran_order' or 'shape'");
    return h;
  }

 private:
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) throw malformed(where_, std::string("'") + c + "' expected in the header");
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') throw malformed(where_, "a string is expected in the header");
    const size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) throw malformed(where_, "a string in the header does not end");
    const std::string s(text_.substr(at_, end - at_));
    at_ = end + 1;
    return s;
  }
  bool boolean() {
    peek();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    throw malformed(where_, "True or False is expected in the header");
  }
  std::vector<uint64_t> tuple() {
    std::vector<uint64_t> out;
    expect('(');
    while (!accept(')')) {
      if (peek() < '0' || peek() > '9') throw malformed(where_, "an extent in the header is no number");
      uint64_t x = 0;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        if (x > (UINT64_MAX - 9) / 10) throw malformed(where_, "an extent in the header is too large");
        x = x * 10 + static_cast<uint64_t>(text_[at_] - '0');
      }
      out.push_back(x);
      if (accept(')')) break;
      expect(',');
    }
    return out;
  }
  // Structured types are refused; only their end matters.
  void skip_list() {
    int depth = 0;
    do {
      const char c = peek();
      if (c == 0) throw malformed(where_, "a list in the header does not end");
      if (c == '\'' || c == '"') {
        string();
        continue;
      }
      depth += (c == '[' || c == '(') - (c == ']' || c == ')');
      ++at_;
    } while (depth > 0);
  }

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
};

void set_type(FileArray& a, const Header& h, const std::string& where) {
  if (h.structured)
    throw Error("SG0501", where + " holds records, not numbers")
        .hint("save each field as an array of its own: np.save(\"x.npy\", a[\"x\"])");
  const std::string& d = h.descr;
  if (d.find('O') != std::string::npos)
    throw Error("SG0501", where + " holds Python objects, not numbers")
        .hint("dtype '" + d +
              "' needs pickle, which is never executed; in Python: np.save(\"x.npy\", np.asarray(x, dtype=np.float32))");
  const std::string_view supported[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"};
  const std::string_view tail = std::string_view(d).substr(d.empty() ? 0 : 1);
  bool known = false;
  for (std::string_view s : supported) known = known || tail == s;
  if (!known || std::string_view("<>|=").find(d[0]) == std::string_view::npos)
    throw Error("SG0501", where + " has the element type '" + d + "', which is not supported")
        .hint("in Python: np.save(\"x.npy\", x.astype(np.float32))");
  a.kind = d[1];
  a.width = d[2] - '0';
  if (d[0] == '>' && a.width > 1)
    throw Error("SG0501", where + " is big-endian ('" + d + "')")
        .hint("in Python: np.save(\"x.npy\", x.astype(x.dtype.newbyteorder('<')))");
}

// Data in Fortran order are row-major data of the reversed shape.
std::vector<uint8_t> to_row_major(const std::vector<uint8_t>& in, const Shape& shape, size_t width) {
  std::vector<uint8_t> out(in.size());
  std::array<int64_t, kMaxRank> at{}, step{};
  int64_t n = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    step[static_cast<size_t>(axis)] = n;
    n *= shape[axis];
  }
  int64_t from = 0;
  for (size_t to = 0; to < out.size(); to += width) {
    std::memcpy(out.data() + to, in.data() + static_cast<size_t>(from) * width, width);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto j = static_cast<size_t>(axis);
      from += step[j];
      if (++at[j] < shape[axis]) break;
      from -= step[j] * shape[axis];
      at[j] = 0;
    }
  }
  return out;
}

template <class T>
T load(const FileArray& a, size_t i) {
  T x;
  std::memcpy(&x, a.bytes.data() + i * sizeof(T), sizeof(T));
  return x;
}

struct Number {
  bool whole = false;
  int64_t integer = 0;  // if whole
  double real = 0;
};

Number element(const FileArray& a, size_t i) {
  if (a.kind == 'f')
    return {false, 0,
            a.width == 2   ? static_cast<double>(load<Half>(a, i))
            : a.width == 4 ? load<float>(a, i)
                           : load<double>(a, i)};
  const auto whole = [](auto x) { return Number{true, static_cast<int64_t>(x), static_cast<double>(x)}; };
  if (a.kind == 'b') return whole(a.bytes[i] != 0);
  if (a.kind == 'i') switch (a.width) {
      case 1: return whole(load<int8_t>(a, i));
      case 2: return whole(load<int16_t>(a, i));
      case 4: return whole(load<int32_t>(a, i));
      default: return whole(load<int64_t>(a, i));
    }
  switch (a.width) {
    case 1: return whole(load<uint8_t>(a, i));
    case 2: return whole(load<uint16_t>(a, i));
    case 4: return whole(load<uint32_t>(a, i));
    default: {
      const uint64_t x = load<uint64_t>(a, i);
      if (x <= INT64_MAX) return whole(x);
      return {false, 0, static_cast<double>(x)};
    }
  }
}

bool is_whole_in(const Number& x, double lo, double hi) {
  return x.real >= lo && x.real <= hi && x.real == std::floor(x.real);
}

// The element as `t`, or nothing if that would change its value. Floats may be rounded to shorter floats.
std::optional<double> converted(const Number& x, DType t, bool from_float) {
  switch (t) {
    case DType::Bool: return is_whole_in(x, 0, 1) ? std::optional(x.real) : std::nullopt;
    case DType::I32: return is_whole_in(x, -2147483648.0, 2147483647.0) ? std::optional(x.real) : std::nullopt;
    case DType::U32: return is_whole_in(x, 0, 4294967295.0) ? std::optional(x.real) : std::nullopt;
    case DType::F16:
    case DType::F32: {
      const double y = static_cast<double>(t == DType::F16 ? static_cast<float>(Half(x.real)) : static_cast<float>(x.real));
      if (from_float) return std::isfinite(x.real) && !std::isfinite(y) ? std::nullopt : std::optional(y);
      return x.whole && std::abs(y) < 9.3e18 && static_cast<int64_t>(y) == x.integer ? std::optional(y) : std::nullopt;
    }
    case DType::F64:
      if (from_float) return x.real;
      return x.whole && std::abs(x.real) < 9.2e18 && static_cast<int64_t>(x.real) == x.integer ? std::optional(x.real)
                                                                                               : std::nullopt;
  }
  return std::nullopt;
}

std::string text_of(const Number& x) {
  if (x.whole) return std::to_string(x.integer);
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.9g", x.real);
  return buffer;
}

std::optional<DType> same_type(const FileArray& a) {
  if (a.kind == 'b') return DType::Bool;
  if (a.kind == 'i' && a.width == 4) return DType::I32;
  if (a.kind == 'u' && a.width == 4) return DType::U32;
  if (a.kind == 'f' && a.width == 2) return DType::F16;
  if (a.kind == 'f' && a.width == 4) return DType::F32;
  if (a.kind == 'f' && a.width == 8) return DType::F64;
  return std::nullopt;
}

HostArray as_it_is(FileArray a, DType t) {
  HostArray out;
  out.type = {t, a.shape};
  out.bytes = std::move(a.bytes);
  if (t == DType::Bool)
    for (uint8_t& b : out.bytes) b = b != 0;
  return out;
}

}  // namespace

std::string numpy_name(const FileArray& a) {
  if (a.kind == 'b') return "bool";
  return (a.kind == 'i' ? "int" : a.kind == 'u' ? "uint" : "float") + std::to_string(a.width * 8);
}

std::string numpy_name(DType t) {
  switch (t) {
    case DType::Bool: return "bool";
    case DType::I32: return "int32";
    case DType::U32: return "uint32";
    case DType::F16: return "float16";
    case DType::F32: return "float32";
    case DType::F64: return "float64";
  }
  return "?";
}

FileArray parse_npy(std::vector<uint8_t> contents, const std::string& where) {
  if (contents.size() < 10 || std::memcmp(contents.data(), kMagic.data(), kMagic.size()) != 0)
    throw malformed(where, contents.size() < 10 ? "it is too short" : "it does not begin with \\x93NUMPY");
  const int major = contents[6];
  if (major < 1 || major > 3)
    throw malformed(where, "version " + std::to_string(major) + "." + std::to_string(contents[7]) + " is unknown");
  const size_t prefix = major == 1 ? 10 : 12;
  if (contents.size() < prefix) throw malformed(where, "it is too short");
  size_t length = 0;
  for (size_t i = prefix; i-- > 8;) length = length << 8 | contents[i];
  if (length > contents.size() - prefix)
    throw malformed(where, "its header should have " + std::to_string(length) + " bytes, the file has " +
                               std::to_string(contents.size()));
  const Header h = HeaderParser({reinterpret_cast<const char*>(contents.data()) + prefix, length}, where).parse();

  FileArray a;
  set_type(a, h, where);
  if (h.shape.size() > static_cast<size_t>(kMaxUserRank))
    throw Error("SG0501",
                where + " has " + std::to_string(h.shape.size()) + " axes, more than " + std::to_string(kMaxUserRank));
  // Without its empty axes too the shape must be sane: 0 x 2^63 elements are none, but the next product could overflow.
  uint64_t bytes = static_cast<uint64_t>(a.width), bound = bytes;
  std::string shape_text;
  for (uint64_t d : h.shape) {
    shape_text += (shape_text.empty() ? "" : ",") + std::to_string(d);
    if (d != 0 && bound > (uint64_t{1} << 62) / d) throw malformed(where, "its shape [" + shape_text + ",..] is too large");
    bound *= std::max<uint64_t>(d, 1);
    bytes *= d;
    a.shape.push_back(static_cast<int64_t>(d));
  }
  const uint64_t have = contents.size() - prefix - length;
  if (have != bytes)
    throw malformed(where, numpy_name(a) + " [" + shape_text + "] needs " + std::to_string(bytes) +
                               " bytes of data, the file has " + std::to_string(have))
        .hint(have < bytes ? "the file is incomplete: copy or save it again" : "");
  contents.erase(contents.begin(), contents.begin() + static_cast<std::ptrdiff_t>(prefix + length));
  a.bytes =
      h.fortran && a.shape.rank() > 1 ? to_row_major(contents, a.shape, static_cast<size_t>(a.width)) : std::move(contents);
  return a;
}

HostArray to_host(FileArray a, const std::string& where) {
  const auto t = same_type(a);
  if (!t)
    throw Error("SG0507",
                where + " holds " + numpy_name(a) + ", which is no element type of programs (bool, i32, u32, f32, f64)");
  return as_it_is(std::move(a), *t);
}

HostArray to_host(FileArray a, DType wanted, bool cast, const std::string& where) {
  if (same_type(a) == wanted) return as_it_is(std::move(a), wanted);
  if (!cast)
    throw Error("SG0507",
                where + " holds " + numpy_name(a) + " " + to_string(a.shape) + ", " + numpy_name(wanted) + " is wanted")
        .hint("--cast converts " + numpy_name(a) + " to " + numpy_name(wanted));
  std::vector<double> values(static_cast<size_t>(a.shape.count()));
  for (size_t i = 0; i < values.size(); ++i) {
    const Number x = element(a, i);
    const auto y = converted(x, wanted, a.kind == 'f');
    if (!y)
      throw Error("SG0507", where + ": element " + std::to_string(i) + " is " + text_of(x) + ", which " +
                                numpy_name(wanted) + " cannot hold")
          .note("--cast rounds floats to shorter floats; all other conversions keep the value");
    values[i] = *y;
  }
  return HostArray({wanted, a.shape}, values);
}

std::vector<uint8_t> npy_bytes(const HostArray& a) {
  std::string header = "{'descr': '";
  switch (a.type.dtype) {
    case DType::Bool: header += "|b1"; break;
    case DType::I32: header += "<i4"; break;
    case DType::U32: header += "<u4"; break;
    case DType::F16: header += "<f2"; break;
    case DType::F32: header += "<f4"; break;
    case DType::F64: header += "<f8"; break;
  }
  header += "', 'fortran_order': False, 'shape': (";
  for (int64_t d : a.type.shape) header += std::to_string(d) + (a.type.shape.rank() == 1 ? "," : ", ");
  if (a.type.shape.rank() > 1) header.resize(header.size() - 2);
  header += "), }";
  // Magic, version and length take 10 bytes; data begin at a multiple of 64.
  header.resize((header.size() + 1 + 10 + 63) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::vector<uint8_t> out(kMagic.begin(), kMagic.end());
  for (size_t byte : {size_t{1}, size_t{0}, header.size() & 255, header.size() >> 8})
    out.push_back(static_cast<uint8_t>(byte));
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), a.bytes.begin(), a.bytes.end());
  return out;
}

}  // namespace spirograd::io
