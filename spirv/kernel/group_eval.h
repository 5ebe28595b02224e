// What the evaluator needs where invocations work together: shared memory that knows who used each word since the last
// barrier, and what the lanes of a subgroup combine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// The shared arrays of the workgroup that runs. Invocations are numbers inside of the workgroup.
class SharedMemory {
 public:
  explicit SharedMemory(const Kernel& kernel);

  /// Another workgroup: nothing is written yet.
  void clear();
  void barrier() { ++epoch_; }

  /// Pre: index is inside of the array. Returns what is wrong, "" if nothing is: a word that nobody has written, or that two
  /// invocations use between the same barriers, one of them to write.
  std::string read(uint32_t array, uint32_t index, uint32_t invocation, uint64_t& value);
  std::string write(uint32_t array, uint32_t index, uint32_t invocation, uint64_t value);

 private:
  static constexpr uint32_t kNobody = ~uint32_t{0};
  struct Word {
    uint64_t value = 0;
    uint64_t written = 0, read = 0;  // epochs of the last use; 0: never
    uint32_t writer = kNobody;
    uint32_t readers[2] = {kNobody, kNobody};  // of that epoch: two different ones, if there were two
  };

  const Kernel& kernel_;
  std::vector<std::vector<Word>> words_;  // per array
  uint64_t epoch_ = 1;
};

/// The combiner of SubgroupReduce and SubgroupScan on bit patterns, and what it starts from.
uint64_t combine(KOp combiner, Scalar type, uint64_t a, uint64_t b);
uint64_t identity(KOp combiner, Scalar type);
bool is_nan(Scalar type, uint64_t word);

}  // namespace spirograd::kernel
