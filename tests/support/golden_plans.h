// Plans as lines of text, and the files of tests/golden that hold them.
#pragma once

#include <string>

#include "spirograd/program.h"
#include "spirograd/target.h"

namespace spirograd::test {

/// Of a file of tests/golden.
std::string golden(const std::string& file);

/// A CPU driver that ends loops as some do, without subgroups and with them; a GPU, and one that offers as little as there
/// is.
Target plain_cpu();
Target lane_cpu();
Target plain_gpu();
Target poor_gpu();

/// Tells texts apart (FNV-1a).
std::string fingerprint(const std::string& text);

/// "12 steps: 64 1 1 .., 120 instructions, 300 iterations, 4096 bytes, 89abcdef, asked 01234567": workgroups of the first
/// steps ("[repeat 100 x 4]": so often the next 4), instructions of all kernels, loop iterations of the invocation that runs
/// most, bytes of scratch memory, a fingerprint of kernels and steps, and one of the facts by which schedules were chosen.
/// Or the code of the error with which the compiler refuses. Pre: simplified.
std::string summary(const Program& p, const Target& target);

/// The same in a few words: "12 steps 89abcdef".
std::string short_summary(const Program& p, const Target& target);

/// Fails where the lines of the file are others. With SPIROGRAD_UPDATE_GOLDEN set it writes the file instead. Lines that
/// start with two spaces belong to the last one that does not.
void expect_golden(const std::string& file, const std::string& have);

}  // namespace spirograd::test
