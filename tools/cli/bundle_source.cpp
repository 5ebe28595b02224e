#include "tools/cli/bundle_source.h"

#include "tools/io/files.h"

namespace spirograd::cli {

bool is_bundle(const std::string& path) { return path.ends_with(".sgb"); }

Bundle load_bundle_file(const std::string& path) { return read_bundle(io::read_file(path), path).value(); }

std::vector<Param> arguments_of(const Bundle& bundle) {
  const Executable& e = bundle.forms.front();
  std::vector<Param> out;
  for (uint32_t i = 0; i < e.n_inputs + e.n_outputs; ++i) out.push_back({e.buffers[i].name, e.buffers[i].type});
  return out;
}

Source source_of(const Bundle& bundle, const std::string& path) {
  const std::vector<Param> all = arguments_of(bundle);
  std::string text = "def `" + bundle.program + "`(";
  for (uint32_t i = 0; i < bundle.forms.front().n_inputs; ++i)
    text += (i > 0 ? ", `" : "`") + all[i].name + "`: " + to_string(all[i].type);
  text += ") = true\n";
  text::Module module = text::parse(text, path).value();
  text::Signature signature = module.functions().front();
  return {path, std::move(text), std::move(module), std::move(signature)};
}

}  // namespace spirograd::cli
