// Which groups of computes have the same kernel, before it is made: what they compute and how, whatever their buffers are
// and wherever in them their arrays begin. A program of a thousand equal statements makes its few kernels once.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>

#include "spirv/lower/compute.h"

namespace spirograd::lower {

/// What a group is, apart from places. Groups of equal words have the same kernel.
struct Likeness {
  std::vector<uint64_t> words;
  std::vector<BufferRef> bases;  // of each buffer in the order of meeting: the first place that is met
  bool parts = false;            // of some arrays, only the rows that are read or written are known
};

/// None: the group is not of maps alone, holds loops, or asks whether an arm of an `if` is taken. Nodes in `computed` are
/// computed though they have a buffer.
std::optional<Likeness> likeness(const ir::Graph& g, std::span<const Compute> group, const Materialised& materialised,
                                 const std::set<uint32_t>& computed, const std::vector<ParamSource>& params,
                                 const Arms& arms);

/// The dispatches of kernels that were made, by likeness.
class MadeBefore {
 public:
  struct Dispatch {
    Step step;                // its uses count from the bases
    uint64_t iterations = 0;  // of all loops of an invocation
  };

  /// The step of a group that is like one before, of which no invocation runs more iterations.
  std::optional<Step> find(const Likeness& l, uint64_t most_iterations) const;
  /// `exact`: the kernel reaches all of what the step's uses name, and nothing else.
  void add(const Likeness& l, Dispatch made, bool exact);
  /// Forgets kernels from this number on.
  void erase_from(size_t kernel);

 private:
  struct Hash {
    size_t operator()(const std::vector<uint64_t>& words) const;
  };
  std::unordered_map<std::vector<uint64_t>, Dispatch, Hash> made_;
};

}  // namespace spirograd::lower
