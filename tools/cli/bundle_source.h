// Bundles as programs of the command line: what they take, for those who match inputs; and their executables.
#pragma once

#include <cstdint>
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

/// Inputs, then outputs.
std::vector<Param> arguments_of(const Bundle& bundle);

}  // namespace spirograd::cli
