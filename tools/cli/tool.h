// The tool as a function: commands, exit codes, and the form of errors.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/options.h"

namespace spirograd::cli {

enum ExitCode {
  kOk = 0,
  kCheckFailed = 1,
  kUsage = 2,
  kProgramError = 3,
  kDeviceError = 4,
  kFileError = 5,
  kMemoryError = 6,
  kInternalError = 70,
  kInterrupted = 130  // by Ctrl-C, with what was reached kept
};

/// What the process ends with after this error.
int exit_code(const Error& error);

/// Runs one command line (without the program's name). Results go to stdout, everything else to stderr. Never throws.
int run_tool(const std::vector<std::string>& arguments);

/// Writes to stderr. What users typed and what their files contain may be quoted: no control character of theirs reaches
/// the terminal.
void tell(const std::string& text);

/// Writes to stdout and notices when nobody can take it. Throws SG0505.
void print(const std::string& text);

// One per file.
Command devices_command();
Command doctor_command();
Command run_command();
Command grad_command();
Command fit_command();
Command bench_command();
Command tune_command();
Command check_command();
Command opt_command();
Command compile_command();
Command inspect_command();
Command explain_command();
Command completion_command();
Command man_command();

/// In the order in which help lists them.
std::vector<Command> all_commands();

/// What holds for all commands, for help and manual; lines of lists begin with two spaces.
struct Conventions {
  std::string inputs, environment, exit_status, examples;
};
const Conventions& conventions();

}  // namespace spirograd::cli
