// Command lines: what a command accepts, and what it was given. Nothing abbreviates; mistyped names get a suggestion.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spirograd/result.h"

namespace spirograd::cli {

struct OptionSpec {
  std::string name;   // "--device"
  std::string value;  // what stands after it, for the help; "": a flag
  std::string help;
  std::string short_name;  // "-o" or ""
  bool repeats = false;
};

/// What a command was given.
class Options {
 public:
  struct Given {
    std::string name, value;
  };
  bool has(const std::string& name) const;
  std::optional<std::string> value(const std::string& name) const;
  /// In the order of the command line.
  std::vector<std::string> values(const std::string& name) const;
  const std::vector<Given>& given() const { return given_; }
  const std::vector<std::string>& positional() const { return positional_; }
  /// A whole number of at least `least`. Throws a usage error.
  int64_t number(const std::string& name, int64_t otherwise, int64_t least) const;
  /// A number greater than 0, finite. Throws a usage error.
  double positive(const std::string& name, double otherwise) const;
  /// Names separated by commas; none if the option is not given. Throws a usage error.
  std::vector<std::string> names(const std::string& name) const;
  /// Everything after the first positional argument.
  std::vector<std::string> inputs() const;

 private:
  friend struct OptionReader;
  std::vector<Given> given_;
  std::vector<std::string> positional_;
};

struct Command {
  std::string name, summary;
  std::string usage;  // after the name: "FILE.sg [name=value ...]"
  std::vector<std::string> details;
  std::vector<OptionSpec> options;
  std::vector<std::string> examples;
  std::function<int(const Options&)> run;
  std::string needs = "a program";  // its first positional argument; "": it needs none
};

/// An error in the use of the tool: no code, exit status 2.
Error usage_error(std::string message);

/// Throws usage errors.
Options read_options(const Command& command, const std::vector<std::string>& arguments);

std::string help_text(const Command& command);

// Options that several commands share.
OptionSpec function_option();
OptionSpec device_option();
OptionSpec cast_option();
OptionSpec dtype_option();
OptionSpec json_option();
OptionSpec output_option(const std::string& help);
OptionSpec form_option();
OptionSpec deterministic_option();
OptionSpec tuned_option();
OptionSpec time_option();

/// A command's own options, then those of a program that is compiled: function, device, form, deterministic, tuned, cast,
/// dtype, json. `after`: at the end.
std::vector<OptionSpec> with_program_options(std::vector<OptionSpec> own, std::vector<OptionSpec> after = {});

}  // namespace spirograd::cli
