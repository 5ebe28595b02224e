// Types, from tokens to syntax; what their names are.
#include "frontend/text/type_parser.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace spirograd::text {

TypeSyntax TypeParser::with_sizes(const TypeSyntax& field, const TypeSyntax& use) {
  TypeSyntax t = field;
  for (const Ast*& extent : t.extents)
    if (!use.extents.empty()) extent = with_sizes(extent, use);
  return t;
}
const Ast* TypeParser::with_sizes(const Ast* a, const TypeSyntax& use) {
  if (!a) return a;
  for (size_t j = 0; j < use.record->sizes.size() && a->form == Form::Name; ++j)
    if (a->text == use.record->sizes[j]) return use.extents[j];
  Ast copy = *a;
  for (const Ast*& kid : copy.kids) kid = with_sizes(kid, use);
  return &source_.arena.emplace_back(std::move(copy));
}

void TypeParser::check_type_parameters(const DefSyntax& def) {
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

TypeSyntax TypeParser::type() {
  TypeSyntax t;
  t.place = peek().place;
  const char* begin = peek().text.data();
  const Import* other = peek(1).is(".") ? source_.aliased(peek().text, file_) : nullptr;
  if (other && peek().kind == Token::Kind::Name) {
    take();
    take();
  }
  const Token& word = peek();
  bool known = false;
  for (DType d : kDTypes)
    if (word.kind == Token::Kind::Name && word.text == name(d)) {
      t.dtype = d;
      known = true;
    }
  if (!known && word.kind == Token::Kind::Name && word.text[0] >= 'A' && word.text[0] <= 'Z') {
    for (DType d : kDTypes) {
      std::string lower(word.text);
      for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (lower == name(d)) fail("expected a type, found " + shown(word), "write " + std::string(name(d)));
    }
    t.record = (other ? source_.find(*other, word.text) : source_.find(word.text, {file_, source_.next})).record;
    if (!t.record && other)
      throw source_.error("SG0403", "'" + std::string(other->alias) + "' has no struct " + shown(word), t.place);
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
      t.extents.push_back(with_constants(expression()));
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

const Ast* TypeParser::with_constants(const Ast* a) {
  if (!a) return a;
  Named found;
  if (a->form == Form::Name && std::ranges::find(sizes_, a->text) == sizes_.end())
    found = source_.find(a->text, {file_, source_.next});
  else if (a->form == Form::Field && a->kids[0]->form == Form::Name)
    if (const Import* other = source_.aliased(a->kids[0]->text, file_)) found = source_.find(*other, a->text);
  if (found.constant) {
    Ast* made = make_text(Form::Constant, a->place, a->text);
    made->number = static_cast<double>(found.constant - source_.constants.data());
    return made;
  }
  std::vector<const Ast*> kids;
  for (const Ast* kid : a->kids) kids.push_back(with_constants(kid));
  if (kids == a->kids) return a;
  Ast copy = *a;
  copy.kids = std::move(kids);
  return &source_.arena.emplace_back(std::move(copy));
}

}  // namespace spirograd::text
