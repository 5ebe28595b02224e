// Numbers in lines: fields between commas, or between semicolons or tabs where the first line has no comma. A first line
// that is not all numbers names the columns and is passed over. Numbers in text have no element type: they take the one that
// is wanted.
#pragma once

#include <string>

#include "tools/io/npy.h"

namespace spirograd::io {

/// [lines, columns], or [lines] of one column, in f64. Throws SG0501 with the line: columns that differ in number, what is
/// no number, nothing at all.
FileArray parse_csv(const std::vector<uint8_t>& contents, const std::string& where);

/// A line per row, the fewest digits that give the number back. Throws SG0508 for more than two axes.
std::string csv_text(const HostArray& a);

}  // namespace spirograd::io
