// What is defined outside of all definitions, and what names mean: in the file itself, and in those that it imports.
#include <algorithm>
#include <cmath>

#include "frontend/base/characters.h"
#include "frontend/base/near_name.h"
#include "frontend/text/builtins.h"
#include "frontend/text/library.h"
#include "frontend/text/synonyms.h"

namespace spirograd::text {
namespace {

// Calls `use` with each definition, struct and constant, its name and its view.
template <class Use>
void each(const Source& source, Use use) {
  for (const DefSyntax& d : source.defs) use(Named{&d, nullptr, nullptr}, d);
  for (const StructSyntax& s : source.structs) use(Named{nullptr, &s, nullptr}, s.fields);
  for (const ConstantSyntax& c : source.constants) use(Named{nullptr, nullptr, &c}, c);
}

bool sees(const Source& source, View from, View what) {
  if (what.file == from.file) return what.order < from.order;
  return std::ranges::any_of(source.files[static_cast<size_t>(from.file)].imports,
                             [&](const Import& i) { return i.file == what.file && i.alias.empty(); });
}

// A top-level let holds arrays, and tuples and structs of such.
bool is_constant(const Value& v) {
  if (v.kind == Value::Kind::Tuple) return std::ranges::all_of(v.items, is_constant);
  return v.is_array() || v.is_weak();
}

}  // namespace

std::string Source::where(Place p, int reader) const {
  return p.file == reader ? "line " + std::to_string(p.line) : full(p);
}

Named Source::find(std::string_view name, View from) const {
  for (size_t j = defs.size(); j-- > 0;)
    if (defs[j].name == name && sees(*this, from, defs[j].view)) return {&defs[j], nullptr, nullptr};
  for (const StructSyntax& s : structs)
    if (s.fields.name == name && sees(*this, from, s.fields.view)) return {nullptr, &s, nullptr};
  for (const ConstantSyntax& c : constants)
    if (c.name == name && sees(*this, from, c.view)) return {nullptr, nullptr, &c};
  return {};
}

Named Source::find(const Import& import, std::string_view name) const {
  Named found;
  each(*this, [&](const Named& named, const auto& item) {
    if (item.name == name && item.view.file == import.file) found = named;
  });
  return found;
}

const Import* Source::aliased(std::string_view name, int file) const {
  for (const Import& i : files[static_cast<size_t>(file)].imports)
    if (i.alias == name && !name.empty()) return &i;
  return nullptr;
}

std::vector<std::string> Source::names_from(View from) const {
  std::vector<std::string> out;
  each(*this, [&](const Named&, const auto& item) {
    if (sees(*this, from, item.view)) out.emplace_back(item.name);
  });
  for (const Import& i : files[static_cast<size_t>(from.file)].imports)
    if (!i.alias.empty())
      each(*this, [&](const Named&, const auto& item) {
        if (item.view.file == i.file) out.push_back(std::string(i.alias) + "." + std::string(item.name));
      });
  return out;
}

Named Elaborator::named(const Ast& ast, const Env& env) const {
  if (ast.form == Form::Name) return source_.find(ast.text, view_);
  const Ast& file = *ast.kids[0];
  if (file.form != Form::Name || lookup(env, file.text)) return {};
  const Import* import = source_.aliased(file.text, view_.file);
  if (!import) return {};
  const Named found = source_.find(*import, ast.text);
  if (found) return found;
  throw source_
      .error("SG0403",
             in_quotes(source_.files[static_cast<size_t>(import->file)].name) + " defines no " + in_quotes(ast.text),
             ast.place)
      .hint(did_you_mean(std::string(file.text) + "." + std::string(ast.text), source_.names_from(view_)));
}

Value Elaborator::function_of(const DefSyntax& def) const {
  Value v;
  v.kind = Value::Kind::Function;
  v.function = std::make_shared<Closure>(Closure{nullptr, {}, view_, static_cast<int>(&def - source_.defs.data()), {}});
  return v;
}

Value Elaborator::value_of(const Named& found, const Ast& ast) {
  if (found.constant) return constant(*found.constant);
  if (found.def) return function_of(*found.def);
  throw source_.error("SG0402", in_quotes(ast.text) + " is a struct, no value", ast.place)
      .hint("call it with values of its fields");
}

// Computed where it is first read, in the view of its own place: what surrounds the reader is not there.
Value Elaborator::constant(const ConstantSyntax& constant) {
  if (const auto known = constants_.find(&constant); known != constants_.end()) return known->second;
  const Within view(view_, constant.view);
  const Within outside(in_constant_, true);
  Value v = eval(*constant.body, nested({}));
  if (!is_constant(v))
    throw source_
        .error("SG0409",
               "the constant " + in_quotes(constant.name) + " is " + describe(v) + ", it may be numbers and arrays",
               constant.place)
        .hint(v.kind == Value::Kind::Function ? "write it as def " + std::string(constant.name) + "(x: f32) = .." : "");
  return constants_.emplace(&constant, std::move(v)).first->second;
}

Value Elaborator::eval_name(const Ast& ast, const Env& env) {
  if (const Value* v = lookup(env, ast.text)) return *v;
  if (ast.text == "inf") return Value::literal(HUGE_VAL, true);
  if (ast.text == "nan") return Value::literal(std::nan(""), true);
  if (ast.text == "pi") return Value::literal(3.14159265358979323846, true);
  Value v;
  for (DType t : kDTypes)
    if (ast.text == name(t)) {
      v.kind = Value::Kind::Type;
      v.type = {t, {}};
      return v;
    }
  if (const Named found = named(ast, env); found && !found.record) return value_of(found, ast);
  if (find_builtin(ast.text)) {
    v.kind = Value::Kind::Function;
    v.function = std::make_shared<Closure>(Closure{nullptr, {}, view_, -1, ast.text});
    return v;
  }
  if (const std::optional<int64_t> given = given_from_outside(ast.text)) return Value::integer(*given);
  unknown_name(ast, env);
}

void Elaborator::unknown_name(const Ast& ast, const Env& env) {
  for (const ConstantSyntax& c : source_.constants) {
    if (c.name != ast.text || c.view.file != view_.file || c.view.order < view_.order) continue;
    if (c.view.order == view_.order)
      throw source_.error("SG0405", in_quotes(c.name) + " reads itself", ast.place)
          .hint("constants read what stands above them");
    throw source_
        .error("SG0405", in_quotes(c.name) + " is read before its definition in line " + std::to_string(c.place.line),
               ast.place)
        .hint("move its let above this one");
  }
  if (const Named found = named(ast, env)) value_of(found, ast);
  if (in_constant_)
    for (const auto& [name, size] : from_outside_)
      if (name == ast.text)
        throw source_
            .error("SG0409", in_quotes(name) + " is given from outside, a constant knows only what stands above it",
                   ast.place)
            .hint("read it in a def");
  std::vector<std::string> names = visible_names(env), tops = source_.names_from(view_);
  names.insert(names.end(), tops.begin(), tops.end());
  for (const char* constant : {"inf", "nan", "pi"}) names.emplace_back(constant);
  std::string help = did_you_mean(ast.text, names);
  if (help.empty()) help = did_you_mean(ast.text, operation_names());
  if (help.empty()) help = library_hint(ast.text);
  throw source_.error("SG0402", "unknown name " + in_quotes(ast.text), ast.place).hint(std::move(help));
}

void Elaborator::unknown_function(std::string_view name, const Env& env, Place place) {
  for (const DefSyntax& d : source_.defs) {
    if (d.name != name || d.view.file != view_.file || d.view.order < view_.order) continue;
    if (d.view.order == view_.order)
      throw source_.error("SG0405", in_quotes(name) + " calls itself", place)
          .note("programs have static shapes and end always; there is no recursion")
          .hint("write a loop: fold, scan, fori");
    throw source_
        .error("SG0405", in_quotes(name) + " is called before its definition in line " + std::to_string(d.place.line), place)
        .hint("move its def above this one");
  }
  if (lookup(env, name) || source_.find(name, view_))
    throw source_.error("SG0403", in_quotes(name) + " is no function", place);
  std::vector<std::string> names = operation_names(), tops = source_.names_from(view_);
  names.insert(names.end(), tops.begin(), tops.end());
  std::string help = synonym_hint(name);
  if (help.empty()) help = did_you_mean(name, names);
  if (const std::string other = library_hint(name); help.empty() || other.starts_with("import")) help = other;
  throw source_.error("SG0403", "unknown operation " + in_quotes(name), place).hint(help);
}

// "import optim" for a function that is in a library, "did you mean .." for one nearly so called, or "".
std::string Elaborator::library_hint(std::string_view name) const {
  std::vector<std::string> names, origins;
  for (const LibraryFile& file : library()) {
    Source read;
    read.files.push_back({std::string(file.name), std::string(file.text), true, {}});
    parse_source(read);
    for (const DefSyntax& d : read.defs) {
      if (d.view.file != 0) continue;
      if (d.name == name) return "import " + std::string(file.name) + ", the library that has " + in_quotes(name);
      names.emplace_back(d.name);
      origins.emplace_back(file.name);
    }
  }
  const std::string near = near_name(name, names);
  if (near.empty()) return "";
  const std::string& origin = origins[static_cast<size_t>(std::ranges::find(names, near) - names.begin())];
  return "did you mean " + in_quotes(near) + " of library " + in_quotes(origin) + "? import " + origin;
}

}  // namespace spirograd::text
