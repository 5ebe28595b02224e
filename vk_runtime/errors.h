// VkResult as errors: what was called, what it said, on which device.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "spirograd/result.h"

namespace spirograd::vk {

/// "VK_ERROR_DEVICE_LOST"; the number for those we do not know.
std::string result_name(VkResult);
/// SG0310 for a lost device, SG0601 for memory, SG0305 for anything else.
Error vulkan_error(VkResult, std::string_view call, std::string_view device);
/// Throws vulkan_error unless the result is VK_SUCCESS.
void check(VkResult, std::string_view call, std::string_view device);
/// SG0303: what was wished for, the limit, the device.
Error limit_error(std::string_view what, uint64_t wish, std::string_view limit_name, uint64_t limit,
                  std::string_view device);
/// SG0311: a call in a process that was forked from the one that `what` belongs to.
Error forked_error(std::string_view what);

/// Runs a cleanup at the end of a scope.
template <class F>
struct Defer {
  F run;
  explicit Defer(F f) : run(std::move(f)) {}
  Defer(const Defer&) = delete;
  Defer& operator=(const Defer&) = delete;
  ~Defer() { run(); }
};

}  // namespace spirograd::vk
