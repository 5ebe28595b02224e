// What a host is told before it has a device: it makes one of that, and adopts it, without a word about features.
#include "tests/gpu/host.h"

namespace spirograd::vk {
namespace wanted_features_test {

using namespace testing;

class WantedFeaturesTest : public Host {
 protected:
  void SetUp() override {}  // each test makes a device in its own way

  WantedFeatures wanted() {
    auto w = wanted_features(vkGetInstanceProcAddr, instance, physical, api_version);
    if (!w) ADD_FAILURE() << w.error().str();
    return std::move(w).value();
  }
  void runs() {
    const BindingForm form = device->preferred_form();
    auto s = Session::create(device, chain_program(form, 300, 3));
    ASSERT_TRUE(s) << s.error().str();
    const auto y = (*s)->run(std::vector{ramp(300)});
    ASSERT_TRUE(y) << y.error().str();
    EXPECT_EQ(first_wrong(ramp(300), (*y)[0], 8, 7), -1);
  }
};

// Nothing that a device of our own would have is lost on the host's.
TEST_F(WantedFeaturesTest, AnAdoptedDeviceCanDoWhatOneOfOurOwnCan) {
  for (const uint32_t version : {VK_API_VERSION_1_1, VK_API_VERSION_1_2, VK_API_VERSION_1_3}) {
    make_instance(version);
    WantedFeatures w = wanted();
    make_device(w.chain(), w.extensions());
    adopt(w.external(host, queue, 0));
    runs();
    const auto own = Device::create();
    ASSERT_TRUE(own) << own.error().str();
    const Target &mine = device->target(), &theirs = (*own)->target();
    // What later versions have, a driver need not offer as an extension of 1.1.
    EXPECT_EQ(mine.device_address,
              version > VK_API_VERSION_1_1 ? theirs.device_address : w.external({}, {}, 0).buffer_device_address);
    EXPECT_EQ(mine.quirks & kScatteredStores, mine.device_address ? theirs.quirks & kScatteredStores : 0u);
    EXPECT_EQ(mine.float64, theirs.float64);
    EXPECT_EQ(mine.float16_storage, theirs.float16_storage);
    EXPECT_EQ(mine.float16_addresses, theirs.float16_addresses);
    EXPECT_EQ(mine.atomic_float_add, theirs.atomic_float_add);
    EXPECT_EQ(mine.subgroup_operations, theirs.subgroup_operations);
    EXPECT_EQ(mine.signed_zero_inf_nan, theirs.signed_zero_inf_nan);
    EXPECT_EQ(mine.round_to_even, theirs.round_to_even);
    EXPECT_EQ(mine.signed_zero_inf_nan64, theirs.signed_zero_inf_nan64);
    VkBufferUsageFlags usage =
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    if (mine.device_address) usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    EXPECT_EQ(w.buffer_usage(), usage);
    EXPECT_TRUE(w.external({}, {}, 0).timeline_semaphore) << "all three drivers have it";
    destroy();
  }
}

// Vulkan allows each feature once: the host's structs are completed, whichever they are.
TEST_F(WantedFeaturesTest, TheHostsOwnChainAndExtensionsAreCompleted) {
  make_instance(VK_API_VERSION_1_3);
  WantedFeatures w = wanted();
  VkPhysicalDeviceVulkan13Features of13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  of13.dynamicRendering = VK_TRUE;
  VkPhysicalDeviceVulkan12Features of12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &of13};
  of12.hostQueryReset = VK_TRUE;
  VkPhysicalDeviceFeatures2 first{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &of12};
  first.features.fillModeNonSolid = VK_TRUE;
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(physical, &properties);
  if (properties.apiVersion < VK_API_VERSION_1_3) of12.pNext = nullptr;

  const char* mine[] = {"VK_KHR_push_descriptor", "VK_EXT_subgroup_size_control"};
  const std::vector<const char*> extensions = w.extensions(mine);
  EXPECT_EQ(extensions[0], mine[0]);
  EXPECT_EQ(extensions[1], mine[1]);
  for (size_t i = 0; i < extensions.size(); ++i)
    for (size_t k = 0; k < i; ++k) EXPECT_STRNE(extensions[i], extensions[k]) << "named twice";
  make_device(w.chain(&first), w.extensions());
  EXPECT_TRUE(of12.bufferDeviceAddress);
  EXPECT_TRUE(of12.timelineSemaphore);
  EXPECT_TRUE(of12.hostQueryReset);
  adopt(w.external(host, queue, 0));
  runs();
}

TEST_F(WantedFeaturesTest, HandlesThatAreMissingAndOldInstancesAreErrors) {
  make_instance(VK_API_VERSION_1_2);
  const auto refused = [&](PFN_vkGetInstanceProcAddr get, VkInstance i, VkPhysicalDevice p, uint32_t version) {
    const auto w = wanted_features(get, i, p, version);
    return w ? std::string() : w.error().code + " " + w.error().message;
  };
  const std::string missing = "SG0303 wanted_features: get_instance_proc_addr, instance and physical_device must be given";
  EXPECT_EQ(refused(nullptr, instance, physical, api_version), missing);
  EXPECT_EQ(refused(vkGetInstanceProcAddr, nullptr, physical, api_version), missing);
  EXPECT_EQ(refused(vkGetInstanceProcAddr, instance, nullptr, api_version), missing);
  EXPECT_NE(refused(vkGetInstanceProcAddr, instance, physical, VK_API_VERSION_1_0).find("it lacks Vulkan 1.1"),
            std::string::npos);
}

}  // namespace wanted_features_test
}  // namespace spirograd::vk
