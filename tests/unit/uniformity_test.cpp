// What the uniformity analysis claims of values and paths: nothing that is wrong, and what kernels that work together need.
#include "spirv/kernel/uniformity.h"

#include <gtest/gtest.h>

#include "spirv/kernel/builder.h"

namespace spirograd::kernel {
namespace uniformity_test {

constexpr auto kWorkgroup = Uniformity::Workgroup, kSubgroup = Uniformity::Subgroup, kDivergent = Uniformity::Divergent;

// A kernel that grows; its values keep their numbers, for nothing is dropped before finish().
struct Bench {
  explicit Bench(uint32_t workgroup = 64, uint32_t subgroup = 8) : b("k", workgroup, 1 << 16, subgroup) {
    read = b.bind("read", Scalar::I32, Access::Read);
    memory = b.bind("memory", Scalar::I32, Access::ReadWrite);
    shared = b.shared("shared", Scalar::I32, 64);
    local = b.local("local", Scalar::I32, 4);
  }
  Value u(uint32_t x) { return b.constant(Scalar::U32, x); }
  // How uniform a value of this place is: stored to memory, so that nothing drops it, and looked up there.
  void keep(Value v) { b.store(memory, b.i32(0), b.type(v) == Scalar::Bool ? b.select(v, b.i32(1), b.i32(2)) : as_i32(v)); }
  Value as_i32(Value v) { return b.type(v) == Scalar::I32 ? v : b.bitcast(Scalar::I32, v); }

