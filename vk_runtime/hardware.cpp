#include "vk_runtime/hardware.h"

#include <array>

#include "frontend/base/bytes_text.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/memory_plan.h"

namespace spirograd::vk {
namespace {

template <class Flag>
struct FlagName {
  Flag flag;
  const char* name;
};

constexpr std::array<FlagName<VkMemoryPropertyFlags>, 4> kMemory = {{
    {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, "device-local"},
    {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, "host-visible"},
    {VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, "coherent"},
    {VK_MEMORY_PROPERTY_HOST_CACHED_BIT, "cached"},
}};
constexpr std::array<FlagName<VkQueueFlags>, 3> kQueue = {{
    {VK_QUEUE_GRAPHICS_BIT, "graphics"},
    {VK_QUEUE_COMPUTE_BIT, "compute"},
    {VK_QUEUE_TRANSFER_BIT, "transfer"},
}};

template <class Names>
std::string names_of(const Names& names, uint32_t flags) {
  std::string text;
  for (const auto& [flag, name] : names)
    if (flags & flag) text += (text.empty() ? "" : ", ") + std::string(name);
  return text.empty() ? "neither of those that are used" : text;
}

std::string version_of(const VkConformanceVersion& v) {
  if (v.major == 0) return "not claimed";
  return std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.subminor) + "." +
         std::to_string(v.patch);
}

std::string memory_text(const DeviceFacts& f, MemoryKind kind) {
  const std::vector<uint32_t> types = plan_memory_types(f.memory, ~0u, kind, shares_memory(f));
  if (types.empty()) return "none";
  const VkMemoryType& type = f.memory.memoryTypes[types[0]];
  std::string text = "type " + std::to_string(types[0]) + " of heap " + std::to_string(type.heapIndex) + ": " +
                     names_of(kMemory, type.propertyFlags);
  if (types.size() > 1) text += "; where it is full: type";
  for (size_t i = 1; i < types.size(); ++i) text += (i == 1 ? " " : ", ") + std::to_string(types[i]);
  return text;
}

std::string float_modes(const DeviceFacts& f) {
  std::string text;
  const auto add = [&](bool has, const char* what) {
    if (has) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(f.signed_zero_inf_nan, "signed zero, inf and nan of f32");
  add(f.round_to_even, "rounding of f32 to even");
  add(f.signed_zero_inf_nan64, "signed zero, inf and nan of f64");
  add(f.round_to_even64, "rounding of f64 to even");
  return text.empty() ? "none can be declared" : text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> hardware_of(const DeviceFacts& f, const DevicePlan& plan) {
  std::vector<std::pair<std::string, std::string>> out;
  out.emplace_back("conformance", version_of(f.conformance));
  for (uint32_t i = 0; i < f.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = f.memory.memoryHeaps[i];
    out.emplace_back(
        "heap " + std::to_string(i),
        bytes_text(heap.size) + (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT ? ", device-local" : ", of the host"));
  }
  out.emplace_back("memory of arrays", memory_text(f, MemoryKind::Arrays));
  out.emplace_back("memory of scratch", memory_text(f, MemoryKind::Scratch));
  out.emplace_back("memory of copies", memory_text(f, MemoryKind::Staging));
  if (plan.queue_family < f.queues.size()) {
    const QueueFamilyFacts& q = f.queues[plan.queue_family];
    out.emplace_back("queue", "family " + std::to_string(plan.queue_family) + " of " + std::to_string(f.queues.size()) +
                                  ": " + names_of(kQueue, q.flags) +
                                  (q.timestamp_bits > 0 && f.timestamp_period > 0 ? "; timestamps" : "; no timestamps"));
  }
  out.emplace_back("float modes", float_modes(f));
  if (f.layered) out.emplace_back("known to be slow", "the driver translates to another API: a native one is faster");
  if (f.type == VK_PHYSICAL_DEVICE_TYPE_CPU)
    out.emplace_back("known to be slow", "it is no GPU: programs run on the processor");
  return out;
}

}  // namespace spirograd::vk
