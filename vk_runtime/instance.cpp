// The process-wide instances, and the questions that a physical device answers.
#include "vk_runtime/instance.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "vk_runtime/errors.h"
#include "vk_runtime/hardware.h"
#include "vk_runtime/system.h"

namespace spirograd::vk {
namespace {

DeviceType type_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return DeviceType::Discrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return DeviceType::Integrated;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return DeviceType::Virtual;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return DeviceType::Cpu;
    default: return DeviceType::Other;
  }
}

constexpr const char* kLayer = "VK_LAYER_KHRONOS_validation";

// VK_EXT_layer_settings, from its specification; the headers of Debian 12 are older than it.
struct LayerSetting {
  const char* layer;
  const char* name;
  int32_t type;  // 0: VkBool32
  uint32_t count;
  const void* values;
};
struct LayerSettings {
  VkStructureType type = static_cast<VkStructureType>(1000496000);
  const void* next = nullptr;
  uint32_t count = 0;
  const LayerSetting* settings = nullptr;
};

std::vector<VkExtensionProperties> instance_extensions(const GlobalFns& g, const char* layer) {
  uint32_t n = 0;
  if (g.vkEnumerateInstanceExtensionProperties(layer, &n, nullptr) != VK_SUCCESS) return {};
  std::vector<VkExtensionProperties> list(n);
  if (g.vkEnumerateInstanceExtensionProperties(layer, &n, list.data()) < 0) return {};
  list.resize(n);
  return list;
}

bool has(const std::vector<VkExtensionProperties>& list, const char* name) {
  return std::any_of(list.begin(), list.end(), [&](const auto& e) { return std::strcmp(e.extensionName, name) == 0; });
}

