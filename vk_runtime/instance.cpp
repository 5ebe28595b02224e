// The process-wide instances, and the questions that a physical device answers.
#include "vk_runtime/instance.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>

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
  VkResult r = g.vkEnumerateInstanceLayerProperties(&n, nullptr);
  std::vector<VkLayerProperties> list(n);
  if (r == VK_SUCCESS) r = g.vkEnumerateInstanceLayerProperties(&n, list.data());
  if (r < 0) throw vulkan_error(r, "vkEnumerateInstanceLayerProperties", "the Vulkan loader");
  return std::any_of(list.begin(), list.begin() + n, [](const auto& l) { return std::strcmp(l.layerName, kLayer) == 0; });
}

Error no_driver(const std::string& note) {
  return Error("SG0302", "no Vulkan device found").note(note).hint(install_hint(Part::Driver));
}

std::unique_ptr<Instance> create_instance(bool validation, PFN_vkGetInstanceProcAddr get) {
  const GlobalFns g = load_global(get);
  auto out = std::make_unique<Instance>();
  out->get = g.vkGetInstanceProcAddr;
  uint32_t loader = VK_API_VERSION_1_0;
  check(g.vkEnumerateInstanceVersion(&loader), "vkEnumerateInstanceVersion", "the Vulkan loader");
  if (loader < VK_API_VERSION_1_1)
    throw Error("SG0301", "the Vulkan loader is older than Vulkan 1.1").hint(install_hint(Part::Loader));
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
          .hint(install_hint(Part::ValidationLayer));
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

const Instance& process_instance(const InstanceKind& kind) {
  static std::mutex mutex;
  using Key = std::tuple<bool, PFN_vkGetInstanceProcAddr, bool>;
  static auto& instances = *new std::map<Key, std::unique_ptr<Instance>>;
  static int process = this_process();
  if (process != this_process()) throw forked_error("the Vulkan instance");  // before the lock, which a thread may have held
  const std::lock_guard lock(mutex);
  // Never destroyed: at exit the drivers may be gone already.
  std::unique_ptr<Instance>& slot = instances[{kind.validation, kind.get, kind.threads}];
  if (slot) return *slot;
  // Some drivers read the environment as late as where they are asked for their devices.
  const auto create = [&] {
    slot = create_instance(kind.validation, kind.get);
    physical_devices(*slot);
  };
  if (kind.threads)
    create();
  else if (!with_variable("LP_NUM_THREADS", "0", create))
    throw Error("SG0303", "LP_NUM_THREADS is not ours to set");
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
    if (n == 0)
      throw no_driver(
          "the Vulkan loader is installed, but its drivers offer no device: vkEnumeratePhysicalDevices answered " +
          result_name(r));
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
  if (f.api_version < VK_API_VERSION_1_1) return f;  // the structs below are of 1.1

  uint32_t n_extensions = 0;
  std::vector<VkExtensionProperties> extensions;
  if (fns.vkEnumerateDeviceExtensionProperties(device, nullptr, &n_extensions, nullptr) == VK_SUCCESS) {
    extensions.resize(n_extensions);
    if (fns.vkEnumerateDeviceExtensionProperties(device, nullptr, &n_extensions, extensions.data()) < 0) n_extensions = 0;
    extensions.resize(n_extensions);
  }
  f.atomic_float_extension = has(extensions, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
  const bool size_extension = has(extensions, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  f.external_memory_fd = has(extensions, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
  f.push_descriptor = has(extensions, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  f.memory_budget = has(extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  f.portability_subset = has(extensions, "VK_KHR_portability_subset");

  // What was an extension before 1.2.
  const auto offers = [&](const char* extension) {
    return f.api_version >= VK_API_VERSION_1_2 || has(extensions, extension);
  };
  const bool names_driver = offers(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME),
             float_controls = offers(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME),
             addresses = offers(VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME),
             timelines = offers(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);

  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  const auto chain = [](auto& head, auto& next, bool there) {
    if (!there) return;
    next.pNext = head.pNext;
    head.pNext = &next;
  };
  VkPhysicalDeviceSubgroupProperties subgroups{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceIDProperties ids{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties sizes_of_memory{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceFloatControlsProperties floats{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT};
  chain(properties, subgroups, true);
  chain(properties, ids, true);
  chain(properties, sizes_of_memory, true);
  chain(properties, driver, names_driver);
  chain(properties, floats, float_controls);
  chain(properties, sizes, size_extension);
  // Vulkan itself does not say how large a chip is.
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
  VkPhysicalDeviceShaderCorePropertiesAMD amd{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD};
  VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM arm{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM};
  chain(properties, nvidia, has(extensions, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME));
  chain(properties, amd, has(extensions, VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME));
  chain(properties, arm, has(extensions, VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME));
  fns.vkGetPhysicalDeviceProperties2(device, &properties);
  f.driver = std::string(driver.driverName) + (driver.driverInfo[0] ? std::string(" ") + driver.driverInfo : "");
  std::memcpy(f.identity.device_uuid.data(), ids.deviceUUID, VK_UUID_SIZE);
  std::memcpy(f.identity.driver_uuid.data(), ids.driverUUID, VK_UUID_SIZE);
  f.conformance = driver.conformanceVersion;
  f.layered = is_layered(driver.driverID);
  f.costly_exactness = has_costly_exactness(driver.driverID);
  f.gathered_loads = gathers_loads(driver.driverID);
  f.truncates_by_lane = truncates_by_lane(driver.driverID, properties.properties.apiVersion);
  f.scattered_stores = scatters_stores(driver.driverID);
  f.own_threads = driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
  f.signed_zero_inf_nan = floats.shaderSignedZeroInfNanPreserveFloat32;
  f.round_to_even = floats.shaderRoundingModeRTEFloat32;
  f.signed_zero_inf_nan64 = floats.shaderSignedZeroInfNanPreserveFloat64;
  f.round_to_even64 = floats.shaderRoundingModeRTEFloat64;
  f.rounding_independence = floats.roundingModeIndependence;
  f.subgroup_size = subgroups.subgroupSize;
  f.subgroup_stages = subgroups.supportedStages;
  f.subgroup_operations = subgroups.supportedOperations;
  const uint32_t subgroups_held =
      nvidia.shaderSMCount * nvidia.shaderWarpsPerSM + arm.shaderCoreCount * arm.shaderWarpsPerCore;
  f.resident = subgroups_held * f.subgroup_size + amd.shaderEngineCount * amd.shaderArraysPerEngineCount *
                                                      amd.computeUnitsPerShaderArray * amd.simdPerComputeUnit *
                                                      amd.wavefrontsPerSimd * amd.wavefrontSize;
  f.max_allocation = sizes_of_memory.maxMemoryAllocationSize;

  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDevice16BitStorageFeatures storage{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  VkPhysicalDeviceBufferDeviceAddressFeatures address{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT size{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
  chain(features, storage, true);
  chain(features, address, addresses);
  chain(features, timeline, timelines);
  chain(features, atomic, f.atomic_float_extension);
  chain(features, size, size_extension);
  fns.vkGetPhysicalDeviceFeatures2(device, &features);
  f.buffer_device_address = address.bufferDeviceAddress;
  f.timeline_semaphore = timeline.timelineSemaphore;
  f.float64 = features.features.shaderFloat64;
  f.float16_storage = storage.storageBuffer16BitAccess;
  f.float16_addresses = storage.storagePushConstant16;
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
