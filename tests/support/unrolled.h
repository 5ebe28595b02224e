// Repeats written out: what they mean, for comparison.
#pragma once

#include "spirograd/executable.h"

namespace spirograd::test {

struct Unrolled {
  Executable executable;           // without Repeats
  std::vector<uint32_t> barriers;  // where those of the executable with Repeats come to stand
};

inline Unrolled unrolled(const Executable& e, const std::vector<uint32_t>& barriers = {}) {
  Unrolled out{e, {}};
  out.executable.steps.clear();
  std::vector<bool> before(e.steps.size());
  for (uint32_t b : barriers) before[b] = true;
  bool pending = false;  // a barrier before a Repeat stands before the first command in it
  run_through(e.steps, [&](size_t i, std::span<const uint64_t> offsets) {
    pending = pending || before[i];
    if (e.steps[i].kind == Step::Kind::Repeat) return;
    Step step = e.steps[i];
    for (size_t j = 0; j < step.uses.size(); ++j) {
      step.uses[j].offset = offsets[j];
      step.uses[j].strides.clear();
    }
    if (pending) out.barriers.push_back(static_cast<uint32_t>(out.executable.steps.size()));
    pending = false;
    out.executable.steps.push_back(std::move(step));
  });
  return out;
}

}  // namespace spirograd::test
