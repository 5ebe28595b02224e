// spirograd completion and spirograd man: what shells and manuals know of the tool, made of the same tables as --help.
#include <algorithm>

#include "frontend/base/near_name.h"
#include "tools/cli/tool.h"

namespace spirograd::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : " ") + w;
  return out;
}

std::vector<std::string> names_of(const std::vector<Command>& commands) {
  std::vector<std::string> out;
  for (const Command& c : commands) out.push_back(c.name);
  out.emplace_back("help");
  return out;
}

// What may stand after an option, "a|b|c" in its help; nothing where that is open.
std::string choices_of(const OptionSpec& o) {
  if (o.value.find('|') == std::string::npos) return "";
  std::string out = o.value;
  std::replace(out.begin(), out.end(), '|', ' ');
  return out;
}

// No words: bash completes names of files.
std::string bash_of(const Command& c) {
  std::vector<std::string> options = {"--help"};
  std::string values;
  for (const OptionSpec& o : c.options) {
    options.push_back(o.name);
    if (!o.short_name.empty()) options.push_back(o.short_name);
    if (o.value.empty()) continue;
    const std::string given = o.name + (o.short_name.empty() ? "" : "|" + o.short_name), choices = choices_of(o);
    values += "        " + given + ") words='" + choices + "' ;;\n";
  }
  return "    " + c.name + ")\n      case $before in\n" + values + "        *) case $current in -*) words='" +
         joined(options) + "' ;; esac ;;\n      esac ;;\n";
}

std::string bash(const std::vector<Command>& commands) {
  std::string out = "# Completion of spirograd " SPIROGRAD_VERSION
                    " for bash: source <(spirograd completion bash)\n"
                    "_spirograd() {\n"
                    "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
                    "  local first=${COMP_WORDS[1]}\n"
                    "  [ \"$COMP_CWORD\" -eq 1 ] && first=help\n"
                    "  case $first in\n"
                    "    help) words='" +
                    joined(names_of(commands)) + "' ;;\n";
  for (const Command& c : commands) out += bash_of(c);
  return out +
         "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\ncomplete -o default -F _spirograd spirograd\n";
}

// zsh runs functions for bash.
std::string zsh(const std::vector<Command>& commands) {
  return "# For zsh: source <(spirograd completion zsh)\nautoload -U +X bashcompinit && bashcompinit\n" + bash(commands);
}

std::string in_quotes_of_fish(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string fish(const std::vector<Command>& commands) {
  std::string out = "# Completion of spirograd " SPIROGRAD_VERSION " for fish: spirograd completion fish | source\n";
  for (const Command& c : commands) {
    out += "complete -c spirograd -n __fish_use_subcommand -f -a " + c.name + " -d " + in_quotes_of_fish(c.summary) + "\n";
    for (const OptionSpec& o : c.options) {
      out += "complete -c spirograd -n '__fish_seen_subcommand_from " + c.name + "' -l " + o.name.substr(2);
      if (!o.short_name.empty()) out += " -s " + o.short_name.substr(1);
      if (!o.value.empty()) out += " -r";
      if (const std::string choices = choices_of(o); !choices.empty()) out += " -f -a " + in_quotes_of_fish(choices);
      out += " -d " + in_quotes_of_fish(o.help) + "\n";
    }
  }
  return out;
}

int completion(const Options& options) {
  if (options.positional().size() > 1) throw usage_error("'completion' takes one shell");
  const std::string shell = options.positional()[0];
  const std::vector<Command> commands = all_commands();
  const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  if (shell == "bash")
    print(bash(commands));
  else if (shell == "zsh")
    print(zsh(commands));
  else if (shell == "fish")
    print(fish(commands));
  else
    throw usage_error("there is no completion for '" + shell + "'").hint(did_you_mean(shell, shells) + " bash, zsh or fish");
  return kOk;
}

// Text in a manual: a line that begins with a dot would be a request, a backslash an escape, a hyphen may become a dash.
std::string roff(const std::string& text) {
  std::string out;
  bool begins = true;
  for (char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    begins = c == '\n';
  }
  return out;
}

std::string as_it_stands(const std::string& lines) { return ".PP\n.nf\n" + roff(lines) + ".fi\n"; }

std::string manual_of(const Command& c) {
  std::string out =
      ".SS \"spirograd " + roff(c.name + (c.usage.empty() ? "" : " " + c.usage)) + "\"\n" + roff(c.summary) + ".\n";
  for (const std::string& line : c.details) out += roff(line) + "\n";
  for (const OptionSpec& o : c.options)
    out += ".TP\n.B " + roff((o.short_name.empty() ? "" : o.short_name + ", ") + o.name) +
           (o.value.empty() ? "" : "\\fR \\fI" + roff(o.value) + "\\fR") + "\n" + roff(o.help) + "\n";
  std::string examples;
  for (const std::string& e : c.examples) examples += "  " + e + "\n";
  return out + (examples.empty() ? "" : as_it_stands(examples));
}

int manual(const Options& options) {
  if (!options.positional().empty()) throw usage_error("'man' takes no '" + options.positional()[0] + "'");
  std::string out =
      ".TH SPIROGRAD 1 \"\" \"Spirograd " SPIROGRAD_VERSION
      "\" \"User Commands\"\n.SH NAME\nspirograd \\- array programs and their exact derivatives on any Vulkan device\n"
      ".SH SYNOPSIS\n.B spirograd\n.I COMMAND\n[\\fIFILE.sg\\fR] [\\fIname=value\\fR ...] [\\fIoptions\\fR]\n"
      ".SH COMMANDS\n";
  for (const Command& c : all_commands()) out += manual_of(c);
  const Conventions& known = conventions();
  out += ".SH INPUTS\n" + as_it_stands(known.inputs) + ".SH ENVIRONMENT\n" + roff(known.environment) +
         "\n.SH EXIT STATUS\n" + roff(known.exit_status) + "\n.SH EXAMPLES\n" + as_it_stands(known.examples);
  print(out);
  return kOk;
}

}  // namespace

Command completion_command() {
  return {"completion",
          "what a shell needs to complete command lines of spirograd",
          "bash|zsh|fish",
          {"A package installs that of bash."},
          {},
          {"source <(spirograd completion bash)", "spirograd completion fish | source"},
          completion,
          "a shell"};
}

Command man_command() {
  return {"man",  "the manual of all commands, as man reads it",
          "",     {},
          {},     {"spirograd man > spirograd.1", "spirograd man | man -l -"},
          manual, ""};
}

}  // namespace spirograd::cli
