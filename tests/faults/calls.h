// Between the runtime and the loader: every Vulkan call that may fail can be made to, and what is created and destroyed is
// counted. It is what a host gives as its vkGetInstanceProcAddr, so nothing of the runtime knows of it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace spirograd::faults {

/// What is seen and done while it is watched. Calls are counted whether or not they fail.
struct Faults {
  // The countdown-th call of that name gives that code instead of being made. What it should have made is garbage
  // afterwards, as the specification allows, unless that is an array of pipelines, sets or command buffers.
  std::string name;
  int countdown = 0;
  VkResult code = VK_SUCCESS;
  bool for_good = false;  // a lost device stays lost: all that can tell so does, until another device is made

  bool failed = false;  // it has
  bool is_lost = false;
  std::map<std::string, int> calls;
};

/// From now on; null: nobody watches. Calls of a thread that holds a Pause are made as if nobody did.
void watch(Faults* faults);
struct Pause {
  Pause();
  ~Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
};

/// Objects that are alive, by kind ("Buffer"); those that were made without being watched, too. Without zeros.
std::map<std::string, int64_t> alive();
void forget_living();
/// What was wrong since the last call, such as garbage that was destroyed.
std::vector<std::string> take_complaints();

/// A call that may fail, and how: errors, VK_NOT_READY, VK_INCOMPLETE and VK_TIMEOUT as far as the specification allows them
/// for what the runtime does.
struct Fallible {
  const char* name;
  std::span<const VkResult> codes;
  bool of_process;  // made once for all devices of a process
};
std::span<const Fallible> fallible_calls();

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char* name);

}  // namespace spirograd::faults
