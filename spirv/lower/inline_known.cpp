// Elements of arrays that are known to be 0 by their coordinates (known_zeros). They are read like others, for 0 times
// infinity counts, but all of them at one place, so that what they are factors of is one value, too.
#include <algorithm>

#include "spirv/lower/inline.h"
#include "spirv/lower/known_zeros.h"

namespace spirograd::lower {

using ir::NodeId;
using kernel::Value;

Value Inliner::load_element(NodeId id, BufferRef ref, const Point& point) {
  const Type& type = node(id).type;
  const auto read = [&] {
    const auto [binding, index] = element(ref, type, kernel::Access::Read, point);
    return b_.load(binding, index);
  };
  const auto [chooses, fresh] = chooses_.try_emplace(id.v, false);
  if (fresh) chooses->second = chooses_by_place(graph_, id);
  if (!chooses->second) return read();
  Key row{0, id.v, point};
  KnownPlace at(point.size());
  for (size_t a = 0; a < point.size(); ++a) {
    const std::optional<uint64_t> word = point[a] == kUnknown ? std::nullopt : b_.constant_bits(point[a]);
    if (word) at[a] = static_cast<int32_t>(*word), row.point[a] = kUnknown;
  }
  if (row.point == point || !is_known_zero(graph_, id, at)) return read();
  for (auto block = zeros_.rbegin(); block != zeros_.rend(); ++block)
    if (const auto known = block->find(row); known != block->end()) return known->second;
  return zeros_.back()[row] = read();
}

bool Inliner::is_zero(Value v) const {
  const auto known = [&](Value x) {
    return std::ranges::any_of(zeros_, [x](const auto& block) {
      return std::ranges::any_of(block, [x](const auto& entry) { return entry.second == x; });
    });
  };
  const auto factors = b_.factors(v);
  return known(v) || (factors && (known(factors->first) || known(factors->second)));
}

}  // namespace spirograd::lower
