// The protocol of GradBench: a JSON object in a line asks, a JSON object in a line answers.
#pragma once

#include <string>

#include "tools/gradbench/engine.h"

namespace spirograd::gradbench {

/// The answer to one line, without a line end. Never throws: what goes wrong is an answer with "success": false and an
/// "error" that names it.
std::string answer(const std::string& line, Engine& engine);

}  // namespace spirograd::gradbench
