// A program in a process of its own, whose lines are read as they come.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace spirograd::io {

struct Ended {
  int status = 0;
  std::string how;  // "", or what ended it before it could: "signal 11 (Segmentation fault)"
};

/// Runs `program` with arguments, none of which the shell gets to see, and hands each line of its stdout to `line`. stderr
/// is shared. Throws SG0504 when it cannot be started.
Ended run_process(const std::string& program, const std::vector<std::string>& arguments,
                  const std::function<void(const std::string&)>& line);

/// The file that this process runs.
std::string own_program();

}  // namespace spirograd::io
