// Reverse mode as two programs, for hosts that do something else between them: one gives the results and what the other
// needs of them, the other takes that and cotangents, later, and gives the gradients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spirograd/program.h"
#include "spirograd/result.h"

namespace spirograd {

/// An array that the backward program takes under this name. A host that runs both has to keep it until then.
struct Residual {
  enum class From : uint8_t {
    Input,   // an input of the program, as it was: the backward program takes it as well
    Result,  // a result that the program has anyway
    Added,   // a result that the forward program has for this
  };
  std::string name;
  Type type;
  From from = From::Added;
  Loc at;  // where the source makes it; empty where that is not known
};

struct Split {
  /// The parameters of the program; its results, then the residuals that were added: "r_0", "r_1", ..
  Program forward;
  /// Residuals, then one parameter "ct_<result>" per float result; results "d_<param>", in the order of `wrt`.
  Program backward;
  std::vector<Residual> residuals;
  /// Of all residuals together, on a device.
  uint64_t residual_bytes() const;
};

/// The two halves of vjp(program, wrt): run one after the other they give the same bits. Residuals are as few bytes as it
/// takes without running loops, sums and scatters twice; what else lies between them and the gradient is computed again.
/// `wrt` and names as in grad.h: a name that is taken gets its prefix once more. Errors: those of vjp.
Result<Split> split(const Program& program, const std::vector<std::string>& wrt = {});

}  // namespace spirograd
