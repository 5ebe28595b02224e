#include "tests/pretend/devices.h"

#include <algorithm>

namespace spirograd::pretend {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr VkMemoryPropertyFlags kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr VkPhysicalDeviceType kIntegrated = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;

// As integrated AMD chips have it, the first device-local heap being a carve-out of the host's memory; smaller, so that
// tests fill it.
constexpr Heap kCarveOut[] = {{48 * kMiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}, {4096 * kMiB, 0}};
constexpr MemoryType kCarveOutTypes[] = {
    {kLocal, 0}, {kVisible | kCoherent, 1}, {kLocal | kVisible | kCoherent, 0}, {kVisible | kCoherent | kCached, 1}};

constexpr Heap kFull[] = {{4096 * kMiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT, 48 * kMiB}, {4096 * kMiB, 0, 96 * kMiB}};
constexpr MemoryType kDiscreteTypes[] = {{kLocal, 0}, {kVisible | kCoherent, 1}, {kVisible | kCoherent | kCached, 1}};

constexpr Heap kOneHeap[] = {{1024 * kMiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}};
// As on Mali: cached memory has to be flushed, coherent memory is not cached.
constexpr MemoryType kFlushed[] = {{kLocal, 0}, {kLocal | kVisible | kCached, 0}, {kLocal | kVisible | kCoherent, 0}};
constexpr MemoryType kIncoherent[] = {{kLocal, 0}, {kLocal | kVisible | kCached, 0}};

constexpr PretendedDevice kDevices[] = {
    {.name = "discrete", .what = "the driver, as a discrete GPU: the control"},
    {.name = "least_limits",
     .what = "the least that Vulkan promises: 4 storage buffers, 128 invocations, 16 KiB of shared memory",
     .storage_buffers = 4,
     .invocations = 128,
     .shared_bytes = 16384,
     .offset_alignment = 256,
     .storage_range = 1u << 27,
     .groups = {65535, 65535, 65535},
     .subgroup_control = false,
     .float_atomics = false,
     .doubles = false,
     .halves = false,
     .float_controls = false,
     .timestamps = false,
     .addresses = Addresses::Missing},
    {.name = "four_buffers", .what = "4 storage buffers, and addresses", .type = kIntegrated, .storage_buffers = 4},
    {.name = "low_grids", .what = "65,535 workgroups along x, 64 along y and z", .groups = {65535, 64, 64}},
    {.name = "no_addresses", .what = "buffers have no addresses", .addresses = Addresses::Missing},
    {.name = "addresses_of_zero", .what = "every buffer is at address 0", .addresses = Addresses::Zero},
    {.name = "two_pointers", .what = "a kernel's third pointer reads zeros", .addresses = Addresses::TwoPointers},
    {.name = "no_timelines", .what = "no timeline semaphores", .timelines = false},
    {.name = "ancient", .what = "Vulkan 1.0", .api_version = VK_API_VERSION_1_0},
    {.name = "old", .what = "Vulkan 1.1", .api_version = VK_API_VERSION_1_1},
    {.name = "vulkan_1_2", .what = "Vulkan 1.2", .type = kIntegrated, .api_version = VK_API_VERSION_1_2},
    {.name = "no_float_atomics", .what = "no native f32 additions to memory", .float_atomics = false},
    {.name = "loses_additions", .what = "loses one native f32 addition of a thousand", .loses_additions = 1000},
    {.name = "loses_exchanges",
     .what = "loses one compare-exchange of a thousand, and has no other f32 atomics",
     .float_atomics = false,
     .loses_exchanges = 1000},
    {.name = "fast_math", .what = "compares floats as if there was no NaN", .fast_math = true},
    {.name = "reassociates", .what = "takes (x + y) - y for x", .reassociates = true},
    {.name = "metal",
     .what = "says that it is MoltenVK, and takes (x + y) - y for x where it may",
     .type = kIntegrated,
     .driver = VK_DRIVER_ID_MOLTENVK,
     .reassociates_free = true},
    {.name = "short_loops", .what = "loops end after 5,000 iterations without a word", .loop_iterations = 5000},
    {.name = "ignores_base",
     .what = "dispatches begin at the first workgroup, whatever base they have",
     .ignores_base = true,
     .submission = 1.6e8},
    {.name = "wide_subgroups", .what = "promises subgroups of 32 lanes, and has the driver's", .subgroup_size = 32},
    {.name = "odd_subgroups",
     .what = "says that subgroups have 64 lanes; no size can be asked for",
     .subgroup_size = 64,
     .subgroup_control = false},
    {.name = "portable", .what = "VK_KHR_portability_subset", .type = kIntegrated, .portability_subset = true},
    {.name = "carve_out",
     .what = "its own memory is a carve-out that is soon full; the host's is the larger heap",
     .type = kIntegrated,
     .heaps = kCarveOut,
     .memory = kCarveOutTypes},
    {.name = "crowded",
     .what = "heaps of 4 GiB of which others hold all but 48 and 96 MiB",
     .heaps = kFull,
     .memory = kDiscreteTypes},
    {.name = "flushed",
     .what = "the host's caches have to be flushed, or uncached memory used",
     .type = kIntegrated,
     .heaps = kOneHeap,
     .memory = kFlushed},
    {.name = "incoherent",
     .what = "no coherent memory at all, against the specification",
     .type = kIntegrated,
     .heaps = kOneHeap,
     .memory = kIncoherent},
    {.name = "watchdog", .what = "submissions of more than 0.2 s lose the device", .killed_above = 2e8},
    {.name = "impatient",
     .what = "submissions of more than 0.2 ms lose the device",
     .killed_above = 2e5,
     .submission = 1.6e8},
    {.name = "lost_later", .what = "lost at the 12th submission", .lost_at = 12},
    {.name = "lost_at_once", .what = "lost at the first submission", .lost_at = 1},
    {.name = "no_room_once", .what = "no room for 18 MiB, the first time", .full_once = 18 * kMiB},
};

}  // namespace

std::span<const PretendedDevice> pretended_devices() { return kDevices; }

const PretendedDevice* find_device(std::string_view name) {
  const auto found = std::find_if(std::begin(kDevices), std::end(kDevices), [&](const auto& d) { return d.name == name; });
  return found == std::end(kDevices) ? nullptr : &*found;
}

}  // namespace spirograd::pretend
