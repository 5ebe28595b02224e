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
  // Those of the file that was asked for stand behind the imported ones.
  const std::string& file = source.files[0].name;
  if (source.defs.empty() || source.defs.back().view.file != 0) {
    Error e("SG0403", "the file defines no function");
    e.loc.file = file;
    throw e;
  }
  if (function.empty()) return source.defs.size() - 1;
  std::vector<std::string> names;
  for (size_t j = 0; j < source.defs.size(); ++j) {
    if (source.defs[j].view.file != 0) continue;
    if (source.defs[j].name == function) return j;
    names.emplace_back(source.defs[j].name);
  }
  Error e("SG0403", "no function '" + std::string(function) + "' in this file");
  e.loc.file = file;
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
    if (d.view.file != 0) continue;
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

std::optional<DType> element_type(const Signature& function, const DeclaredParam& param, std::span<const NamedType> inputs) {
  if (param.type_parameter.empty()) {
    const std::string head = param.type.substr(0, param.type.find_first_of("[ "));
    for (DType t : kDTypes)
      if (head == name(t)) return t;
    return DType::F32;  // and what cannot be read: that is left to instantiate()
  }
  for (const DeclaredParam& p : function.params)
    for (const NamedType& i : inputs)
      if (i.name == p.name && p.type_parameter == param.type_parameter) return i.type.dtype;
  return {};
}

std::vector<SourceFile> Module::files() const {
  std::vector<SourceFile> out;
  for (const FileSyntax& f : state_->source.files) out.push_back({f.name, f.text});
  return out;
}

Result<Module> parse(std::string text, std::string file_name, const FileLoader& load) {
  return guarded([&] {
    auto state = std::make_shared<Module::State>();
    state->source.files.push_back({std::move(file_name), std::move(text), false, {}});
    state->source.load = load;
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
