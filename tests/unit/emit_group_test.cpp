// Modules of kernels whose invocations work together: valid in both forms, and with no capability that nothing uses.
#include <gtest/gtest.h>

#include <sstream>

#include "spirv/emit/emit.h"
#include "support/group_kernels.h"

namespace spirograd {
namespace emit_group_test {

using namespace kernel;

Target device(uint32_t lanes) {
  Target t;
  t.subgroup_operations = kSubgroupBasic | kSubgroupArithmetic | kSubgroupBallot | kSubgroupShuffle;
  t.float64 = true;
  t.subgroup_size = lanes;
  t.max_invocations = 256;
  return t;
}

std::string valid_text(const Kernel& k, const Target& t, BindingForm form) {
  const KernelBinary binary = spirv::emit(k, t, form);
  if (const auto error = spirv::validate(binary.words))
    ADD_FAILURE() << k.name << ": " << error->str() << "\n" << spirv::disassemble(binary.words);
  return spirv::disassemble(binary.words);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(EmitGroup, EveryKernelIsValidInBothForms) {
  for (const uint32_t lanes : {1u, 4u, 8u, 32u})
    for (const BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
      for (const test::GroupCase& c : test::group_cases(lanes, 256, true)) valid_text(c.kernel, device(lanes), form);
}

TEST(EmitGroup, BarriersOrderSharedMemoryInTheWorkgroup) {
  const std::string text = valid_text(test::groups::shared_tree(64, 1).kernel, device(8), BindingForm::Descriptors);
  const size_t at = text.find("OpControlBarrier %");
  ASSERT_NE(at, std::string::npos);
  std::istringstream ids(text.substr(at + 17, 60));
  std::string execution, memory, semantics;
  ids >> execution >> memory >> semantics;
  const auto value = [&](const std::string& id) {
    const size_t line = text.find(id + " = OpConstant ");
    const size_t end = text.find('\n', line);
    return text.substr(text.rfind(' ', end) + 1, end - text.rfind(' ', end) - 1);
  };
  EXPECT_EQ(value(execution), "2");  // Workgroup
  EXPECT_EQ(value(memory), "2");
  EXPECT_EQ(value(semantics), "264");  // AcquireRelease | WorkgroupMemory
  EXPECT_TRUE(has(text, "OpVariable %") && has(text, " Workgroup\n"));
}

TEST(EmitGroup, CapabilitiesAreThoseInUse) {
  const auto text = [](const test::GroupCase& c) { return valid_text(c.kernel, device(8), BindingForm::Address); };
  const std::string tree = text(test::groups::shared_tree(64, 1)), sum = text(test::groups::subgroup_sum(8, 64, 1)),
                    exchange = text(test::groups::subgroup_exchange(8, 2));
  EXPECT_FALSE(has(tree, "GroupNonUniform"));
  EXPECT_FALSE(has(tree, "Subgroup"));
  EXPECT_TRUE(has(sum, "OpCapability GroupNonUniformArithmetic"));
  EXPECT_FALSE(has(sum, "GroupNonUniformBallot"));
  EXPECT_FALSE(has(sum, "GroupNonUniformShuffle"));
  EXPECT_FALSE(has(exchange, "GroupNonUniformArithmetic"));
  EXPECT_TRUE(has(exchange, "OpCapability GroupNonUniformBallot"));
  EXPECT_TRUE(has(exchange, "OpCapability GroupNonUniformShuffle"));
}

TEST(EmitGroup, BroadcastsOfUnknownLanesAreShuffles) {
  const auto counts = [](bool constant) {
    Builder b("cast", 8, 8, 8);
    const uint32_t x = b.bind("x", Scalar::U32, Access::Read), y = b.bind("y", Scalar::U32, Access::Write);
    const Value zero = b.constant(Scalar::U32, 0), lane = constant ? zero : b.load(x, zero);
    b.store(y, b.index(), b.broadcast(b.index(), lane));
    const std::string text = valid_text(std::move(b).finish(), device(8), BindingForm::Address);
    return std::pair{has(text, "OpGroupNonUniformBroadcast"), has(text, "OpGroupNonUniformShuffle ")};
  };
  EXPECT_EQ(counts(true), (std::pair{true, false}));
  EXPECT_EQ(counts(false), (std::pair{false, true}));
}

TEST(EmitGroup, KernelsThatKnowOfLanesCountInvocationsByThem) {
  for (const uint32_t lanes : {0u, 8u}) {
    Builder b("count", 64, 64, lanes);
    b.store(b.bind("y", Scalar::U32, Access::Write), b.index(), b.local_index());
    const std::string text = valid_text(std::move(b).finish(), device(8), BindingForm::Address);
    EXPECT_EQ(has(text, "BuiltIn LocalInvocationIndex"), lanes == 0);
    EXPECT_EQ(has(text, "BuiltIn SubgroupId"), lanes != 0);
  }
}

// Of a workgroup that does not fill its subgroups, no one knows which lanes are missing.
TEST(EmitGroup, OnlyFullSubgroupsAreCountedBy) {
  for (const uint32_t workgroup : {12u, 64u})
    for (const uint32_t lanes : {0u, 2u, 8u}) {
      Target t = device(lanes);
      t.quirks = kSlowLocalIndex;
      Builder b("count", workgroup, workgroup, 0);
      b.store(b.bind("y", Scalar::U32, Access::Write), b.index(), b.local_index());
      const std::string text = valid_text(std::move(b).finish(), t, BindingForm::Address);
      EXPECT_EQ(has(text, "BuiltIn SubgroupId"), workgroup == 64 && lanes == 8) << workgroup << " " << lanes;
    }
}

TEST(EmitGroup, EachBuiltInIsDeclaredOnce) {
  Builder b("numbers", 64, 128, 8);
  const uint32_t y = b.bind("y", Scalar::U32, Access::Write);
  b.store(y, b.index(), b.add(b.local_index(), b.add(b.lane_index(), b.group_index())));
  const std::string text = valid_text(std::move(b).finish(), device(8), BindingForm::Address);
  for (const char* name : {"SubgroupLocalInvocationId", "SubgroupId", "WorkgroupId", "NumWorkgroups"}) {
    const size_t first = text.find(std::string("BuiltIn ") + name);
    ASSERT_NE(first, std::string::npos) << name;
    EXPECT_EQ(text.find(std::string("BuiltIn ") + name, first + 1), std::string::npos) << name;
  }
}

TEST(EmitGroup, WhatTheModuleNeedsIsRecorded) {
  const auto needs = [](const test::GroupCase& c) { return spirv::emit(c.kernel, device(8), BindingForm::Address).needs; };
  const Requirements tree = needs(test::groups::shared_tree(64, 3)), sum = needs(test::groups::subgroup_sum(8, 64, 3)),
                     exchange = needs(test::groups::subgroup_exchange(8, 2));
  EXPECT_EQ(tree.shared_bytes, 256u);
  EXPECT_EQ(tree.subgroup_operations, 0u);
  EXPECT_EQ(tree.subgroup_size, 0u);
  EXPECT_EQ(tree.groups, 3u);  // no guard
  EXPECT_EQ(needs(test::groups::shared_reverse(Scalar::F32, 64, 7)).groups, 0u);
  EXPECT_EQ(sum.subgroup_operations, uint32_t{kSubgroupBasic | kSubgroupArithmetic});
  EXPECT_EQ(sum.subgroup_size, 8u);
  EXPECT_EQ(exchange.subgroup_operations, uint32_t{kSubgroupBasic | kSubgroupBallot | kSubgroupShuffle});
}

TEST(EmitGroup, WhatTheTargetLacksIsRefusedByName) {
  const auto refusal = [](const test::GroupCase& c, auto change) {
    Target t = device(8);
    change(t);
    try {
      spirv::emit(c.kernel, t, BindingForm::Address);
    } catch (const Error& e) {
      EXPECT_EQ(e.code, "SG0303");
      return e.message;
    }
    return std::string();
  };
  const test::GroupCase tree = test::groups::shared_tree(64, 3), sum = test::groups::subgroup_sum(8, 64, 3);
  EXPECT_EQ(refusal(tree, [](Target& t) { t.shared_bytes = 255; }),
            "kernel shared_tree needs 256 bytes of shared memory; the device has 255 (maxComputeSharedMemorySize)");
  EXPECT_EQ(refusal(tree, [](Target& t) { t.shared_bytes = 256; }), "");
  EXPECT_EQ(refusal(sum, [](Target& t) { t.subgroup_size = 16; }),
            "kernel subgroup_sum needs subgroups of 8 invocations; the device has 16");
  EXPECT_EQ(refusal(sum, [](Target& t) { t.subgroup_operations = kSubgroupBasic; }),
            "kernel subgroup_sum needs the subgroup operations arithmetic in compute, which the device does not have");
}

}  // namespace emit_group_test
}  // namespace spirograd
