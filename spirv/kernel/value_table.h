// The pure instructions of a body by what they are: which value is equal to an instruction that is about to be made? What
// was added last is forgotten first.
#pragma once

#include <optional>

#include "frontend/base/flat_index.h"
#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

class ValueTable {
 public:
  std::optional<Value> find(const Inst& inst, const std::vector<Inst>& body) const;
  /// Pre: find() gives nothing for body[v]; v is greater than all that were inserted and are still known.
  void insert(Value v, const std::vector<Inst>& body);
  size_t size() const { return added_.size(); }
  /// Forgets all but the first `size` insertions.
  void shrink(size_t size);

 private:
  struct Added {
    uint64_t hash;
    uint32_t number;
  };
  FlatIndex index_;  // of values + 1
  std::vector<Added> added_;
};

}  // namespace spirograd::kernel
