// From the JSON of a request to arguments of a program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "spirograd/host_array.h"
#include "spirograd/text.h"
#include "tools/gradbench/evaluations.h"

namespace spirograd::gradbench {

struct Inputs {
  std::vector<text::NamedType> types;  // with `arrays` in one order
  std::vector<HostArray> arrays;
  text::ShapeVariables sizes;
  bool with_option = false;
};

/// Numbers become arrays of `element`. Throws SG0502 for a field that is missing, SG0501 for one that is of another form
/// than the evaluation demands; both name the field and what stands there.
Inputs read_inputs(const Evaluation& e, const nlohmann::json& input, DType element);

/// How often a function is run: at least `runs` times, and for `seconds`.
struct Repeats {
  int64_t runs = 1;
  double seconds = 0;
};
/// Of the fields min_runs and min_seconds, where the input has them. Throws SG0501.
Repeats read_repeats(const nlohmann::json& input);

}  // namespace spirograd::gradbench
