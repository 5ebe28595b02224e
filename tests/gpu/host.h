// What tests of life inside a host have in common: a program with a Vulkan device of its own, under validation, whose
// messages fail the test at its end.
#pragma once

#include <vulkan/vulkan.h>

#include "tests/gpu/fixture.h"

namespace spirograd::vk::testing {

class Host : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// With what the first driver found has.
  void make_instance(uint32_t version);
  /// By that chain and those extensions; its first queue, and a pool of commands for it.
  void make_device(const void* chain, const std::vector<const char*>& extensions = {});
  /// All that was made, in reverse.
  void destroy();

  External external();
  void adopt(const External& e);

  /// The host's own buffer, mapped.
  std::pair<VkBuffer, float*> host_buffer(VkDeviceSize bytes);
  uint32_t memory_type(const VkMemoryRequirements& needs, VkMemoryPropertyFlags wish) const;
  VkCommandBuffer begin();
  /// What compute shaders have written, for the host to read; ended, submitted and waited for.
  void finish(VkCommandBuffer commands);
  void submit(VkCommandBuffer commands);

  Messages messages;
  uint32_t api_version = VK_API_VERSION_1_2;
  VkInstance instance = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkPhysicalDeviceMemoryProperties memory_properties{};
  VkDevice host = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  VkCommandPool pool = VK_NULL_HANDLE;
  std::vector<std::pair<VkBuffer, VkDeviceMemory>> buffers;
  std::shared_ptr<Device> device;
};

}  // namespace spirograd::vk::testing
