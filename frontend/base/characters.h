// Characters that names and messages may contain.
#pragma once

#include <string>
#include <string_view>

namespace spirograd {

/// Bytes of the character that begins at `at`: a UTF-8 sequence of shortest form that is no control character (C0, DEL, C1)
/// and no surrogate. 0 if there is none. Pre: at < text.size().
size_t graphic_bytes(std::string_view text, size_t at);

/// A name as messages show it. (Not `quoted`: calls with a std::string would find that of the standard library.)
inline std::string in_quotes(std::string_view name) { return "'" + std::string(name) + "'"; }

}  // namespace spirograd
