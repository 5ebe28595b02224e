#include "tests/gpu/host.h"

namespace spirograd::vk::testing {
namespace {

constexpr VkBufferUsageFlags kHostUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                          VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  Messages::take(user, data->pMessageIdName ? data->pMessageIdName : "", data->pMessage);
  return VK_FALSE;
}

}  // namespace

void Host::SetUp() {
  make_instance(VK_API_VERSION_1_2);
  VkPhysicalDeviceVulkan12Features features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  features.bufferDeviceAddress = features.timelineSemaphore = VK_TRUE;
  make_device(&features);
}

void Host::make_instance(uint32_t version) {
  api_version = version;
  VkApplicationInfo app{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  app.apiVersion = version;
  const char* layer = "VK_LAYER_KHRONOS_validation";
  const char* extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  const VkValidationFeatureEnableEXT sync = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = &sync;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, &features};
  info.pApplicationInfo = &app;
  info.enabledLayerCount = 1;
  info.ppEnabledLayerNames = &layer;
  info.enabledExtensionCount = 2;
  info.ppEnabledExtensionNames = extensions;
  ASSERT_EQ(vkCreateInstance(&info, nullptr, &instance), VK_SUCCESS);
  VkDebugUtilsMessengerCreateInfoEXT m{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  m.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  m.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  m.pfnUserCallback = on_message;
  m.pUserData = &messages;
  const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT"));
  ASSERT_EQ(create(instance, &m, nullptr, &messenger), VK_SUCCESS);
  uint32_t n = 1;
  ASSERT_GE(vkEnumeratePhysicalDevices(instance, &n, &physical), VK_SUCCESS);
  ASSERT_EQ(n, 1u);
  vkGetPhysicalDeviceMemoryProperties(physical, &memory_properties);
}

void Host::make_device(const void* chain, const std::vector<const char*>& extensions) {
  const float priority = 1;
  VkDeviceQueueCreateInfo q{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  q.queueCount = 1;
  q.pQueuePriorities = &priority;
  VkDeviceCreateInfo d{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, chain};
  d.queueCreateInfoCount = 1;
  d.pQueueCreateInfos = &q;
  d.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  d.ppEnabledExtensionNames = extensions.data();
  ASSERT_EQ(vkCreateDevice(physical, &d, nullptr, &host), VK_SUCCESS);
  vkGetDeviceQueue(host, 0, 0, &queue);
  VkCommandPoolCreateInfo p{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  ASSERT_EQ(vkCreateCommandPool(host, &p, nullptr, &pool), VK_SUCCESS);
}

void Host::destroy() {
  device.reset();
  for (const auto& [buffer, memory] : buffers) {
    vkDestroyBuffer(host, buffer, nullptr);
    vkFreeMemory(host, memory, nullptr);
  }
  buffers.clear();
  if (host) {
    vkDestroyCommandPool(host, pool, nullptr);
    vkDestroyDevice(host, nullptr);
  }
  const auto destroy_messenger = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(instance, "vkDestroyDebugUtilsMessengerEXT"));
  destroy_messenger(instance, messenger, nullptr);
  vkDestroyInstance(instance, nullptr);
  host = VK_NULL_HANDLE;
  instance = VK_NULL_HANDLE;
}

void Host::TearDown() {
  if (instance) destroy();
  EXPECT_TRUE(messages.lines.empty()) << messages.text();
}

External Host::external() {
  External e;
  e.get_instance_proc_addr = vkGetInstanceProcAddr;
  e.instance = instance;
  e.physical_device = physical;
  e.device = host;
  e.queue = queue;
  e.api_version = api_version;
  e.buffer_device_address = true;
  return e;
}

void Host::adopt(const External& e) {
  auto adopted = Device::adopt(e);
  ASSERT_TRUE(adopted) << adopted.error().str();
  device = *adopted;
}

uint32_t Host::memory_type(const VkMemoryRequirements& needs, VkMemoryPropertyFlags wish) const {
  uint32_t type = 0;
  while ((memory_properties.memoryTypes[type].propertyFlags & wish) != wish || !(needs.memoryTypeBits >> type & 1)) ++type;
  return type;
}

std::pair<VkBuffer, float*> Host::host_buffer(VkDeviceSize bytes) {
  VkBufferCreateInfo b{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  b.size = bytes;
  b.usage = kHostUsage;
  VkBuffer buffer;
  EXPECT_EQ(vkCreateBuffer(host, &b, nullptr, &buffer), VK_SUCCESS);
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(host, buffer, &needs);
  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo a{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags};
  a.allocationSize = needs.size;
  a.memoryTypeIndex = memory_type(needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  VkDeviceMemory memory;
  EXPECT_EQ(vkAllocateMemory(host, &a, nullptr, &memory), VK_SUCCESS);
  EXPECT_EQ(vkBindBufferMemory(host, buffer, memory, 0), VK_SUCCESS);
  void* data = nullptr;
  EXPECT_EQ(vkMapMemory(host, memory, 0, VK_WHOLE_SIZE, 0, &data), VK_SUCCESS);
  buffers.push_back({buffer, memory});
  return {buffer, static_cast<float*>(data)};
}

VkCommandBuffer Host::begin() {
  VkCommandBufferAllocateInfo a{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  a.commandPool = pool;
  a.commandBufferCount = 1;
  VkCommandBuffer commands;
  EXPECT_EQ(vkAllocateCommandBuffers(host, &a, &commands), VK_SUCCESS);
  const VkCommandBufferBeginInfo b{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  EXPECT_EQ(vkBeginCommandBuffer(commands, &b), VK_SUCCESS);
  return commands;
}

void Host::finish(VkCommandBuffer commands) {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                       nullptr, 0, nullptr);
  EXPECT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
  submit(commands);
}

void Host::submit(VkCommandBuffer commands) {
  VkSubmitInfo s{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  s.commandBufferCount = 1;
  s.pCommandBuffers = &commands;
  EXPECT_EQ(vkQueueSubmit(queue, 1, &s, VK_NULL_HANDLE), VK_SUCCESS);
  EXPECT_EQ(vkQueueWaitIdle(queue), VK_SUCCESS);
}

}  // namespace spirograd::vk::testing
