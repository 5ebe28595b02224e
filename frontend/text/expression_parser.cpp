// Blocks and their statements, operators, calls and indices, and the expressions that begin with a word of their own.
#include "frontend/text/expression_parser.h"

#include <string>

namespace spirograd::text {
namespace {

using ir::Op;

// Binding powers of binary operators; `**` is above them and the unary minus.
enum Power { kOr = 1, kAnd, kNot, kCompare, kAdd, kMul, kNegate, kPow };

struct Operator {
  std::string_view text;
  Power power;
  Form form;
  Op op;
};
// clang-format off
constexpr Operator kOperators[] = {
    {"or",  kOr,      Form::Binary,   Op::Or},
    {"and", kAnd,     Form::Binary,   Op::And},
    {"==",  kCompare, Form::Binary,   Op::Eq},
    {"!=",  kCompare, Form::Binary,   Op::Ne},
    {"<",   kCompare, Form::Binary,   Op::Lt},
    {"<=",  kCompare, Form::Binary,   Op::Le},
    {">",   kCompare, Form::Binary,   Op::Gt},
    {">=",  kCompare, Form::Binary,   Op::Ge},
    {"+",   kAdd,     Form::Binary,   Op::Add},
    {"-",   kAdd,     Form::Binary,   Op::Sub},
    {"*",   kMul,     Form::Binary,   Op::Mul},
    {"/",   kMul,     Form::Binary,   Op::Div},
    {"%",   kMul,     Form::Binary,   Op::Rem},
    {"//",  kMul,     Form::FloorDiv, Op::Quot},
    {"@",   kMul,     Form::MatMul,   Op::Mul},
};
// clang-format on

const Operator* operator_of(const Token& t) {
  for (const Operator& o : kOperators)
    if (t.is(o.text)) return &o;
  return nullptr;
}

}  // namespace

const Ast* ExpressionParser::block() {
  Guard guard(*this);
  const Place place = take().place;
  std::vector<const Ast*> kids;
  skip_line_ends();
  while (peek().is("let")) {
    const Place let = take().place;
    const Ast* name = pattern();
    expect("=", "after the name");
    kids.push_back(make(Form::Let, let, {name, expression()}));
    if (!peek().is("}") && !peek().is(";") && peek().kind != Token::Kind::Newline)
      fail_operator("expected the end of the statement");
    skip_line_ends();
  }
  if (peek().is("}")) fail("a block ends with the expression that is its value, found '}'");
  if (peek().kind == Token::Kind::Name && peek(1).is("="))
    fail("expected an expression", "write 'let " + std::string(peek().text) + " = ...'");
  kids.push_back(expression());
  skip_line_ends();
  if (peek().is("let")) fail("'let' after the value of the block", "the value is the last line");
  expect("}", "after the value of the block");
  return make(Form::Block, place, std::move(kids));
}

const Ast* ExpressionParser::pattern() {
  Guard guard(*this);
  const Place place = peek().place;
  if (!accept("(")) return make_text(Form::Name, place, expect_name("a name"));
  std::vector<const Ast*> parts;
  while (!peek().is(")")) {
    parts.push_back(pattern());
    if (!accept(",")) break;
  }
  expect(")", "after the names");
  return make(Form::Tuple, place, std::move(parts));
}

const Ast* ExpressionParser::expression() { return operators(kOr); }

const Ast* ExpressionParser::operators(int least) {
  Guard guard(*this);
  const Ast* left = prefix(least);
  for (;;) {
    const Operator* o = operator_of(peek());
    if (!o || o->power < least) return left;
    const Place place = take().place;
    const Ast* right = operators(o->power + 1);
    Ast* node = make(o->form, place, {left, right});
    node->op = o->op;
    left = node;
    const Operator* next = operator_of(peek());
    if (o->power == kCompare && next && next->power == kCompare)
      fail("comparisons cannot be chained", "write 'a < b and b < c'");
  }
}

const Ast* ExpressionParser::prefix(int least) {
  const Place place = peek().place;
  if (peek().is("not")) {
    if (least > kNot) fail("'not' needs parentheses here");
    take();
    return make(Form::Not, place, {operators(kNot)});
  }
  if (accept("-")) return make(Form::Negate, place, {operators(kNegate)});
  const Ast* base = postfix();
  if (!peek().is("**")) return base;
  const Place at = take().place;
  // The exponent may have a sign of its own and binds to the right.
  Ast* node = make(Form::Binary, at, {base, operators(kNegate)});
  node->op = Op::Pow;
  return node;
}

const Ast* ExpressionParser::postfix() {
  const Ast* e = primary();
  for (;;) {
    const Place place = peek().place;
    if (accept("(")) {
      std::vector<const Ast*> kids = {e};
      arguments(kids);
      e = make(Form::Call, e->place, std::move(kids));
    } else if (accept("[")) {
      std::vector<const Ast*> kids = {e};
      while (!peek().is("]")) {
        kids.push_back(item());
        if (!accept(",")) break;
      }
      expect("]", "after the index");
      e = make(Form::Index, place, std::move(kids));
    } else if (accept(".")) {
      e = make_text(Form::Field, place, expect_name("'T' or 'shape' after '.'"), {e});
    } else {
      return e;
    }
  }
}

void ExpressionParser::arguments(std::vector<const Ast*>& kids) {
  bool keywords = false;
  while (!peek().is(")")) {
    if (peek().kind == Token::Kind::Name && peek(1).is("=")) {
      keywords = true;
      const Place place = peek().place;
      const std::string_view word = take().text;
      take();
      kids.push_back(make_text(Form::Keyword, place, word, {expression()}));
    } else {
      if (keywords) fail("an argument without keyword follows one with a keyword");
      kids.push_back(expression());
    }
    if (!accept(",")) break;
  }
  expect(")", "after the arguments");
}

const Ast* ExpressionParser::item() {
  const Place place = peek().place;
  if (accept("...")) return make(Form::Ellipsis, place);
  if (peek().kind == Token::Kind::Name && peek().text == "None") {
    take();
    return make(Form::NewAxis, place);
  }
  const Ast* from = peek().is(":") ? nullptr : expression();
  if (!accept(":")) return from;
  const Ast* to = peek().is("]") || peek().is(",") ? nullptr : expression();
  if (peek().is(":")) fail("slices have no step", "use reverse(x, axis=0), or gather with an index array");
  return make(Form::Slice, place, {from, to});
}

const Ast* ExpressionParser::primary() {
  const Token& t = peek();
  switch (t.kind) {
    case Token::Kind::Number: {
      take();
      Ast* a = make_text(Form::Number, t.place, t.text);
      a->number = t.number;
      a->suffix = t.suffix;
      return a;
    }
    case Token::Kind::Name: take(); return make_text(Form::Name, t.place, t.text);
    case Token::Kind::String: take(); return make_text(Form::String, t.place, t.text);
    case Token::Kind::Keyword:
      if (t.is("true") || t.is("false")) {
        take();
        Ast* a = make(Form::Bool, t.place);
        a->number = t.text == "true" ? 1 : 0;
        return a;
      }
      if (t.is("if")) return if_expression();
      if (t.is("for")) return for_expression();
      if (t.is("fn")) return fn_expression();
      break;
    case Token::Kind::Symbol:
      if (t.is("(")) return parentheses();
      if (t.is("[")) return array_literal();
      if (t.is("{")) return block();
      break;
    case Token::Kind::Newline:
    case Token::Kind::End: break;
  }
  fail_operator("expected an expression");
}

const Ast* ExpressionParser::parentheses() {
  const Place place = take().place;
  std::vector<const Ast*> parts;
  bool comma = false;
  while (!peek().is(")")) {
    parts.push_back(expression());
    if (!peek().is(",")) break;
    take();
    comma = true;
  }
  expect(")", "after the expression");
  if (parts.size() == 1 && !comma) return parts[0];
  return make(Form::Tuple, place, std::move(parts));
}

const Ast* ExpressionParser::array_literal() {
  const Place place = take().place;
  std::vector<const Ast*> parts;
  while (!peek().is("]")) {
    parts.push_back(expression());
    if (!accept(",")) break;
  }
  expect("]", "after the elements of the array");
  return make(Form::Array, place, std::move(parts));
}

const Ast* ExpressionParser::if_expression() {
  Guard guard(*this);
  const Place place = take().place;
  const Ast* condition = expression();
  expect("then", "after the condition");
  const Ast* yes = expression();
  expect("else", "(an if needs both branches)");
  return make(Form::If, place, {condition, yes, expression()});
}

// for i: N, j: M => body.  for[level] i: N => body  fixes the number of the binder (printed programs).
const Ast* ExpressionParser::for_expression() {
  Guard guard(*this);
  const Place place = take().place;
  double level = -1;
  if (accept("[")) {
    if (peek().kind != Token::Kind::Number) fail("expected the number of the binder");
    level = take().number;
    expect("]", "after the number of the binder");
  }
  struct Binder {
    Place place;
    std::string_view name;
    const Ast* extent;
  };
  std::vector<Binder> binders;
  do {
    const Place at = binders.empty() ? place : peek().place;
    const std::string_view index = expect_name("an index name");
    if (!peek().is(":")) fail_operator("expected ':' and an extent after the index '" + std::string(index) + "'");
    take();
    binders.push_back({at, index, expression()});
  } while (accept(","));
  expect("=>", "before the body of the for");
  const Ast* body = expression();
  for (size_t j = binders.size(); j-- > 0;) {
    Ast* a = make_text(Form::For, binders[j].place, binders[j].name, {binders[j].extent, body});
    a->number = level;
    body = a;
  }
  return body;
}

const Ast* ExpressionParser::fn_expression() {
  Guard guard(*this);
  const Place place = take().place;
  expect("(", "after 'fn'");
  std::vector<const Ast*> kids;
  while (!peek().is(")")) {
    kids.push_back(pattern());
    if (!accept(",")) break;
  }
  expect(")", "after the parameters");
  expect("=>", "before the body of the function");
  kids.push_back(expression());
  return make(Form::Fn, place, std::move(kids));
}

}  // namespace spirograd::text
