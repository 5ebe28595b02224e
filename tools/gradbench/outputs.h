// From the results of a program to the JSON of an answer.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "spirograd/host_array.h"
#include "tools/gradbench/evaluations.h"
#include "tools/gradbench/inputs.h"

namespace spirograd::gradbench {

struct NamedArray {
  std::string name;
  HostArray array;
};

/// `inputs`: those that the results are of. Throws SG0501 where an element is NaN or infinite, which JSON has no words for.
nlohmann::json write_output(Form form, const std::vector<NamedArray>& results, const Inputs& inputs);

}  // namespace spirograd::gradbench
