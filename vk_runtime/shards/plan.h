// What all devices have in common: the program of the whole, and that of each piece, made once for each extent.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "spirograd/shards.h"

namespace spirograd::shards {

/// Contents of an input, and when they were set.
struct Given {
  std::shared_ptr<const HostArray> array;
  uint64_t version = 0;
};
using Inputs = std::vector<Given>;

class Plan {
 public:
  /// Throws as Shards::create says.
  Plan(MakeProgram make, std::vector<Param> params, ShardOptions options);

  /// Checked: its results are what joining needs. Threads may ask at the same time; one makes, the others wait. Throws
  /// SG0511, and what the program's maker finds.
  Program program_for(int64_t count);
  /// The number of a parameter. Throws SG0503.
  size_t input(std::string_view name) const;

  int64_t extent() const { return extent_; }
  const Program& whole() const { return whole_; }
  const ShardOptions& options() const { return options_; }
  const JoinedResult& how(size_t result) const { return how_[result]; }
  /// Of an input: where it is cut, -1 if it is not.
  int axis(size_t input) const { return axes_[input]; }

 private:
  MakeProgram make_;
  ShardOptions options_;
  int64_t extent_;
  Program whole_;
  std::vector<JoinedResult> how_;  // one per result, in the program's order
  std::vector<int> axes_;
  std::mutex mutex_;
  std::map<int64_t, Program> programs_;
};

}  // namespace spirograd::shards
