#include "tools/cli/bundle_source.h"

#include <nlohmann/json.hpp>

#include "tools/io/files.h"

namespace spirograd::cli {

bool is_bundle(const std::string& path) { return path.ends_with(".sgb"); }

Bundle load_bundle_file(const std::string& path) { return read_bundle(io::read_file(path), path).value(); }

nlohmann::json arguments_json(const std::vector<Param>& arguments) {
  nlohmann::json out = nlohmann::json::array();
  for (const Param& p : arguments) out.push_back({{"name", p.name}, {"type", to_string(p.type)}});
  return out;
}

const char* form_name(const Executable& e) { return e.form == BindingForm::Address ? "address" : "descriptors"; }

nlohmann::json form_json(const Executable& e) {
  return {{"form", form_name(e)}, {"kernels", e.kernels.size()}, {"dispatches", runs(e.steps, Step::Kind::Dispatch)}};
}

Source source_of(const Bundle& bundle, const std::string& path) {
  std::string text = "def `" + bundle.program + "`(", comma;
  for (const Param& p : inputs_of(bundle.forms.front())) {
    text += comma + "`" + p.name + "`: " + to_string(p.type);
    comma = ", ";
  }
  text += ") = true\n";
  text::Module module = text::parse(text, path).value();
  text::Signature signature = module.functions().front();
  return {path, std::move(text), std::move(module), std::move(signature)};
}

}  // namespace spirograd::cli