bool has_layer(const GlobalFns& g) {
  uint32_t n = 0;
  if (g.vkEnumerateInstanceLayerProperties(&n, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> list(n);
  if (g.vkEnumerateInstanceLayerProperties(&n, list.data()) < 0) return false;
  return std::any_of(list.begin(), list.begin() + n, [](const auto& l) { return std::strcmp(l.layerName, kLayer) == 0; });
}

Error no_driver(const std::string& note) {
  return Error("SG0302", "no Vulkan device found")
      .note(note)
      .hint("without a GPU:  sudo apt install mesa-vulkan-drivers   (a software driver)");
}

std::unique_ptr<Instance> create_instance(bool validation, PFN_vkGetInstanceProcAddr get) {
  const GlobalFns g = load_global(get);
  auto out = std::make_unique<Instance>();
  out->get = g.vkGetInstanceProcAddr;
  uint32_t loader = VK_API_VERSION_1_0;
  check(g.vkEnumerateInstanceVersion(&loader), "vkEnumerateInstanceVersion", "the Vulkan loader");
  if (loader < VK_API_VERSION_1_2)
    throw Error("SG0301", "the Vulkan loader is older than Vulkan 1.2").hint("sudo apt install libvulkan1");
  out->api_version = std::min(loader, VK_API_VERSION_1_3);

  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "spirograd";
  application.apiVersion = out->api_version;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;

  std::vector<const char*> extensions, layers;
  const auto offered = instance_extensions(g, nullptr);
  if (has(offered, "VK_KHR_portability_enumeration")) {
    extensions.push_back("VK_KHR_portability_enumeration");
    info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }
  const VkBool32 yes = VK_TRUE;
  const LayerSetting setting_list[] = {{kLayer, "validate_sync", 0, 1, &yes},
                                       {kLayer, "syncval_shader_accesses_heuristic", 0, 1, &yes}};
  LayerSettings settings;
  settings.count = static_cast<uint32_t>(std::size(setting_list));
  settings.settings = setting_list;
  const VkValidationFeatureEnableEXT enables[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = enables;
  if (validation) {
    if (!has_layer(g)) {
      throw Error("SG0303", std::string("the layer ") + kLayer + " is not installed")
          .hint("sudo apt install vulkan-validationlayers");
    }
    layers.push_back(kLayer);
    const auto of_layer = instance_extensions(g, kLayer);
    if (has(of_layer, "VK_EXT_layer_settings")) {
      info.pNext = &settings;
    } else {
      extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
      info.pNext = &features;
    }
    extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    // Last, for it may have to go: loaders older than the extension refuse its name, though the layer reads the settings all
    // the same.
    if (info.pNext == &settings) extensions.push_back("VK_EXT_layer_settings");
  } else if (has(offered, VK_EXT_DEBUG_UTILS_EXTENSION_NAME)) {
    extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  }
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  info.enabledLayerCount = static_cast<uint32_t>(layers.size());
  info.ppEnabledLayerNames = layers.data();
  VkResult r = g.vkCreateInstance(&info, nullptr, &out->handle);
  if (r == VK_ERROR_EXTENSION_NOT_PRESENT && info.pNext == &settings) {
    --info.enabledExtensionCount;
    r = g.vkCreateInstance(&info, nullptr, &out->handle);
  }
  if (r == VK_ERROR_INCOMPATIBLE_DRIVER)
    throw no_driver("the Vulkan loader is installed but found no driver: vkCreateInstance answered " + result_name(r));
  check(r, "vkCreateInstance", "the Vulkan loader");
  out->fns = load_instance(out->get, out->handle);
  return out;
}

}  // namespace

const Instance& process_instance(bool validation, PFN_vkGetInstanceProcAddr get) {
  static std::mutex mutex;
  static auto& instances = *new std::map<std::pair<PFN_vkGetInstanceProcAddr, bool>, std::unique_ptr<Instance>>;
  static int process = this_process();
  if (process != this_process()) throw forked_error("the Vulkan instance");  // before the lock, which a thread may have held
  const std::lock_guard lock(mutex);
  std::unique_ptr<Instance>& slot =
      instances[{get, validation}];  // never destroyed: at exit the drivers may be gone already
  if (!slot) slot = create_instance(validation, get);
  return *slot;
}

std::vector<VkPhysicalDevice> physical_devices(const Instance& instance) {
  for (;;) {
    uint32_t n = 0;
    VkResult r = instance.fns.vkEnumeratePhysicalDevices(instance.handle, &n, nullptr);
    std::vector<VkPhysicalDevice> list(n);
    if (r == VK_SUCCESS && n > 0) r = instance.fns.vkEnumeratePhysicalDevices(instance.handle, &n, list.data());
    if (r == VK_INCOMPLETE) continue;
    if (r == VK_ERROR_INITIALIZATION_FAILED || r == VK_ERROR_INCOMPATIBLE_DRIVER)
      n = 0;
    else
      check(r, "vkEnumeratePhysicalDevices", "the Vulkan loader");
    if (n == 0) throw no_driver("the Vulkan loader is installed, but its drivers offer no device");
    list.resize(n);
    return list;
  }
}

uint32_t host_cores() { return std::max(1u, std::thread::hardware_concurrency()); }

DeviceFacts read_facts(const InstanceFns& fns, VkPhysicalDevice device, uint32_t instance_version) {
  DeviceFacts f;
  VkPhysicalDeviceProperties first{};
  fns.vkGetPhysicalDeviceProperties(device, &first);
  f.name = first.deviceName;
  f.type = first.deviceType;
  f.api_version = std::min(first.apiVersion, instance_version);
  f.limits = first.limits;
  f.timestamp_period = first.limits.timestampPeriod;
  f.identity.driver_version = first.driverVersion;
  f.identity.vendor = first.vendorID;
  f.identity.device = first.deviceID;
  std::memcpy(f.identity.pipeline_cache_uuid.data(), first.pipelineCacheUUID, VK_UUID_SIZE);

  uint32_t n = 0;
  fns.vkGetPhysicalDeviceQueueFamilyProperties(device, &n, nullptr);
  std::vector<VkQueueFamilyProperties> families(n);
  fns.vkGetPhysicalDeviceQueueFamilyProperties(device, &n, families.data());
  for (const auto& q : families) f.queues.push_back({q.queueFlags, q.queueCount, q.timestampValidBits});

  fns.vkGetPhysicalDeviceMemoryProperties(device, &f.memory);
  for (uint32_t i = 0; i < f.memory.memoryHeapCount; ++i)
    if (f.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      f.memory_bytes = std::max<uint64_t>(f.memory_bytes, f.memory.memoryHeaps[i].size);
  if (f.api_version < VK_API_VERSION_1_2) return f;  // the structs below are of 1.2

  uint32_t n_extensions = 0;
  std::vector<VkExtensionProperties> extensions;
  if (fns.vkEnumerateDeviceExtensionProperties(device, nullptr, &n_extensions, nullptr) == VK_SUCCESS) {
    extensions.resize(n_extensions);
    if (fns.vkEnumerateDeviceExtensionProperties(device, nullptr, &n_extensions, extensions.data()) < 0) n_extensions = 0;
    extensions.resize(n_extensions);
  }
  f.atomic_float_extension = has(extensions, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
  const bool size_extension = has(extensions, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  f.memory_budget = has(extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  f.portability_subset = has(extensions, "VK_KHR_portability_subset");

  VkPhysicalDeviceVulkan12Properties p12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
  VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT};
  if (size_extension) p12.pNext = &sizes;
  VkPhysicalDeviceVulkan11Properties p11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, &p12};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &p11};
  fns.vkGetPhysicalDeviceProperties2(device, &properties);
  f.driver = std::string(p12.driverName) + (p12.driverInfo[0] ? std::string(" ") + p12.driverInfo : "");
  std::memcpy(f.identity.device_uuid.data(), p11.deviceUUID, VK_UUID_SIZE);
  std::memcpy(f.identity.driver_uuid.data(), p11.driverUUID, VK_UUID_SIZE);
  f.conformance = p12.conformanceVersion;
  f.layered = is_layered(p12.driverID);
  f.signed_zero_inf_nan = p12.shaderSignedZeroInfNanPreserveFloat32;
  f.round_to_even = p12.shaderRoundingModeRTEFloat32;
  f.signed_zero_inf_nan64 = p12.shaderSignedZeroInfNanPreserveFloat64;
  f.round_to_even64 = p12.shaderRoundingModeRTEFloat64;
  f.rounding_independence = p12.roundingModeIndependence;
  f.subgroup_size = p11.subgroupSize;
  f.subgroup_stages = p11.subgroupSupportedStages;
  f.subgroup_operations = p11.subgroupSupportedOperations;
  f.max_allocation = p11.maxMemoryAllocationSize;

  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
  VkPhysicalDeviceVulkan12Features f12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  if (f.atomic_float_extension) f12.pNext = &atomic;
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT size{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT,
                                                      f12.pNext};
  if (size_extension) f12.pNext = &size;
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &f12};
  fns.vkGetPhysicalDeviceFeatures2(device, &features);
  f.buffer_device_address = f12.bufferDeviceAddress;
  f.float64 = features.features.shaderFloat64;
  f.atomic_float_add = atomic.shaderBufferFloat32AtomicAdd;
  f.subgroup_size_control = size.subgroupSizeControl && size.computeFullSubgroups &&
                            sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT;
  f.least_subgroup = sizes.minSubgroupSize;
  f.greatest_subgroup = sizes.maxSubgroupSize;
  return f;
}

DeviceInfo describe(const DeviceFacts& f, const DevicePlan& plan) {
  DeviceInfo i;
  i.name = f.name;
  i.driver = f.driver;
  i.type = type_of(f.type);
  i.api_major = VK_API_VERSION_MAJOR(f.api_version);
  i.api_minor = VK_API_VERSION_MINOR(f.api_version);
  i.api_patch = VK_API_VERSION_PATCH(f.api_version);
  i.memory_bytes = f.memory_bytes;
  i.unusable = plan.unusable;
  i.target = plan.target;
  i.hardware = hardware_of(f, plan);
  return i;
}

}  // namespace spirograd::vk
