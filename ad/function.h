// Derivatives inside of a program: of a function as its trace leaves it, in the graph of that trace. What the function reads
// from around it is an operand like others, so derivatives of nested functions never meet, and the result is made of
// ordinary nodes: it can be differentiated, batched and looped over like anything else.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "frontend/ir/graph.h"
#include "spirograd/program.h"

namespace spirograd::ad {

/// Results over placeholders (Var nodes), and over terms from around.
struct TracedFunction {
  std::vector<ir::Expr> vars, results;
};

enum class Mode : uint8_t { Forward, Reverse };

/// A function and its derivative at a point. The value and the derivatives in several directions share what they compute.
class FunctionAt {
 public:
  /// `at`: per variable. The derivative is taken by all of them: floats, at least one.
  FunctionAt(ir::Graph& g, const TracedFunction& f, std::vector<ir::Expr> at, Mode mode);

  /// Per result. In forward mode a loop gives its value and its tangents together: where a derivative is asked for as well,
  /// the two share their loops if they are given the same direction.
  std::vector<ir::Expr> values(std::span<const ir::Expr> direction = {}) const;
  /// Forward: of the tangents of the variables, the tangents of all float results. Reverse: of the cotangents of all float
  /// results, the cotangents of the variables. Types are those of the primals.
  std::vector<ir::Expr> derivative(std::span<const ir::Expr> direction) const;

 private:
  std::vector<ir::Expr> with_params(std::span<const ir::NodeId> nodes, std::span<const ir::Expr> direction) const;

  ir::Graph& g_;
  std::vector<ir::Expr> at_;                 // the variables and what is read from around
  std::vector<Type> directions_;             // parameters behind these
  std::vector<ir::NodeId> values_, linear_;  // over parameters, in the graph of the trace
};

/// The derivative of a function of one scalar float result by all its variables, with the value in front. `what` is its name
/// in errors: SG0204, SG0205 if the result is something else.
std::vector<ir::Expr> value_and_gradient(ir::Graph& g, std::string_view what, const TracedFunction& f,
                                         std::vector<ir::Expr> at);

/// All partial derivatives of one float result by one float variable, in the mode that takes fewer directions. Shape: that
/// of the result, then that of the variable. SG0404 if there are several of either, SG0101 if those are too many axes.
/// `chunk` > 0: so many directions at a time, in a loop, so that what one of them needs of memory is there as often at most.
ir::Expr jacobian(ir::Graph& g, std::string_view what, const TracedFunction& f, const std::vector<ir::Expr>& at,
                  int64_t chunk = 0);

}  // namespace spirograd::ad
