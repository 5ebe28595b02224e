#include "frontend/base/characters.h"

#include <cstdint>

namespace spirograd {

size_t graphic_bytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t j) { return at + j < text.size() ? static_cast<uint8_t>(text[at + j]) : uint8_t{0}; };
  const uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  uint32_t code = first & (0x7fu >> n);
  for (size_t j = 1; j < n; ++j) {
    if ((byte(j) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(j) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0xa0, 0x800, 0x10000};  // of so many bytes; U+0080 to U+009F are control characters
  return code >= kLeast[n] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? n : 0;
}

}  // namespace spirograd
