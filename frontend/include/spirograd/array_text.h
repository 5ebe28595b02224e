// Arrays as text for people, as NumPy prints them.
#pragma once

#include <cstdint>
#include <string>

#include "spirograd/host_array.h"

namespace spirograd {

/// A scalar as its number, arrays in nested brackets, row by row, columns aligned; of more than `limit` elements only the
/// first and last three of each axis. Numbers have the fewest digits that read back as the same one of their type:
/// "[  0 0.1]". Pre: the bytes are those of the type.
std::string to_string(const HostArray& array, int64_t limit = 1000);

/// The shortest digits that read back as the same number of that type: "0.1", "3", "-inf", "nan", "true".
std::string number_text(double x, DType t);

}  // namespace spirograd
