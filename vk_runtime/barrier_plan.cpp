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
using Since = std::unordered_map<uint32_t, Touched>;  // what the steps since the last barrier touched, by memory

// Buffers are told apart by number; all scratch buffers are one.
constexpr uint32_t kArena = ~0u;

struct Range {
  uint32_t memory;
  uint64_t begin, end;
};

// How the uses of a buffer in a body move. Of a buffer that marches, each iteration touches bytes of its own. A use of any
// other counts as one of all bytes that it touches in the whole loop, and those are the same in each iteration. Either way
// iterations depend on each other alike, whether they are neighbours or far apart, and two of them say it all.
struct Motion {
  std::vector<int64_t> strides;  // of the first use, outermost Repeat first, this body's own last
  bool alike = true;    // all uses move alike in the Repeats around this one: while one iteration of those runs, none moves
  bool marches = true;  // and in this one, by at least what one iteration touches
  uint64_t begin = ~uint64_t{0}, end = 0;  // what one iteration touches
};

// A pass over a body finds its barriers as for a flat list. Passes follow each other until two of them agree; a body in
// which the pattern is longer than an iteration gets the barriers of several, and at last one before each step.
constexpr int kFreePasses = 4, kPasses = 8;

constexpr size_t kNone = ~size_t{0};

// Barriers of bodies, from the inside out. What a Repeat is to the steps around it runs before its first barrier or after
// its last.
class Planner {
 public:
  explicit Planner(const Executable& e) : e_(e), before_(e.steps.size()), around_(e.steps.size(), kNone) {
    for (size_t i = 0, in = kNone; i < e.steps.size(); ++i) {
      while (in != kNone && i == end_of(in)) in = around_[in];
      around_[i] = in;
      if (e.steps[i].kind == Step::Kind::Repeat) in = i;
    }
  }

  std::vector<uint32_t> run() {
    for (size_t i = e_.steps.size(); i-- > 0;)
      if (e_.steps[i].kind == Step::Kind::Repeat) plan_body(i);
    look_from(kNone);
    Since since;
    const std::vector<size_t> found = pass(0, e_.steps.size(), since, {});
    for (size_t i : found) before_[i] = true;
    std::vector<uint32_t> barriers;
    for (uint32_t i = 0; i < e_.steps.size(); ++i)
      if (before_[i]) barriers.push_back(i);
    return barriers;
  }

 private:
  size_t end_of(size_t i) const { return i + 1 + (e_.steps[i].kind == Step::Kind::Repeat ? e_.steps[i].body : 0); }

  void plan_body(size_t repeat) {
    look_from(repeat);
    Since since;
    std::vector<size_t> found, last, forced;
    for (int k = 0;; ++k) {
      for (const auto& [buffer, motion] : motions_)
        if (motion.marches) since.erase(buffer);
      found = pass(repeat + 1, end_of(repeat), since, forced);
      if (k > 0 && found == last) break;
      last = found;
      if (k >= kFreePasses) forced = found;
      if (k < kPasses) continue;
      forced.clear();
      for (size_t i = repeat + 1; i < end_of(repeat); i = end_of(i)) forced.push_back(i);
    }
    for (size_t i : found) before_[i] = true;
  }

  // Greedy from the front: a barrier stands as late as possible, before the first step that depends on one since the last
  // barrier. Those of `forced` stand anyway.
  std::vector<size_t> pass(size_t begin, size_t end, Since& since, const std::vector<size_t>& forced) const {
    std::vector<size_t> found;
    auto next_forced = forced.begin();
    for (size_t i = begin; i < end; i = end_of(i)) {
      size_t first = i, last = end_of(i);  // barriers in a body: the first one, behind the last one
      while (first < end_of(i) && !before_[first]) ++first;
      if (first < end_of(i))
        while (!before_[last - 1]) --last;
      const bool inside = first < end_of(i);
      const bool is_forced = next_forced != forced.end() && *next_forced == i;
      next_forced += is_forced;
      if (is_forced || depends(i, first, since)) {
        found.push_back(i);
        since.clear();
      }
      if (inside) since.clear();
      for (size_t k = inside ? last - 1 : i; k < end_of(i); ++k) insert(e_.steps[k], k, since);
    }
    return found;
  }

  bool depends(size_t begin, size_t end, const Since& since) const {
    for (size_t i = begin; i < end; ++i) {
      if (is_idle(e_.steps[i])) continue;
      for (const BufferUse& use : e_.steps[i].uses) {
        const Range r = range_of(i, use);
        const auto it = since.find(r.memory);
        if (r.begin == r.end || it == since.end()) continue;
        if ((use.read || use.written) && it->second.written.meets(r.begin, r.end)) return true;
        if (use.written && it->second.read.meets(r.begin, r.end)) return true;
      }
    }
    return false;
  }

  void insert(const Step& step, size_t i, Since& since) const {
    if (is_idle(step)) return;
    for (const BufferUse& use : step.uses) {
      const Range r = range_of(i, use);
      if (r.begin == r.end) continue;
      if (use.read) since[r.memory].read.insert(r.begin, r.end);
      if (use.written) since[r.memory].written.insert(r.begin, r.end);
    }
  }

