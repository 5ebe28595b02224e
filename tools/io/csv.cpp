#include "tools/io/csv.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "frontend/base/number.h"

namespace spirograd::io {
namespace {

Error bad_csv(const std::string& where, size_t line, const std::string& why) {
  return Error("SG0501", where + ", line " + std::to_string(line) + ": " + why);
}

std::string_view stripped(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == '"')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '"')) s.remove_suffix(1);
  return s;
}

std::optional<double> number_in(std::string_view field) {
  field = stripped(field);
  if (field.starts_with('+')) field.remove_prefix(1);
  const ParsedNumber n = parse_number(field);
  if (field.empty() || n.length != field.size() || (n.out_of_range && std::isinf(n.value))) return std::nullopt;
  return n.value;
}

std::vector<std::string_view> fields_of(std::string_view line, char separator) {
  std::vector<std::string_view> out;
  while (true) {
    const size_t end = line.find(separator);
    out.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return out;
    line.remove_prefix(end + 1);
  }
}

}  // namespace

FileArray parse_csv(const std::vector<uint8_t>& contents, const std::string& where) {
  std::string_view text(reinterpret_cast<const char*>(contents.data()), contents.size());
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<double> values;
  size_t number = 0, rows = 0, columns = 0;
  char separator = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (stripped(line).empty()) continue;
    const bool first = separator == 0;
    if (first)
      separator = line.find(',') != std::string_view::npos ? ',' : line.find(';') != std::string_view::npos ? ';' : '\t';
    const std::vector<std::string_view> fields = fields_of(line, separator);
    std::string_view other;
    const size_t before = values.size();
    bool all = true;
    for (const std::string_view f : fields) {
      const std::optional<double> x = number_in(f);
      if (!x && all) other = f;
      all = all && x;
      if (x) values.push_back(*x);
    }
    if (first) columns = fields.size();
    if (!all && first) {
      values.resize(before);  // the names of the columns
      continue;
    }
    if (!all) throw bad_csv(where, number, "'" + std::string(other.substr(0, 40)) + "' is no number");
    if (fields.size() != columns)
      throw bad_csv(where, number,
                    "it has " + std::to_string(fields.size()) + " fields, the first line has " + std::to_string(columns));
    ++rows;
  }
  if (rows == 0) throw Error("SG0501", where + " holds no numbers");
  FileArray a;
  a.kind = 'f';
  a.width = 8;
  a.shape.push_back(static_cast<int64_t>(rows));
  if (columns > 1) a.shape.push_back(static_cast<int64_t>(columns));
  a.bytes.resize(values.size() * sizeof(double));
  std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
  return a;
}

std::string csv_text(const HostArray& a) {
  const Shape& shape = a.type.shape;
  if (shape.rank() > 2)
    throw Error("SG0508", "a .csv file takes two axes at most, this result is " + to_string(a.type))
        .hint("write a .npy file");
  const size_t columns = shape.rank() == 2 ? static_cast<size_t>(shape[1]) : 1;
  const std::vector<double> values = a.values();
  std::string out;
  for (size_t j = 0; j < values.size(); ++j) {
    char digits[32];
    const double x = values[j];
    const auto written = a.type.dtype == DType::F32 ? std::to_chars(digits, std::end(digits), static_cast<float>(x))
                                                    : std::to_chars(digits, std::end(digits), x);
    out.append(digits, written.ptr);
    out += (j + 1) % columns == 0 ? '\n' : ',';
  }
  return out;
}

}  // namespace spirograd::io
