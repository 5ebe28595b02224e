#include "tools/io/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "frontend/base/near_name.h"
#include "tools/io/table.h"

namespace spirograd::io {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPrefix = 8;
constexpr const char* kMetadata = "__metadata__";

Error bad_tensors(const std::string& where, const std::string& why) {
  return Error("SG0501", where + " is no valid .safetensors file: " + why);
}

struct TensorType {
  const char* name;
  char kind;
  int width;
};
constexpr TensorType kTensorTypes[] = {{"BOOL", 'b', 1}, {"U8", 'u', 1},  {"I8", 'i', 1},  {"U16", 'u', 2}, {"I16", 'i', 2},
                                       {"U32", 'u', 4},  {"I32", 'i', 4}, {"U64", 'u', 8}, {"I64", 'i', 8}, {"F16", 'f', 2},
                                       {"BF16", 'f', 2}, {"F32", 'f', 4}, {"F64", 'f', 8}};

const char* tensor_type(DType t) {
  switch (t) {
    case DType::Bool: return "BOOL";
    case DType::I32: return "I32";
    case DType::U32: return "U32";
    case DType::F16: return "F16";
    case DType::F32: return "F32";
    case DType::F64: return "F64";
  }
  return "";
}

std::optional<uint64_t> natural_number(const Json& x) {
  return x.is_number_unsigned() ? std::optional(x.get<uint64_t>()) : std::nullopt;
}

// bfloat16 is the upper half of float32.
void widen(FileArray& a) {
  std::vector<uint8_t> wide;
  wide.reserve(2 * a.bytes.size());
  for (size_t at = 0; at + 1 < a.bytes.size(); at += 2) wide.insert(wide.end(), {0, 0, a.bytes[at], a.bytes[at + 1]});
  a.bytes = std::move(wide);
  a.width = 4;
}

FileArray tensor(const Json& entry, std::span<const uint8_t> data, const std::string& where) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
    throw bad_tensors(where, "the entry lacks dtype, shape or data_offsets");
  const Json &type = entry["dtype"], &shape = entry["shape"], &range = entry["data_offsets"];
  if (!type.is_string() || !shape.is_array() || !range.is_array() || range.size() != 2)
    throw bad_tensors(where, "dtype, shape or data_offsets are malformed");
  const auto known = std::ranges::find_if(kTensorTypes, [&](const TensorType& t) { return type == t.name; });
  if (known == std::end(kTensorTypes))
    throw Error("SG0507", where + " holds " + type.get<std::string>() + ", which is not read")
        .hint("convert it to F32 with the program that wrote it");
  if (shape.size() > static_cast<size_t>(kMaxUserRank))
    throw Error("SG0501",
                where + " has " + std::to_string(shape.size()) + " axes, more than " + std::to_string(kMaxUserRank));
  FileArray a;
  a.kind = known->kind;
  a.width = known->width;
  uint64_t bytes = static_cast<uint64_t>(a.width), bound = bytes;
  for (const Json& d : shape) {
    const auto extent = natural_number(d);
    if (!extent || (*extent != 0 && bound > (uint64_t{1} << 62) / *extent))
      throw bad_tensors(where, "its shape is negative, no number, or too large");
    bound *= std::max<uint64_t>(*extent, 1);
    bytes *= *extent;
    a.shape.push_back(static_cast<int64_t>(*extent));
  }
  const auto begin = natural_number(range[0]), end = natural_number(range[1]);
  if (!begin || !end || *begin > *end || *end > data.size())
    throw bad_tensors(where, "its data do not lie inside the file")
        .hint("the file is incomplete, or damaged: copy or save it again");
  if (*end - *begin != bytes)
    throw bad_tensors(where, numpy_name(a) + " " + to_string(a.shape) + " needs " + std::to_string(bytes) +
                                 " bytes of data, it has " + std::to_string(*end - *begin));
  const auto part = data.subspan(static_cast<size_t>(*begin), static_cast<size_t>(bytes));
  a.bytes.assign(part.begin(), part.end());
  if (type == "BF16") widen(a);
  return a;
}

}  // namespace

FileArray parse_safetensors(const std::vector<uint8_t>& contents, const std::string& name, const std::string& where) {
  if (contents.size() < kPrefix) throw bad_tensors(where, "it is too short");
  uint64_t length = 0;
  for (size_t j = kPrefix; j-- > 0;) length = length << 8 | contents[j];
  if (length > contents.size() - kPrefix)
    throw bad_tensors(where, "its header should have " + std::to_string(length) + " bytes, the file has " +
                                 std::to_string(contents.size()));
  const auto begin = contents.begin() + kPrefix, end = begin + static_cast<std::ptrdiff_t>(length);
  const Json header = Json::parse(begin, end, nullptr, false);
  if (!header.is_object()) throw bad_tensors(where, "its header is no JSON object");
  std::vector<std::string> names;
  for (const auto& [key, value] : header.items())
    if (key != kMetadata) names.push_back(key);
  std::string wanted = name;
  if (name.empty() && names.size() == 1) wanted = names[0];
  if (std::ranges::find(names, wanted) == names.end()) {
    const std::vector<std::string> some(names.begin(),
                                        names.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(names.size(), 20)));
    throw Error("SG0503", name.empty() ? where + " holds " + std::to_string(names.size()) + " arrays, none is named"
                                       : where + " holds no array '" + name + "'")
        .note("it holds: " + listed(some) + (some.size() < names.size() ? " and more" : ""))
        .hint(name.empty() ? where + ":NAME" : did_you_mean(name, names));
  }
  return tensor(header[wanted], std::span(contents).subspan(kPrefix + static_cast<size_t>(length)), where + ":" + wanted);
}

std::vector<uint8_t> safetensors_bytes(const std::vector<std::pair<std::string, HostArray>>& arrays) {
  Json header = Json::object();
  uint64_t at = 0;
  for (const auto& [name, a] : arrays) {
    header[name] = {{"dtype", tensor_type(a.type.dtype)},
                    {"shape", std::vector<int64_t>(a.type.shape.begin(), a.type.shape.end())},
                    {"data_offsets", {at, at + a.bytes.size()}}};
    at += a.bytes.size();
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::vector<uint8_t> out;
  for (int j = 0; j < 8; ++j) out.push_back(static_cast<uint8_t>(text.size() >> (8 * j)));
  out.insert(out.end(), text.begin(), text.end());
  for (const auto& [name, a] : arrays) out.insert(out.end(), a.bytes.begin(), a.bytes.end());
  return out;
}

}  // namespace spirograd::io
