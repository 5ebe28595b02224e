#include "vk_runtime/barrier_plan.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace spirograd::vk {
namespace {

// A set of bytes as disjoint ranges, begin -> end.
class RangeSet {
 public:
  bool meets(uint64_t begin, uint64_t end) const {
    const auto after = ranges_.lower_bound(end);  // first range that starts at or behind `end`
    return after != ranges_.begin() && std::prev(after)->second > begin;
  }
  void insert(uint64_t begin, uint64_t end) {
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second >= begin) --it;
    while (it != ranges_.end() && it->first <= end) {
      begin = std::min(begin, it->first);
      end = std::max(end, it->second);
      it = ranges_.erase(it);
    }
    ranges_.emplace(begin, end);
  }

 private:
  std::map<uint64_t, uint64_t> ranges_;
};

struct Touched {
  RangeSet read, written;
};

// Buffers are told apart by number; all scratch buffers are one.
constexpr uint32_t kArena = ~0u;

struct Range {
  uint32_t memory;
  uint64_t begin, end;
};

Range range_of(const Executable& e, const BufferUse& use) {
  const BufferDesc& buffer = e.buffers[use.buffer];
  const bool scratch = buffer.role == Role::Scratch;
  const bool whole = e.form == BindingForm::Descriptors;  // a descriptor reaches the whole array
  const uint64_t base = scratch ? buffer.scratch_offset : 0;
  const uint64_t begin = base + (whole ? 0 : use.offset);
  // Descriptors are never empty: those of empty arrays reach one word.
  return {scratch ? kArena : use.buffer, begin, whole ? base + std::max<uint64_t>(4, buffer.bytes) : begin + use.bytes};
}

}  // namespace

bool is_idle(const Step& step) {
  switch (step.kind) {
    case Step::Kind::Dispatch: return step.groups == 0;
    case Step::Kind::Fill: return step.uses[0].bytes == 0;
    case Step::Kind::Copy: return step.uses[0].bytes == 0 || step.uses[1].bytes == 0;
  }
  return false;
}

// Greedy from the front: a barrier stands as late as possible, before the first step that depends on one since the last
// barrier.
std::vector<uint32_t> plan_barriers(const Executable& e) {
  std::vector<uint32_t> barriers;
  std::unordered_map<uint32_t, Touched> since;
  for (uint32_t i = 0; i < e.steps.size(); ++i) {
    const Step& step = e.steps[i];
    if (is_idle(step)) continue;
    const bool depends = std::any_of(step.uses.begin(), step.uses.end(), [&](const BufferUse& use) {
      const Range r = range_of(e, use);
      if (r.begin == r.end) return false;
      const auto it = since.find(r.memory);
      if (it == since.end()) return false;
      return ((use.read || use.written) && it->second.written.meets(r.begin, r.end)) ||
             (use.written && it->second.read.meets(r.begin, r.end));
    });
    if (depends) {
      barriers.push_back(i);
      since.clear();
    }
    for (const BufferUse& use : step.uses) {
      const Range r = range_of(e, use);
      if (r.begin == r.end) continue;
      if (use.read) since[r.memory].read.insert(r.begin, r.end);
      if (use.written) since[r.memory].written.insert(r.begin, r.end);
    }
  }
  return barriers;
}

// A barrier between steps does what one before or after all steps would do for the steps on its other side.
OuterBarriers plan_outer_barriers(const Executable& e, const std::vector<uint32_t>& barriers) {
  const uint32_t first = barriers.empty() ? ~0u : barriers.front(), last = barriers.empty() ? 0 : barriers.back();
  OuterBarriers out;
  for (uint32_t i = 0; i < e.steps.size(); ++i) {
    const Step& step = e.steps[i];
    if (is_idle(step)) continue;
    for (const BufferUse& use : step.uses) {
      const Role role = e.buffers[use.buffer].role;
      const bool argument = role == Role::Input || role == Role::Output;
      const bool transfer_of_argument = argument && step.kind != Step::Kind::Dispatch;
      out.before |= i < first && (role == Role::Scratch || transfer_of_argument);
      out.after |= i >= last && transfer_of_argument;
    }
  }
  return out;
}

}  // namespace spirograd::vk
