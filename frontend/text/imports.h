// Files that a file imports.
#pragma once

#include "frontend/text/lexer.h"
#include "spirograd/own_kernel.h"

namespace spirograd::text {

/// The file that `what` names, a string or the name of a library, as seen from the file where it stands: read and parsed
/// unless it has been before. Throws SG0410, and what is wrong in the file.
int import_file(Source& source, const Token& what);

/// The module of a file that is named at that place.
OwnKernel::Module load_module(const Source& source, std::string_view path, Place at);

/// "a/b/../c.sg" -> "a/c.sg"; of text alone.
std::string plain_path(std::string_view path);

}  // namespace spirograd::text
