// Which computes share a kernel.
#include <gtest/gtest.h>

#include "spirv/lower/compute.h"
#include "support/golden_plans.h"

namespace spirograd::lower {
namespace merge_test {

// One element each of what is in `buffer`, at the invocation's own point.
schedule::Read own(uint32_t buffer) { return {buffer, 1, true}; }
schedule::Read elsewhere(uint32_t buffer) { return {buffer, 1, false}; }

Compute map(Shape domain, std::vector<schedule::Read> reads, uint32_t to) {
  Compute c;
  c.domain = domain;
  c.stores = {{{}, {to}, f32(domain)}};
  c.reads = std::move(reads);
  c.writes = {to};
  c.code = 10;
  c.work = 1000;
  return c;
}

// The first buffer that each kernel writes.
std::vector<std::vector<uint32_t>> kernels(std::vector<Compute> computes, const Target& target = {.max_buffers = 16}) {
  std::vector<std::vector<uint32_t>> out;
  for (const std::vector<Compute>& group : merge_computes(std::move(computes), target, schedule::Scheduler())) {
    std::vector<uint32_t> written;
    for (const Compute& c : group)
      for (const Store& s : c.stores) written.push_back(s.to.buffer);
    out.push_back(std::move(written));
  }
  return out;
}

using Kernels = std::vector<std::vector<uint32_t>>;
const Kernels kTogether = {{1, 2}}, kParted = {{1}, {2}};

TEST(Merge, WhatIsReadAtItsOwnPointIsComputedInTheSameKernel) {
  EXPECT_EQ(kernels({map({8}, {own(0)}, 1), map({8}, {own(1)}, 2)}), kTogether);
  EXPECT_EQ(kernels({map({8}, {own(0)}, 1), map({8}, {elsewhere(1)}, 2)}), kParted);
  EXPECT_EQ(kernels({map({8}, {own(0)}, 1), map({8}, {elsewhere(0)}, 2)}), kTogether);
}

TEST(Merge, OtherPointsAreOtherInvocations) {
  EXPECT_EQ(kernels({map({8}, {own(0)}, 1), map({4}, {own(1)}, 2)}), kParted);
  EXPECT_EQ(kernels({map({8}, {own(0)}, 1), map({4}, {own(0)}, 2)}), kTogether);
  Compute part = map({8}, {own(0)}, 1);
  part.stores[0].axis = 0;
  EXPECT_EQ(kernels({part, map({8}, {own(1)}, 2)}), kParted);
}

TEST(Merge, LargeWorkIsSharedOverOneDomainOnly) {
  Compute large = map({8}, {own(0)}, 2);
  large.work = 1e9;
  EXPECT_EQ(kernels({map({8}, {own(0)}, 1), large}), kTogether);
  large.domain = {4};
  large.stores[0].target = f32(large.domain);
  EXPECT_EQ(kernels({map({8}, {own(0)}, 1), large}), kParted);
}

TEST(Merge, KernelsHaveBounds) {
  Compute long_code = map({8}, {own(0)}, 2);
  long_code.code = 680;
  EXPECT_EQ(kernels({map({8}, {own(0)}, 1), long_code}), kTogether);
  long_code.code = 1000;
  EXPECT_EQ(kernels({map({8}, {own(0)}, 1), long_code}), kParted);
  const auto with_buffers = [](uint32_t most) {
    return kernels({map({8}, {own(0)}, 1), map({8}, {own(3)}, 2)}, {.device_address = false, .max_buffers = most});
  };
  EXPECT_EQ(with_buffers(4), kTogether);
  EXPECT_EQ(with_buffers(3), kParted);
  // Addresses take no descriptors, but push constants.
  const Target addresses{.device_address = true, .max_buffers = 1, .max_push_bytes = 128};
  EXPECT_EQ(kernels({map({8}, {own(0)}, 1), map({8}, {own(3)}, 2)}, addresses), kTogether);
  EXPECT_EQ(max_bindings({.max_buffers = 4}, BindingForm::Descriptors), 4u);
  EXPECT_EQ(max_bindings({.max_buffers = 1000}, BindingForm::Descriptors), 32u);
  EXPECT_EQ(max_bindings({.max_buffers = 4}, BindingForm::Address), 16u);
}

TEST(Merge, WhatIsAloneStaysAlone) {
  for (const bool first : {true, false}) {
    std::vector<Compute> two = {map({8}, {own(0)}, 1), map({8}, {own(0)}, 2)};
    two[first ? 0 : 1].alone = true;
    EXPECT_EQ(kernels(two), kParted);
  }
}

TEST(Merge, TwoWritersOfOneBufferAreParts) {
  EXPECT_EQ(kernels({map({8}, {own(0)}, 1), map({8}, {own(0)}, 1)}), (Kernels{{1, 1}}));
  Compute additions = map({8}, {own(0)}, 1);
  additions.kind = Compute::Kind::Scatter;
  EXPECT_EQ(merge_computes({map({8}, {own(0)}, 1), additions}, {.max_buffers = 16}, schedule::Scheduler()).size(), 2u);
}

TEST(Merge, ReadersComeBehindAllWriters) {
  Compute additions = map({8}, {own(0)}, 1);
  additions.kind = Compute::Kind::Scatter;
  EXPECT_EQ(kernels({map({8}, {own(0)}, 1), additions, map({8}, {elsewhere(1)}, 2)}), (Kernels{{1}, {1}, {2}}));
}

TEST(Merge, ReadersComeBehindWriters) {
  // 2 needs 1 elsewhere; 3 needs nothing and joins the first; 4 needs 2 elsewhere.
  const auto next = [](uint32_t from, uint32_t to) { return map({8}, {elsewhere(from)}, to); };
  EXPECT_EQ(kernels({next(0, 1), next(1, 2), next(0, 3), next(2, 4)}), (Kernels{{1, 3}, {2}, {4}}));
}

// Results of a gradient become known one after the other: 1, from which 2; behind 3, for which nobody waits, 4.
TEST(Merge, WhatNobodyWaitsForRunsInALaterKernel) {
  const auto next = [](uint32_t from, uint32_t to, int64_t n = 8) { return map({n}, {elsewhere(from)}, to); };
  Compute large = next(1, 3);
  large.work = 1e9;
  large.domain = {64};
  EXPECT_EQ(kernels({next(0, 1), next(1, 2), large, next(3, 4)}), (Kernels{{1}, {3}, {4, 2}}));
  EXPECT_EQ(kernels({next(0, 1), large, next(3, 4, 4), next(3, 5, 4)}), (Kernels{{1}, {3}, {4, 5}}));
  Compute overwrites = next(3, 4);
  overwrites.writes.push_back(0);
  EXPECT_EQ(kernels({map({16}, {elsewhere(0)}, 1), large, overwrites}), (Kernels{{1}, {3}, {4}}))
      << "what another one reads";
  Compute alone = next(1, 2);
  alone.alone = true;
  EXPECT_EQ(kernels({next(0, 1), alone, large, next(3, 4)}), (Kernels{{1}, {2}, {3}, {4}}));
  Compute waits = next(3, 4);
  waits.reads.push_back(elsewhere(2));
  EXPECT_EQ(kernels({next(0, 1), next(1, 2), large, waits}), (Kernels{{1}, {2}, {3}, {4}}));
}

// Of many kernels the last 64 are asked, of these only those behind what a compute reads.
TEST(Merge, LongChainsKeepTheirOrder) {
  std::vector<Compute> chain;
  Kernels wanted;
  for (uint32_t b = 0; b < 70; ++b) {
    chain.push_back(map({8}, {elsewhere(b)}, b + 1));
    wanted.push_back({b + 1});
  }
  EXPECT_EQ(kernels(chain), wanted);
  chain.push_back(map({8}, {own(0)}, 71));
  wanted[70 - 64].push_back(71);
  EXPECT_EQ(kernels(chain), wanted);
}

// Buffers that join_loops puts beside a reduction, whose compute reads 0 and writes 1: `before` and `behind` are the others
// of the list.
std::vector<uint32_t> beside(std::vector<schedule::Read> reads, std::vector<Compute> before, std::vector<Compute> behind) {
  Compute host = map({8}, {own(0)}, 1), joining = map({8}, std::move(reads), 2);
  host.stores[0].value = ir::NodeId{7};
  joining.within = ir::NodeId{7};
  std::vector<Compute> computes = std::move(before);
  computes.push_back(host);
  computes.insert(computes.end(), behind.begin(), behind.end());
  computes.push_back(joining);
  for (Compute& c : computes) c.alone = c.alone || !(c.within || c.stores[0].value == ir::NodeId{7});
  for (const std::vector<Compute>& group : merge_computes(std::move(computes), {.max_buffers = 16}, schedule::Scheduler()))
    for (const Compute& c : group)
      if (std::ranges::any_of(c.stores, [](const Store& s) { return s.to.buffer == 1; })) {
        std::vector<uint32_t> out;
        for (const auto& [reduction, store] : c.beside) out.push_back(store.to.buffer);
        return out;
      }
  return {99};
}

TEST(Merge, WhatJoinsLoopsKeepsItsOrder) {
  const std::vector<uint32_t> joins = {2}, stays = {};
  EXPECT_EQ(beside({own(0)}, {}, {}), joins);
  EXPECT_EQ(beside({own(0), own(3)}, {map({8}, {own(0)}, 3)}, {}), joins) << "what it reads is written before";
  EXPECT_EQ(beside({own(0), own(3)}, {}, {map({8}, {own(0)}, 3)}), stays) << "what it reads is written behind the host";
  EXPECT_EQ(beside({own(0), own(1)}, {}, {}), stays) << "it reads what the host writes";
  EXPECT_EQ(beside({own(0)}, {}, {map({8}, {own(2)}, 3)}), joins) << "who reads it comes behind";
  EXPECT_EQ(beside({own(0)}, {map({8}, {own(2)}, 3)}, {}), stays) << "who reads what was there before comes before";
  EXPECT_EQ(beside({own(0)}, {}, {map({8}, {own(0)}, 2)}), stays) << "another part of the same buffer";
}

// Each alone reads rows by lanes, which no more code than that may.
TEST(Merge, SumsOfRowsStayAsFastAsEachIsAlone) {
  const auto sum = [](uint32_t to, int64_t code) {
    Compute c = map({4096}, {{.axes = 1, .reduced = true, .along = true}}, to);
    c.reductions = {{1, 1024, true}};
    c.reduces = true;
    c.code = code;
    c.work = 1e9;
    return c;
  };
  EXPECT_EQ(kernels({sum(1, 20), sum(2, 20)}, test::lane_cpu()), kTogether);
  EXPECT_EQ(kernels({sum(1, 22), sum(2, 22)}, test::lane_cpu()), kParted);
  EXPECT_EQ(kernels({sum(1, 22), sum(2, 42)}, test::lane_cpu()), kTogether) << "one of them would not anyway";
}

}  // namespace merge_test
}  // namespace spirograd::lower