  // From now on, ranges are those that an iteration of this Repeat sees; outside of all, the whole program.
  void look_from(size_t repeat) {
    depth_ = 0;
    motions_.clear();
    if (repeat == kNone) return;
    for (size_t r = repeat; r != kNone; r = around_[r]) ++depth_;
    const auto each_use = [&](auto&& see) {
      for (size_t i = repeat + 1; i < end_of(repeat); ++i)
        for (const BufferUse& use : e_.steps[i].uses)
          if (use.bytes > 0 && !is_idle(e_.steps[i])) see(i, use);
    };
    each_use([&](size_t, const BufferUse& use) {
      std::vector<int64_t> strides = use.strides;
      strides.resize(depth_);
      Motion& m = motions_.try_emplace(use.buffer, Motion{strides}).first->second;
      m.alike = m.alike && std::equal(strides.begin(), strides.end() - 1, m.strides.begin());
      m.marches = m.marches && m.alike && strides.back() == m.strides.back() && e_.form == BindingForm::Address;
    });
    part_scratch();
    each_use([&](size_t i, const BufferUse& use) {
      Motion& m = motions_.at(use.buffer);
      const Range r = range_of(i, use);
      m.begin = std::min(m.begin, r.begin);
      m.end = std::max(m.end, r.end);
    });
    for (auto& [buffer, m] : motions_) {
      const auto stride = static_cast<uint64_t>(m.strides.back());
      m.marches = m.marches && m.end - m.begin <= (m.strides.back() < 0 ? 0 - stride : stride);
    }
  }

  // Scratch buffers that share bytes are looked at as a whole.
  void part_scratch() {
    std::vector<uint32_t> scratch;
    for (const auto& [buffer, m] : motions_)
      if (e_.buffers[buffer].role == Role::Scratch) scratch.push_back(buffer);
    const auto begin_of = [&](uint32_t b) { return e_.buffers[b].scratch_offset; };
    std::sort(scratch.begin(), scratch.end(), [&](uint32_t a, uint32_t b) { return begin_of(a) < begin_of(b); });
    uint32_t furthest = 0;  // of those before, the one that ends last
    for (size_t k = 0; k < scratch.size(); ++k) {
      const auto end = [&](uint32_t b) { return begin_of(b) + e_.buffers[b].bytes; };
      if (k > 0 && begin_of(scratch[k]) < end(furthest))
        for (uint32_t b : {scratch[k], furthest}) motions_.at(b).alike = motions_.at(b).marches = false;
      if (k == 0 || end(scratch[k]) > end(furthest)) furthest = scratch[k];
    }
  }

  Range range_of(size_t i, const BufferUse& use) const {
    const BufferDesc& buffer = e_.buffers[use.buffer];
    const bool scratch = buffer.role == Role::Scratch;
    const uint64_t base = scratch ? buffer.scratch_offset : 0;
    // A descriptor reaches the whole array, and is never empty: those of empty arrays reach one word.
    if (e_.form == BindingForm::Descriptors)
      return {scratch ? kArena : use.buffer, base, base + std::max<uint64_t>(4, buffer.bytes)};
    const auto motion = motions_.find(use.buffer);
    const bool alike = motion != motions_.end() && motion->second.alike;
    const bool marches = motion != motions_.end() && motion->second.marches;
    Range r = {scratch && !marches ? kArena : use.buffer, base + use.offset, base + use.offset + use.bytes};
    if (use.bytes == 0) return r;
    size_t around = around_[i], depth = 0;
    for (size_t k = around; k != kNone; k = around_[k]) ++depth;
    for (size_t d = depth; d-- > 0; around = around_[around]) {  // from the innermost Repeat
      const bool stands = (alike && d + 1 < depth_) || (marches && d + 1 == depth_);
      if (stands || d >= use.strides.size()) continue;
      const uint64_t way = static_cast<uint64_t>(use.strides[d]) * (e_.steps[around].count - 1);
      (use.strides[d] < 0 ? r.begin : r.end) += way;
    }
    return r;
  }

  const Executable& e_;
  std::vector<bool> before_;            // a barrier stands before the step
  std::vector<size_t> around_;          // the innermost Repeat around the step
  size_t depth_ = 0;                    // of the bodies that ranges are looked at from
  std::map<uint32_t, Motion> motions_;  // of the buffers that the body uses
};

}  // namespace

bool is_idle(const Step& step) {
  switch (step.kind) {
    case Step::Kind::Dispatch: return step.groups == 0;
    case Step::Kind::Fill: return step.uses[0].bytes == 0;
    case Step::Kind::Copy: return step.uses[0].bytes == 0 || step.uses[1].bytes == 0;
    case Step::Kind::Repeat: return false;
  }
  return false;
}

std::vector<uint32_t> plan_barriers(const Executable& e) { return Planner(e).run(); }

// A barrier between steps does what one before or after all steps would do for the steps on its other side. The first
// iteration of a body runs from its first step to its last one, and so does the last iteration.
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
