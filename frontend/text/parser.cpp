// Definitions and types, from tokens to syntax: recursive descent. Bodies are the expression parser's.
#include <cctype>
#include <string>
#include <unordered_map>

#include "frontend/text/expression_parser.h"

namespace spirograd::text {
namespace {

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

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

  std::unordered_map<std::string_view, Place> defined_;  // functions
};

}  // namespace

void collect_names(const Ast& a, std::vector<const Ast*>& names) {
  if (a.form == Form::Name) names.push_back(&a);
  for (const Ast* kid : a.kids)
    if (kid) collect_names(*kid, names);
}

void parse_source(Source& source) { Parser(source).file(); }

}  // namespace spirograd::text
