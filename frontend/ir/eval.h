// The reference interpreter: what a program means, computed as plainly as possible. Everything else is checked against it.
//
// All float arithmetic is done in double, whatever the dtype: f32 is not rounded, so results stand for real numbers.
// i32 and u32 wrap modulo 2^32 exactly and are held as doubles; bool is held as 0 or 1. Build is evaluated element by
// element, independent of any vectorisation. Programs may be arbitrarily deep; only binders and loops nest on the C++ stack.
#pragma once

#include <span>
#include <vector>

#include "spirograd/program.h"
#include "spirograd/result.h"

namespace spirograd::ir {

struct Array {
  Type type;
  std::vector<double> data;  // row-major
};

/// The results of `program` for `inputs` (one per parameter, row-major). Pre: the program is well formed (see verify.h).
/// Throws Error SG0501 if the number or the size of the inputs is wrong or an element does not fit an integer or bool dtype.
std::vector<Array> evaluate(const Program& program, std::span<const std::vector<double>> inputs);

/// The same with errors as values.
Result<std::vector<Array>> try_evaluate(const Program& program, std::span<const std::vector<double>> inputs);

/// Whether `x` is a value of dtype `t`: any double for floats, an integer in range, 0 or 1.
bool fits(double x, DType t);

}  // namespace spirograd::ir
