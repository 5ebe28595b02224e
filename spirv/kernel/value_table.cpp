#include "spirv/kernel/value_table.h"

namespace spirograd::kernel {

std::optional<Value> ValueTable::find(const Inst& inst, const std::vector<Inst>& body) const {
  const uint32_t number = index_.find(InstHash{}(inst), [&](uint32_t n) { return body[n - 1] == inst; });
  return number == 0 ? std::nullopt : std::optional<Value>(number - 1);
}

void ValueTable::insert(Value v, const std::vector<Inst>& body) {
  added_.push_back({InstHash{}(body[v]), v + 1});
  index_.insert(added_.back().hash, added_.back().number);
}

void ValueTable::shrink(size_t size) {
  for (; added_.size() > size; added_.pop_back()) index_.take_back(added_.back().hash, added_.back().number);
}

}  // namespace spirograd::kernel
