// What a program needs against what a device has: everything that is missing is named, with the wish, the limit and the
// device.
#include "spirograd/requirements.h"

#include <gtest/gtest.h>

#include <functional>

#include "spirograd/executable.h"

namespace spirograd {
namespace requirements_test {

struct Case {
  std::function<void(Requirements&)> wish;
  std::function<void(Target&)> cure;
  std::vector<std::string> named;
};

// Each lacks one thing of the least device, and runs where it is there.
std::vector<Case> cases() {
  const auto feature = [](bool Requirements::*wish, bool Target::*has, const char* name) {
    return Case{[wish](Requirements& r) { r.*wish = true; }, [has](Target& t) { t.*has = true; }, {name}};
  };
  return {
      feature(&Requirements::float64, &Target::float64, "shaderFloat64"),
      feature(&Requirements::float16_storage, &Target::float16_storage, "storageBuffer16BitAccess"),
      feature(&Requirements::float16_addresses, &Target::float16_addresses, "storagePushConstant16"),
      feature(&Requirements::device_address, &Target::device_address, "bufferDeviceAddress"),
      feature(&Requirements::descriptors, &Target::descriptors, "descriptors"),
      feature(&Requirements::atomic_float_add, &Target::atomic_float_add, "shaderBufferFloat32AtomicAdd"),
      feature(&Requirements::exchange_float_add, &Target::exchange_float_add, "compare-exchange"),
      feature(&Requirements::integer_atomics, &Target::integer_atomics, "integer atomics"),
      feature(&Requirements::shared_memory, &Target::shared_memory, "shared memory"),
      feature(&Requirements::signed_zero_inf_nan, &Target::signed_zero_inf_nan, "shaderSignedZeroInfNanPreserveFloat32"),
      feature(&Requirements::round_to_even, &Target::round_to_even, "shaderRoundingModeRTEFloat32"),
      feature(&Requirements::signed_zero_inf_nan64, &Target::signed_zero_inf_nan64, "shaderSignedZeroInfNanPreserveFloat64"),
      feature(&Requirements::round_to_even64, &Target::round_to_even64, "shaderRoundingModeRTEFloat64"),
      {[](Requirements& r) { r.subgroup_operations = kSubgroupBasic | kSubgroupBallot | kSubgroupShuffle; },
       [](Target& t) { t.subgroup_operations = 31; },
       {"the subgroup operations ballot, shuffle in compute"}},
      {[](Requirements& r) { r.subgroup_size = 32; }, [](Target& t) { t.subgroup_size = 32; }, {"32", "has 8"}},
      {[](Requirements& r) { r.workgroup = 256; },
       [](Target& t) { t.max_invocations = 256; },
       {"256", "has 128", "maxComputeWorkGroupInvocations"}},
      {[](Requirements& r) { r.groups = 70000; },
       [](Target& t) { t.max_groups = 70000; },
       {"70000", "has 65535", "maxComputeWorkGroupCount"}},
      {[](Requirements& r) { r.buffers = 5; },
       [](Target& t) { t.max_buffers = 5; },
       {"5 ", "has 4", "maxPerStageDescriptorStorageBuffers"}},
      {[](Requirements& r) { r.push_bytes = 136; },
       [](Target& t) { t.max_push_bytes = 136; },
       {"136", "has 128", "maxPushConstantsSize"}},
      {[](Requirements& r) { r.shared_bytes = 16400; },
       [](Target& t) { t.shared_bytes = 16400; },
       {"16400", "has 16384", "maxComputeSharedMemorySize"}},
      {[](Requirements& r) { r.loop_iterations = 1001; },
       [](Target& t) { t.max_loop_iterations = 1001; },
       {"1001", "has 1000", "loop iterations"}}};
}

Target least() {
  Target t;
  t.device_address = t.descriptors = false;
  t.exchange_float_add = t.integer_atomics = t.shared_memory = false;
  t.subgroup_size = 8;
  t.max_loop_iterations = 1000;
  return t;
}

TEST(Requirements, NothingIsMissingWhereNothingIsNeeded) { EXPECT_TRUE(missing({}, least()).empty()); }

TEST(Requirements, WhatIsMissingIsNamedWithWishLimitAndDevice) {
  for (const Case& c : cases()) {
    Requirements needs;
    c.wish(needs);
    Target target = least();
    const std::vector<Missing> lacks = missing(needs, target, "'Invented 9000'");
    ASSERT_EQ(lacks.size(), 1u) << c.named[0];
    for (const std::string& part : c.named) EXPECT_NE(lacks[0].what.find(part), std::string::npos) << lacks[0].what;
    EXPECT_NE(lacks[0].what.find("'Invented 9000'"), std::string::npos) << lacks[0].what;
    EXPECT_FALSE(lacks[0].hint.empty());
    c.cure(target);
    EXPECT_TRUE(missing(needs, target).empty()) << c.named[0];
  }
}

TEST(Requirements, JoiningForgetsNothing) {
  Requirements all;
  for (const Case& c : cases()) {
    Requirements one;
    c.wish(one);
    EXPECT_EQ(joined(one, {}), one);
    EXPECT_EQ(joined({}, one), one);
    all = joined(all, one);
  }
  EXPECT_EQ(missing(all, least()).size(), cases().size() + 1) << "descriptors beside addresses, too";
}

TEST(Requirements, DescriptorsBesideAddressesArePushed) {
  Requirements needs;
  needs.device_address = true, needs.buffers = 2;
  Target t = least();
  t.device_address = true;
  ASSERT_EQ(missing(needs, t).size(), 1u);
  EXPECT_NE(missing(needs, t)[0].what.find("VK_KHR_push_descriptor"), std::string::npos);
  t.quirks = kScatteredStores;
  EXPECT_TRUE(missing(needs, t).empty());
  Executable e;
  e.kernels = {{"a", {}, 64, 3}};
  e.kernels[0].needs.buffers = 2;
  EXPECT_EQ(requirements_of(e).push_bytes, 3u * 8 + 2 * 4);
  EXPECT_EQ(requirements_of(e).buffers, 2u);
}

TEST(Requirements, OfAnExecutableAreThoseOfItsKernelsAndOfItsForm) {
  Executable e;
  e.form = BindingForm::Descriptors;
  Requirements want;
  want.descriptors = true;
  EXPECT_EQ(requirements_of(e), want);
  e.kernels = {{"a", {}, 64, 3}, {"b", {}, 128, 5}};
  e.kernels[0].needs.shared_bytes = 48;
  want.workgroup = 128;
  want.buffers = 5;
  want.push_bytes = 20;
  want.shared_bytes = 48;
  EXPECT_EQ(requirements_of(e), want);
  e.form = BindingForm::Address;
  want.device_address = true;
  want.descriptors = false;
  want.buffers = 0;
  want.push_bytes = 40;
  EXPECT_EQ(requirements_of(e), want);
}

}  // namespace requirements_test
}  // namespace spirograd
