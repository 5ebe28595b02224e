// The public interface: parse, instantiate, signatures.
#include <algorithm>

#include "frontend/base/near_name.h"
#include "frontend/text/builtins.h"

namespace spirograd::text {

struct Module::State {
  Source source;
};

namespace {

size_t find(const Source& source, std::string_view function) {
  if (source.defs.empty()) {
    Error e("SG0403", "the file defines no function");
    e.loc.file = source.file;
    throw e;
  }
  if (function.empty()) return source.defs.size() - 1;
  for (size_t j = 0; j < source.defs.size(); ++j)
    if (source.defs[j].name == function) return j;
  std::vector<std::string> names;
  for (const DefSyntax& d : source.defs) names.emplace_back(d.name);
  Error e("SG0403", "no function '" + std::string(function) + "' in this file");
  e.loc.file = source.file;
  throw std::move(e).hint(did_you_mean(function, names));
}

bool mentions_name(const Ast& a) {
  std::vector<const Ast*> names;
  collect_names(a, names);
  return std::ranges::any_of(names, [](const Ast* name) { return !find_builtin(name->text); });
}

Program make(const Module& module, std::string_view function, const std::vector<NamedType>* inputs,
             const ShapeVariables& shapes, std::optional<DType> element, std::shared_ptr<ir::Graph> graph) {
  const Source& source = module.state().source;
  const size_t def = find(source, function);
  if (!graph) graph = std::make_shared<ir::Graph>();
  Program p = Elaborator(source, *graph).program(def, inputs, shapes, element);
  p.graph = std::move(graph);
  return p;
}

}  // namespace

std::string Signature::str() const {
  std::string out = name + "(";
  for (size_t j = 0; j < params.size(); ++j) out += (j ? ", " : "") + params[j].name + ": " + params[j].type;
  return out + ")" + (results.empty() ? "" : " -> " + results);
}

std::vector<Signature> Module::functions() const {
  std::vector<Signature> out;
  for (const DefSyntax& d : state_->source.defs) {
    Signature s{std::string(d.name), {}, std::string(d.results_text), {}};
    for (std::string_view t : type_parameters(d)) s.type_parameters.emplace_back(t);
    size_t at = 0;
    for (const Declared& declared : d.declared) {
      if (declared.is_function) s.params.push_back({std::string(declared.name), "fn"});
      for (const size_t end = at + declared.arrays; at < end; ++at)
        s.params.push_back(
            {std::string(d.params[at].name), std::string(d.params[at].type.text), std::string(d.params[at].type.parameter)});
    }
    out.push_back(std::move(s));
  }
  return out;
}

Result<Module> parse(std::string text, std::string file_name) {
  return guarded([&] {
    auto state = std::make_shared<Module::State>();
    state->source.file = std::move(file_name);
    state->source.text = std::move(text);
    parse_source(state->source);
    return Module(std::move(state));
  });
}

Result<Program> instantiate(const Module& module, std::string_view function, std::span<const NamedType> inputs,
                            const ShapeVariables& shapes, std::shared_ptr<ir::Graph> graph, std::optional<DType> element) {
  return guarded([&] {
    const std::vector<NamedType> list(inputs.begin(), inputs.end());
    return make(module, function, &list, shapes, element, std::move(graph));
  });
}

Result<Program> instantiate(const Module& module, std::string_view function, const ShapeVariables& shapes,
                            std::shared_ptr<ir::Graph> graph, std::optional<DType> element) {
  return guarded([&] { return make(module, function, nullptr, shapes, element, std::move(graph)); });
}

bool has_fixed_types(const Module& module, std::string_view function) {
  const Result<bool> r = guarded([&] {
    const Source& source = module.state().source;
    const DefSyntax& def = source.defs[find(source, function)];
    if (first_function(def)) return false;
    for (const ParamSyntax& p : def.params) {
      if (!p.type.parameter.empty()) return false;
      for (const Ast* extent : p.type.extents)
        if (mentions_name(*extent)) return false;
    }
    return true;
  });
  return r && *r;
}

}  // namespace spirograd::text
