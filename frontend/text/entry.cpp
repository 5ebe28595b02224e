// The definition of which a program is made: types of its parameters, its body, names of its results.
#include <algorithm>

#include "frontend/base/near_name.h"
#include "frontend/text/elaborate.h"

namespace spirograd::text {

using ir::Expr;

std::optional<int64_t> Elaborator::given_from_outside(std::string_view name) const {
  if (in_constant_) return {};
  const auto is_it = [&](const auto& shape) { return shape.first == name; };
  const auto it = std::find_if(from_outside_.begin(), from_outside_.end(), is_it);
  return it == from_outside_.end() ? std::nullopt : std::optional(it->second);
}

Program Elaborator::program(size_t index, const std::vector<NamedType>* inputs, const ShapeVariables& shapes,
                            std::optional<DType> element) {
  const DefSyntax& def = source_.defs[index];
  view_ = def.view;
  from_outside_ = shapes;
  for (const auto& [name, value] : shapes)
    if (const Named named = source_.find(name, view_); named.constant)
      throw source_
          .error("SG0104", "'" + name + "' is a constant of the file, it is not given from outside", named.constant->place)
          .hint("give it another name, or take the let away: a size that no let defines is a shape variable");
  located_ = graph_.size();
  Program out;
  out.name = def.name;
  if (const Declared* d = first_function(def))
    throw source_
        .error("SG0404", "'" + out.name + "' takes the function '" + std::string(d->name) + "', which no input is", d->place)
        .hint("run a def that calls it with a function, by -f NAME or as the last of the file");
  Env env = nested({});
  std::vector<Type> types;
  const GivenTypes given{&shapes, element};
  if (inputs) {
    std::vector<std::string> names;
    for (const ParamSyntax& p : def.params) names.emplace_back(p.name);
    for (size_t i = 0; i < inputs->size(); ++i) {
      const std::string& name = (*inputs)[i].name;
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw source_.error("SG0503", "'" + out.name + "' has no parameter '" + name + "'", def.place)
            .hint(did_you_mean(name, names));
      for (size_t k = 0; k < i; ++k)
        if ((*inputs)[k].name == name) throw source_.error("SG0503", "input '" + name + "' is given twice", def.place);
    }
    for (const ParamSyntax& p : def.params) {
      const auto found = std::find_if(inputs->begin(), inputs->end(), [&](const NamedType& i) { return i.name == p.name; });
      if (found == inputs->end())
        throw source_.error("SG0502", "input '" + std::string(p.name) + "' of '" + out.name + "' is missing", p.place)
            .note("it is declared " + std::string(p.name) + ": " + std::string(p.type.text));
      types.push_back(found->type);
    }
  } else {
    Env from_outside = nested({});
    bind_given(def, given, from_outside);
    for (const ParamSyntax& p : def.params) types.push_back(eval_type(*this, p.type, from_outside));
  }
  bind_types(*this, def, types, given, env);
  std::vector<Value> arrays;
  for (size_t j = 0; j < types.size(); ++j) {
    const Expr p = ir::param(graph_, static_cast<int64_t>(j), types[j]);
    graph_.note_loc(p.id, source_.loc(def.params[j].place));
    arrays.push_back(Value::array(ir::as_read(p)));
    out.params.push_back({std::string(def.params[j].name), types[j]});
  }
  bind_params(def, arrays, env);
  Results results = run_body(def, env);
  for (Value& v : results.arrays) v = Value::array(result_node(def, v, {}));
  if (def.rule) {
    std::vector<Expr> args;
    for (const Value& v : arrays) args.push_back(v.expr);
    size_t at = 0;
    const Value ruled = with_rule(index, args, {}, with_leaves(results.form, results.arrays, at));
    results.arrays.clear();
    leaves(ruled, results.arrays);
  }
  for (size_t j = 0; j < results.arrays.size(); ++j) {
    const bool is_rounded = !def.has_results || eval_type(*this, def.results[j].type, env).dtype == DType::F16;
    const Expr e = is_rounded ? ir::as_stored(results.arrays[j].expr) : results.arrays[j].expr;
    std::string name(def.has_results ? def.results[j].name : "");
    if (name.empty()) name = results.arrays.size() == 1 ? "out" : "out" + std::to_string(j);
    out.results.push_back({std::move(name), e.id.v, e.type()});
  }
  return out;
}

}  // namespace spirograd::text
