// Tokens to syntax trees: recursive descent over statements, precedence climbing over operators. Nesting is bounded.
#include <cctype>
#include <optional>
#include <unordered_map>

#include "frontend/text/lexer.h"

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
struct ForeignOperator { std::string_view text, help; };
constexpr ForeignOperator kForeign[] = {
    {"&&", "write 'and'"}, {"||", "write 'or'"}, {"!", "write 'not'"}, {"&", "write 'and'"}, {"|", "write 'or'"},
    {"=",  "'==' compares; 'let name = value' defines"},
};
// clang-format on

const Operator* operator_of(const Token& t) {
  for (const Operator& o : kOperators)
    if (t.is(o.text)) return &o;
  return nullptr;
}

std::string shown(const Token& t) {
  return t.kind == Token::Kind::End || t.kind == Token::Kind::Newline ? std::string(t.text) : "'" + std::string(t.text) +
      "'";
}

class Parser {
 public:
  explicit Parser(Source& source) : source_(source), tokens_(tokenize(source)) {}

  void file() {
    skip_line_ends();
    while (peek().kind != Token::Kind::End) {
      if (!peek().is("def")) fail("expected 'def', found " + shown(peek()));
      definition();
      if (peek().kind != Token::Kind::End && peek().kind != Token::Kind::Newline && !peek().is(";"))
        fail_operator("expected the end of the line");
      skip_line_ends();
    }
  }

 private:
  // Counts the recursion of the parser itself.
  struct Guard {
    explicit Guard(Parser& p) : parser(p) {
      if (++parser.depth_ > kMaxNesting) parser.too_deep(parser.peek().place);
    }
    ~Guard() { --parser.depth_; }
    Parser& parser;
  };

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool accept(std::string_view s) {
    if (!peek().is(s)) return false;
    take();
    return true;
  }
  void skip_line_ends() {
    while (peek().kind == Token::Kind::Newline || peek().is(";")) take();
  }

  [[noreturn]] void fail(const std::string& message, std::string help = "") {
    throw source_.error("SG0401", message, peek().place).hint(std::move(help));
  }
  [[noreturn]] void too_deep(Place place) {
    throw source_.error("SG0406", "expressions are nested more than " + std::to_string(kMaxNesting) + " deep", place)
        .hint("name parts of it with let");
  }
  // "expected X, found Y", with advice where Y is an operator of another language.
  [[noreturn]] void fail_operator(const std::string& expected) {
    for (const ForeignOperator& f : kForeign)
      if (peek().is(f.text)) fail(expected + ", found " + shown(peek()), std::string(f.help));
    fail(expected + ", found " + shown(peek()));
  }
  const Token& expect(std::string_view s, const char* where) {
    if (!peek().is(s)) fail_operator("expected '" + std::string(s) + "' " + where);
    return take();
  }
  std::string_view expect_name(const char* what) {
    if (peek().kind != Token::Kind::Name)
      fail(std::string("expected ") + what + ", found " + shown(peek()),
           peek().kind == Token::Kind::Keyword ? "'" + std::string(peek().text) + "' is a word of the language" : "");
    return take().text;
  }

