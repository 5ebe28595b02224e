#include "tools/cli/options.h"

#include <algorithm>
#include <cmath>

#include "frontend/base/near_name.h"
#include "frontend/base/number.h"
#include "tools/io/arguments.h"
#include "tools/io/table.h"

namespace spirograd::cli {

struct OptionReader {
  const Command& command;
  Options out;

  const OptionSpec* find(const std::string& name) const {
    for (const OptionSpec& o : command.options)
      if (name == o.name || (!o.short_name.empty() && name == o.short_name)) return &o;
    return nullptr;
  }
  Error unknown(const std::string& name) const {
    std::vector<std::string> names = {"--help"};
    for (const OptionSpec& o : command.options) names.push_back(o.name);
    std::string help = did_you_mean(name, names);
    return usage_error("'" + command.name + "' has no option '" + name + "'")
        .hint((help.empty() ? "" : help + "  ") + "spirograd " + command.name + " --help");
  }
  void read(const std::vector<std::string>& arguments) {
    bool only_positional = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string& a = arguments[i];
      if (only_positional || a.size() < 2 || a[0] != '-') {
        out.positional_.push_back(a);
        continue;
      }
      if (a == "--") {
        only_positional = true;
        continue;
      }
      const size_t equals = a.starts_with("--") ? a.find('=') : std::string::npos;
      const std::string name = a.substr(0, equals);
      const OptionSpec* spec = find(name);
      if (!spec) throw unknown(name);
      std::string value;
      if (!spec->value.empty()) {
        if (equals == std::string::npos && i + 1 == arguments.size())
          throw usage_error("'" + name + "' needs " + spec->value);
        value = equals != std::string::npos ? a.substr(equals + 1) : arguments[++i];
      } else if (equals != std::string::npos) {
        throw usage_error("'" + name + "' takes no value");
      }
      if (!spec->repeats && !spec->value.empty() && out.has(spec->name)) throw usage_error("'" + name + "' is given twice");
      out.given_.push_back({spec->name, value});
    }
    if (!command.needs.empty() && out.positional_.empty())
      throw usage_error("'" + command.name + "' needs " + command.needs)
          .hint("spirograd " + command.name + " " + command.usage);
  }
};

bool Options::has(const std::string& name) const {
  return std::any_of(given_.begin(), given_.end(), [&](const Given& g) { return g.name == name; });
}

std::optional<std::string> Options::value(const std::string& name) const {
  for (const Given& g : given_)
    if (g.name == name) return g.value;
  return std::nullopt;
}

std::vector<std::string> Options::values(const std::string& name) const {
  std::vector<std::string> out;
  for (const Given& g : given_)
    if (g.name == name) out.push_back(g.value);
  return out;
}

int64_t Options::number(const std::string& name, int64_t otherwise, int64_t least) const {
  const auto text = value(name);
  if (!text) return otherwise;
  const auto x = io::whole_number(*text);
  if (!x || *x < least)
    throw usage_error("'" + name + "' needs a whole number of at least " + std::to_string(least) + ", not '" + *text + "'");
  return *x;
}

double Options::positive(const std::string& name, double otherwise) const {
  const auto text = value(name);
  if (!text) return otherwise;
  const ParsedNumber parsed = parse_number(*text);
  const double x = parsed.value;
  if (parsed.length != text->size() || !(x > 0) || !std::isfinite(x))
    throw usage_error("'" + name + "' needs a positive number, not '" + *text + "'");
  return x;
}

std::vector<std::string> Options::names(const std::string& name) const {
  std::vector<std::string> out;
  const auto text = value(name);
  if (!text) return out;
  std::string word;
  for (char c : *text + ",") {
    if (c != ',') {
      word += c;
    } else if (word.empty()) {
      throw usage_error("'" + name + "' needs names, separated by commas, not '" + *text + "'");
    } else {
      out.push_back(std::move(word));
      word.clear();
    }
  }
  return out;
}

std::vector<std::string> Options::inputs() const {
  return {positional_.begin() + (positional_.empty() ? 0 : 1), positional_.end()};
}

Error usage_error(std::string message) { return Error("", std::move(message)); }

Options read_options(const Command& command, const std::vector<std::string>& arguments) {
  OptionReader reader{command, {}};
  reader.read(arguments);
  return std::move(reader.out);
}

std::string help_text(const Command& command) {
  std::string out =
      command.summary + "\n\nusage: spirograd " + command.name + (command.usage.empty() ? "" : " " + command.usage) + "\n\n";
  for (const std::string& line : command.details) out += line + "\n";
  if (!command.details.empty()) out += "\n";
  io::Table table({"", ""});
  for (const OptionSpec& o : command.options)
    table.add({"  " + (o.short_name.empty() ? "" : o.short_name + ", ") + o.name + (o.value.empty() ? "" : " " + o.value),
               o.help});
  table.add({"  --help", "this text"});
  out += "options:\n" + table.str();
  if (!command.examples.empty()) out += "\nexamples:\n";
  for (const std::string& e : command.examples) out += "  " + e + "\n";
  return out;
}

OptionSpec function_option() { return {"--function", "NAME", "the function of the file; the last one if not given", "-f"}; }
OptionSpec device_option() {
  return {"--device", "D", "number or part of the name of a Vulkan device, or 'interpreter' (also SPIROGRAD_DEVICE)", "-d"};
}
OptionSpec cast_option() { return {"--cast", "", "convert inputs to the element types that the program wants"}; }
OptionSpec dtype_option() {
  return {"--dtype", "f32|f64", "what a type parameter (x: T[N]) stands for; as the inputs say if not given"};
}
OptionSpec time_option() {
  return {"--time", "", "tell how long compiling, the first run and, on devices, warm replays of it took"};
}
OptionSpec json_option() { return {"--json", "", "results as JSON on stdout"}; }
OptionSpec output_option(const std::string& help) { return {"--output", "NAME=FILE", help, "-o", true}; }
OptionSpec form_option() {
  return {"--form", "address|descriptors", "how kernels reach arrays; what suits the device if not given"};
}
OptionSpec tuned_option() { return {"--tuned", "", "with the schedules that 'spirograd tune' has found on this device"}; }
OptionSpec deterministic_option() {
  return {"--deterministic", "", "the same bits in every run; scatters to large arrays take longer"};
}

std::vector<OptionSpec> with_program_options(std::vector<OptionSpec> own, std::vector<OptionSpec> after) {
  for (OptionSpec& o : std::vector<OptionSpec>{function_option(), device_option(), form_option(), deterministic_option(),
                                               tuned_option(), cast_option(), dtype_option(), json_option()})
    own.push_back(std::move(o));
  own.insert(own.end(), after.begin(), after.end());
  return own;
}

}  // namespace spirograd::cli
