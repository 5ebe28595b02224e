// The conformance tables: programs with known values and derivatives. Each program stands twice, as a function of the .sg
// files here and as a lambda of the C++ surface (programs_*.cpp); a Case says what it must compute.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spirograd/program.h"
#include "spirograd/result.h"

namespace spirograd::conformance {

using Values = std::vector<double>;

struct Along {
  Values direction;  // over all float parameters, in order
  Values expected;
};

/// Empty: not stated. Values of several arrays are joined.
struct Case {
  std::string line;     // of the tables: C01 to C76 from an existing system's suite, D01 to D30 derived by hand,
                        // E01 to E28 with derivatives inside, F01 to F15 order, segments, linear algebra, windows
  std::string program;  // the .sg function, and the key in programs()
  std::vector<Values> inputs;
  Values value;
  Values gradient;   // by all float parameters, of the sum of all results times `cotangent`
  Values cotangent;  // empty: ones
  std::vector<Along> jvp;
  std::vector<Along> hvp;       // derivative of the gradient in a direction
  double f32_tolerance = 1e-4;  // looser ones say why, and do not count as the largest error
};

std::vector<Case> suite_cases();    // C
std::vector<Case> derived_cases();  // D
std::vector<Case> nested_cases();   // E
std::vector<Case> linear_cases();   // F
/// All, in order.
std::vector<Case> all_cases();

enum class Surface { Text, Cpp };
const char* name(Surface s);

using Make = std::function<Result<Program>(DType)>;
using Programs = std::map<std::string, Make>;
void add_suite_programs(Programs& programs);
void add_derived_programs(Programs& programs);
void add_nested_programs(Programs& programs);
void add_linear_programs(Programs& programs);

/// The program of that name over floats of `dtype`. Throws Error.
Program program(Surface surface, const std::string& name, DType dtype);

/// y = a / b, then `steps` times y = 0.499999985 (y + y - shift), then y - shift; written out. Value and gradient are close
/// to those of a / b; a compiler that copies shared terms needs 2^steps operations.
Program chain(Surface surface, int steps, int shift, DType dtype);

/// x |-> f'(f'(x)) for f = sin: a derivative used inside another program.
Program derivative_of_derivative(Surface surface, DType dtype);

/// What a run of `program` must give: these results, counted from `first`, joined.
struct Part {
  std::string what;
  size_t first = 0, count = 0;
  Values expected;
};
struct Check {
  std::string line, name;
  Program program;
  std::vector<Values> inputs;
  std::vector<Part> parts;
  double f32_tolerance = 1e-4;
};

/// All cases as programs to run: one for value and gradient, one per direction.
std::vector<Check> checks(Surface surface, DType dtype);

/// The first number that is off by more than `tolerance`, relative to itself (where 0 is expected, to the part's largest);
/// "" if there is none. `worst` grows to the largest error.
std::string disagreement(const Part& part, const std::vector<Values>& results, double tolerance, double* worst);

/// Every line of the tables that states numbers.
const std::vector<std::string>& all_lines();

}  // namespace spirograd::conformance
