// Modules of kernels whose invocations work together: valid in both forms, and with no capability that nothing uses.
#include <gtest/gtest.h>

#include <sstream>

#include "spirv/emit/emit.h"
#include "support/group_kernels.h"

namespace spirograd {
namespace {

using namespace kernel;

Target device(uint32_t lanes) {
  Target t;
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

}  // namespace
}  // namespace spirograd
