#include <algorithm>

#include "frontend/base/bytes_text.h"
#include "spirograd/executable.h"

namespace spirograd {

std::vector<std::string> largest_scratch(const Executable& executable, size_t most) {
  std::vector<const BufferDesc*> all;
  for (const BufferDesc& b : executable.buffers)
    if (b.role == Role::Scratch && b.bytes > 0) all.push_back(&b);
  std::stable_sort(all.begin(), all.end(), [](const BufferDesc* a, const BufferDesc* b) { return a->bytes > b->bytes; });
  std::vector<std::string> out;
  for (const BufferDesc* b : all) {
    if (out.size() == most) break;
    std::string line = to_string(b->type) + ", " + bytes_text(b->bytes);
    if (!b->what.empty()) line += ": " + b->what;
    if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(std::move(line));
  }
  return out;
}

}  // namespace spirograd
