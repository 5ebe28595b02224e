// The barrier planner against the definition of a hazard, on random step lists.
#include "vk_runtime/barrier_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "support/unrolled.h"

namespace spirograd::vk {
namespace barrier_plan_test {

struct Bytes {
  bool arena;
  uint32_t buffer;
  uint64_t begin, end;
};

Bytes bytes_of(const Executable& e, const BufferUse& u) {
  const BufferDesc& b = e.buffers[u.buffer];
  const bool whole = e.form == BindingForm::Descriptors;
  const uint64_t base = b.role == Role::Scratch ? b.scratch_offset : 0;
  const uint64_t begin = base + (whole ? 0 : u.offset);
  return {b.role == Role::Scratch, b.role == Role::Scratch ? 0 : u.buffer, begin,
          whole ? base + std::max<uint64_t>(4, b.bytes) : begin + u.bytes};
}

// Byte by byte, by definition.
bool hazard(const Executable& e, const Step& a, const Step& b) {
  if (is_idle(a) || is_idle(b)) return false;
  for (const BufferUse& u : a.uses)
    for (const BufferUse& v : b.uses) {
      if (!((u.written && (v.read || v.written)) || (u.read && v.written))) continue;
      const Bytes x = bytes_of(e, u), y = bytes_of(e, v);
      if (x.arena == y.arena && x.buffer == y.buffer && std::max(x.begin, y.begin) < std::min(x.end, y.end)) return true;
    }
  return false;
}

bool separated(const std::vector<uint32_t>& barriers, size_t i, size_t j) {
  return std::any_of(barriers.begin(), barriers.end(), [&](uint32_t b) { return i < b && b <= j; });
}

bool safe(const Executable& e, const std::vector<uint32_t>& barriers) {
  for (size_t j = 0; j < e.steps.size(); ++j)
    for (size_t i = 0; i < j; ++i)
      if (hazard(e, e.steps[i], e.steps[j]) && !separated(barriers, i, j)) return false;
  return true;
}

Executable random_executable(std::mt19937& rng) {
  const auto pick = [&](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
  Executable e;
  e.form = pick(3) == 0 ? BindingForm::Descriptors : BindingForm::Address;
  for (uint32_t i = 0; i < 6; ++i) {
    BufferDesc b;
    b.role = i < 2 ? Role::Input : Role::Scratch;
    b.bytes = 4 * pick(16);
    b.scratch_offset = b.role == Role::Scratch ? 4 * pick(24) : 0;
    e.buffers.push_back(b);
  }
  const uint32_t n = 1 + pick(14);
  for (uint32_t i = 0; i < n; ++i) {
    Step s;
    s.kind = static_cast<Step::Kind>(pick(3));
    s.groups = pick(5);
    const uint32_t uses = s.kind == Step::Kind::Fill ? 1 : s.kind == Step::Kind::Copy ? 2 : 1 + pick(4);
    for (uint32_t u = 0; u < uses; ++u) {
      BufferUse use;
      use.buffer = pick(6);
      const uint64_t words = e.buffers[use.buffer].bytes / 4;
      use.offset = 4 * pick(static_cast<uint32_t>(words) + 1);
      use.bytes = 4 * pick(static_cast<uint32_t>(words - use.offset / 4) + 1);
      use.read = pick(2);
      use.written = pick(3) == 0;
      s.uses.push_back(use);
    }
    e.steps.push_back(s);
  }
  return e;
}

TEST(BarrierPlan, SeparatesEveryHazardAndNothingElseOnRandomSteps) {
  std::mt19937 rng(20240711);
  size_t with_barriers = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    const Executable e = random_executable(rng);
    const std::vector<uint32_t> plan = plan_barriers(e);
    ASSERT_TRUE(std::is_sorted(plan.begin(), plan.end()));
    ASSERT_TRUE(safe(e, plan)) << "trial " << trial;
    for (size_t k = 0; k < plan.size(); ++k) {
      std::vector<uint32_t> fewer = plan;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
      ASSERT_FALSE(safe(e, fewer)) << "trial " << trial << ": barrier before step " << plan[k] << " is useless";
    }
    with_barriers += !plan.empty();
  }
  EXPECT_GT(with_barriers, 1000u);
}

Step dispatch(std::vector<BufferUse> uses, uint32_t groups = 1) {
  Step s;
  s.groups = groups;
  s.uses = std::move(uses);
  return s;
}

Executable of(std::vector<Step> steps, BindingForm form = BindingForm::Address) {
  Executable e;
  e.form = form;
  e.buffers.resize(3);
  e.buffers[0] = {Role::Input, "x", {}, 64, 0, {}};
  e.buffers[1] = {Role::Scratch, "a", {}, 64, 0, {}};
  e.buffers[2] = {Role::Scratch, "b", {}, 64, 32, {}};
  e.steps = std::move(steps);
  return e;
}

TEST(BarrierPlan, ReadersOfOneArrayNeedNone) {
  EXPECT_TRUE(plan_barriers(of({dispatch({{0, 0, 64, true, false}}), dispatch({{0, 0, 64, true, false}})})).empty());
}

TEST(BarrierPlan, ScratchArraysThatShareBytesDependOnEachOther) {
  EXPECT_EQ(plan_barriers(of({dispatch({{1, 0, 64, false, true}}), dispatch({{2, 0, 64, false, true}})})),
            std::vector<uint32_t>{1});
  EXPECT_TRUE(plan_barriers(of({dispatch({{1, 0, 32, false, true}}), dispatch({{2, 0, 64, false, true}})})).empty());
}

TEST(BarrierPlan, DescriptorsReachTheWholeArray) {
  const std::vector<Step> halves = {dispatch({{0, 0, 32, false, true}}), dispatch({{0, 32, 32, false, true}})};
  EXPECT_TRUE(plan_barriers(of(halves)).empty());
  EXPECT_EQ(plan_barriers(of(halves, BindingForm::Descriptors)), std::vector<uint32_t>{1});
}

TEST(BarrierPlan, IdleStepsNeedNone) {
  EXPECT_TRUE(plan_barriers(of({dispatch({{0, 0, 64, false, true}}), dispatch({{0, 0, 64, true, false}}, 0)})).empty());
}

TEST(BarrierPlan, OneBarrierServesAllEarlierSteps) {
  EXPECT_EQ(plan_barriers(of({dispatch({{0, 0, 32, false, true}}), dispatch({{0, 32, 32, false, true}}),
                              dispatch({{0, 0, 32, true, false}}), dispatch({{0, 32, 32, true, false}})})),
            std::vector<uint32_t>{2});
}

// A barrier stands before or after all steps exactly where the definition asks for it: between a step and what the host or
// the recording before did, no other barrier.
TEST(BarrierPlan, OuterBarriersStandWhereNoOtherSeparates) {
  std::mt19937 rng(7);
  int before = 0, after = 0, neither = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    const Executable e = random_executable(rng);
    const std::vector<uint32_t> plan = plan_barriers(e);
    bool wants_before = false, wants_after = false;
    for (size_t i = 0; i < e.steps.size(); ++i) {
      const Step& s = e.steps[i];
      if (is_idle(s)) continue;
      const bool first = std::none_of(plan.begin(), plan.end(), [&](uint32_t b) { return b <= i; });
      const bool last = std::none_of(plan.begin(), plan.end(), [&](uint32_t b) { return b > i; });
      for (const BufferUse& u : s.uses) {
        const bool scratch = e.buffers[u.buffer].role == Role::Scratch, transfer = s.kind != Step::Kind::Dispatch;
        wants_before |= first && (scratch || transfer);
        wants_after |= last && !scratch && transfer;
      }
    }
    const OuterBarriers outer = plan_outer_barriers(e, plan);
    ASSERT_EQ(outer.before, wants_before) << trial;
    ASSERT_EQ(outer.after, wants_after) << trial;
    before += outer.before, after += outer.after, neither += !outer.before && !outer.after;
  }
  EXPECT_GT(std::min({before, after, neither}), 20);
}

TEST(BarrierPlan, TenThousandIndependentStepsAreQuick) {
  Executable e;
  e.buffers.push_back({Role::Output, "y", {}, 80000, 0, {}});
  for (uint64_t i = 0; i < 10000; ++i) e.steps.push_back(dispatch({{0, 8 * i, 4, false, true}}));
  EXPECT_TRUE(plan_barriers(e).empty());
}

// ---- Repeats
// --------------------------------------------------------------------------------------------------------------

Step repeat(uint32_t count, uint32_t body) {
  Step s;
  s.kind = Step::Kind::Repeat;
  s.count = count;
  s.body = body;
  return s;
}

// A random use, with strides that stay inside of the buffer.
BufferUse random_use(std::mt19937& rng, const Executable& e, const std::vector<uint32_t>& counts) {
  const auto pick = [&](uint64_t n) { return static_cast<uint32_t>(rng() % n); };
  BufferUse use;
  use.buffer = pick(e.buffers.size());
  const uint64_t words = e.buffers[use.buffer].bytes / 4;
  use.bytes = 4 * pick(std::min<uint64_t>(words, 4) + 1);
  uint64_t room = words - use.bytes / 4;
  for (uint32_t count : counts) {
    const auto stride = static_cast<int64_t>(pick(3) == 0 ? 0 : pick(room / (count - 1) + 1));
    room -= static_cast<uint64_t>(stride) * (count - 1);
    const bool reverse = pick(3) == 0;
    if (reverse) use.offset += 4 * static_cast<uint64_t>(stride) * (count - 1);
    use.strides.push_back(4 * (reverse ? -stride : stride));
  }
  if (pick(4) == 0) use.strides.resize(pick(use.strides.size() + 1)), use.offset = 0;
  for (int64_t& stride : use.strides) stride = use.offset == 0 && stride < 0 ? 0 : stride;
  use.offset += 4 * pick(room + 1);
  use.read = pick(2);
  use.written = pick(3) == 0;
  return use;
}

void random_steps(std::mt19937& rng, Executable& e, std::vector<uint32_t>& counts) {
  const auto pick = [&](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
  const uint32_t n = 1 + pick(4);
  for (uint32_t i = 0; i < n; ++i) {
    if (counts.size() < 3 && pick(3) == 0) {
      const size_t at = e.steps.size();
      counts.push_back(2 + pick(4));
      e.steps.push_back(repeat(counts.back(), 0));
      random_steps(rng, e, counts);
      e.steps[at].body = static_cast<uint32_t>(e.steps.size() - at - 1);
      counts.pop_back();
      continue;
    }
    Step s;
    s.groups = pick(8);
    const uint32_t uses = 1 + pick(3);
    for (uint32_t u = 0; u < uses; ++u) s.uses.push_back(random_use(rng, e, counts));
    e.steps.push_back(s);
  }
}

Executable random_repeats(std::mt19937& rng) {
  Executable e;
  e.form = rng() % 4 == 0 ? BindingForm::Descriptors : BindingForm::Address;
  const bool apart = rng() % 2 == 0;  // as lowering has it: nothing in a loop shares scratch memory
  for (uint32_t i = 0; i < 6; ++i) {
    BufferDesc b;
    b.role = i < 2 ? Role::Input : Role::Scratch;
    b.bytes = 4 * (rng() % 40);
    b.scratch_offset = b.role != Role::Scratch ? 0 : apart ? 256 * i : 4 * (rng() % 60);
    e.buffers.push_back(b);
  }
  std::vector<uint32_t> counts;
  random_steps(rng, e, counts);
  return e;
}

TEST(BarrierPlanOfRepeats, SeparatesEveryHazardOfAllIterations) {
  std::mt19937 rng(20261121);
  size_t in_bodies = 0, repeats = 0, without = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    const Executable e = random_repeats(rng);
    const std::vector<uint32_t> plan = plan_barriers(e);
    ASSERT_TRUE(std::is_sorted(plan.begin(), plan.end()));
    const test::Unrolled flat = test::unrolled(e, plan);
    if (flat.executable.steps.size() > 400) continue;
    ASSERT_TRUE(safe(flat.executable, flat.barriers)) << "trial " << trial;
    repeats += flat.executable.steps.size() > e.steps.size();
    in_bodies += flat.barriers.size() > plan.size();
    without += flat.barriers.empty() && flat.executable.steps.size() > e.steps.size();
  }
  EXPECT_GT(repeats, 2000u);
  EXPECT_GT(in_bodies, 1000u);
  EXPECT_GT(without, 100u);
}

// Steps that wait for each other as those of a loop do: the plan is that of the steps written out.
TEST(BarrierPlanOfRepeats, AlternatingStatesGetTheBarriersOfTheStepsWrittenOut) {
  for (const int64_t direction : {1, -1})
    for (const uint32_t count : {2u, 3u, 10u}) {
      const uint64_t last = 8 * (2 * uint64_t{count} - 1);
      const auto row = [&](uint32_t buffer, uint64_t at, bool written) {
        return BufferUse{buffer, direction > 0 ? 8 * at : last - 8 * at, 8, !written, written, {16 * direction}};
      };
      Executable e;
      for (const Role role : {Role::Input, Role::Output}) e.buffers.push_back({role, "", {}, last + 8, 0, {}});
      for (uint64_t k = 0; k < 2; ++k) e.buffers.push_back({Role::Scratch, "", {}, 8, 256 * k, {}});
      e.steps = {dispatch({{2, 0, 8, false, true}}), repeat(count, 4)};
      for (uint32_t k : {0u, 1u}) {
        const BufferUse from = {2 + k, 0, 8, true, false}, to = {3 - k, 0, 8, false, true};
        e.steps.push_back(dispatch({from, row(0, k, false), to}));
        e.steps.push_back(dispatch({from, row(0, k, false), row(1, k, true)}));
      }
      const std::vector<uint32_t> plan = plan_barriers(e);
      EXPECT_EQ(plan, (std::vector<uint32_t>{2, 4}));
      const test::Unrolled flat = test::unrolled(e, plan);
      EXPECT_EQ(flat.barriers, plan_barriers(flat.executable));
    }
}

TEST(BarrierPlanOfRepeats, RowsOfTheirOwnNeedNone) {
  const auto rows = [](uint64_t offset, uint64_t bytes, int64_t stride) {
    return of({repeat(4, 1), dispatch({{0, offset, bytes, true, true, {stride}}})});
  };
  EXPECT_TRUE(plan_barriers(rows(0, 16, 16)).empty());
  EXPECT_TRUE(plan_barriers(rows(48, 16, -16)).empty());
  EXPECT_TRUE(plan_barriers(rows(0, 4, 16)).empty());
  EXPECT_EQ(plan_barriers(rows(0, 16, 12)), std::vector<uint32_t>{1}) << "rows that overlap";
  EXPECT_EQ(plan_barriers(rows(0, 16, 0)), std::vector<uint32_t>{1});
}

// Two steps that work on the same row of the outer loop, each on its own column: the inner loop needs a barrier for neither.
TEST(BarrierPlanOfRepeats, WhatMovesAlikeStandsStillForTheInnerLoop) {
  const auto columns = [](int64_t other_row) {
    return of({repeat(4, 3), repeat(4, 2), dispatch({{0, 0, 4, true, true, {16, 4}}}),
               dispatch({{0, 0, 4, true, true, {other_row, 4}}})});
  };
  EXPECT_EQ(plan_barriers(columns(16)), std::vector<uint32_t>{3});
  EXPECT_EQ(plan_barriers(columns(0)), (std::vector<uint32_t>{2, 3}));
}

TEST(BarrierPlanOfRepeats, WhatHasNoBytesHasNoneInAnyIteration) {
  const Step nothing = dispatch({{0, 0, 0, false, true, {16}}}), read = dispatch({{0, 0, 64, true, false}});
  EXPECT_TRUE(plan_barriers(of({repeat(4, 1), nothing, read})).empty());
  EXPECT_TRUE(plan_barriers(of({read, repeat(4, 1), nothing})).empty());
}

TEST(BarrierPlanOfRepeats, WhatIsBeforeIsSeparatedOnce) {
  const Step write = dispatch({{0, 0, 64, false, true}}), read = dispatch({{0, 0, 16, true, false, {16}}});
  EXPECT_EQ(plan_barriers(of({write, repeat(4, 2), read, read, write})), (std::vector<uint32_t>{1, 4}));
  EXPECT_EQ(plan_barriers(of({write, repeat(2, 3), repeat(2, 1), read, write})), (std::vector<uint32_t>{2, 4}))
      << "the inner one is reached again after a write";
}

// Each step waits for the third one before it, whatever the length of the body: no pattern of one iteration is the best one.
TEST(BarrierPlanOfRepeats, PatternsLongerThanABodyEnd) {
  for (uint64_t n = 1; n < 14; ++n) {
    std::vector<Step> steps = {repeat(1000, static_cast<uint32_t>(n))};
    for (uint64_t k = 0; k < n; ++k)
      steps.push_back(dispatch({{0, 4 * k, 4, true, false}, {0, 4 * ((k + 3) % n), 4, false, true}}));
    const Executable e = of(steps);
    EXPECT_LE(plan_barriers(e).size(), n < 7 ? n : (n + 2) / 3);
    Executable shorter = e;
    shorter.steps[0].count = 5;
    EXPECT_EQ(plan_barriers(shorter), plan_barriers(e));
    const test::Unrolled flat = test::unrolled(shorter, plan_barriers(e));
    EXPECT_TRUE(safe(flat.executable, flat.barriers)) << n;
  }
}

}  // namespace barrier_plan_test
}  // namespace spirograd::vk
