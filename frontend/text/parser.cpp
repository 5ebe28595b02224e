// Definitions and types, from tokens to syntax: recursive descent. Bodies are the expression parser's.
#include <algorithm>
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
      if (peek().kind == Token::Kind::Name && peek().text == "struct")  // no word of the language elsewhere
        structure();
      else if (peek().kind == Token::Kind::Name && (peek().text == "custom_jvp" || peek().text == "custom_vjp"))
        custom_rule();
      else if (peek().is("def"))
        definition();
      else
        fail("expected 'def', 'struct', 'custom_jvp' or 'custom_vjp', found " + shown(peek()));
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
    defines("function", def);
    expect("(", "after the name of the function");
    while (!peek().is(")")) {
      declaration("parameter", def);
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

  void defines(const char* what, const DefSyntax& def) {
    if (def.name == "inf" || def.name == "nan" || def.name == "pi")
      throw source_
          .error("SG0408", "'" + std::string(def.name) + "' is a number of the language, no name for a " + what, def.place)
          .hint("operations may be hidden, numbers may not");
    if (const auto [first, fresh] = defined_.emplace(def.name, def.place); !fresh)
      throw source_.error("SG0408", std::string(what) + " '" + std::string(def.name) + "' is defined twice", def.place)
          .note("the first stands at " + source_.file + ":" + std::to_string(first->second.line))
          .hint("rename one of them");
  }

  // name: type
  void declaration(const char* what, DefSyntax& def) {
    Declared d;
    d.place = peek().place;
    d.name = expect_name(("a " + std::string(what) + " name").c_str());
    expect(":", ("and a type after the " + std::string(what) + " name").c_str());
    d.is_function = peek().is("fn");
    if (d.is_function && what == std::string_view("field"))
      fail("a field holds an array or a struct, not a function", "a function is a parameter: def f(step: fn, x: f32)");
    const TypeSyntax t = d.is_function ? TypeSyntax{} : type();
    if (d.is_function) take();
    for (const Declared& other : def.declared)
      if (other.name == d.name)
        throw source_.error("SG0408", std::string(what) + " '" + std::string(d.name) + "' stands twice", d.place);
    d.record = t.record;
    const size_t before = def.params.size();
    if (t.record)
      for (const ParamSyntax& p : t.record->fields.params)
        def.params.push_back({inside(d.name, p.name), with_sizes(p.type, t), d.place});
    else if (!d.is_function)
      def.params.push_back({d.name, t, d.place});
    d.arrays = def.params.size() - before;
    def.declared.push_back(d);
  }

  std::string_view inside(std::string_view record, std::string_view field) {
    return source_.names.emplace_back(std::string(record) + "." + std::string(field));
  }

  // custom_jvp f(x, n, dx) = (value, tangent)
  // custom_vjp f(x, n, ct) = cotangent of x
  void custom_rule() {
    RuleSyntax rule;
    rule.forward = take().text == "custom_jvp";
    rule.place = peek().place;
    const std::string_view name = expect_name("the name of the function");
    const auto def =
        std::find_if(source_.defs.begin(), source_.defs.end(), [&](const DefSyntax& d) { return d.name == name; });
    const std::string quoted = "'" + std::string(name) + "'";
    if (def == source_.defs.end())
      throw source_.error("SG0403", "there is no definition of " + quoted + " above its derivative", rule.place);
    if (def->rule) throw source_.error("SG0408", quoted + " has a derivative already", rule.place);
    expect("(", "after the name of the function");
    while (!peek().is(")")) {
      const Place place = peek().place;
      rule.params.push_back(expect_name("a parameter name"));
      if (std::count(rule.params.begin(), rule.params.end(), rule.params.back()) > 1)
        throw source_.error("SG0408", "parameter '" + std::string(rule.params.back()) + "' stands twice", place);
      if (!accept(",")) break;
    }
    expect(")", "after the parameters");
    const auto tangents = std::count_if(def->declared.begin(), def->declared.end(),
                                        [&](const Declared& d) { return may_carry_tangents(*def, d); });
    const size_t want = def->declared.size() + (rule.forward ? static_cast<size_t>(tangents) : 1);
    if (rule.params.size() != want)
      throw source_.error(
          "SG0404",
          "the derivative of " + quoted + " takes " + std::to_string(want) + " parameters: those of " + quoted +
              (rule.forward ? ", then a tangent for each that holds floats" : ", then the cotangent of what it gives"),
          rule.place);
    if (peek().is("{")) {
      rule.body = block();
    } else {
      expect("=", "or '{' before the body of the derivative");
      rule.body = expression();
    }
    rule.visible = source_.defs.size();
    def->rule = &source_.rules.emplace_back(std::move(rule));
  }

  // The type of a field where `use` gives the struct's sizes.
  TypeSyntax with_sizes(const TypeSyntax& field, const TypeSyntax& use) {
    TypeSyntax t = field;
    for (const Ast*& extent : t.extents)
      if (!use.extents.empty()) extent = with_sizes(extent, use);
    return t;
  }
  const Ast* with_sizes(const Ast* a, const TypeSyntax& use) {
    if (!a) return a;
    for (size_t j = 0; j < use.record->sizes.size() && a->form == Form::Name; ++j)
      if (a->text == use.record->sizes[j]) return use.extents[j];
    Ast copy = *a;
    for (const Ast*& kid : copy.kids) kid = with_sizes(kid, use);
    return &source_.arena.emplace_back(std::move(copy));
  }

  // Fields stand on lines of their own, or behind commas.
  void structure() {
    StructSyntax made;
    DefSyntax& fields = made.fields;
    take();
    fields.place = peek().place;
    fields.name = expect_name("the name of the struct");
    if (fields.name[0] < 'A' || fields.name[0] > 'Z')
      throw source_.error("SG0401", "the name of a struct begins with a capital, as those of all types that you name",
                          fields.place);
    defines("struct", fields);
    if (accept("[")) {
      do made.sizes.push_back(expect_name("a size"));
      while (accept(","));
      expect("]", "after the sizes");
    }
    expect("{", "after the name of the struct");
    skip_line_ends();
    while (!peek().is("}")) {
      declaration("field", fields);
      if (!accept(",") && peek().kind != Token::Kind::Newline && !peek().is(";")) break;
      skip_line_ends();
    }
    expect("}", "after the fields");
    if (fields.params.empty()) throw source_.error("SG0401", "a struct has fields", fields.place);
    check_type_parameters(fields);
    source_.structs.push_back(std::move(made));
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
      for (const Declared& p : def.declared)
        if (p.name == t->parameter) throw source_.error("SG0408", quoted + " is an element type and a parameter", p.place);
    }
  }

  void results(DefSyntax& def) {
    def.has_results = true;
    const char* begin = peek().text.data();
    const auto add = [&](const ResultSyntax& r) {
      for (const ResultSyntax& other : def.results)
        if (!r.name.empty() && other.name == r.name)
          throw source_.error("SG0408", "result '" + std::string(r.name) + "' stands twice", r.type.place);
      def.results.push_back(r);
    };
    const auto add_all = [&](const ResultSyntax& r) {
      if (!r.type.record) return add(r);
      for (const ParamSyntax& p : r.type.record->fields.params) {
        ResultSyntax field{r.name.empty() ? p.name : inside(r.name, p.name), with_sizes(p.type, r.type)};
        field.type.place = r.type.place;
        add(field);
      }
    };
    if (!accept("(")) {
      add_all({"", type()});
    } else {
      while (!peek().is(")")) {
        ResultSyntax r;
        if (peek(1).is(":")) {
          r.name = expect_name("a result name");
          take();
        }
        r.type = type();
        add_all(r);
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
      for (const StructSyntax& s : source_.structs)
        if (s.fields.name == word.text) t.record = &s;
      if (!t.record) t.parameter = word.text;
      known = true;
    }
    if (!known)
      fail("expected a type, found " + shown(word),
           "types look like f32, i32[N], f64[N, 3]; also u32, bool, and a name with a capital, T[N], for any element type");
    take();
    if (t.record && t.record->sizes.empty() && peek().is("["))
      fail("there are no arrays of structs", "give the fields one more axis, and use vmap");
    if (accept("[")) {
      while (!peek().is("]")) {
        t.extents.push_back(expression());
        if (!accept(",")) break;
      }
      expect("]", "after the shape");
      if (t.record && t.extents.size() != t.record->sizes.size())
        throw source_.error("SG0401",
                            "'" + std::string(word.text) + "' has " + std::to_string(t.record->sizes.size()) +
                                " sizes, it is given " + std::to_string(t.extents.size()),
                            t.place);
    }
    t.text = since(begin);
    return t;
  }

  std::unordered_map<std::string_view, Place> defined_;  // functions and structs
};

}  // namespace

void collect_names(const Ast& a, std::vector<const Ast*>& names) {
  if (a.form == Form::Name) names.push_back(&a);
  for (const Ast* kid : a.kids)
    if (kid) collect_names(*kid, names);
}

const Declared* first_function(const DefSyntax& def) {
  const auto it = std::ranges::find_if(def.declared, [](const Declared& d) { return d.is_function; });
  return it == def.declared.end() ? nullptr : &*it;
}

bool may_carry_tangents(const DefSyntax& def, const Declared& d) {
  const auto first =
      std::find_if(def.declared.begin(), def.declared.end(), [&](const Declared& o) { return o.name == d.name; });
  size_t at = 0;
  for (auto before = def.declared.begin(); before != first; ++before) at += before->arrays;
  return std::any_of(def.params.begin() + static_cast<std::ptrdiff_t>(at),
                     def.params.begin() + static_cast<std::ptrdiff_t>(at + d.arrays),
                     [](const ParamSyntax& p) { return !p.type.parameter.empty() || is_float(p.type.dtype); });
}

void parse_source(Source& source) { Parser(source).file(); }

}  // namespace spirograd::text
