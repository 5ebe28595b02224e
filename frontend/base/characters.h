// Characters that names and messages may contain.
#pragma once

#include <string_view>

namespace spirograd {

/// Bytes of the character that begins at `at`: a UTF-8 sequence of shortest form that is no control character (C0, DEL, C1)
/// and no surrogate. 0 if there is none. Pre: at < text.size().
size_t graphic_bytes(std::string_view text, size_t at);

}  // namespace spirograd
