// What both parsers stand on: the tokens of a source and where we are in them, errors that name what was found, and the
// making of nodes, whose nesting is bounded.
#pragma once

#include <string>
#include <vector>

#include "frontend/text/lexer.h"

namespace spirograd::text {

/// A token as messages show it.
std::string shown(const Token& t);

class ParserBase {
 public:
  ParserBase(Source& source, int file) : source_(source), file_(file), tokens_(tokenize(source, file)) {}

 protected:
  // Counts the recursion of the parser itself.
  struct Guard {
    explicit Guard(ParserBase& p) : parser(p) {
      if (++parser.depth_ > kMaxNesting) parser.too_deep(parser.peek().place);
    }
    ~Guard() { --parser.depth_; }
    ParserBase& parser;
  };

  const Token& peek(size_t ahead = 0) const;
  const Token& take();
  bool accept(std::string_view s);
  void skip_line_ends();
  const Token& expect(std::string_view s, const char* where);
  std::string_view expect_name(const char* what);
  /// The text from `begin` to the end of the last token that was taken.
  std::string_view since(const char* begin) const;

  [[noreturn]] void fail(const std::string& message, std::string help = "");
  [[noreturn]] void too_deep(Place place);
  /// "expected X, found Y", with advice where Y is an operator of another language.
  [[noreturn]] void fail_operator(const std::string& expected);

  Ast* make(Form form, Place place, std::vector<const Ast*> kids = {});
  Ast* make_text(Form form, Place place, std::string_view text, std::vector<const Ast*> kids = {});

  Source& source_;
  const int file_;

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace spirograd::text
