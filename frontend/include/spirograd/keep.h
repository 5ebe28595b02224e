// What reverse mode keeps of the states that a loop goes through. It walks the steps back and needs the state before each of
// them: kept, or computed again from an earlier one. Values are the same to the last bit; sums over the steps may be rounded
// differently.
#pragma once

#include <cstdint>

namespace spirograd {

/// fori(10000, step, start, Keep::sqrt())
struct Keep {
  int64_t levels_ = 1;  // rounds of steps inside of rounds; 0: as many as there can be
  int64_t bytes_ = -1;  // not negative: as few levels as keep no more than this

  /// Every state: n rows for n steps; nothing is computed again.
  static constexpr Keep all() { return {}; }
  /// About 2 sqrt(n) rows; each step is computed twice.
  static constexpr Keep sqrt() { return {2}; }
  /// About k n^(1/k) rows; each step is computed k times. k >= 1.
  static constexpr Keep levels(int64_t k) { return {k}; }
  /// About 2 log2(n) rows; each step is computed log2(n) times.
  static constexpr Keep least() { return {0}; }
  /// As many levels as it takes to keep no more than so many bytes. SG0601 where even `least` keeps more.
  static constexpr Keep budget(int64_t bytes) { return {1, bytes}; }
};

}  // namespace spirograd
