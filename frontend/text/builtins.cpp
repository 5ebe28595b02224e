// Looking up operations, and the arguments that they share: axes, keywords, literals.
#include "frontend/text/builtins.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "frontend/base/near_name.h"
#include "frontend/ir/arguments.h"
#include "frontend/ir/composite.h"

namespace spirograd::text {

using ir::Expr;

namespace {

std::array<std::span<const Builtin>, 9> all_builtins() {
  return {math_builtins(),       array_builtins(), composite_builtins(), linear_builtins(), loop_builtins(),
          derivative_builtins(), batch_builtins(), ravel_builtins(),     field_builtins()};
}

std::unordered_map<std::string_view, const Builtin*> make_index() {
  std::unordered_map<std::string_view, const Builtin*> index;
  for (std::span<const Builtin> rows : all_builtins())
    for (const Builtin& b : rows) index.emplace(b.name, &b);
  return index;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

const Builtin* find_builtin(std::string_view name) {
  static const std::unordered_map<std::string_view, const Builtin*> index = make_index();
  const auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (std::span<const Builtin> rows : all_builtins())
    for (const Builtin& b : rows) names.emplace_back(b.name);
  std::sort(names.begin(), names.end());
  return names;
}

bool is_among(std::string_view word, std::string_view list) {
  const std::vector<std::string> all = words(list);
  return std::find(all.begin(), all.end(), word) != all.end();
}

void check_arguments(const Builtin& b, const Call& call) {
  const int n = static_cast<int>(call.args.size());
  if (n < b.least || (b.most >= 0 && n > b.most)) {
    std::string wants = std::to_string(b.least);
    if (b.most < 0)
      wants = "at least " + wants;
    else if (b.most != b.least)
      wants += " to " + std::to_string(b.most);
    call.fail("takes " + wants + (wants == "1" ? " argument" : " arguments") + ", it is given " + std::to_string(n),
              std::string(b.usage));
  }
  const std::vector<std::string> allowed = words(b.keywords);
  for (const auto& [word, value] : call.keywords)
    if (std::find(allowed.begin(), allowed.end(), word) == allowed.end()) {
      const std::string near = did_you_mean(word, allowed);
      throw Error("SG0404", "'" + std::string(b.name) + "' has no keyword '" + std::string(word) + "'")
          .note(std::string(b.usage))
          .hint(near);
    }
}

std::vector<Value*> carriers_of(const Builtin& builtin, std::vector<Value>& args) {
  size_t from = 0, to = 0;
  switch (builtin.follows) {
    case Follows::Nothing: break;
    case Follows::First: to = 1; break;
    case Follows::Second: from = 1, to = 2; break;
    case Follows::FirstTwo: to = 2; break;
    case Follows::Branches: from = 1, to = 3; break;
    case Follows::All: to = args.size(); break;
  }
  std::vector<Value*> out;
  for (size_t j = from; j < std::min(to, args.size()); ++j) {
    if (args[j].kind != Value::Kind::Tuple)
      out.push_back(&args[j]);
    else
      for (Value& item : args[j].items) out.push_back(&item);
  }
  return out;
}

void Call::fail(const std::string& message, std::string help) const {
  throw Error("SG0404", "'" + std::string(name) + "' " + message).hint(std::move(help));
}

Expr Call::floating(size_t j) {
  if (args[j].is_weak() && !args[j].is_float) return elaborator.materialise(args[j], DType::F32);
  return array(j);
}

const Value* Call::keyword(std::string_view word) const {
  for (const auto& [w, value] : keywords)
    if (w == word) return &value;
  return nullptr;
}

const Value& Call::required(std::string_view word) const {
  const Value* v = keyword(word);
  if (!v) fail("needs the keyword '" + std::string(word) + "='", std::string(find_builtin(name)->usage));
  return *v;
}

const Value* Call::argument(size_t j, std::string_view word) const {
  const Value* v = keyword(word);
  if (j >= args.size()) return v;
  if (v) fail("is given '" + std::string(word) + "' twice");
  return &args[j];
}

int64_t Call::integer(size_t j, std::string_view word) {
  const Value* v = argument(j, word);
  if (!v) fail("needs '" + std::string(word) + "'", std::string(find_builtin(name)->usage));
  return static_integer(*v, std::string(name) + ": " + std::string(word));
}

int64_t Call::integer_or(size_t j, std::string_view word, int64_t otherwise) {
  return argument(j, word) ? integer(j, word) : otherwise;
}

bool Call::flag(std::string_view word, bool otherwise) {
  const Value* v = keyword(word);
  return v ? static_bool(*v, std::string(name) + ": " + std::string(word)) : otherwise;
}

int Call::axis(size_t j, const Type& type, int64_t otherwise) {
  return ir::normal_axis(name, written_axis(j, otherwise), type);
}

std::vector<int64_t> Call::axes(Expr a, size_t j) {
  const Value* v = argument(j, "axis");
  if (!v) return ir::all_axes(a);
  return ir::normal_axes(name, static_integers(*v, std::string(name) + ": axis"), a.type());
}

std::vector<Expr> unified(Call& c) {
  std::vector<const Value*> all;
  for (const Value& v : c.args) all.push_back(&v);
  return unify(c.elaborator, all, c.name);
}

Value over_axes(Call& c, Expr a, const std::function<Expr(Expr, std::span<const int64_t>)>& f) {
  const std::vector<int64_t> axes = c.axes(a, 1);
  const Expr r = f(a, axes);
  return Value::array(c.flag("keepdims", false) ? ir::keep_dims(r, a.shape(), axes) : r);
}

Value in_dtype(Call& c, size_t j, const std::function<Expr(DType)>& make) {
  const Value* v = c.argument(j, "dtype");
  if (v && (v->kind != Value::Kind::Type || v->type.shape.rank() != 0))
    c.fail("needs an element type for dtype=", "a shape is one list: " + std::string(find_builtin(c.name)->usage));
  if (v) return Value::array(ir::converted(make(computed_as(v->type.dtype)), v->type.dtype));
  return c.elaborator.weak(true, {}, [make](DType t, std::span<const Expr>) { return make(t); });
}

}  // namespace spirograd::text