  Ast* make(Form form, Place place, std::vector<const Ast*> kids = {}) {
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
  Ast* make_text(Form form, Place place, std::string_view text, std::vector<const Ast*> kids = {}) {
    Ast* a = make(form, place, std::move(kids));
    a->text = text;
    return a;
  }

  // ---- definitions and types

  void definition() {
    DefSyntax def;
    take();
    def.place = peek().place;
    def.name = expect_name("the name of the function");
    if (const auto [first, fresh] = defined_.emplace(def.name, def.place); !fresh)
      throw source_.error("SG0408", "function '" + std::string(def.name) + "' is defined twice", def.place)
          .note("the first stands at " + source_.file + ":" + std::to_string(first->second.line))
          .hint("rename one of them");
    expect("(", "after the name of the function");
    while (!peek().is(")")) {
      ParamSyntax p;
      p.place = peek().place;
      p.name = expect_name("a parameter name");
      expect(":", "and a type after the parameter name");
      p.type = type();
      for (const ParamSyntax& other : def.params)
        if (other.name == p.name)
          throw source_.error("SG0408", "parameter '" + std::string(p.name) + "' stands twice", p.place);
      def.params.push_back(p);
      if (!accept(",")) break;
    }
    expect(")", "after the parameters");
    if (peek().kind == Token::Kind::Newline && (peek(1).is("->") || peek(1).is("=") || peek(1).is("{"))) take();
    if (accept("->")) results(def);
    if (peek().kind == Token::Kind::Newline && (peek(1).is("=") || peek(1).is("{"))) take();
    if (peek().is("{")) {
      def.body = block();
    } else {
      expect("=", "or '{' before the body of the function");
      def.body = expression();
    }
    check_type_parameters(def);
    source_.defs.push_back(std::move(def));
  }

  // A type parameter is nothing else in its definition: no size, no parameter.
  void check_type_parameters(const DefSyntax& def) {
    std::vector<const TypeSyntax*> types;
    for (const ParamSyntax& p : def.params) types.push_back(&p.type);
    for (const ResultSyntax& r : def.results) types.push_back(&r.type);
    std::vector<const Ast*> sizes;
    for (const TypeSyntax* t : types)
      for (const Ast* extent : t->extents) collect_names(*extent, sizes);
    for (const TypeSyntax* t : types) {
      if (t->parameter.empty()) continue;
      const std::string quoted = "'" + std::string(t->parameter) + "'";
      for (const Ast* size : sizes)
        if (size->text == t->parameter)
          throw source_.error("SG0408", quoted + " is an element type and a size", size->place)
              .hint("give one of them another name, as in x: T[N]");
      for (const ParamSyntax& p : def.params)
        if (p.name == t->parameter) throw source_.error("SG0408", quoted + " is an element type and a parameter", p.place);
    }
  }

  std::string_view since(const char* begin) const {
    const std::string_view last = tokens_[at_ - 1].text;
    return {begin, static_cast<size_t>(last.data() + last.size() - begin)};
  }

  void results(DefSyntax& def) {
    def.has_results = true;
    const char* begin = peek().text.data();
    if (!accept("(")) {
      def.results.push_back({"", type()});
    } else {
      while (!peek().is(")")) {
        ResultSyntax r;
        if (peek(1).is(":")) {
          r.name = expect_name("a result name");
          take();
        }
        r.type = type();
        for (const ResultSyntax& other : def.results)
          if (!r.name.empty() && other.name == r.name)
            throw source_.error("SG0408", "result '" + std::string(r.name) + "' stands twice", r.type.place);
        def.results.push_back(r);
        if (!accept(",")) break;
      }
      expect(")", "after the results");
    }
    def.results_text = since(begin);
  }

  TypeSyntax type() {
    TypeSyntax t;
    t.place = peek().place;
    const char* begin = peek().text.data();
    const Token& word = peek();
    bool known = false;
    for (DType d : {DType::Bool, DType::I32, DType::U32, DType::F32, DType::F64})
      if (word.kind == Token::Kind::Name && word.text == name(d)) {
        t.dtype = d;
        known = true;
      }
    if (!known && word.kind == Token::Kind::Name && word.text[0] >= 'A' && word.text[0] <= 'Z') {
      for (DType d : {DType::Bool, DType::I32, DType::U32, DType::F32, DType::F64}) {
        std::string lower(word.text);
        for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        if (lower == name(d)) fail("expected a type, found " + shown(word), "write " + std::string(name(d)));
      }
      t.parameter = word.text;
      known = true;
    }
    if (!known)
      fail("expected a type, found " + shown(word),
           "types look like f32, i32[N], f64[N, 3]; also u32, bool, and a name with a capital, T[N], for any element type");
    take();
    if (accept("[")) {
      while (!peek().is("]")) {
        t.extents.push_back(expression());
        if (!accept(",")) break;
      }
      expect("]", "after the shape");
    }
    t.text = since(begin);
    return t;
  }

  // ---- statements

  const Ast* block() {
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
    if (peek().kind == Token::Kind::Name && peek(1).is("=")) fail("expected an expression", "write 'let " +
        std::string(peek().text) + " = ...'");
    kids.push_back(expression());
    skip_line_ends();
    if (peek().is("let")) fail("'let' after the value of the block", "the value is the last line");
    expect("}", "after the value of the block");
    return make(Form::Block, place, std::move(kids));
  }

  const Ast* pattern() {
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

  // ---- expressions

  const Ast* expression() { return operators(kOr); }

  const Ast* operators(int least) {
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

  const Ast* prefix(int least) {
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

  const Ast* postfix() {
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

  void arguments(std::vector<const Ast*>& kids) {
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

  const Ast* item() {
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

  const Ast* primary() {
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
      case Token::Kind::Newline: case Token::Kind::End: break;
    }
    fail_operator("expected an expression");
  }

  const Ast* parentheses() {
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

  const Ast* array_literal() {
    const Place place = take().place;
    std::vector<const Ast*> parts;
    while (!peek().is("]")) {
      parts.push_back(expression());
      if (!accept(",")) break;
    }
    expect("]", "after the elements of the array");
    return make(Form::Array, place, std::move(parts));
  }

  const Ast* if_expression() {
    Guard guard(*this);
    const Place place = take().place;
    const Ast* condition = expression();
    expect("then", "after the condition");
    const Ast* yes = expression();
    expect("else", "(an if needs both branches)");
    return make(Form::If, place, {condition, yes, expression()});
  }

  // for i: N, j: M => body.  for[level] i: N => body  fixes the number of the binder (printed programs).
  const Ast* for_expression() {
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

  const Ast* fn_expression() {
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

  Source& source_;
  std::unordered_map<std::string_view, Place> defined_;  // functions
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

void collect_names(const Ast& a, std::vector<const Ast*>& names) {
  if (a.form == Form::Name) names.push_back(&a);
  for (const Ast* kid : a.kids)
    if (kid) collect_names(*kid, names);
}

void parse_source(Source& source) { Parser(source).file(); }

}  // namespace spirograd::text
