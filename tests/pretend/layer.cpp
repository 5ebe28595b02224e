// A Vulkan layer that plays other devices: the loader's interface, instances and devices.
#include <vulkan/vk_layer.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include "tests/pretend/state.h"

namespace spirograd::pretend {
namespace {

// The loader's handles begin with a pointer that all handles of one instance, or of one device, share.
const void* key_of(const void* handle) { return *static_cast<const void* const*>(handle); }

template <class State>
class Registry {
 public:
  State& add(const void* handle, std::unique_ptr<State> state) {
    const std::lock_guard lock(mutex_);
    return *(states_[key_of(handle)] = std::move(state));
  }
  State& of(const void* handle) {
    const std::lock_guard lock(mutex_);
    return *states_.at(key_of(handle));
  }
  void remove(const void* handle) {
    const std::lock_guard lock(mutex_);
    states_.erase(key_of(handle));
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::unique_ptr<State>> states_;
};

// Never destroyed: programs may end with instances alive.
Registry<InstanceState>& instances() {
  static auto& all = *new Registry<InstanceState>;
  return all;
}
Registry<DeviceState>& devices() {
  static auto& all = *new Registry<DeviceState>;
  return all;
}

// visit(name, the call below, ours or null): all that is taken or called. Of calls with two names the core one is called.
template <class Visit>
void each_call(InstanceCalls& c, Visit visit) {
  visit("vkGetInstanceProcAddr", c.get, get_instance_call);
  visit("vkDestroyInstance", c.destroy_instance, destroy_instance);
  visit("vkCreateDevice", c.create_device, create_device);
  visit("vkEnumerateDeviceExtensionProperties", c.extensions, extensions);
  visit("vkGetPhysicalDeviceProperties", c.properties, properties);
  visit("vkGetPhysicalDeviceProperties2", c.properties2, properties2);
  visit("vkGetPhysicalDeviceFeatures", c.features, features);
  visit("vkGetPhysicalDeviceFeatures2", c.features2, features2);
  visit("vkGetPhysicalDeviceMemoryProperties", c.memory, memory);
  visit("vkGetPhysicalDeviceMemoryProperties2", c.memory2, memory2);
  visit("vkGetPhysicalDeviceQueueFamilyProperties", c.queues, queues);
  visit("vkGetPhysicalDeviceQueueFamilyProperties2", c.queues2, queues2);
}
template <class Visit>
void each_call(DeviceCalls& c, Visit visit) {
  visit("vkGetDeviceProcAddr", c.get, get_device_call);
  visit("vkDestroyDevice", c.destroy_device, destroy_device);
  visit("vkAllocateMemory", c.allocate_memory, allocate_memory);
  visit("vkFreeMemory", c.free_memory, free_memory);
  visit("vkMapMemory", c.map_memory, map_memory);
  visit("vkUnmapMemory", c.unmap_memory, unmap_memory);
  visit("vkFlushMappedMemoryRanges", c.flush, flush);
  visit("vkInvalidateMappedMemoryRanges", c.invalidate, invalidate);
  visit("vkCreateBuffer", c.create_buffer, nullptr);
  visit("vkDestroyBuffer", c.destroy_buffer, nullptr);
  visit("vkBindBufferMemory", c.bind_buffer_memory, nullptr);
  visit("vkGetBufferMemoryRequirements", c.requirements, requirements);
  visit("vkGetBufferMemoryRequirements2", c.requirements2, requirements2);
  visit("vkGetBufferDeviceAddress", c.address, address);
  visit("vkCreateShaderModule", c.create_module, create_module);
  visit("vkCreateComputePipelines", c.create_pipelines, create_pipelines);
  visit("vkCreatePipelineLayout", c.create_layout, create_layout);
  visit("vkBeginCommandBuffer", c.begin, begin);
  visit("vkCmdBindPipeline", c.bind_pipeline, bind_pipeline);
  visit("vkCmdPushConstants", c.push_constants, push_constants);
  visit("vkCmdDispatch", c.dispatch, dispatch);
  visit("vkCmdDispatchBase", c.dispatch_base, dispatch_base);
  visit("vkQueueSubmit", c.submit, submit);
  visit("vkQueueWaitIdle", c.queue_wait, queue_wait);
  visit("vkDeviceWaitIdle", c.device_wait, device_wait);
  visit("vkWaitForFences", c.wait_fences, wait_fences);
  visit("vkGetFenceStatus", c.fence_status, fence_status);
  visit("vkWaitSemaphores", c.wait_semaphores, wait_semaphores);
}

template <class Calls, class Owner>
void load(Calls& calls, Owner owner) {
  each_call(calls, [&]<class F>(const char* name, F& below, std::type_identity_t<F>) {
    if (static_cast<void*>(&below) != static_cast<void*>(&calls.get)) below = reinterpret_cast<F>(calls.get(owner, name));
  });
}

// Ours of that name, also if it is spelt as its extension has it; or null.
template <class Calls>
PFN_vkVoidFunction ours(std::string_view wanted) {
  for (std::string_view suffix : {"KHR", "EXT"})
    if (wanted.ends_with(suffix)) wanted.remove_suffix(suffix.size());
  Calls none;
  PFN_vkVoidFunction found = nullptr;
  each_call(none, [&]<class F>(const char* name, F&, std::type_identity_t<F> own) {
    if (wanted == name) found = reinterpret_cast<PFN_vkVoidFunction>(own);
  });
  return found;
}

// The loader's link to the layer below, taken from a chain of structs.
template <class Link>
Link* link_info(const void* chain, VkStructureType type) {
  for (auto* s = static_cast<const VkBaseInStructure*>(chain); s; s = s->pNext) {
    auto* link = reinterpret_cast<Link*>(const_cast<VkBaseInStructure*>(s));
    if (s->sType == type && link->function == VK_LAYER_LINK_INFO) return link;
  }
  return nullptr;
}

// Somewhere to point to in vain, with as many bytes as the arrays of tests have.
constexpr VkDeviceSize kZeros = 32u << 20;

VkResult make_zeros(DeviceState& d) {
  VkBufferCreateInfo buffer{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  buffer.size = kZeros;
  buffer.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  if (const VkResult r = d.below.create_buffer(d.handle, &buffer, nullptr, &d.zeros)) return r;
  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  const VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags, kZeros, 0};
  if (const VkResult r = d.below.allocate_memory(d.handle, &allocate, nullptr, &d.zeros_memory)) return r;
  void* mapped = nullptr;
  if (const VkResult r = d.below.map_memory(d.handle, d.zeros_memory, 0, VK_WHOLE_SIZE, 0, &mapped)) return r;
  std::memset(mapped, 0, kZeros);
  if (const VkResult r = d.below.bind_buffer_memory(d.handle, d.zeros, d.zeros_memory, 0)) return r;
  const VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, nullptr, d.zeros};
  d.zeros_at = d.below.address(d.handle, &info);
  return VK_SUCCESS;
}

}  // namespace

InstanceState& state_of(VkInstance i) { return instances().of(i); }
InstanceState& state_of(VkPhysicalDevice p) { return instances().of(p); }
DeviceState& state_of(VkDevice d) { return devices().of(d); }
DeviceState& state_of(VkQueue q) { return devices().of(q); }
DeviceState& state_of(VkCommandBuffer c) { return devices().of(c); }

const PretendedDevice* named_device() {
  const char* name = std::getenv(kVariable);
  return name ? find_device(name) : nullptr;
}

VkResult create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator, VkInstance* instance) {
  auto* link = link_info<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(VK_NULL_HANDLE, "vkCreateInstance"));
  if (const VkResult r = create(info, allocator, instance)) return r;
  auto state = std::make_unique<InstanceState>();
  state->handle = *instance;
  state->below.get = get;
  load(state->below, *instance);
  instances().add(*instance, std::move(state));
  return VK_SUCCESS;
}

