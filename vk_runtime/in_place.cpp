#include "vk_runtime/in_place.h"

#include <algorithm>

#include "vk_runtime/barrier_plan.h"

namespace spirograd::vk {
namespace {

// Which bindings of a dispatch are the input and the output, if each is one of them; of them the kernel knows whether they
// may be one array.
bool is_pointwise(const Executable& e, const Step& step, uint32_t input, uint32_t output) {
  if (step.kind != Step::Kind::Dispatch) return false;
  const KernelBinary& kernel = e.kernels[step.kernel];
  for (uint32_t r = 0; r < step.uses.size(); ++r)
    for (uint32_t w = 0; w < step.uses.size(); ++w) {
      const BufferUse &from = step.uses[r], &to = step.uses[w];
      if (from.buffer != input || to.buffer != output) continue;
      const bool same_places = from.offset == to.offset && from.strides == to.strides;
      const InPlace pair{r, w};
      if (!same_places || std::find(kernel.in_place.begin(), kernel.in_place.end(), pair) == kernel.in_place.end())
        return false;
    }
  return true;
}

}  // namespace

std::string obstacle_in_place(const Executable& e, uint32_t input, uint32_t output) {
  const std::string &in = e.buffers[input].name, &out = e.buffers[output].name;
  const auto told = [&](size_t i) {
    return "step " + std::to_string(i) + (e.steps[i].label.empty() ? "" : " (" + e.steps[i].label + ")");
  };
  bool written = false;  // the output, by a step before
  for (size_t i = 0; i < e.steps.size();) {
    // What a body does in one iteration comes before what it does in the next: it is looked at as one step.
    const size_t end = i + 1 + (e.steps[i].kind == Step::Kind::Repeat ? e.steps[i].body : 0);
    bool reads = false, writes = false;
    for (size_t k = i; k < end; ++k) {
      if (is_idle(e.steps[k])) continue;
      for (const BufferUse& use : e.steps[k].uses) {
        reads = reads || (use.buffer == input && use.bytes > 0);
        writes = writes || (use.buffer == output && use.written && use.bytes > 0);
      }
    }
    if (reads && written) return told(i) + " reads '" + in + "' after '" + out + "' is written";
    if (reads && writes && (end != i + 1 || !is_pointwise(e, e.steps[i], input, output)))
      return told(i) + " reads elements of '" + in + "' that may be written before as '" + out + "'";
    written = written || writes;
    i = end;
  }
  return "";
}

void put_in_place(Executable& e, uint32_t input, uint32_t output) {
  for (Step& step : e.steps)
    for (BufferUse& use : step.uses)
      if (use.buffer == output) use.buffer = input;
}

}  // namespace spirograd::vk
