// Random well-typed programs for property tests. A program is a function of a list of decisions (bytes): the generator reads
// one where it has a choice, and 0 once they are used up. 0 always means the simplest choice, so a failing program shrinks
// by deleting and zeroing decisions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "spirograd/program.h"

namespace spirograd::test {

using Decisions = std::vector<uint8_t>;

struct RandomOptions {
  bool allow_builds = true;
  bool allow_loops = true;
  /// Only smooth functions of f32 arrays, f32 results, moderate values: finite differences work. Integers and bools appear,
  /// but never computed from floats.
  bool differentiable_only = false;
  /// NaN and infinities among the inputs. Not with differentiable_only.
  bool hostile_values = false;
  int max_size = 60;    // about the number of operations; chosen freely below that
  int max_depth = 6;    // of nested operations
  int max_builds = 3;   // nested
  int max_results = 3;  // at least 1
  int max_params = 8;
};

struct RandomProgram {
  Program program;
  std::vector<std::vector<double>> inputs;  // one per parameter, exact in the parameter's dtype
};

/// `count` bytes that depend on `seed` only, on every platform.
Decisions random_decisions(uint64_t seed, size_t count = 400);

/// The program of these decisions. Arrays have rank 0 to 3 (a little more inside), extents 0 to 4.
RandomProgram random_program(const Decisions& decisions, const RandomOptions& options = {});
inline RandomProgram random_program(uint64_t seed, const RandomOptions& options = {}) {
  return random_program(random_decisions(seed), options);
}

/// A list that still fails and from which nothing more can be deleted, zeroed or lowered; at most `max_tries` calls.
/// Pre: fails(decisions).
Decisions shrink(Decisions decisions, const std::function<bool(const Decisions&)>& fails, int max_tries = 4000);

}  // namespace spirograd::test
