// Derivatives of programs. Each function maps a program to a program and can be applied to its own output (grad of grad,
// jvp of grad, ...). Builds are vectorised first; nothing is simplified afterwards.
//
// `wrt` names float parameters, or structs (`m` is all floats of m.w, m.b, ..); empty means all of them. Names of new
// parameters and results are "ct_", "dot_" or "d_" and the old name; a name that is taken already gets the prefix once more
// ("d_d_x") until it is free.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spirograd/program.h"
#include "spirograd/result.h"

namespace spirograd {

/// The parameters that `wrt` means, as places among those of the program, in the order of derivatives by them. Errors
/// SG0201, SG0202, SG0206, as all functions here give.
Result<std::vector<size_t>> differentiated(const Program& program, const std::vector<std::string>& wrt);

/// The result that `of` means, as its place among those of the program: the one that grad and value_and_grad are of. Errors
/// SG0203 to SG0205, as they give.
Result<size_t> differentiated_result(const Program& program, std::string_view of = "");

/// Gradient of one scalar float result, `of` by name; "" means the first scalar float result. Same parameters; results
/// "d_<param>", in the order of `wrt`. A parameter that the result does not depend on has the gradient zero.
Result<Program> grad(const Program& program, const std::vector<std::string>& wrt = {}, std::string_view of = "");

/// All results of `program` first, then the results of grad.
Result<Program> value_and_grad(const Program& program, const std::vector<std::string>& wrt = {}, std::string_view of = "");

/// Reverse mode. One more parameter "ct_<result>" per float result; results: those of `program`, then "d_<param>", the
/// transposed derivative applied to all cotangents together (one reverse pass).
Result<Program> vjp(const Program& program, const std::vector<std::string>& wrt = {});

/// Forward mode. One more parameter "dot_<param>" per name in `wrt`; results: those of `program`, then "dot_<result>", the
/// derivative in that direction, per float result. Results of other types have none.
Result<Program> jvp(const Program& program, const std::vector<std::string>& wrt = {});

}  // namespace spirograd
