// Types of parameters against those of arguments: shape variables and type parameters get their values, all else is checked.
#include <algorithm>
#include <map>

#include "frontend/base/near_name.h"
#include "frontend/text/builtins.h"

namespace spirograd::text {

namespace {

struct Bound {
  int64_t value;
  std::string from;
};

struct BoundType {
  DType dtype;
  std::string from;
};

Value type_value(DType t) {
  Value v;
  v.kind = Value::Kind::Type;
  v.type = {t, {}};
  return v;
}

// The cure for a shape variable without value.
std::string without_value(std::string_view name, const Env& env, bool outermost) {
  const std::string near = did_you_mean(name, visible_names(env));
  if (!outermost) return near;
  return (near.empty() ? "" : near + "  or ") + ("give it: " + std::string(name) + "=2 on the command line");
}

// How a mismatch of element types is mended, without losing digits where that is possible.
std::string cure(const ParamSyntax& p, DType declared, DType actual) {
  std::string to(name(declared));
  if (declared == DType::F32 && actual == DType::F64)
    return "declare " + std::string(p.name) + " as f64, or as T for any element type; " + to + "(x) would round";
  return "convert it to " + to + ", or declare " + std::string(p.name) + " as T for any element type";
}

}  // namespace

std::vector<std::string_view> type_parameters(const DefSyntax& def) {
  std::vector<std::string_view> out;
  const auto add = [&](const TypeSyntax& t) {
    if (!t.parameter.empty() && std::find(out.begin(), out.end(), t.parameter) == out.end()) out.push_back(t.parameter);
  };
  for (const ParamSyntax& p : def.params) add(p.type);
  for (const ResultSyntax& r : def.results) add(r.type);
  return out;
}

void bind_given(const DefSyntax& def, const GivenTypes& given, Env& env) {
  if (given.shapes)
    for (const auto& [name, value] : *given.shapes) text::bind(env, name, Value::integer(value));
  if (given.element)
    for (std::string_view name : type_parameters(def)) bind(env, name, type_value(*given.element));
}

Type eval_type(Elaborator& elaborator, const TypeSyntax& type, const Env& env) {
  Type t{type.dtype, {}};
  if (!type.parameter.empty()) {
    const Value* v = lookup(env, type.parameter);
    const std::string name(type.parameter);
    if (!v || v->kind != Value::Kind::Type)
      throw elaborator.source()
          .error("SG0106", "the type parameter '" + name + "' has no value here", type.place)
          .note("a type parameter gets its value from an argument, as in x: " + name + "[3]")
          .hint(elaborator.outermost() ? "choose it: --dtype f64 on the command line" : "");
    t.dtype = v->type.dtype;
  }
  for (const Ast* extent : type.extents) {
    std::vector<const Ast*> names;
    collect_names(*extent, names);
    for (const Ast* name : names)
      if (!lookup(env, name->text) && !find_builtin(name->text) && !elaborator.given_from_outside(name->text))
        throw elaborator.source()
            .error("SG0105", "the shape variable '" + std::string(name->text) + "' has no value here", name->place)
            .note("a shape variable gets its value where it stands alone, as in x: f32[" + std::string(name->text) + "]")
            .hint(without_value(name->text, env, elaborator.outermost()));
    int64_t d = 0;
    try {
      d = static_integer(elaborator.eval(*extent, env), "an extent");
    } catch (Error& e) {
      if (e.loc.line == 0) e.loc = elaborator.source().loc(extent->place);
      if (e.source_line.empty()) e.source_line = elaborator.source().line(extent->place);
      throw;
    }
    if (d < 0) throw elaborator.source().error("SG0101", "negative extent " + std::to_string(d), extent->place);
    if (t.shape.rank() >= kMaxRank) throw elaborator.source().error("SG0101", "too many axes", extent->place);
    t.shape.push_back(d);
  }
  return t;
}

void bind_types(Elaborator& elaborator, const DefSyntax& def, std::span<const Type> actual, const GivenTypes& given,
                Env& env) {
  std::map<std::string_view, Bound> bound;
  std::map<std::string_view, BoundType> types;
  const bool is_program = given.shapes != nullptr;  // others hold what is f16 as f32
  if (given.element)
    for (std::string_view name : type_parameters(def)) {
      types[name] = {*given.element, "the call"};
      bind(env, name, type_value(*given.element));
    }
  const ShapeVariables none;
  for (const auto& [name, value] : given.shapes ? *given.shapes : none) {
    if (types.contains(name) || std::ranges::count(type_parameters(def), std::string_view(name)))
      throw elaborator.source()
          .error("SG0104", "'" + name + "' is an element type, not a size", def.place)
          .hint("choose it: --dtype f64 on the command line");
    if (value < 0)
      throw elaborator.source().error("SG0101", "shape variable '" + name + "' is " + std::to_string(value), def.place);
    bound[name] = {value, "the call"};
    text::bind(env, name, Value::integer(value));  // std::bind would take a string
  }
  const auto mismatch = [&](size_t j, const std::string& why) {
    const ParamSyntax& p = def.params[j];
    std::string note;
    for (const auto& [name, b] : bound)
      note += (note.empty() ? "" : ", ") + std::string(name) + " = " + std::to_string(b.value) + " from " + b.from;
    Error e = elaborator.source().error("SG0103",
                                        "'" + std::string(p.name) + "' of '" + std::string(def.name) + "' is declared " +
                                            std::string(p.type.text) + ", given " + to_string(actual[j]) + why,
                                        p.place);
    if (!note.empty()) e.notes.push_back(note);
    return e;
  };
  for (size_t j = 0; j < def.params.size(); ++j) {
    const ParamSyntax& p = def.params[j];
    if (!p.type.parameter.empty()) {
      const auto [it, fresh] =
          types.try_emplace(p.type.parameter, BoundType{actual[j].dtype, "'" + std::string(p.name) + "'"});
      if (fresh) {
        bind(env, p.type.parameter, type_value(actual[j].dtype));
      } else if (const DType first = it->second.dtype; first != actual[j].dtype) {
        const DType to = is_float(first) && is_float(actual[j].dtype) ? DType::F64
                         : is_float(first)                            ? first
                                                                      : actual[j].dtype;
        throw elaborator.source()
            .error("SG0106",
                   "the type parameter '" + std::string(p.type.parameter) + "' is " + std::string(name(first)) + " (" +
                       it->second.from + ") and " + std::string(name(actual[j].dtype)) + " ('" + std::string(p.name) + "')",
                   p.place)
            .note("'" + std::string(p.name) + "' is declared " + std::string(p.type.text) + ", given " +
                  to_string(actual[j]))
            .hint(elaborator.outermost() ? "choose one and convert the inputs: --dtype " + std::string(name(to)) + " --cast"
                                         : "convert one of them, as in " + std::string(name(to)) + "(x)");
      }
    } else if (actual[j].dtype != (is_program ? p.type.dtype : computed_as(p.type.dtype))) {
      throw mismatch(j, ": the element types differ").hint(cure(p, p.type.dtype, actual[j].dtype));
    }
    if (static_cast<size_t>(actual[j].shape.rank()) != p.type.extents.size())
      throw mismatch(
          j, ": rank " + std::to_string(actual[j].shape.rank()) + " instead of " + std::to_string(p.type.extents.size()));
    for (int axis = 0; axis < actual[j].shape.rank(); ++axis) {
      const Ast& extent = *p.type.extents[static_cast<size_t>(axis)];
      if (extent.form != Form::Name) continue;
      const int64_t d = actual[j].shape[axis];
      const std::string from = "axis " + std::to_string(axis) + " of '" + std::string(p.name) + "'";
      const auto [it, fresh] = bound.try_emplace(extent.text, Bound{d, from});
      if (fresh) {
        bind(env, extent.text, Value::integer(d));
      } else if (it->second.value != d) {
        throw elaborator.source()
            .error("SG0104",
                   "the shape variable '" + std::string(extent.text) + "' is " + std::to_string(it->second.value) + " (" +
                       it->second.from + ") and " + std::to_string(d) + " (" + from + ")",
                   p.place)
            .note("'" + std::string(p.name) + "' is declared " + std::string(p.type.text) + ", given " +
                  to_string(actual[j]));
      }
    }
  }
  for (size_t j = 0; j < def.params.size(); ++j) {
    const Type declared = eval_type(elaborator, def.params[j].type, env),
               want = is_program ? declared : computed_as(declared);
    if (want != actual[j]) throw mismatch(j, ": expected " + to_string(want));
  }
}

}  // namespace spirograd::text
