#include "vk_runtime/device_plan.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <numeric>
#include <tuple>

#include "spirograd/result.h"
#include "vk_runtime/system.h"

namespace spirograd::vk {
namespace {

// Compute-only families first: they run beside a host's graphics. Families with timestamps before those without.
int queue_score(const QueueFamilyFacts& q) {
  if (!(q.flags & VK_QUEUE_COMPUTE_BIT) || q.count == 0) return -1;
  return ((q.flags & VK_QUEUE_GRAPHICS_BIT) ? 0 : 2) + (q.timestamp_bits ? 1 : 0);
}

// A layered driver claims to be what lies below it, but is slower and does less than a native one.
int type_score(const DeviceFacts& f) {
  switch (f.type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 0;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return f.layered ? 1 : 5;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return f.layered ? 1 : 4;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return f.layered ? 1 : 3;
    default: return f.layered ? 1 : 2;  // types of later versions count as "other"
  }
}

// Software drivers have no GPU to name, and some drivers no name.
bool is_same_gpu(const DeviceFacts& a, const DeviceFacts& b) {
  constexpr std::array<uint8_t, 16> kNil{};
  return a.type != VK_PHYSICAL_DEVICE_TYPE_CPU && b.type != VK_PHYSICAL_DEVICE_TYPE_CPU && a.identity.device_uuid != kNil &&
         a.identity.device_uuid == b.identity.device_uuid;
}

std::string missing(const DeviceFacts& f) {
  if (f.api_version < VK_API_VERSION_1_1) return "Vulkan 1.1";
  if (std::none_of(f.queues.begin(), f.queues.end(), [](const auto& q) { return queue_score(q) >= 0; }))
    return "a compute queue";
  return "";
}

std::string lower(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

}  // namespace

bool is_layered(VkDriverId driver) { return driver == VK_DRIVER_ID_MESA_DOZEN; }

bool has_costly_exactness(VkDriverId driver) { return driver == VK_DRIVER_ID_MOLTENVK; }

bool gathers_loads(VkDriverId driver) { return driver == VK_DRIVER_ID_MESA_LLVMPIPE; }

bool truncates_by_lane(VkDriverId driver, uint32_t api_version) {
  return driver == VK_DRIVER_ID_MESA_LLVMPIPE && api_version >= VK_MAKE_API_VERSION(0, 1, 4, 0);
}

bool scatters_stores(VkDriverId driver) { return driver == VK_DRIVER_ID_MESA_LLVMPIPE; }

bool shares_memory(const DeviceFacts& f) {
  return f.type == VK_PHYSICAL_DEVICE_TYPE_CPU || f.type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
}

DevicePlan plan_device(const DeviceFacts& f, uint32_t cores) {
  DevicePlan p;
  p.unusable = missing(f);
  int best = -1;
  for (uint32_t i = 0; i < f.queues.size(); ++i) {
    if (queue_score(f.queues[i]) <= best) continue;
    best = queue_score(f.queues[i]);
    p.queue_family = i;
    p.timestamp_bits = f.timestamp_period > 0 ? f.queues[i].timestamp_bits : 0;
  }
  p.enable_device_address = f.buffer_device_address;
  p.enable_float64 = f.float64;
  p.enable_float16_storage = f.float16_storage;
  p.enable_float16_addresses = f.float16_storage && f.float16_addresses;
  p.enable_timeline = f.timeline_semaphore;
  p.enable_external_memory_fd = f.external_memory_fd;
  if (p.enable_external_memory_fd) p.extensions.push_back(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
  p.enable_atomic_float_add = f.atomic_float_extension && f.atomic_float_add;
  if (p.enable_atomic_float_add) p.extensions.push_back("VK_EXT_shader_atomic_float");
  if (f.api_version < VK_API_VERSION_1_2) {
    if (p.enable_timeline) p.extensions.push_back(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
    if (p.enable_device_address) p.extensions.push_back(VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME);
    if (f.signed_zero_inf_nan || f.round_to_even || f.signed_zero_inf_nan64 || f.round_to_even64)
      p.extensions.push_back(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
  }
  p.enable_push_descriptor = f.push_descriptor && f.scattered_stores;
  if (p.enable_push_descriptor) p.extensions.push_back(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  if (f.portability_subset) p.extensions.push_back("VK_KHR_portability_subset");
  p.enable_subgroup_size = f.subgroup_size_control && f.subgroup_stages & VK_SHADER_STAGE_COMPUTE_BIT &&
                           f.subgroup_size >= f.least_subgroup && f.subgroup_size <= f.greatest_subgroup;
  if (p.enable_subgroup_size) p.extensions.push_back("VK_EXT_subgroup_size_control");
  p.descriptor_alignment = std::max<uint64_t>(256, f.limits.minStorageBufferOffsetAlignment);

  Target& t = p.target;
  if (f.type == VK_PHYSICAL_DEVICE_TYPE_CPU) {
    t.price = software_prices(f.subgroup_size, cores);
    t.quirks |= kSlowLocalIndex;
  } else {
    t.price = gpu_prices(f.resident);
  }
  if (f.costly_exactness) t.quirks |= kCostlyExactness;
  if (f.gathered_loads) t.quirks |= kGatheredLoads;
  if (p.enable_push_descriptor) t.quirks |= kScatteredStores;
  if (f.truncates_by_lane) t.quirks |= kTruncatesByLane;
  // The memory of the discrete takes more invocations to keep busy.
  if (f.type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU) t.price.workgroup = 256;
  if (f.type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU) t.price.workgroup = 128;
  t.float64 = p.enable_float64;
  t.float16_storage = p.enable_float16_storage;
  t.float16_addresses = p.enable_float16_addresses;
  t.atomic_float_add = false;
  t.signed_zero_inf_nan = f.signed_zero_inf_nan;
  t.round_to_even = f.round_to_even;
  t.signed_zero_inf_nan64 = f.float64 && f.signed_zero_inf_nan64;
  t.round_to_even64 = f.float64 && f.round_to_even64;
  // A kernel of both widths must then round both alike.
  if (f.float64 && f.rounding_independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE)
    t.round_to_even = t.round_to_even64 = t.round_to_even && t.round_to_even64;
  t.device_address = p.enable_device_address;
  t.subgroup_size = std::max(1u, f.subgroup_size);
  // Only what the target has names for, so that equal targets share executables. Subgroups whose size a driver chooses per
  // kernel are of no use to kernels made for one size.
  constexpr uint32_t kKnown = kSubgroupBasic | kSubgroupVote | kSubgroupArithmetic | kSubgroupBallot | kSubgroupShuffle;
  const bool in_compute = f.subgroup_stages & VK_SHADER_STAGE_COMPUTE_BIT;
  t.subgroup_operations = in_compute ? f.subgroup_operations & (p.enable_subgroup_size ? kKnown : kSubgroupBasic) : 0;
  t.shared_bytes = f.limits.maxComputeSharedMemorySize;
  t.max_invocations = std::min(f.limits.maxComputeWorkGroupInvocations, f.limits.maxComputeWorkGroupSize[0]);
  t.max_groups = f.limits.maxComputeWorkGroupCount[0];
  t.max_groups_y = f.limits.maxComputeWorkGroupCount[1];
  // A stage-wide limit and one for whole pipeline layouts; kernels have one stage and one set.
  t.max_buffers = std::min({f.limits.maxPerStageDescriptorStorageBuffers, f.limits.maxDescriptorSetStorageBuffers,
                            f.limits.maxPerStageResources});
  t.max_push_bytes = f.limits.maxPushConstantsSize;
  t.max_range = f.limits.maxStorageBufferRange;
  return p;
}

std::vector<size_t> rank_devices(std::span<const DeviceFacts> facts) {
  std::vector<size_t> order(facts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto score = [&](size_t i) {
    return std::tuple(missing(facts[i]).empty(), type_score(facts[i]), facts[i].memory_bytes);
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return score(a) > score(b); });
  std::vector<size_t> out;
  for (size_t i : order)
    if (std::none_of(out.begin(), out.end(), [&](size_t o) { return is_same_gpu(facts[o], facts[i]); })) out.push_back(i);
  return out;
}

size_t select_device(std::span<const Candidate> ranked, const std::string& select) {
  if (ranked.empty()) throw Error("SG0302", "no Vulkan device found").hint(install_hint(Part::Driver));
  size_t found = ranked.size();
  uint32_t index = 0;
  const auto [end, status] = std::from_chars(select.data(), select.data() + select.size(), index);
  if (select.empty()) {
    const auto usable = [](const Candidate& c) { return c.unusable.empty(); };
    const auto first = std::find_if(ranked.begin(), ranked.end(), usable);
    found = first == ranked.end() ? 0 : static_cast<size_t>(first - ranked.begin());
  } else if (status == std::errc() && end == select.data() + select.size() && index < ranked.size()) {
    found = index;
  } else {
    for (size_t i = ranked.size(); i-- > 0;) {
      const bool matches = lower(ranked[i].name).find(lower(select)) != std::string::npos;
      if (matches && (found == ranked.size() || ranked[i].unusable.empty() || !ranked[found].unusable.empty())) found = i;
    }
  }
  if (found >= ranked.size()) {
    Error e("SG0304", "no Vulkan device is called '" + select + "'");
    for (size_t i = 0; i < ranked.size(); ++i) e.notes.push_back("device " + std::to_string(i) + ": " + ranked[i].name);
    e.help = "give a number, or a part of a name";
    throw e;
  }
  if (!ranked[found].unusable.empty()) {
    throw Error("SG0303", "'" + ranked[found].name + "' cannot be used: it lacks " + ranked[found].unusable);
  }
  return found;
}

}  // namespace spirograd::vk
