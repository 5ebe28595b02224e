// Tokens of the text language. Line ends are tokens only where a statement may end.
#pragma once

#include <vector>

#include "frontend/text/syntax.h"

namespace spirograd::text {

struct Token {
  enum class Kind : uint8_t { Name, Keyword, Number, String, Symbol, Newline, End };
  Kind kind;
  char suffix = 0;        // of numbers: 'i', 'f', 'd', 'u'
  std::string_view text;  // as written; of quoted names and strings without the quotes
  Place place;
  double number = 0;

  bool is(std::string_view s) const { return (kind == Kind::Symbol || kind == Kind::Keyword) && text == s; }
};

/// The last token is End. A line end inside () or [], after an operator or a comma, or before `then`, `else`, `and`, `or`
/// is no token.
std::vector<Token> tokenize(const Source& source, int file);

bool is_keyword(std::string_view word);
bool is_identifier(std::string_view word);  // letters, digits, _; not a keyword

}  // namespace spirograd::text
