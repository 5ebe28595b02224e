#include "frontend/base/flat_index.h"

#include <algorithm>
#include <utility>

namespace spirograd {

void FlatIndex::grow() {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  old.erase(std::remove_if(old.begin(), old.end(), [](const Slot& s) { return s.number == 0; }), old.end());
  std::sort(old.begin(), old.end(), [](const Slot& a, const Slot& b) { return a.number < b.number; });
  for (const Slot& s : old) put(s);
}

}  // namespace spirograd
