// Definitions, constants and imports, from tokens to syntax: recursive descent. Types and bodies are the other parsers'.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "frontend/text/imports.h"
#include "frontend/text/type_parser.h"

namespace spirograd::text {
namespace {

class Parser : public TypeParser {
 public:
  Parser(Source& source, int file) : TypeParser(source, file) {}

  void file() {
    skip_line_ends();
    while (peek().kind != Token::Kind::End) {
      if (peek().kind == Token::Kind::Name && peek().text == "struct")  // no word of the language elsewhere
        structure();
      else if (peek().kind == Token::Kind::Name && (peek().text == "custom_jvp" || peek().text == "custom_vjp"))
        custom_rule();
      else if (peek().is("def"))
        definition();
      else if (peek().is("let"))
        constant();
      else if (peek().kind == Token::Kind::Name && peek().text == "import")
        import();
      else
        fail("expected 'def', 'let', 'struct', 'import', 'custom_jvp' or 'custom_vjp', found " + shown(peek()));
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
    defines("function", def.name, def.place);
    def.view = next();
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

  // import name, import "path": the names that the file defines, or behind `as`, one for all of them.
  void import() {
    take();
    const Token& what = peek();
    if (what.kind != Token::Kind::String) expect_name("the path of a file in quotes, or the name of a library");
    if (what.kind == Token::Kind::String) take();
    if (source_.next != begin_)
      throw source_.error("SG0401", "an import belongs in front of all definitions", what.place)
          .note("the first definition is in " + source_.where(first_, file_));
    Import made{0, "", what.place};
    if (peek().kind == Token::Kind::Name && peek().text == "as") {
      take();
      const Place place = peek().place;
      made.alias = expect_name("a name for the imported file");
      defines("import", made.alias, place);
    }
    made.file = import_file(source_, what);
    const size_t own = static_cast<size_t>(file_);
    for (const Import& other : source_.files[own].imports)
      if (other.file == made.file && other.alias.empty() && made.alias.empty())
        throw source_.error("SG0408", "'" + std::string(what.text) + "' is imported twice", what.place);
    source_.files[own].imports.push_back(made);
    begin_ = source_.next;
    if (made.alias.empty()) takes_names_of(made.file, what);
  }

  void takes_names_of(int file, const Token& what) {
    const auto take_in = [&](const auto& list) {
      for (const auto& item : list)
        if (item.view.file == file)
          if (const auto [first, fresh] = defined_.emplace(item.name, item.place); !fresh)
            throw source_
                .error("SG0408",
                       "'" + std::string(what.text) + "' defines '" + std::string(item.name) + "', which this file has",
                       what.place)
                .note("the first stands at " + source_.full(first->second) + ", the other at " + source_.full(item.place))
                .hint("import it under a name: import " + shown_import(what) + " as m, and write m." +
                      std::string(item.name));
    };
    take_in(source_.defs);
    take_in(source_.constants);
    for (const StructSyntax& s : source_.structs) take_in(std::span(&s.fields, 1));
  }

  static std::string shown_import(const Token& what) {
    const std::string text(what.text);
    return what.kind == Token::Kind::String ? '"' + text + '"' : text;
  }

  // let name = expression
  void constant() {
    ConstantSyntax made;
    take();
    if (peek().is("(")) fail("outside of a function a let has one name", "write a let for each");
    made.place = peek().place;
    made.name = expect_name("the name of the constant");
    for (DType d : kDTypes)
      if (made.name == name(d))
        throw source_.error("SG0408", "'" + std::string(made.name) + "' is an element type, no name for a constant",
                            made.place);
    if (made.name != "_") defines("constant", made.name, made.place);
    made.view = next();
    expect("=", "after the name of the constant");
    made.body = expression();
    source_.constants.push_back(made);
  }

  View next() {
    if (source_.next == begin_) first_ = peek().place;
    return {file_, source_.next++};
  }

  void defines(const char* what, std::string_view name, Place place) {
    if (name == "inf" || name == "nan" || name == "pi")
      throw source_
          .error("SG0408",
                 "'" + std::string(name) + "' is a number of the language, no name for " +
                     (what == std::string_view("import") ? "an " : "a ") + what,
                 place)
          .hint("operations may be hidden, numbers may not");
    if (const auto [first, fresh] = defined_.emplace(name, place); !fresh) {
      const bool ours = first->second.file == file_;
      throw source_
          .error("SG0408",
                 std::string(what) + " '" + std::string(name) + "' is defined " +
                     (ours ? "twice" : "in an imported file as well"),
                 place)
          .note("the first stands at " + source_.full(first->second))
          .hint(ours ? "rename one of them"
                     : "rename it, or import the file under a name: import .. as m, m." + std::string(name));
    }
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
    const auto def = std::find_if(source_.defs.begin(), source_.defs.end(),
                                  [&](const DefSyntax& d) { return d.name == name && d.view.file == file_; });
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
    rule.view = next();
    def->rule = &source_.rules.emplace_back(std::move(rule));
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
    defines("struct", fields.name, fields.place);
    fields.view = next();
    if (accept("[")) {
      do made.sizes.push_back(expect_name("a size"));
      while (accept(","));
      expect("]", "after the sizes");
    }
    expect("{", "after the name of the struct");
    skip_line_ends();
    sizes_ = made.sizes;
    while (!peek().is("}")) {
      declaration("field", fields);
      if (!accept(",") && peek().kind != Token::Kind::Newline && !peek().is(";")) break;
      skip_line_ends();
    }
    expect("}", "after the fields");
    sizes_.clear();
    if (fields.params.empty()) throw source_.error("SG0401", "a struct has fields", fields.place);
    check_type_parameters(fields);
    source_.structs.push_back(std::move(made));
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

  std::unordered_map<std::string_view, Place> defined_;  // functions, structs, constants, imports
  int begin_ = source_.next;                             // the number of the first definition
  Place first_;                                          // and its place
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

void parse_source(Source& source) {
  const int file = static_cast<int>(source.files.size()) - 1;
  source.open.push_back(file);
  Parser(source, file).file();
  source.open.pop_back();
}

}  // namespace spirograd::text
