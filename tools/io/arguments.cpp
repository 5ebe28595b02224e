#include "tools/io/arguments.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "frontend/base/near_name.h"
#include "frontend/base/number.h"
#include "tools/io/array_file.h"
#include "tools/io/files.h"
#include "tools/io/npz.h"
#include "tools/io/system.h"

namespace spirograd::io {
namespace {

constexpr const char* kForms =
    "forms: a.npy, a.npz:member, a.csv, a.png, a.exr, a.idx, a.safetensors:name, 3.5, [1,2,3], zeros:64x64xf32, ones:.., "
    "iota:.., random:SEED:64x64xf32";

Error bad(const std::string& name, const std::string& text, const std::string& why) {
  return Error("SG0506", "input '" + name + "': '" + text + "' " + why);
}

// ---- literals

// A number, or nested lists of numbers, all of one length per level.
class Literal {
 public:
  Literal(const std::string& text) : text_(text) {}

  /// False if the text has another form.
  bool parse() {
    if (!value(0)) return false;
    return peek() == 0;
  }
  bool ragged() const { return ragged_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  const std::vector<double>& values() const { return values_; }
  /// Numbers written with a point, an exponent, or as nan and inf; true and false.
  bool has_reals() const { return reals_; }
  bool has_bools() const { return bools_; }
  /// The last number beyond all doubles, "" if there is none. Those too near to 0 are 0, as in any rounding.
  const std::string& too_large() const { return too_large_; }

 private:
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool number() {
    peek();
    for (const auto& [word, x] : {std::pair<std::string_view, double>{"true", 1}, {"false", 0}})
      if (std::string_view(text_).substr(at_, word.size()) == word) {
        at_ += word.size();
        bools_ = true;
        values_.push_back(x);
        return true;
      }
    size_t begin = at_;
    if (text_[begin] == '+') ++begin;
    const ParsedNumber number = parse_number(std::string_view(text_).substr(begin));
    if (number.length == 0) return false;
    const std::string digits = text_.substr(begin, number.length);
    if (number.out_of_range && std::isinf(number.value)) too_large_ = digits;
    reals_ = reals_ || digits.find_first_not_of("-0123456789") != std::string::npos;
    at_ = begin + number.length;
    values_.push_back(number.value);
    return true;
  }
  bool value(size_t depth) {
    if (peek() != '[') {
      if (depth < shape_.size()) ragged_ = true;
      leaf_depth_ = leaf_depth_ < 0 ? static_cast<int>(depth) : leaf_depth_;
      ragged_ = ragged_ || leaf_depth_ != static_cast<int>(depth);
      return number();
    }
    ++at_;
    if (depth >= static_cast<size_t>(kMaxUserRank)) return false;
    const bool first = depth >= shape_.size();
    if (first) shape_.push_back(0);
    int64_t n = 0;
    if (peek() != ']') do {
        if (!value(depth + 1)) return false;
        ++n;
      } while (peek() == ',' && ++at_);
    if (peek() != ']') return false;
    ++at_;
    if (first)
      shape_[depth] = n;
    else
      ragged_ = ragged_ || shape_[depth] != n;
    return true;
  }

  const std::string& text_;
  size_t at_ = 0;
  std::vector<int64_t> shape_;
  std::vector<double> values_;
  int leaf_depth_ = -1;
  bool ragged_ = false, reals_ = false, bools_ = false;
  std::string too_large_;
};

HostArray from_literal(const std::string& name, const std::string& text, const Literal& literal, DType t) {
  if (literal.ragged()) throw bad(name, text, "is no rectangular array");
  if (!literal.too_large().empty())
    throw bad(name, text, "holds " + literal.too_large() + ", which is beyond every float").hint("infinity is written inf");
  if (literal.has_bools() && t != DType::Bool)
    throw bad(name, text, "holds truth values, " + std::string(spirograd::name(t)) + " is wanted");
  if (literal.has_reals() && !is_float(t)) throw bad(name, text, "is no " + std::string(spirograd::name(t)));
  for (double x : literal.values()) {
    const bool fits = t == DType::Bool  ? x == 0 || x == 1
                      : t == DType::I32 ? x >= -2147483648.0 && x <= 2147483647.0
                      : t == DType::U32 ? x >= 0 && x <= 4294967295.0
                      : t == DType::F16 ? !std::isfinite(x) || std::isfinite(static_cast<float>(Half(x)))
                      : t == DType::F32 ? !std::isfinite(x) || std::isfinite(static_cast<float>(x))
                                        : true;
    if (!fits) throw bad(name, text, "does not fit " + std::string(spirograd::name(t)));
  }
  return HostArray({t, Shape(std::span<const int64_t>(literal.shape()))}, literal.values());
}

// ---- pseudo-files

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out(1);
  for (char c : text)
    if (c == separator)
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

std::optional<DType> dtype_named(const std::string& text) {
  for (DType t : kDTypes)
    if (text == spirograd::name(t)) return t;
  return std::nullopt;
}

// "64x64xf32", "64x64", "f32" or "".
Type parse_type(const std::string& name, const std::string& text, const std::string& spec, DType wanted) {
  Type t{wanted, {}};
  const std::vector<std::string> parts = split(spec, 'x');
  double bytes = 16;
  for (size_t j = 0; j < parts.size() && !spec.empty(); ++j) {
    if (const auto d = dtype_named(parts[j]); d && j + 1 == parts.size()) {
      t.dtype = *d;
      continue;
    }
    const auto extent = whole_number(parts[j]);
    if (!extent || *extent < 0)
      throw bad(name, text, "needs a shape such as 64x64xf32, '" + parts[j] + "' is no extent")
          .note("element types: bool, i32, u32, f32, f64");
    if (t.shape.rank() == kMaxUserRank) throw bad(name, text, "has more than " + std::to_string(kMaxUserRank) + " axes");
    t.shape.push_back(*extent);
    bytes *= static_cast<double>(std::max<int64_t>(*extent, 1));
  }
  // Values pass through doubles, so 16 bytes per element; empty axes count as one, so that no product of extents overflows.
  if (bytes > static_cast<double>(host_memory()))
    throw Error("SG0601", "input '" + name + "': " + to_string(t) + " does not fit the memory of this machine");
  return t;
}

const std::vector<std::string>& makers() {
  static const std::vector<std::string> names = {"zeros", "ones", "iota", "random"};
  return names;
}

HostArray made_up(const std::string& name, const std::string& text, const std::string& maker, std::string rest,
                  DType wanted) {
  uint64_t seed = 0;
  if (maker == "random") {
    const size_t colon = rest.find(':');
    const std::string digits = rest.substr(0, colon);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
    if (colon == std::string::npos || digits.empty() || error != std::errc() || end != digits.data() + digits.size())
      throw bad(name, text, "needs a seed and a shape: random:7:64x64xf32");
    rest = rest.substr(colon + 1);
  }
  const Type t = parse_type(name, text, rest, wanted);
  if (maker == "random" && !is_float(t.dtype))
    throw bad(name, text, "makes floats, " + std::string(spirograd::name(t.dtype)) + " is wanted");
  if (maker == "iota" && t.dtype == DType::Bool) throw bad(name, text, "makes numbers, bool is wanted");
  if (maker == "zeros") return HostArray(t);
  std::vector<double> values(static_cast<size_t>(t.shape.count()), maker == "ones" ? 1.0 : 0.0);
  if (maker == "iota")
    for (size_t j = 0; j < values.size(); ++j) values[j] = static_cast<double>(j);
  if (maker == "random")
    for (size_t j = 0; j < values.size(); ++j) values[j] = random_element(seed, j, t.dtype);
  return HostArray(t, values);
}

FileArray as_file_array(HostArray a) {
  FileArray f;
  f.kind = a.type.dtype == DType::Bool ? 'b' : a.type.dtype == DType::I32 ? 'i' : a.type.dtype == DType::U32 ? 'u' : 'f';
  f.width = static_cast<int>(host_bytes(a.type.dtype));
  f.shape = a.type.shape;
  f.bytes = std::move(a.bytes);
  return f;
}

}  // namespace

std::optional<NamedText> split_argument(const std::string& argument) {
  const size_t at = argument.find('=');
  if (at == std::string::npos || at == 0) return std::nullopt;
  return NamedText{argument.substr(0, at), argument.substr(at + 1)};
}

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return x;
}

HostArray load_argument(const std::string& name, const std::string& text, DType wanted, bool cast) {
  if (text.empty()) throw Error("SG0506", "input '" + name + "' has no value").note(kForms);
  if (Literal literal(text); literal.parse()) return from_literal(name, text, literal, wanted);
  if (text[0] == '[')
    throw bad(name, text, "is no list of numbers").hint("write [1,2,3] or [[1,2],[3,4]], without spaces or in quotes");
  const size_t colon = text.find(':', drive_length(text));
  const std::string head = text.substr(0, colon), tail = colon == std::string::npos ? "" : text.substr(colon + 1);
  for (const std::string& maker : makers())
    if (head == maker) {
      HostArray made = made_up(name, text, maker, tail, wanted);
      if (made.type.dtype == wanted) return made;
      return to_host(as_file_array(std::move(made)), wanted, cast, "input '" + name + "': '" + text + "'");
    }
  if (std::optional<StoredArray> stored = read_array_file(name, text))
    return to_host(std::move(stored->array), wanted, cast || !stored->typed, "input '" + name + "': " + text);
  if (colon != std::string::npos && head.find('/') == std::string::npos)
    throw bad(name, text, "begins with no known word").note(kForms).hint(did_you_mean(head, makers()));
  if (!exists(text)) throw bad(name, text, "is neither a file nor a number").note(kForms).hint(did_you_mean(head, makers()));
  return to_host(parse_npy(read_file(text), text), wanted, cast, "input '" + name + "': " + text);
}

HostArray load_member(const std::string& name, const NpzReader& file, DType wanted, bool cast, const std::string& where) {
  return to_host(file.read(name), wanted, cast, "input '" + name + "': " + where + ":" + name);
}

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014) at position j of the stream of a
// seed that has itself been mixed, so that neighbouring seeds give unrelated streams.
double random_element(uint64_t seed, uint64_t j, DType t) {
  const auto mix = [](uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  };
  const uint64_t bits = mix(mix(seed + 0x9e3779b97f4a7c15u) + (j + 1) * 0x9e3779b97f4a7c15u);
  return t == DType::F32 ? static_cast<double>(bits >> 40) * 0x1p-24 : static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace spirograd::io
