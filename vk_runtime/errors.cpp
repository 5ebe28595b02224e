#include "vk_runtime/errors.h"

#include <cstdio>

namespace spirograd::vk {

std::string result_name(VkResult r) {
  // clang-format off
  static constexpr struct { VkResult code; const char* name; } names[] = {
      {VK_SUCCESS, "VK_SUCCESS"},
      {VK_NOT_READY, "VK_NOT_READY"},
      {VK_TIMEOUT, "VK_TIMEOUT"},
      {VK_INCOMPLETE, "VK_INCOMPLETE"},
      {VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY"},
      {VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
      {VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED"},
      {VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST"},
      {VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED"},
      {VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT"},
      {VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT"},
      {VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT"},
      {VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER"},
      {VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS"},
      {VK_ERROR_FRAGMENTED_POOL, "VK_ERROR_FRAGMENTED_POOL"},
      {VK_ERROR_OUT_OF_POOL_MEMORY, "VK_ERROR_OUT_OF_POOL_MEMORY"},
      {VK_ERROR_INVALID_SHADER_NV, "VK_ERROR_INVALID_SHADER_NV"},
      {VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN"},
  };
  // clang-format on
  for (const auto& n : names)
    if (n.code == r) return n.name;
  return "VkResult " + std::to_string(static_cast<int>(r));
}

Error vulkan_error(VkResult r, std::string_view call, std::string_view device) {
  const std::string where = std::string(call) + " answered " + result_name(r) + " on '" + std::string(device) + "'";
  if (r == VK_ERROR_DEVICE_LOST) {
    return Error("SG0310", "the device was lost: " + where)
        .note("the driver reset the device: a dispatch took too long, or another program caused a fault")
        .hint("create a new Device and Session; if it happens again, run a smaller problem or another driver");
  }
  if (r == VK_ERROR_OUT_OF_DEVICE_MEMORY || r == VK_ERROR_OUT_OF_HOST_MEMORY || r == VK_ERROR_OUT_OF_POOL_MEMORY ||
      r == VK_ERROR_MEMORY_MAP_FAILED || r == VK_ERROR_TOO_MANY_OBJECTS) {
    return Error("SG0601", "out of memory: " + where);
  }
  return Error("SG0305", "a Vulkan call failed: " + where);
}

void check(VkResult r, std::string_view call, std::string_view device) {
  if (r != VK_SUCCESS) throw vulkan_error(r, call, device);
}

Error limit_error(std::string_view what, uint64_t wish, std::string_view limit_name, uint64_t limit,
                  std::string_view device) {
  return Error("SG0303", std::string(what) + " needs " + std::to_string(wish) + ", but " + std::string(limit_name) +
                             " of '" + std::string(device) + "' is " + std::to_string(limit));
}

Error forked_error(std::string_view what) {
  return Error("SG0311", std::string(what) + " belongs to the process that this one was forked from")
      .note("the driver's threads exist there alone; a call would wait for ever")
      .hint("fork before the first Device, or start a new program (exec)");
}

}  // namespace spirograd::vk
