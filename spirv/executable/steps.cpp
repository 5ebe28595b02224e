// Steps in the order in which they run, and how many those are. Bodies nest, and no function here calls itself: how deep is
// up to whoever made the executable.
#include "spirograd/executable.h"

namespace spirograd {
namespace {

struct Open {  // a Repeat around the current step
  size_t begin, end;
  uint64_t count, iteration;
};

}  // namespace

void run_through(std::span<const Step> steps, const StepVisitor& visit) {
  std::vector<Open> open;
  std::vector<uint64_t> offsets;
  for (size_t i = 0; i < steps.size();) {
    const Step& step = steps[i];
    offsets.clear();
    for (const BufferUse& use : step.uses) {
      uint64_t offset = use.offset;
      for (size_t d = 0; d < use.strides.size(); ++d) offset += static_cast<uint64_t>(use.strides[d]) * open[d].iteration;
      offsets.push_back(offset);
    }
    visit(i, offsets);
    ++i;
    if (step.kind == Step::Kind::Repeat) open.push_back({i, i + step.body, step.count, 0});
    while (!open.empty() && i == open.back().end) {
      if (++open.back().iteration < open.back().count) {
        i = open.back().begin;
        break;
      }
      open.pop_back();
    }
  }
}

uint64_t runs(std::span<const Step> steps, Step::Kind kind) {
  std::vector<Open> open;
  uint64_t times = 1, sum = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (; !open.empty() && i == open.back().end; open.pop_back()) times /= open.back().count;
    const Step& step = steps[i];
    if (step.kind == kind) sum += times;
    if (step.kind != Step::Kind::Repeat) continue;
    open.push_back({i + 1, i + 1 + step.body, step.count, 0});
    times *= step.count;
  }
  return sum;
}

uint64_t commands(std::span<const Step> steps) {
  return runs(steps, Step::Kind::Dispatch) + runs(steps, Step::Kind::Fill) + runs(steps, Step::Kind::Copy);
}

}  // namespace spirograd