void destroy_instance(VkInstance instance, const VkAllocationCallbacks* allocator) {
  if (!instance) return;
  const PFN_vkDestroyInstance destroy = state_of(instance).below.destroy_instance;
  instances().remove(instance);
  destroy(instance, allocator);
}

VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info, const VkAllocationCallbacks* allocator,
                       VkDevice* device) {
  const PretendedDevice* is = named_device();
  auto* link = link_info<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (!is || !link) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr get_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  const PFN_vkGetDeviceProcAddr get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(get_instance(state_of(physical).handle, "vkCreateDevice"));
  // What the driver does not know is not asked of it.
  std::vector<const char*> extensions_below;
  for (uint32_t i = 0; i < info->enabledExtensionCount; ++i)
    if (std::string_view(info->ppEnabledExtensionNames[i]) != "VK_KHR_portability_subset")
      extensions_below.push_back(info->ppEnabledExtensionNames[i]);
  VkDeviceCreateInfo below = *info;
  below.enabledExtensionCount = static_cast<uint32_t>(extensions_below.size());
  below.ppEnabledExtensionNames = extensions_below.data();
  if (const VkResult r = create(physical, &below, allocator, device)) return r;

  DeviceState& state = devices().add(*device, std::make_unique<DeviceState>(*is));
  state.handle = *device;
  state.below.get = get;
  load(state.below, *device);
  state.used.resize(is->heaps.size());
  return is->addresses == Addresses::TwoPointers ? make_zeros(state) : VK_SUCCESS;
}

void destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
  if (!device) return;
  DeviceState& state = state_of(device);
  if (state.zeros) state.below.destroy_buffer(device, state.zeros, nullptr);
  if (state.zeros_memory) state.below.free_memory(device, state.zeros_memory, nullptr);
  const PFN_vkDestroyDevice destroy = state.below.destroy_device;
  devices().remove(device);
  destroy(device, allocator);
}

PFN_vkVoidFunction get_device_call(VkDevice device, const char* name) {
  const PFN_vkVoidFunction below = state_of(device).below.get(device, name), own = ours<DeviceCalls>(name);
  return below && own ? own : below;
}

PFN_vkVoidFunction get_instance_call(VkInstance instance, const char* name) {
  if (std::string_view(name) == "vkCreateInstance") return reinterpret_cast<PFN_vkVoidFunction>(create_instance);
  if (const PFN_vkVoidFunction own = ours<InstanceCalls>(name)) return own;
  if (const PFN_vkVoidFunction own = ours<DeviceCalls>(name)) return own;
  return instance ? state_of(instance).below.get(instance, name) : nullptr;
}

}  // namespace spirograd::pretend

extern "C" VK_LAYER_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
  if (interface->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT || interface->loaderLayerInterfaceVersion < 2)
    return VK_ERROR_INITIALIZATION_FAILED;
  interface->loaderLayerInterfaceVersion = 2;
  interface->pfnGetInstanceProcAddr = spirograd::pretend::get_instance_call;
  interface->pfnGetDeviceProcAddr = spirograd::pretend::get_device_call;
  interface->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
