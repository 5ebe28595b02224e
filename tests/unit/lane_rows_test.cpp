// Which loads and stores are rows of neighbours for the lanes of a subgroup, and what is emitted for them.
#include "spirv/kernel/lane_rows.h"

#include <gtest/gtest.h>

#include <functional>

#include "spirv/emit/emit.h"
#include "spirv/kernel/builder.h"

namespace spirograd {
namespace lane_rows_test {

using kernel::Access;
using kernel::Builder;
using kernel::Kernel;
using kernel::KOp;
using kernel::LaneRows;
using kernel::Scalar;
using kernel::Value;

constexpr uint32_t kLanes = 8, kWorkgroup = 64;

struct Numbers {
  Value group, subgroup, lane;
};

// Loads of x at what `place` says for each of 16 numbers; a subgroup's sum is stored.
Kernel made(const std::function<Value(Builder&, const Numbers&, int64_t)>& place, Scalar t = Scalar::F32,
            uint64_t invocations = 6400) {
  Builder b("k", kWorkgroup, invocations, kLanes);
  const uint32_t x = b.bind("x", t, Access::Read), y = b.bind("y", t, Access::Write);
  const auto i32 = [&](Value v) { return b.bitcast(Scalar::I32, v); };
  const Numbers n = {i32(b.group_index()), b.op(KOp::Quot, i32(b.local_index()), b.i32(kLanes)), i32(b.lane_index())};
  Value sum = b.constant(t, 0);
  for (int64_t j = 0; j < 16; ++j) sum = b.add(sum, b.load(x, place(b, n, j)));
  b.store(y, i32(b.index()), sum);
  return std::move(b).finish();
}

Value sum_of(Builder& b, const Numbers& n, int64_t groups, int64_t subgroups, int64_t lanes, int64_t constant) {
  const auto times = [&](Value v, int64_t factor) { return b.mul(v, b.i32(factor)); };
  return b.add(b.add(b.add(times(n.group, groups), times(n.subgroup, subgroups)), times(n.lane, lanes)), b.i32(constant));
}

Kernel rows(Scalar t = Scalar::F32, uint64_t invocations = 6400) {
  return made([](Builder& b, const Numbers& n, int64_t j) { return sum_of(b, n, 1024, 128, 1, 8 * j); }, t, invocations);
}

size_t count(const Kernel& k) { return kernel::lane_rows(k).loads; }

Target gathering() {
  Target t;
  t.quirks = kGatheredLoads;
  t.float64 = true;
  t.subgroup_operations = kSubgroupBasic | kSubgroupArithmetic | kSubgroupBallot | kSubgroupShuffle;
  t.subgroup_size = kLanes;
  return t;
}

uint32_t pushed(const Kernel& k, const Target& t, BindingForm form = BindingForm::Address) {
  const KernelBinary binary = spirv::emit(k, t, form);
  if (const auto error = spirv::validate(binary.words))
    ADD_FAILURE() << error->str() << "\n" << spirv::disassemble(binary.words);
  return binary.needs.push_bytes;
}

TEST(LaneRows, LanesReadNeighboursAtPlacesMadeOfNumbersOfGroups) {
  const LaneRows found = kernel::lane_rows(rows());
  EXPECT_EQ(found.loads, 16u);
  uint32_t constant = 0;
  for (const kernel::LaneRow& row : found.accesses) {
    if (row.step == 0) continue;
    EXPECT_EQ(row.step, 1u);
    EXPECT_EQ(row.first.terms.size(), 2u);
    EXPECT_EQ(row.first.constant, constant);
    constant += kLanes;
  }
  const auto with_lanes = [](int64_t lanes) {
    return count(made([=](Builder& b, const Numbers& n, int64_t j) { return sum_of(b, n, 1024, 128, lanes, j); }));
  };
  EXPECT_EQ(with_lanes(2), 16u) << "halves of pairs, perhaps";
  EXPECT_EQ(with_lanes(3), 0u);
  EXPECT_EQ(with_lanes(0), 0u) << "all lanes read one element";
}

TEST(LaneRows, WhatAllLanesReadIsToldApart) {
  const auto common = [](const std::function<Value(Builder&, const Numbers&, int64_t)>& place) {
    return kernel::lane_rows(made(place)).common;
  };
  EXPECT_EQ(common([](Builder& b, const Numbers& n, int64_t j) { return sum_of(b, n, 1024, 128, 0, j); }), 16u);
  EXPECT_EQ(common([](Builder& b, const Numbers& n, int64_t j) { return sum_of(b, n, 1024, 128, j < 4 ? 1 : 0, j); }), 12u);
  EXPECT_EQ(common([](Builder& b, const Numbers& n, int64_t) { return b.op(KOp::Quot, n.lane, b.i32(2)); }), 0u);
}

TEST(LaneRows, PlacesMayBeOfAnyArithmeticButNotOfLoadsOrLanes) {
  const auto of = [](const std::function<Value(Builder&, const Numbers&)>& first) {
    return count(
        made([&](Builder& b, const Numbers& n, int64_t j) { return b.add(b.add(first(b, n), n.lane), b.i32(8 * j)); }));
  };
  EXPECT_EQ(of([](Builder& b, const Numbers& n) { return b.op(KOp::Min, b.mul(n.group, b.i32(100)), b.i32(5000)); }), 16u);
  EXPECT_EQ(of([](Builder& b, const Numbers& n) { return b.op(KOp::Rem, n.subgroup, b.i32(3)); }), 16u);
  EXPECT_EQ(of([](Builder& b, const Numbers& n) { return b.op(KOp::Quot, n.lane, b.i32(2)); }), 0u);
  const auto by = [&](int64_t n) {
    return of(
        [=](Builder& b, const Numbers&) { return b.op(KOp::Quot, b.bitcast(Scalar::I32, b.local_index()), b.i32(n)); });
  };
  EXPECT_EQ(by(2 * kLanes), 16u) << "every other subgroup";
  EXPECT_EQ(by(kLanes + kLanes / 2), 0u) << "between lanes";
  EXPECT_EQ(of([](Builder& b, const Numbers&) {
              const Value number = b.bitcast(Scalar::U32, b.bitcast(Scalar::I32, b.local_index()));
              return b.bitcast(Scalar::I32, b.op(KOp::Quot, number, b.constant(Scalar::U32, 2 * kLanes)));
            }),
            16u)
      << "whichever integer it is";
  EXPECT_EQ(
      of([](Builder& b, const Numbers& n) { return b.bitcast(Scalar::I32, b.bitcast(Scalar::U32, b.load(0, n.group))); }),
      0u);
}

TEST(LaneRows, LanesMayReadInTheOppositeOrder) {
  const Kernel k = made([](Builder& b, const Numbers& n, int64_t j) { return sum_of(b, n, 1024, 128, -1, 8 * j + 7); });
  const kernel::LaneRows rows = kernel::lane_rows(k);
  EXPECT_EQ(rows.loads, 16u);
  const auto turned = std::ranges::find_if(rows.accesses, &kernel::LaneRow::turned);
  ASSERT_NE(turned, rows.accesses.end());
  EXPECT_EQ(turned->step, 1u);
  EXPECT_EQ(turned->first.constant, 8u - kLanes) << "the last lane has the first element";
  EXPECT_EQ(count(made([](Builder& b, const Numbers& n, int64_t j) { return sum_of(b, n, 1024, 128, -2, 8 * j + 16); })),
            0u);
}

TEST(LaneRows, NotInLoopsOrBranches) {
  Builder b("k", kWorkgroup, 6400, kLanes);
  const uint32_t x = b.bind("x", Scalar::F32, Access::Read), y = b.bind("y", Scalar::F32, Access::Write);
  const Value lane = b.bitcast(Scalar::I32, b.lane_index()), group = b.bitcast(Scalar::I32, b.group_index());
  b.store(y, lane, b.load(x, b.add(lane, group)));
  const Value counter = b.begin_loop(b.i32(4));
  b.store(y, lane, b.load(x, b.add(b.add(lane, group), counter)));
  b.store(y, lane, b.load(x, b.add(lane, b.i32(1))));
  b.end_loop();
  b.begin_if(b.op(KOp::Lt, group, b.i32(4)));
  b.store(y, lane, b.load(x, b.add(lane, b.i32(2))));
  b.end_if();
  EXPECT_EQ(count(std::move(b).finish()), 1u);
}

TEST(LaneRows, AreEmittedWhereTheDriverGathersAndNumbersHaveRoom) {
  constexpr uint32_t kAddresses = 2 * 8, kNumbers = 16 * 4;
  for (const Scalar t : {Scalar::F32, Scalar::I32, Scalar::U32, Scalar::F64})
    EXPECT_EQ(pushed(rows(t), gathering()), kAddresses + kNumbers) << kernel::name(t);
  EXPECT_EQ(pushed(rows(Scalar::F32, 64 * 60'000), gathering()), kAddresses + kNumbers) << "four digits";
  EXPECT_EQ(pushed(rows(), gathering(), BindingForm::Descriptors), 2u * 4);
  Target other = gathering();
  other.quirks = 0;
  EXPECT_EQ(pushed(rows(), other), kAddresses);
  Target full = gathering();
  full.max_push_bytes = kAddresses + kNumbers - 4;
  EXPECT_EQ(pushed(rows(), full), kAddresses);
  const Kernel few = made([](Builder& b, const Numbers& n, int64_t j) { return sum_of(b, n, 1024, 128, j < 7 ? 1 : 3, j); });
  EXPECT_EQ(pushed(few, gathering()), kAddresses) << "seven are not worth the numbers";
}

// Twice what is loaded, stored at what `place` says.
Kernel doubled(const std::function<Value(Builder&, const Numbers&, int64_t)>& place, Scalar t = Scalar::F32) {
  Builder b("k", kWorkgroup, 6400, kLanes);
  const uint32_t x = b.bind("x", t, Access::Read), y = b.bind("y", t, Access::Write);
  const auto i32 = [&](Value v) { return b.bitcast(Scalar::I32, v); };
  const Numbers n = {i32(b.group_index()), b.op(KOp::Quot, i32(b.local_index()), b.i32(kLanes)), i32(b.lane_index())};
  for (int64_t j = 0; j < 16; ++j) {
    const Value v = b.load(x, sum_of(b, n, 1024, 128, 1, 8 * j));
    b.store(y, place(b, n, j), b.add(v, v));
  }
  return std::move(b).finish();
}

// Bindings that have descriptors.
uint32_t described(const Kernel& k, const Target& t, const spirv::EmitOptions& options) {
  const KernelBinary binary = spirv::emit(k, t, BindingForm::Address, options);
  if (const auto error = spirv::validate(binary.words))
    ADD_FAILURE() << error->str() << "\n" << spirv::disassemble(binary.words);
  EXPECT_EQ(binary.needs.push_bytes, 2u * 8 + binary.needs.buffers * 4 + 16 * 4);
  return binary.needs.buffers;
}

TEST(LaneRows, AreStoredThroughDescriptorsWhereTheDriverScatters) {
  Target t = gathering();
  t.quirks |= kScatteredStores;
  const spirv::EmitOptions both = {.begins = {32, 32}, .described = 2};
  const auto at = [](int64_t groups, int64_t constant) {
    return [=](Builder& b, const Numbers& n, int64_t j) { return sum_of(b, n, groups, 128, 1, 8 * j + constant); };
  };
  for (const Scalar s : {Scalar::F32, Scalar::I32, Scalar::U32})
    EXPECT_EQ(described(doubled(at(1024, 0), s), t, both), 2u) << kernel::name(s);
  EXPECT_EQ(described(doubled(at(1024, 0), Scalar::F64), t, both), 0u) << "words only";
  EXPECT_EQ(described(doubled(at(1024, 1)), t, both), 0u) << "odd places";
  EXPECT_EQ(described(doubled(at(1023, 0)), t, both), 0u) << "odd places of every other group";
  const auto few = [](Builder& b, const Numbers& n, int64_t j) { return sum_of(b, n, 1024, 128, j < 7 ? 1 : 3, 8 * j); };
  EXPECT_EQ(described(doubled(few), t, both), 0u) << "seven are not worth it";
  EXPECT_EQ(described(doubled(at(1024, 0)), t, {.begins = {32, 4}, .described = 2}), 0u) << "may begin anywhere";
  EXPECT_EQ(described(doubled(at(1024, 0)), t, {.begins = {32, 32}, .described = 1}), 0u) << "too large";
  const auto in_pairs = [](Builder& b, const Numbers& n, int64_t j) {
    return sum_of(b, n, 1024, 128, 2, 16 * (j / 2) + j % 2);
  };
  EXPECT_EQ(described(doubled(in_pairs), t, both), 2u);
  const auto pairs_apart = [](Builder& b, const Numbers& n, int64_t j) { return sum_of(b, n, 8192, 1024, 100, j); };
  EXPECT_EQ(described(doubled(pairs_apart), t, both), 2u) << "of each lane its own";
  const auto apart = [](Builder& b, const Numbers& n, int64_t j) { return sum_of(b, n, 8192, 1024, 100, 2 * j); };
  EXPECT_EQ(described(doubled(apart), t, both), 0u) << "no pairs";
  t.subgroup_operations &= ~uint32_t{kSubgroupShuffle};
  EXPECT_EQ(described(doubled(at(1024, 0)), t, both), 0u) << "lanes cannot be asked for their values";
}

TEST(LaneRows, NumbersAreStoredTogetherWhereTheirPlacesAreMultiplesOfThem) {
  Target t = gathering();
  t.quirks |= kScatteredStores;
  const auto stores = [&](int64_t groups, int64_t constant, uint32_t begins) {
    const auto at = [=](Builder& b, const Numbers& n, int64_t j) { return sum_of(b, n, groups, 128, 1, 8 * j + constant); };
    const KernelBinary binary = spirv::emit(doubled(at), t, BindingForm::Address, {.begins = {32, begins}, .described = 2});
    EXPECT_FALSE(spirv::validate(binary.words));
    const std::string text = spirv::disassemble(binary.words);
    size_t n = 0;
    for (size_t found = text.find("OpStore"); found != std::string::npos; found = text.find("OpStore", found + 1)) ++n;
    return n / 16;
  };
  EXPECT_EQ(stores(1024, 0, 32), 1u) << "a row of eight words";
  EXPECT_EQ(stores(1024, 4, 32), 2u);
  EXPECT_EQ(stores(1020, 0, 32), 2u) << "every other group begins between";
  EXPECT_EQ(stores(1024, 2, 32), 4u) << "two words each";
  EXPECT_EQ(stores(1024, 0, 16), 2u) << "the array does";
  EXPECT_EQ(stores(1024, 0, 8), 4u);
}

// Sums of a row and an element that all lanes read, `each` for each row, all stored at the end.
Kernel sums_of_rows(int64_t each, Scalar stored = Scalar::F32) {
  Builder b("k", kWorkgroup, 6400, kLanes);
  const uint32_t x = b.bind("x", Scalar::F32, Access::Read), y = b.bind("y", stored, Access::Write);
  const auto i32 = [&](Value v) { return b.bitcast(Scalar::I32, v); };
  const Numbers n = {i32(b.group_index()), b.op(KOp::Quot, i32(b.local_index()), b.i32(kLanes)), i32(b.lane_index())};
  std::vector<Value> sums;
  for (int64_t j = 0; j < 8; ++j) {
    sums.push_back(b.load(x, sum_of(b, n, 1024, 128, 1, 8 * j)));
    for (int64_t k = 0; k < each; ++k)
      sums.back() = b.add(sums.back(), b.load(x, sum_of(b, n, 1024, 128, 0, 70 + 8 * k + j)));
  }
  if (stored == Scalar::Bool)
    for (Value& sum : sums) sum = b.op(KOp::Lt, sum, b.constant(Scalar::F32, 0));
  for (int64_t j = 0; j < 8; ++j) b.store(y, sum_of(b, n, 1024, 128, 1, 8 * j), sums[static_cast<size_t>(j)]);
  return std::move(b).finish();
}

TEST(LaneRows, TilesAreComputedBeforeTheyAreStored) {
  Target t = gathering();
  t.quirks |= kScatteredStores;
  const auto held = [&](int64_t each, Scalar stored = Scalar::F32) {
    const KernelBinary binary =
        spirv::emit(sums_of_rows(each, stored), t, BindingForm::Address, {.begins = {32, 32}, .described = 2});
    EXPECT_FALSE(spirv::validate(binary.words));
    const std::string text = spirv::disassemble(binary.words);
    size_t ors = 0;
    for (size_t at = text.find("OpBitwiseOr"); at != std::string::npos; at = text.find("OpBitwiseOr", at + 1)) ++ors;
    return ors;
  };
  EXPECT_EQ(held(2), 6u) << "the other seven";
  EXPECT_EQ(held(2, Scalar::Bool), 6u) << "as words";
  EXPECT_EQ(held(1), 0u) << "each row has what it needs";
}

}  // namespace lane_rows_test
}  // namespace spirograd
