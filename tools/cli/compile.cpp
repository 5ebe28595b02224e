// spirograd compile: a program as a bundle, which hosts run without a compiler.
#include "spirograd/compile.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "spirograd/bundle_file.h"
#include "tools/cli/bundle_header.h"
#include "tools/cli/bundle_source.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/tool.h"
#include "tools/cli/transforms.h"
#include "tools/io/files.h"

namespace spirograd::cli {
namespace {

struct Files {
  std::string bundle, header;  // "": no header
};

std::string output_file(const std::string& path, const std::vector<std::string>& endings, const std::string& source) {
  const auto fits = [&](const std::string& ending) { return path.ends_with(ending); };
  if (std::none_of(endings.begin(), endings.end(), fits) && !path.starts_with("/dev/"))
    throw usage_error("the name '" + path + "' does not end in " + endings[0])
        .hint("spirograd compile " + source + " -o FILE.sgb --header FILE.h");
  io::check_writable(path);
  return path;
}

// Looked at before any work is done.
Files files_of(const Options& options) {
  const std::string source = options.positional()[0];
  const auto bundle = options.value("--output");
  if (!bundle) throw usage_error("'compile' needs a file to write").hint("spirograd compile " + source + " -o FILE.sgb");
  Files out{output_file(*bundle, {".sgb"}, source), ""};
  if (const auto header = options.value("--header")) out.header = output_file(*header, {".h", ".hpp"}, source);
  if (!out.header.empty() && io::file_identity(out.bundle) == io::file_identity(out.header))
    throw usage_error("the bundle and its header go to one file, '" + out.header + "'");
  return out;
}

std::vector<Executable> compiled(const Program& p, const Options& options) {
  Target target = any_device();
  CompileOptions how;
  how.deterministic = options.has("--deterministic");
  if (options.has("--device")) {
    const Engine engine(options);
    if (engine.is_interpreter()) throw usage_error("'compile' makes kernels for devices; the interpreter has none");
    target = engine.target();
    how = engine.compile_options();
  } else if (options.has("--tuned")) {
    throw usage_error("'--tuned' takes what was measured on a device: name it").hint("--device 0 --tuned");
  }
  return compile_forms(p, target, how, form_of(options)).value();
}

std::string in_words(const std::vector<Executable>& forms) {
  std::string out;
  for (const Executable& e : forms)
    out += (out.empty() ? "" : " and ") + std::string(e.form == BindingForm::Address ? "address" : "descriptor");
  return out + " form";
}

nlohmann::json files_json(const Files& files, const std::vector<Executable>& forms, size_t bytes) {
  nlohmann::json all = nlohmann::json::array();
  for (const Executable& e : forms) all.push_back(form_json(e));
  nlohmann::json out = {{"file", files.bundle},
                        {"bytes", bytes},
                        {"inputs", arguments_json(inputs_of(forms[0]))},
                        {"outputs", arguments_json(outputs_of(forms[0]))},
                        {"forms", all}};
  if (!files.header.empty()) out["header"] = files.header;
  return out;
}

int compile_bundle(const Options& options) {
  const Files files = files_of(options);
  form_of(options);
  const Source source = load_source(options.positional()[0], options.value("--function").value_or(""));
  const InputList list(source, options.inputs(), options.has("--cast"), element_type(options));
  const Program traced = list.instantiate_types();
  list.check_all_used(traced);
  std::string stage;
  const Program program = transformed(traced, options, stage);
  const std::vector<Executable> forms = compiled(program, options);
  const std::vector<uint8_t> bytes = save_bundle(program.name, forms).value();

  io::OutputFiles out;
  out.add(files.bundle, bytes);
  if (!files.header.empty()) out.add(files.header, header_text(read_bundle(bytes).value()));
  out.commit();
  tell("wrote " + files.bundle + "  " + program.name + " in " + in_words(forms) + "\n");
  if (!files.header.empty()) tell("wrote " + files.header + "\n");
  if (options.has("--json")) print_json(files_json(files, forms, bytes.size()));
  return kOk;
}

}  // namespace

Command compile_command() {
  Command c = {
      "compile",
      "write a program as a bundle that runs without a compiler",
      "FILE.sg [name=value ...] [N=5 ...] -o FILE.sgb [options]",
      {"A bundle holds kernels and what else a host needs to run them: load_bundle() of <spirograd/bundle_file.h> reads it,",
       "and a program that links spirograd::vk alone runs it. Without --device it is for every device, but one without f64",
       "where a program needs that; with it, for what that device has. Devices are told what they lack.",
       "Shapes are fixed: from the declaration, from N=5, or from inputs, of which only types count (x=zeros:3x4xf32).",
       "Derivatives apply in the order given. Both binding forms are written, unless --form names one."},
      with_program_options({{"--output", "FILE.sgb", "the file to write; both files appear, or neither", "-o"},
                            {"--header", "FILE.h", "a C++ header too, whose types are those of the inputs and outputs"}}),
      {"spirograd compile samples/line.sg N=4 --value-and-grad w -o line.sgb",
       "spirograd compile model.sg N=1024 -o model.sgb --header model.h --device 0 --tuned"},
      compile_bundle};
  const std::vector<OptionSpec> derivatives = derivative_options();
  c.options.insert(c.options.begin() + 2, derivatives.begin(), derivatives.end());
  for (OptionSpec& o : c.options) {
    if (o.name == "--device") o.help = "compile for this device, by number or part of its name; every device if not given";
    if (o.name == "--form") o.help = "only for one way in which kernels reach arrays";
  }
  return c;
}

}  // namespace spirograd::cli
