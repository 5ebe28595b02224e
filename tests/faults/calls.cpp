#include "tests/faults/calls.h"

#include <algorithm>
#include <mutex>
#include <string_view>
#include <tuple>
#include <utility>

#include "vk_runtime/functions.h"

namespace spirograd::faults {
namespace {

std::mutex mutex;  // of what follows
Faults* watched = nullptr;
std::map<std::string, int64_t> living;
std::vector<std::string> complaints;
thread_local int pauses = 0;

constexpr uint64_t kGarbage = 0xbadbadbadbad0;

// Calls by which a device says that it is lost.
bool tells_loss(std::string_view name) {
  return name == "vkQueueSubmit" || name == "vkQueueWaitIdle" || name == "vkWaitForFences" || name == "vkGetFenceStatus" ||
         name == "vkWaitSemaphores" || name == "vkGetSemaphoreCounterValue" || name == "vkGetQueryPoolResults";
}

VkResult planned(const char* name, bool is_endless = false) {
  const std::lock_guard lock(mutex);
  if (!watched || pauses > 0) return VK_SUCCESS;
  Faults& f = *watched;
  ++f.calls[name];
  if (f.is_lost && tells_loss(name)) return VK_ERROR_DEVICE_LOST;
  if (f.name != name || --f.countdown != 0) return VK_SUCCESS;
  if (f.code == VK_TIMEOUT && is_endless) return VK_SUCCESS;
  f.failed = true;
  f.is_lost = f.for_good;
  return f.code;
}

void made(const char* kind, int64_t n) {
  const std::lock_guard lock(mutex);
  living[kind] += n;
}

template <size_t N>
struct Text {
  char s[N];
  consteval Text(const char (&text)[N]) { std::copy_n(text, N, s); }
};

// A call that makes nothing which has to be destroyed. Of waits the last argument says how long.
template <Text name, class F>
struct Call;
template <Text name, class... A>
struct Call<name, VkResult(VKAPI_PTR*)(A...)> {
  static inline VkResult(VKAPI_PTR* real)(A...) = nullptr;
  static VKAPI_ATTR VkResult VKAPI_CALL ours(A... a) {
    bool is_endless = false;
    if constexpr (std::string_view(name.s).starts_with("vkWait"))
      is_endless = std::get<sizeof...(A) - 1>(std::tuple(a...)) == UINT64_MAX;
    const VkResult r = planned(name.s, is_endless);
    return r != VK_SUCCESS ? r : real(a...);
  }
};

// One that makes an object, at its last argument.
template <Text name, Text kind, class F>
struct Creation;
template <Text name, Text kind, class... A>
struct Creation<name, kind, VkResult(VKAPI_PTR*)(A...)> {
  static inline VkResult(VKAPI_PTR* real)(A...) = nullptr;
  static VKAPI_ATTR VkResult VKAPI_CALL ours(A... a) {
    const auto out = std::get<sizeof...(A) - 1>(std::tuple(a...));
    if (const VkResult r = planned(name.s)) {
      *out = reinterpret_cast<std::remove_reference_t<decltype(*out)>>(kGarbage);
      return r;
    }
    const VkResult r = real(a...);
    if (r == VK_SUCCESS) made(kind.s, 1);
    if constexpr (std::string_view(kind.s) == "Device") {
      const std::lock_guard lock(mutex);
      if (watched) watched->is_lost = false;
    }
    return r;
  }
};

// All but the last pipeline are made where that fails.
struct Pipelines {
  static inline PFN_vkCreateComputePipelines real = nullptr;
  static VKAPI_ATTR VkResult VKAPI_CALL ours(VkDevice device, VkPipelineCache cache, uint32_t n,
                                             const VkComputePipelineCreateInfo* infos,
                                             const VkAllocationCallbacks* allocator, VkPipeline* out) {
    const VkResult r = planned("vkCreateComputePipelines");
    const uint32_t n_made = r == VK_SUCCESS ? n : n - 1;
    std::fill_n(out, n, VkPipeline{VK_NULL_HANDLE});
    const VkResult real_result = n_made > 0 ? real(device, cache, n_made, infos, allocator, out) : VK_SUCCESS;
    made("Pipeline", std::count_if(out, out + n_made, [](VkPipeline p) { return p != VK_NULL_HANDLE; }));
    return r != VK_SUCCESS ? r : real_result;
  }
};

template <Text name, Text kind, class F>
struct Destruction;
template <Text name, Text kind, class Owner, class Handle>
struct Destruction<name, kind, void(VKAPI_PTR*)(Owner, Handle, const VkAllocationCallbacks*)> {
  static inline void(VKAPI_PTR* real)(Owner, Handle, const VkAllocationCallbacks*) = nullptr;
  static VKAPI_ATTR void VKAPI_CALL ours(Owner owner, Handle handle, const VkAllocationCallbacks* allocator) {
    if (handle == reinterpret_cast<Handle>(kGarbage)) {
      const std::lock_guard lock(mutex);
      complaints.push_back(std::string(name.s) + " is given what was never made");
      return;
    }
    if (handle) made(kind.s, -1);
    real(owner, handle, allocator);
  }
};

struct DestroyDevice {
  static inline PFN_vkDestroyDevice real = nullptr;
  static VKAPI_ATTR void VKAPI_CALL ours(VkDevice device, const VkAllocationCallbacks* allocator) {
    if (device) made("Device", -1);
    real(device, allocator);
  }
};

struct Row {
  const char* name;
  std::vector<VkResult> codes;
  bool of_process;
  PFN_vkVoidFunction ours;
  void (*set_real)(PFN_vkVoidFunction);
};

template <class C>
Row row(const char* name, std::vector<VkResult> codes = {}, bool of_process = false) {
  return {name, std::move(codes), of_process, reinterpret_cast<PFN_vkVoidFunction>(C::ours),
          [](PFN_vkVoidFunction f) { C::real = reinterpret_cast<decltype(C::real)>(f); }};
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_call(VkDevice device, const char* name);

PFN_vkGetInstanceProcAddr loader() { return vk::load_global().vkGetInstanceProcAddr; }
PFN_vkGetDeviceProcAddr real_device_call = nullptr;

template <Text name, class F>
Row call(std::vector<VkResult> codes, bool of_process = false) {
  return row<Call<name, F>>(name.s, std::move(codes), of_process);
}
template <Text name, Text kind, class F>
Row create(std::vector<VkResult> codes, bool of_process = false) {
  return row<Creation<name, kind, F>>(name.s, std::move(codes), of_process);
}
template <Text name, Text kind, class F>
Row destroy() {
  return row<Destruction<name, kind, F>>(name.s);
}

const std::vector<Row>& rows() {
  static const auto& all = *new std::vector<Row>([] {
    constexpr VkResult host = VK_ERROR_OUT_OF_HOST_MEMORY, memory = VK_ERROR_OUT_OF_DEVICE_MEMORY,
                       lost = VK_ERROR_DEVICE_LOST, failed = VK_ERROR_INITIALIZATION_FAILED;
    // clang-format off
    return std::vector<Row>{
        call<"vkEnumerateInstanceVersion", PFN_vkEnumerateInstanceVersion>({host}, true),
        call<"vkEnumerateInstanceExtensionProperties", PFN_vkEnumerateInstanceExtensionProperties>(
            {host, memory, VK_ERROR_LAYER_NOT_PRESENT}, true),
        call<"vkEnumerateInstanceLayerProperties", PFN_vkEnumerateInstanceLayerProperties>({host, memory}, true),
        create<"vkCreateInstance", "Instance", PFN_vkCreateInstance>(
            {host, memory, failed, VK_ERROR_LAYER_NOT_PRESENT, VK_ERROR_EXTENSION_NOT_PRESENT,
                                 VK_ERROR_INCOMPATIBLE_DRIVER}, true),
        call<"vkEnumeratePhysicalDevices", PFN_vkEnumeratePhysicalDevices>({host, memory, failed, VK_INCOMPLETE}, true),
        call<"vkEnumerateDeviceExtensionProperties", PFN_vkEnumerateDeviceExtensionProperties>(
            {host, memory, VK_INCOMPLETE}),
        create<"vkCreateDevice", "Device", PFN_vkCreateDevice>(
            {host, memory, failed, VK_ERROR_EXTENSION_NOT_PRESENT, VK_ERROR_FEATURE_NOT_PRESENT,
                               VK_ERROR_TOO_MANY_OBJECTS, lost}),
        row<DestroyDevice>("vkDestroyDevice"),
        create<"vkCreateDebugUtilsMessengerEXT", "Messenger", PFN_vkCreateDebugUtilsMessengerEXT>({host}),
        destroy<"vkDestroyDebugUtilsMessengerEXT", "Messenger", PFN_vkDestroyDebugUtilsMessengerEXT>(),
        call<"vkSetDebugUtilsObjectNameEXT", PFN_vkSetDebugUtilsObjectNameEXT>({host, memory}),
        create<"vkCreateBuffer", "Buffer", PFN_vkCreateBuffer>({host, memory}),
        destroy<"vkDestroyBuffer", "Buffer", PFN_vkDestroyBuffer>(),
        create<"vkAllocateMemory", "Memory", PFN_vkAllocateMemory>({host, memory, VK_ERROR_TOO_MANY_OBJECTS}),
        destroy<"vkFreeMemory", "Memory", PFN_vkFreeMemory>(),
        call<"vkMapMemory", PFN_vkMapMemory>({host, memory, VK_ERROR_MEMORY_MAP_FAILED}),
        call<"vkFlushMappedMemoryRanges", PFN_vkFlushMappedMemoryRanges>({host, memory}),
        call<"vkInvalidateMappedMemoryRanges", PFN_vkInvalidateMappedMemoryRanges>({host, memory}),
        call<"vkBindBufferMemory", PFN_vkBindBufferMemory>({host, memory}),
        call<"vkGetMemoryFdKHR", PFN_vkGetMemoryFdKHR>({host, VK_ERROR_TOO_MANY_OBJECTS}),
        create<"vkCreateFence", "Fence", PFN_vkCreateFence>({host, memory}),
        destroy<"vkDestroyFence", "Fence", PFN_vkDestroyFence>(),
        call<"vkResetFences", PFN_vkResetFences>({memory}),
        call<"vkGetFenceStatus", PFN_vkGetFenceStatus>({host, memory, lost, VK_NOT_READY}),
        call<"vkWaitForFences", PFN_vkWaitForFences>({host, memory, lost, VK_TIMEOUT}),
        create<"vkCreateSemaphore", "Semaphore", PFN_vkCreateSemaphore>({host, memory}),
        destroy<"vkDestroySemaphore", "Semaphore", PFN_vkDestroySemaphore>(),
        call<"vkWaitSemaphores", PFN_vkWaitSemaphores>({host, memory, lost, VK_TIMEOUT}),
        call<"vkGetSemaphoreCounterValue", PFN_vkGetSemaphoreCounterValue>({host, memory, lost}),
        call<"vkQueueSubmit", PFN_vkQueueSubmit>({host, memory, lost}),
        call<"vkQueueWaitIdle", PFN_vkQueueWaitIdle>({host, memory, lost}),
        create<"vkCreateShaderModule", "ShaderModule", PFN_vkCreateShaderModule>({host, memory, VK_ERROR_INVALID_SHADER_NV}),
        destroy<"vkDestroyShaderModule", "ShaderModule", PFN_vkDestroyShaderModule>(),
        create<"vkCreatePipelineCache", "PipelineCache", PFN_vkCreatePipelineCache>({host, memory}),
        destroy<"vkDestroyPipelineCache", "PipelineCache", PFN_vkDestroyPipelineCache>(),
        call<"vkGetPipelineCacheData", PFN_vkGetPipelineCacheData>({host, memory, VK_INCOMPLETE}),
        create<"vkCreatePipelineLayout", "PipelineLayout", PFN_vkCreatePipelineLayout>({host, memory}),
        destroy<"vkDestroyPipelineLayout", "PipelineLayout", PFN_vkDestroyPipelineLayout>(),
        row<Pipelines>("vkCreateComputePipelines", {host, memory, VK_ERROR_INVALID_SHADER_NV}),
        destroy<"vkDestroyPipeline", "Pipeline", PFN_vkDestroyPipeline>(),
        create<"vkCreateDescriptorSetLayout", "DescriptorSetLayout", PFN_vkCreateDescriptorSetLayout>({host, memory}),
        destroy<"vkDestroyDescriptorSetLayout", "DescriptorSetLayout", PFN_vkDestroyDescriptorSetLayout>(),
        create<"vkCreateDescriptorPool", "DescriptorPool", PFN_vkCreateDescriptorPool>({host, memory}),
        destroy<"vkDestroyDescriptorPool", "DescriptorPool", PFN_vkDestroyDescriptorPool>(),
        call<"vkAllocateDescriptorSets", PFN_vkAllocateDescriptorSets>(
            {host, memory, VK_ERROR_FRAGMENTED_POOL, VK_ERROR_OUT_OF_POOL_MEMORY}),
        create<"vkCreateCommandPool", "CommandPool", PFN_vkCreateCommandPool>({host, memory}),
        destroy<"vkDestroyCommandPool", "CommandPool", PFN_vkDestroyCommandPool>(),
        call<"vkAllocateCommandBuffers", PFN_vkAllocateCommandBuffers>({host, memory}),
        call<"vkBeginCommandBuffer", PFN_vkBeginCommandBuffer>({host, memory}),
        call<"vkEndCommandBuffer", PFN_vkEndCommandBuffer>({host, memory}),
        create<"vkCreateQueryPool", "QueryPool", PFN_vkCreateQueryPool>({host, memory}),
        destroy<"vkDestroyQueryPool", "QueryPool", PFN_vkDestroyQueryPool>(),
        call<"vkGetQueryPoolResults", PFN_vkGetQueryPoolResults>({host, memory, lost, VK_NOT_READY}),
    };
    // clang-format on
  }());
  return all;
}

// Ours of that name over `real`, which is kept: the loader's calls serve all instances and devices. Null if we take none.
PFN_vkVoidFunction taken(std::string_view name, PFN_vkVoidFunction real) {
  if (name.ends_with("KHR")) name.remove_suffix(3);
  for (const Row& r : rows())
    if (name == r.name) return r.set_real(real), r.ours;
  return nullptr;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_call(VkDevice device, const char* name) {
  const PFN_vkVoidFunction real = real_device_call(device, name);
  if (!real) return nullptr;
  for (const Row& r : rows())
    if (std::string_view(name) == r.name || std::string_view(name) == std::string(r.name) + "KHR") return r.ours;
  return real;
}

}  // namespace

void watch(Faults* faults) {
  const std::lock_guard lock(mutex);
  watched = faults;
}

Pause::Pause() { ++pauses; }
Pause::~Pause() { --pauses; }

std::map<std::string, int64_t> alive() {
  const std::lock_guard lock(mutex);
  std::map<std::string, int64_t> out = living;
  std::erase_if(out, [](const auto& kind) { return kind.second == 0 || kind.first == "Instance"; });
  return out;
}

void forget_living() {
  const std::lock_guard lock(mutex);
  living.clear();
}

std::vector<std::string> take_complaints() {
  const std::lock_guard lock(mutex);
  return std::exchange(complaints, {});
}

std::span<const Fallible> fallible_calls() {
  static const auto& all = *new std::vector<Fallible>([] {
    std::vector<Fallible> out;
    for (const Row& r : rows())
      if (!r.codes.empty()) out.push_back({r.name, r.codes, r.of_process});
    return out;
  }());
  return all;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char* name) {
  const PFN_vkGetInstanceProcAddr get = loader();
  if (std::string_view(name) == "vkGetInstanceProcAddr") return reinterpret_cast<PFN_vkVoidFunction>(get_instance_proc_addr);
  const PFN_vkVoidFunction real = get(instance, name);
  if (!real) return nullptr;
  if (std::string_view(name) == "vkGetDeviceProcAddr") {
    real_device_call = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
    // Those of devices are the loader's, too.
    for (const Row& r : rows())
      if (const PFN_vkVoidFunction f = get(instance, r.name)) r.set_real(f);
    return reinterpret_cast<PFN_vkVoidFunction>(device_call);
  }
  const PFN_vkVoidFunction own = taken(name, real);
  return own ? own : real;
}

}  // namespace spirograd::faults
