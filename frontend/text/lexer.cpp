// Text to tokens.
#include "frontend/text/lexer.h"

#include <algorithm>
#include <array>

#include "frontend/base/characters.h"
#include "frontend/base/number.h"

namespace spirograd::text {
namespace {

constexpr std::array<std::string_view, 12> kKeywords = {"def", "let", "if", "then", "else", "for",
                                                        "fn",  "and", "or", "not",  "true", "false"};
constexpr std::array<std::string_view, 33> kSymbols = {"...", "=>", "->", "**", "//", "==", "!=", "<=", ">=", "&&", "||",
                                                       "(",   ")",  "[",  "]",  "{",  "}",  ",",  ":",  ";",  "=",  "<",
                                                       ">",   "+",  "-",  "*",  "/",  "%",  "@",  ".",  "!",  "&",  "|"};
constexpr std::array<std::string_view, 22> kContinuing = {"=>", "->", "**", "//", "==", "!=", "<=", ">=", "(", "[", "{",
                                                          ",",  ":",  ";",  "=",  "<",  ">",  "+",  "-",  "*", "/", "%"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view s) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

class Lexer {
 public:
  Lexer(const Source& source, int file)
      : source_(source), text_(source.files[static_cast<size_t>(file)].text), file_(file) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        newline();
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
        number();
      } else if (is_letter(c)) {
        word();
      } else if (c == '`') {
        quoted(Token::Kind::Name, "name");
      } else if (c == '"') {
        quoted(Token::Kind::String, "string");
      } else {
        symbol();
      }
    }
    if (!open_.empty())
      throw source_.error("SG0401", "'" + std::string(1, open_.back().bracket) + "' is never closed", open_.back().place);
    push({Token::Kind::End, 0, "end of file", here(), 0});
    return std::move(tokens_);
  }

 private:
  struct Open {
    char bracket;
    Place place;
  };

  Place here() const { return {line_, static_cast<int>(at_ - line_start_) + 1, file_}; }

  void push(Token t) {
    const bool continues_line = t.is("then") || t.is("else") || t.is("and") || t.is("or");
    if (continues_line && !tokens_.empty() && tokens_.back().kind == Token::Kind::Newline) tokens_.pop_back();
    tokens_.push_back(t);
  }

  void newline() {
    const bool statements = open_.empty() || open_.back().bracket == '{';
    if (statements && !tokens_.empty()) {
      const Token& last = tokens_.back();
      const bool goes_on = last.kind == Token::Kind::Newline ||
                           (last.kind == Token::Kind::Symbol && contains(kContinuing, last.text)) ||
                           (last.kind == Token::Kind::Keyword && last.text != "true" && last.text != "false");
      if (!goes_on) push({Token::Kind::Newline, 0, "end of line", here(), 0});
    }
    ++at_;
    ++line_;
    line_start_ = at_;
  }

  void number() {
    const Place place = here();
    const size_t begin = at_;
    const auto digits = [&] {
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    };
    bool is_float = false;
    digits();
    if (at_ < text_.size() && text_[at_] == '.' && !text_.substr(at_).starts_with("...")) {
      is_float = true;
      ++at_;
      digits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      size_t after = at_ + 1;
      if (after < text_.size() && (text_[after] == '+' || text_[after] == '-')) ++after;
      if (after < text_.size() && is_digit(text_[after])) {
        is_float = true;
        at_ = after;
        digits();
      }
    }
    const std::string_view body = text_.substr(begin, at_ - begin);
    char suffix = is_float ? 'f' : 'i';
    if (at_ < text_.size() && text_[at_] == 'd') {
      suffix = 'd';
      ++at_;
    } else if (at_ < text_.size() && text_[at_] == 'u' && !is_float) {
      suffix = 'u';
      ++at_;
    }
    if (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) {
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
      throw source_.error("SG0407", "'" + std::string(text_.substr(begin, at_ - begin)) + "' is not a number", place)
          .hint("numbers look like 2, 2u, 2.0, 1e-3, 2.0d");
    }
    const ParsedNumber number = parse_number(body);
    if (number.out_of_range)
      throw source_.error("SG0407", "'" + std::string(body) + "' is too large or too small for a number", place);
    push({Token::Kind::Number, suffix, text_.substr(begin, at_ - begin), place, number.value});
  }

  void word() {
    const Place place = here();
    const size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view text = text_.substr(begin, at_ - begin);
    push({is_keyword(text) ? Token::Kind::Keyword : Token::Kind::Name, 0, text, place, 0});
  }

  void quoted(Token::Kind kind, const std::string& what) {
    const Place place = here();
    const char quote = text_[at_];
    const size_t end = std::min(text_.find(quote, at_ + 1), text_.find('\n', at_ + 1));
    if (end == std::string_view::npos || text_[end] == '\n')
      throw source_.error("SG0401", "the quoted " + what + " that begins here has no closing '" + quote + "'", place);
    for (size_t c = at_ + 1; c < end; c += graphic_bytes(text_, c))
      if (graphic_bytes(text_, c) == 0)
        throw source_.error("SG0401",
                            "the quoted " + what + " that begins here holds a control character, or bytes that are no UTF-8",
                            place);
    push({kind, 0, text_.substr(at_ + 1, end - at_ - 1), place, 0});
    at_ = end + 1;
  }

  void symbol() {
    const Place place = here();
    for (std::string_view s : kSymbols) {
      if (!text_.substr(at_).starts_with(s)) continue;
      bracket(s[0], place);
      push({Token::Kind::Symbol, 0, text_.substr(at_, s.size()), place, 0});
      at_ += s.size();
      return;
    }
    throw source_.error("SG0401", "unexpected character '" + std::string(1, text_[at_]) + "'", place);
  }

  void bracket(char c, Place place) {
    if (c == '(' || c == '[' || c == '{') open_.push_back({c, place});
    if (c != ')' && c != ']' && c != '}') return;
    const char wants = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (open_.empty()) throw source_.error("SG0401", "'" + std::string(1, c) + "' closes nothing", place);
    if (open_.back().bracket != wants)
      throw source_.error("SG0401",
                          "'" + std::string(1, c) + "' does not close the '" + std::string(1, open_.back().bracket) +
                              "' of line " + std::to_string(open_.back().place.line),
                          place);
    open_.pop_back();
  }

  const Source& source_;
  std::string_view text_;
  size_t at_ = 0, line_start_ = 0;
  int line_ = 1, file_;
  std::vector<Open> open_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const Source& source, int file) { return Lexer(source, file).run(); }

bool is_keyword(std::string_view word) { return contains(kKeywords, word); }

bool is_identifier(std::string_view word) {
  if (word.empty() || !is_letter(word[0]) || is_keyword(word)) return false;
  return std::all_of(word.begin(), word.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

std::string Source::line(Place p) const {
  const std::string& text = files[static_cast<size_t>(p.file)].text;
  size_t begin = 0;
  for (int l = 1; l < p.line; ++l) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return "";
    ++begin;
  }
  const size_t end = text.find('\n', begin);
  std::string out = text.substr(begin, end == std::string::npos ? end : end - begin);
  if (!out.empty() && out.back() == '\r') out.pop_back();
  return out;
}

Error Source::error(std::string code, std::string message, Place p) const {
  Error e(std::move(code), std::move(message));
  e.loc = loc(p);
  e.source_line = line(p);
  return e;
}

}  // namespace spirograd::text
