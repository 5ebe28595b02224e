// Sessions made and dropped on one device: whether anything grows with their number.
#pragma once

#include <string>

namespace spirograd::faults {

/// Makes and drops that many, in both forms, each run once with given and once with bound arrays, and prints what the
/// process holds after a tenth of them and at the end. Returns what has grown ("" if nothing has).
std::string make_and_drop(int sessions, const std::string& cache_dir);

}  // namespace spirograd::faults
