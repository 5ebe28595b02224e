// spirograd inspect: what a bundle holds and what it needs.
#include <nlohmann/json.hpp>

#include "tools/cli/bundle_source.h"
#include "tools/cli/outputs.h"
#include "tools/cli/tool.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

std::string counted(size_t n, const std::string& what, const char* plural = "s") {
  return std::to_string(n) + " " + what + (n == 1 ? "" : plural);
}

size_t code_bytes(const Executable& e) {
  size_t out = 0;
  for (const KernelBinary& k : e.kernels) out += 4 * k.words.size();
  return out;
}

// What is needed beyond what each device has.
std::vector<std::string> wants(const Executable& e) {
  Target least;
  least.device_address = true;
  std::vector<std::string> out;
  for (const Missing& m : missing(requirements_of(e), least, "Vulkan 1.1")) out.push_back(m.what);
  return out;
}

int inspect(const Options& options) {
  if (options.positional().size() > 1) throw usage_error("'inspect' takes one bundle");
  const std::string path = options.positional()[0];
  const Bundle bundle = load_bundle_file(path);
  const std::vector<Param> inputs = inputs_of(bundle.forms.front()), outputs = outputs_of(bundle.forms.front());
  if (options.has("--json")) {
    nlohmann::json forms = nlohmann::json::array();
    for (const Executable& e : bundle.forms) {
      nlohmann::json form = form_json(e);
      form["code_bytes"] = code_bytes(e);
      form["scratch_bytes"] = e.scratch_bytes;
      form["needs"] = wants(e);
      forms.push_back(std::move(form));
    }
    print_json({{"program", bundle.program},
                {"version", kBundleVersion},
                {"inputs", arguments_json(inputs)},
                {"outputs", arguments_json(outputs)},
                {"forms", forms}});
    return kOk;
  }
  io::Table arguments({"", "", ""});
  for (const Param& p : inputs) arguments.add({"input", p.name, to_string(p.type)});
  for (const Param& p : outputs) arguments.add({"output", p.name, to_string(p.type)});
  std::string text = bundle.program + "\n" + arguments.str();
  for (const Executable& e : bundle.forms) {
    const auto dispatches = static_cast<size_t>(runs(e.steps, Step::Kind::Dispatch));
    text += std::string(form_name(e)) + ": " + counted(e.kernels.size(), "kernel") + ", " +
            counted(dispatches, "dispatch", "es") + ", " + counted(code_bytes(e), "byte") + " of SPIR-V, " +
            counted(e.scratch_bytes, "byte") + " of scratch memory\n";
    for (const std::string& w : wants(e)) text += "  needs " + w + "\n";
  }
  print(text);
  return kOk;
}

}  // namespace

Command inspect_command() {
  return {"inspect",
          "what a bundle takes, gives and needs",
          "FILE.sgb [--json]",
          {"'spirograd run FILE.sgb' runs it."},
          {json_option()},
          {"spirograd inspect model.sgb", "spirograd inspect model.sgb --json"},
          inspect,
          "a bundle"};
}

}  // namespace spirograd::cli
