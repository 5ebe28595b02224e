// Tokens, errors and nodes, for both parsers.
#include "frontend/text/parser_base.h"

#include <algorithm>

namespace spirograd::text {
namespace {

// clang-format off
struct ForeignOperator { std::string_view text, help; };
constexpr ForeignOperator kForeign[] = {
    {"&&", "write 'and'"}, {"||", "write 'or'"}, {"!", "write 'not'"}, {"&", "write 'and'"}, {"|", "write 'or'"},
    {"=",  "'==' compares; 'let name = value' defines"},
};
// clang-format on

}  // namespace

std::string shown(const Token& t) {
  return t.kind == Token::Kind::End || t.kind == Token::Kind::Newline ? std::string(t.text)
                                                                      : "'" + std::string(t.text) + "'";
}

const Token& ParserBase::peek(size_t ahead) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
const Token& ParserBase::take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
bool ParserBase::accept(std::string_view s) {
  if (!peek().is(s)) return false;
  take();
  return true;
}

void ParserBase::skip_line_ends() {
  while (peek().kind == Token::Kind::Newline || peek().is(";")) take();
}

void ParserBase::fail(const std::string& message, std::string help) {
  throw source_.error("SG0401", message, peek().place).hint(std::move(help));
}

void ParserBase::too_deep(Place place) {
  throw source_.error("SG0406", "expressions are nested more than " + std::to_string(kMaxNesting) + " deep", place)
      .hint("name parts of it with let");
}

void ParserBase::fail_operator(const std::string& expected) {
  for (const ForeignOperator& f : kForeign)
    if (peek().is(f.text)) fail(expected + ", found " + shown(peek()), std::string(f.help));
  fail(expected + ", found " + shown(peek()));
}

const Token& ParserBase::expect(std::string_view s, const char* where) {
  if (!peek().is(s)) fail_operator("expected '" + std::string(s) + "' " + where);
  return take();
}

std::string_view ParserBase::expect_name(const char* what) {
  if (peek().kind != Token::Kind::Name)
    fail(std::string("expected ") + what + ", found " + shown(peek()),
         peek().kind == Token::Kind::Keyword ? "'" + std::string(peek().text) + "' is a word of the language" : "");
  return take().text;
}

Ast* ParserBase::make(Form form, Place place, std::vector<const Ast*> kids) {
  Ast node;
  node.form = form;
  node.place = place;
  for (size_t j = 0; j < kids.size(); ++j) {
    if (!kids[j]) continue;
    // The left operand of an operator is walked in a loop, not by recursion: long sums are not deep.
    const bool spine = form == Form::Binary && j == 0 && kids[j]->form == Form::Binary;
    node.depth = std::max(node.depth, kids[j]->depth + (spine ? 0 : 1));
  }
  if (node.depth > kMaxNesting) too_deep(place);
  node.kids = std::move(kids);
  source_.arena.push_back(std::move(node));
  return &source_.arena.back();
}

Ast* ParserBase::make_text(Form form, Place place, std::string_view text, std::vector<const Ast*> kids) {
  Ast* a = make(form, place, std::move(kids));
  a->text = text;
  return a;
}

std::string_view ParserBase::since(const char* begin) const {
  const std::string_view last = tokens_[at_ - 1].text;
  return {begin, static_cast<size_t>(last.data() + last.size() - begin)};
}

}  // namespace spirograd::text
