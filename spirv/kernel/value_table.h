// The pure instructions of a body by what they are: which value is equal to an instruction that is about to be made? A flat
// table, for building is mostly asking this; what was added last is forgotten first.
#pragma once

#include <optional>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

class ValueTable {
 public:
  ValueTable() : slots_(256, 0) {}
  std::optional<Value> find(const Inst& inst, const std::vector<Inst>& body) const;
  /// Pre: find() gives nothing for body[v].
  void insert(Value v, const std::vector<Inst>& body);
  size_t size() const { return added_.size(); }
  /// Forgets all but the first `size` insertions.
  void shrink(size_t size);

 private:
  struct Added {
    Value value;
    size_t slot;
  };
  size_t first_slot(const Inst& inst) const { return InstHash{}(inst) & (slots_.size() - 1); }
  size_t put(Value v, const Inst& inst);

  std::vector<uint32_t> slots_;  // value + 1, or 0; a power of two of them, at most half of them in use
  std::vector<Added> added_;
};

}  // namespace spirograd::kernel