  // Of the values that were kept, in order.
  std::vector<Uniformity> kept() {
    const Kernel k = std::move(b).finish();
    const UniformityFacts facts = uniformity(k);
    std::vector<Uniformity> out;
    for (const Inst& i : k.body)
      if (i.op == KOp::Store) out.push_back(facts.value[i.in[2]]);
    return out;
  }
  Builder b;
  uint32_t read, memory, shared, local;
};

std::vector<Uniformity> of(std::initializer_list<Uniformity> list) { return list; }

TEST(Uniformity, NumbersOfInvocationsDivergeAndThatOfTheWorkgroupDoesNot) {
  Bench t;
  for (Value v : {t.b.group_index(), t.b.local_index(), t.b.index(), t.b.lane_index(), t.u(5)}) t.keep(v);
  EXPECT_EQ(t.kept(), of({kWorkgroup, kDivergent, kDivergent, kDivergent, kWorkgroup}));
}

TEST(Uniformity, LoadsFollowTheirIndexWhereNobodyWrites) {
  Bench t;
  t.keep(t.b.load(t.read, t.b.group_index()));
  t.keep(t.b.load(t.read, t.b.local_index()));
  t.keep(t.b.load(t.memory, t.b.group_index()));
  t.keep(t.b.shared_load(t.shared, t.b.i32(3)));
  t.keep(t.b.shared_load(t.shared, t.b.local_index()));
  EXPECT_EQ(t.kept(), of({kWorkgroup, kDivergent, kDivergent, kWorkgroup, kDivergent}));
}

TEST(Uniformity, SubgroupsAgreeOnTheirNumberAndOnBoundsBetweenThem) {
  Bench t;
  const Value i = t.b.local_index(), s = t.b.bitcast(Scalar::I32, i);
  t.keep(t.b.op(KOp::Quot, i, t.u(8)));
  t.keep(t.b.op(KOp::Quot, i, t.u(24)));
  t.keep(t.b.op(KOp::Quot, s, t.b.i32(16)));
  t.keep(t.b.op(KOp::ShrU, i, t.u(4)));
  t.keep(t.b.op(KOp::And, i, t.u(0x30)));
  t.keep(t.b.op(KOp::Lt, i, t.u(16)));
  t.keep(t.b.op(KOp::Lt, t.u(15), i));
  t.keep(t.b.op(KOp::Le, t.u(16), t.b.index()));
  t.keep(t.b.op(KOp::Le, i, t.u(31)));
  EXPECT_EQ(t.kept(), std::vector<Uniformity>(9, kSubgroup));
}

TEST(Uniformity, OtherBoundsDivideSubgroups) {
  Bench t;
  const Value i = t.b.local_index();
  t.keep(t.b.op(KOp::Quot, i, t.u(12)));
  t.keep(t.b.op(KOp::ShrU, i, t.u(2)));
  t.keep(t.b.op(KOp::And, i, t.u(0x34)));
  t.keep(t.b.op(KOp::Lt, i, t.u(12)));
  t.keep(t.b.op(KOp::Lt, t.u(16), i));
  t.keep(t.b.op(KOp::Le, i, t.u(16)));
  t.keep(t.b.op(KOp::Lt, t.b.lane_index(), t.u(4)));
  t.keep(t.b.op(KOp::Rem, i, t.u(16)));
  EXPECT_EQ(t.kept(), std::vector<Uniformity>(8, kDivergent));
}

TEST(Uniformity, SubgroupOperationsMakeValuesOfTheSubgroup) {
  Bench t;
  const Value x = t.b.load(t.read, t.b.local_index());
  t.keep(t.b.subgroup_reduce(KOp::Add, x));
  t.keep(t.b.subgroup_scan(KOp::Add, x));
  t.keep(t.b.broadcast(x, t.u(3)));
  t.keep(t.b.shuffle(x, t.b.lane_index()));
  t.keep(t.b.subgroup_reduce(KOp::Add, t.b.load(t.read, t.b.group_index())));
  EXPECT_EQ(t.kept(), of({kSubgroup, kDivergent, kSubgroup, kDivergent, kWorkgroup}));
}

TEST(Uniformity, WorkgroupsOfOneInvocationOrOneSubgroupHaveNothingToDivide) {
  for (const auto& [workgroup, subgroup, wanted] : {std::tuple{1u, 1u, kWorkgroup}, std::tuple{1u, 0u, kWorkgroup},
                                                    std::tuple{8u, 8u, kDivergent}, std::tuple{8u, 1u, kSubgroup}}) {
    Bench t(workgroup, subgroup);
    t.keep(t.b.load(t.read, t.b.index()));
    EXPECT_EQ(t.kept()[0], wanted) << workgroup << " " << subgroup;
  }
  Bench t(8, 8);
  t.keep(t.b.subgroup_reduce(KOp::Add, t.b.load(t.read, t.b.index())));
  EXPECT_EQ(t.kept()[0], kWorkgroup);
}

TEST(Uniformity, VariablesAreAsUniformAsWhatIsStoredAndWhere) {
  Bench t;
  const Value same = t.b.var(t.b.i32(0)), other = t.b.var(t.b.i32(0)), guarded = t.b.var(t.b.i32(0));
  t.b.set(same, t.b.load(t.read, t.b.group_index()));
  t.b.set(other, t.b.load(t.read, t.b.local_index()));
  t.b.begin_if(t.b.op(KOp::Lt, t.b.local_index(), t.u(3)));
  t.b.set(guarded, t.b.i32(1));
  t.b.end_if();
  for (Value v : {same, other, guarded}) t.keep(t.b.get(v));
  EXPECT_EQ(t.kept(), of({kWorkgroup, kDivergent, kDivergent}));
}

// a = b, b = c, c = the invocation's number: the first pass sees a and b before c is known to diverge.
TEST(Uniformity, WhatALoopCarriesBackIsFound) {
  Bench t;
  const Value a = t.b.var(t.b.i32(0)), b = t.b.var(t.b.i32(0)), c = t.b.var(t.b.i32(0)), d = t.b.var(t.b.i32(0));
  const Value counter = t.b.begin_loop(t.b.i32(9));
  t.b.set(a, t.b.get(b));
  t.b.set(b, t.b.get(c));
  t.b.set(c, t.as_i32(t.b.local_index()));
  t.b.set(d, t.b.add(t.b.get(d), counter));
  t.b.end_loop();
  t.keep(t.b.get(a));
  t.keep(t.b.get(d));
  EXPECT_EQ(t.kept(), of({kDivergent, kWorkgroup}));
}

TEST(Uniformity, LoopsOfDifferentLengthMakeWhatTheyCountDiverge) {
  Bench t;
  const Value n = t.b.var(t.b.i32(0)), trips = t.b.op(KOp::And, t.b.load(t.read, t.b.local_index()), t.b.i32(7));
  t.keep(t.b.begin_loop(trips));
  t.b.set(n, t.b.i32(1));
  t.b.end_loop();
  t.keep(t.b.get(n));
  EXPECT_EQ(t.kept(), of({kDivergent, kDivergent}));
}

TEST(Uniformity, LoopsThatSomeLeaveMakeWhatTheyStoreDiverge) {
  for (const bool diverge : {false, true}) {
    Bench t;
    const Value n = t.b.var(t.b.i32(0)), at = diverge ? t.b.local_index() : t.b.group_index();
    t.b.begin_loop(t.b.i32(9), true);
    t.b.set(n, t.b.add(t.b.get(n), t.b.i32(1)));
    t.b.break_if(t.b.op(KOp::Lt, t.b.load(t.read, at), t.b.i32(3)));
    t.b.end_loop();
    t.keep(t.b.get(n));
    EXPECT_EQ(t.kept(), of({diverge ? kDivergent : kWorkgroup}));
  }
}

TEST(Uniformity, ArraysOfTheInvocationAreLikeVariables) {
  for (const bool diverge : {false, true}) {
    Bench t;
    t.b.local_store(t.local, t.b.i32(0), diverge ? t.as_i32(t.b.local_index()) : t.b.i32(4));
    t.keep(t.b.local_load(t.local, t.b.i32(1)));
    t.keep(t.b.local_load(t.local, t.b.op(KOp::And, t.b.local_index(), t.u(3))));
    EXPECT_EQ(t.kept(), of({diverge ? kDivergent : kWorkgroup, kDivergent}));
  }
}

TEST(Uniformity, ArraysOfTheInvocationDependOnThePathsToTheirStores) {
  Bench t;
  t.b.local_store(t.local, t.b.i32(0), t.b.i32(4));
  t.b.begin_if(t.b.op(KOp::Lt, t.b.local_index(), t.u(16)));
  t.b.local_store(t.local, t.b.i32(0), t.b.i32(5));
  t.b.end_if();
  t.keep(t.b.local_load(t.local, t.b.i32(0)));
  EXPECT_EQ(t.kept(), of({kSubgroup}));
}

// Beyond 2^31 the signed number is negative, and quotients are rounded the other way.
TEST(Uniformity, SignedNumbersCountWhereTheyCannotBeNegative) {
  for (const uint64_t invocations : {uint64_t{1} << 30, uint64_t{1} << 31}) {
    Kernel k;
    k.workgroup = 64;
    k.subgroup = 8;
    k.invocations = invocations;
    k.body = {{KOp::Index, Scalar::U32},
              {KOp::Bitcast, Scalar::I32, {0, 0, 0}},
              {KOp::Const, Scalar::I32, {}, 8},
              {KOp::Quot, Scalar::I32, {1, 2, 0}}};
    EXPECT_EQ(uniformity(k).value[3], invocations > uint64_t{1} << 30 ? kDivergent : kSubgroup) << invocations;
  }
}

TEST(Uniformity, PathsNameWhatDividesThem) {
  Bench t;
  t.b.begin_if(t.b.op(KOp::Lt, t.b.group_index(), t.u(3)));
  t.keep(t.u(1));
  t.b.begin_if(t.b.op(KOp::Lt, t.b.local_index(), t.u(16)));
  t.keep(t.u(2));
  t.b.begin_if(t.b.op(KOp::Lt, t.b.lane_index(), t.u(2)));
  t.keep(t.u(3));
  t.b.end_if();
  t.keep(t.u(4));
  t.b.begin_else();
  t.keep(t.u(5));
  t.b.end_if();
  t.b.end_if();
  const Kernel k = std::move(t.b).finish();
  const UniformityFacts facts = uniformity(k);
  std::vector<Uniformity> paths;
  std::vector<Value> ifs, deciders;
  for (size_t at = 0; at < k.body.size(); ++at) {
    if (k.body[at].op == KOp::If) ifs.push_back(static_cast<Value>(at));
    if (k.body[at].op != KOp::Store) continue;
    paths.push_back(facts.path[at]);
    deciders.push_back(facts.decided_by[at]);
  }
  EXPECT_EQ(paths, of({kWorkgroup, kSubgroup, kDivergent, kSubgroup, kSubgroup}));
  ASSERT_EQ(ifs.size(), 3u);
  EXPECT_EQ(deciders, (std::vector<Value>{0, ifs[1], ifs[2], ifs[1], ifs[1]}));
}

}  // namespace uniformity_test
}  // namespace spirograd::kernel
