// Steps in the order in which they run, and how many those are. Bodies nest, and no function here calls itself: how deep is
// up to whoever made the executable.
#include "spirograd/executable.h"

namespace spirograd {
namespace {

struct Open {  // a Repeat around the current step
  size_t end;
  uint64_t count;
};

}  // namespace

void StepWalk::offsets(std::vector<uint64_t>& out) const {
  out.clear();
  for (const BufferUse& use : steps_[at_].uses) {
    uint64_t offset = use.offset;
    for (size_t d = 0; d < use.strides.size(); ++d) offset += static_cast<uint64_t>(use.strides[d]) * open_[d].iteration;
    out.push_back(offset);
  }
}

void StepWalk::next() {
  const Step& step = steps_[at_++];
  if (step.kind == Step::Kind::Repeat) open_.push_back({at_, at_ + step.body, step.count, 0});
  while (!open_.empty() && at_ == open_.back().end) {
    if (++open_.back().iteration < open_.back().count) {
      at_ = open_.back().begin;
      break;
    }
    open_.pop_back();
  }
}

void run_through(std::span<const Step> steps, const StepVisitor& visit) {
  std::vector<uint64_t> offsets;
  for (StepWalk walk(steps); !walk.done(); walk.next()) {
    walk.offsets(offsets);
    visit(walk.step(), offsets);
  }
}

namespace {

// Of each step and how often it runs.
template <class Each>
void for_each_step(std::span<const Step> steps, const Each& each) {
  std::vector<Open> open;
  uint64_t times = 1;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (; !open.empty() && i == open.back().end; open.pop_back()) times /= open.back().count;
    const Step& step = steps[i];
    each(step, times);
    if (step.kind != Step::Kind::Repeat) continue;
    open.push_back({i + 1 + step.body, step.count});
    times *= step.count;
  }
}

}  // namespace

uint64_t runs(std::span<const Step> steps, Step::Kind kind) {
  uint64_t sum = 0;
  for_each_step(steps, [&](const Step& s, uint64_t times) { sum += s.kind == kind ? times : 0; });
  return sum;
}

double total(std::span<const Step> steps, const std::function<double(const Step&)>& of) {
  double sum = 0;
  for_each_step(steps, [&](const Step& s, uint64_t times) { sum += of(s) * static_cast<double>(times); });
  return sum;
}

uint64_t commands(std::span<const Step> steps) {
  return runs(steps, Step::Kind::Dispatch) + runs(steps, Step::Kind::Fill) + runs(steps, Step::Kind::Copy);
}

}  // namespace spirograd
