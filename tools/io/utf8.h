// Names are UTF-8 here; systems have forms of their own.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace spirograd::io {

inline std::filesystem::path native(std::string_view utf8) { return std::u8string(utf8.begin(), utf8.end()); }
inline std::string utf8(const std::filesystem::path& p) {
  const std::u8string text = p.u8string();
  return {text.begin(), text.end()};
}

}  // namespace spirograd::io
