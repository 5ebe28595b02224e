#include "frontend/base/number.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <system_error>

namespace spirograd {
namespace {

size_t digits(std::string_view text, size_t begin) {
  size_t at = begin;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at - begin;
}

// Whether lower-case `word` stands there, in letters of any case.
bool has_word(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (size_t j = 0; j < word.size(); ++j)
    if ((text[j] | 0x20) != word[j]) return false;
  return true;
}

struct Decimal {
  size_t mantissa = 0, length = 0;  // characters, of digits and point, and with the exponent
};

Decimal decimal(std::string_view text) {
  Decimal out;
  size_t at = digits(text, 0), n_digits = at;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = digits(text, at + 1);
    n_digits += fraction;
    at += 1 + fraction;
  }
  if (n_digits == 0) return out;
  out = {at, at};
  if (at == text.size() || (text[at] != 'e' && text[at] != 'E')) return out;
  const bool has_sign = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-');
  const size_t exponent = digits(text, at + 1 + has_sign);
  if (exponent > 0) out.length = at + 1 + has_sign + exponent;
  return out;
}

}  // namespace

ParsedNumber parse_number(std::string_view text) {
#ifdef __cpp_lib_to_chars
  ParsedNumber out;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.value);
  if (error == std::errc()) out.length = static_cast<size_t>(end - text.data());
  if (error != std::errc::result_out_of_range) return out;
#endif
  return parse_number_by_stream(text);
}

ParsedNumber parse_number_by_stream(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool negative = text.starts_with('-');
  const std::string_view body = text.substr(negative);
  const auto signed_number = [&](size_t length, double x) {
    return ParsedNumber{negative + length, false, negative ? -x : x};
  };
  if (has_word(body, "infinity")) return signed_number(8, kInfinity);
  if (has_word(body, "inf")) return signed_number(3, kInfinity);
  if (has_word(body, "nan")) return signed_number(3, std::numeric_limits<double>::quiet_NaN());
  const Decimal number = decimal(body);
  if (number.length == 0) return {};
  std::istringstream in{std::string(body.substr(0, number.length))};
  in.imbue(std::locale::classic());
  double x = 0;
  in >> x;
  // Streams fail with the largest number or infinity; those that fail with a tiny one give it all the same.
  if (in.fail() && x >= std::numeric_limits<double>::max()) x = kInfinity;
  ParsedNumber out = signed_number(number.length, x);
  const bool is_zero = body.substr(0, number.mantissa).find_first_of("123456789") == std::string_view::npos;
  out.out_of_range = std::isinf(x) || (x == 0 && !is_zero);
  return out;
}

}  // namespace spirograd
