// The functions whose accuracy is measured, each with its derivatives and what they are in double.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "spirograd/array.h"

namespace spirograd::exhaustive {

/// The second argument is ignored by functions of one.
using Exact = double (*)(double x, double y);

/// Where random pairs for functions of two arguments are drawn, beside pairs of any bits.
enum class Pairs : uint8_t { Any, Powers };

struct Function {
  std::string name;
  int arity;
  Array (*build)(Array x, Array y);
  Exact exact;
  std::vector<Exact> slopes;  // one per argument
  Pairs pairs = Pairs::Any;
  Exact size = nullptr;                          // errors are relative to this where it is greater than the result
  bool (*smooth)(double x, double y) = nullptr;  // where derivatives are compared; null: everywhere
  Exact slope_size = nullptr;                    // as `size`, for derivatives
};

std::span<const Function> functions();

}  // namespace spirograd::exhaustive
