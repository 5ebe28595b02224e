// amd_compile FAMILY MANIFEST FILE.spv...: compiles each module for an AMD family through Mesa's RADV without a GPU (its
// "null device") and prints what the compiler says of it, one line per module: name, vector registers, scalar registers,
// spills, bytes of code. A process of its own, because the driver aborts where it meets what it cannot do.
#include <vulkan/vulkan.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

#define CHECK(call)                                                                   \
  if (VkResult r = (call); r != VK_SUCCESS) {                                         \
    std::fprintf(stderr, "%s failed with VkResult %d\n", #call, static_cast<int>(r)); \
    std::exit(2);                                                                     \
  }

VkPhysicalDevice first_device(VkInstance instance) {
  uint32_t count = 1;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  const VkResult r = vkEnumeratePhysicalDevices(instance, &count, &physical);
  if ((r != VK_SUCCESS && r != VK_INCOMPLETE) || count == 0) {
    std::fprintf(stderr, "the driver offers no device\n");
    std::exit(3);
  }
  return physical;
}

VkDevice make_device(VkPhysicalDevice physical) {
  VkPhysicalDeviceVulkan12Features features12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  features12.bufferDeviceAddress = VK_TRUE;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR, &features12, VK_TRUE};
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  const char* extensions[] = {VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME};
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &statistics};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = 1;
  info.ppEnabledExtensionNames = extensions;
  VkDevice device = VK_NULL_HANDLE;
  CHECK(vkCreateDevice(physical, &info, nullptr, &device));
  return device;
}

VkPipelineLayout make_layout(VkDevice device) {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t j = 0; j < 16; ++j)
    bindings.push_back({j, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  VkDescriptorSetLayoutCreateInfo set_info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set_info.bindingCount = static_cast<uint32_t>(bindings.size());
  set_info.pBindings = bindings.data();
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  CHECK(vkCreateDescriptorSetLayout(device, &set_info, nullptr, &set));
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, 128};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.setLayoutCount = 1;
  info.pSetLayouts = &set;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &push;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  CHECK(vkCreatePipelineLayout(device, &info, nullptr, &layout));
  return layout;
}

uint64_t statistic(const std::vector<VkPipelineExecutableStatisticKHR>& all, const char* a, const char* b = "\n") {
  uint64_t sum = 0;
  for (const auto& s : all)
    if (std::strstr(s.name, a) || std::strstr(s.name, b)) sum += s.value.u64;
  return sum;
}

void compile(VkDevice device, VkPipelineLayout layout, const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  VkShaderModuleCreateInfo module_info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module_info.codeSize = bytes.size();
  module_info.pCode = reinterpret_cast<const uint32_t*>(bytes.data());
  VkShaderModule module = VK_NULL_HANDLE;
  CHECK(vkCreateShaderModule(device, &module_info, nullptr, &module));
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
  info.stage = {
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, nullptr, 0, VK_SHADER_STAGE_COMPUTE_BIT, module, "main", nullptr};
  info.layout = layout;
  VkPipeline pipeline = VK_NULL_HANDLE;
  CHECK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline));

  const auto query = reinterpret_cast<PFN_vkGetPipelineExecutableStatisticsKHR>(
      vkGetDeviceProcAddr(device, "vkGetPipelineExecutableStatisticsKHR"));
  VkPipelineExecutableInfoKHR which{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, nullptr, pipeline, 0};
  uint32_t count = 0;
  CHECK(query(device, &which, &count, nullptr));
  std::vector<VkPipelineExecutableStatisticKHR> all(count, {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
  CHECK(query(device, &which, &count, all.data()));
  std::printf(
      "%s vgprs %llu sgprs %llu spills %llu shared %llu bytes %llu\n", path,
      static_cast<unsigned long long>(statistic(all, "VGPRs")), static_cast<unsigned long long>(statistic(all, "SGPRs")),
      static_cast<unsigned long long>(statistic(all, "pilled")), static_cast<unsigned long long>(statistic(all, "LDS")),
      static_cast<unsigned long long>(statistic(all, "Code size")));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 64;
  setenv("RADV_FORCE_FAMILY", argv[1], 1);
  setenv("VK_DRIVER_FILES", argv[2], 1);
  setenv("VK_ICD_FILENAMES", argv[2], 1);
  VkApplicationInfo app{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  app.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &app;
  VkInstance instance = VK_NULL_HANDLE;
  CHECK(vkCreateInstance(&info, nullptr, &instance));
  const VkDevice device = make_device(first_device(instance));
  const VkPipelineLayout layout = make_layout(device);
  for (int i = 3; i < argc; ++i) compile(device, layout, argv[i]);
  return 0;  // everything goes with the process
}
