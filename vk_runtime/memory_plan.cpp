#include "vk_runtime/memory_plan.h"

#include <algorithm>
#include <tuple>

namespace spirograd::vk {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr VkMemoryPropertyFlags kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr VkMemoryPropertyFlags kPlain = kLocal | kVisible | kCoherent | kCached;

// Needs special submits, has no bytes before an attachment asks for them, needs a feature that is not enabled.
constexpr VkMemoryPropertyFlags kBarred =
    VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD;

constexpr int kUnfit = 9;

// Smaller is better.
int rank(VkMemoryPropertyFlags type, MemoryKind kind, bool direct) {
  const bool visible = type & kVisible, cached = type & kCached, coherent = type & kCoherent;
  switch (kind) {
    case MemoryKind::Staging: return !visible ? kUnfit : cached && coherent ? 0 : cached ? 1 : 2;
    case MemoryKind::Arrays:
      if (maps_arrays(type, direct) && (type & kLocal)) return coherent ? 0 : 1;
      [[fallthrough]];
    case MemoryKind::Scratch: return type & kLocal ? 2 : 3;
  }
  return kUnfit;
}

}  // namespace

bool maps_arrays(VkMemoryPropertyFlags type, bool direct) { return direct && (type & kVisible) && (type & kCached); }

std::vector<uint32_t> plan_memory_types(const VkPhysicalDeviceMemoryProperties& p, uint32_t allowed, MemoryKind kind,
                                        bool direct) {
  // Larger heaps first: the first device-local one may be a window of a few hundred megabytes. Of one heap, what the host
  // does not see comes first, for it may be larger than the window through which it sees the rest; flags that nobody here
  // knows come last.
  const auto key = [&](uint32_t i) {
    const VkMemoryPropertyFlags flags = p.memoryTypes[i].propertyFlags;
    const bool needlessly_visible = kind != MemoryKind::Staging && (flags & kVisible);
    return std::tuple(rank(flags, kind, direct), ~p.memoryHeaps[p.memoryTypes[i].heapIndex].size, (flags & ~kPlain) != 0,
                      needlessly_visible, i);
  };
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < p.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = p.memoryTypes[i].propertyFlags;
    if ((allowed >> i & 1) && !(flags & kBarred) && rank(flags, kind, direct) != kUnfit) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  return order;
}

}  // namespace spirograd::vk
