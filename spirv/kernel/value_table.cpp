#include "spirv/kernel/value_table.h"

namespace spirograd::kernel {

std::optional<Value> ValueTable::find(const Inst& inst, const std::vector<Inst>& body) const {
  for (size_t slot = first_slot(inst); slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1))
    if (body[slots_[slot] - 1] == inst) return slots_[slot] - 1;
  return {};
}

void ValueTable::insert(Value v, const std::vector<Inst>& body) {
  if (2 * added_.size() >= slots_.size()) {
    slots_.assign(2 * slots_.size(), 0);
    for (Added& a : added_) a.slot = put(a.value, body[a.value]);
  }
  added_.push_back({v, put(v, body[v])});
}

size_t ValueTable::put(Value v, const Inst& inst) {
  size_t slot = first_slot(inst);
  while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
  slots_[slot] = v + 1;
  return slot;
}

// Emptying slots in the reverse order of insertion leaves the runs of all others as they were.
void ValueTable::shrink(size_t size) {
  while (added_.size() > size) {
    slots_[added_.back().slot] = 0;
    added_.pop_back();
  }
}

}  // namespace spirograd::kernel
