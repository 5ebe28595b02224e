// Bundles on the command line: read, as functions for those who match inputs, and told as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "spirograd/bundle_file.h"
#include "tools/cli/job.h"

namespace spirograd::cli {

/// Whether that file is a bundle, by its name.
bool is_bundle(const std::string& path);

/// Throws SG0504 (file) and SG0501 (no bundle).
Bundle load_bundle_file(const std::string& path);

/// A function of the bundle's name, with its inputs as parameters; what it gives is not in it.
Source source_of(const Bundle& bundle, const std::string& path);

/// Names and types.
nlohmann::json arguments_json(const std::vector<Param>& arguments);
/// The form, kernels and dispatches.
nlohmann::json form_json(const Executable& executable);
/// As --form has it.
const char* form_name(const Executable& executable);

}  // namespace spirograd::cli
