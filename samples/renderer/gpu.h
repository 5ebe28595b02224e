// The least that a small renderer needs of Vulkan: an instance and a device, buffers that the host sees, a picture to draw
// into, pipelines, and commands that are submitted and waited for.
#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>
#include <span>
#include <vector>

namespace renderer {

struct Buffer {
  VkBuffer handle = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  float* data = nullptr;  // mapped
};

/// Throws std::runtime_error where a call of Vulkan fails. What it has made is destroyed with it.
class Gpu {
 public:
  Gpu();  // an instance and its first device with a queue for graphics and compute
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// With a queue of `family`; `info` may ask for more.
  VkDeviceCreateInfo device_info();
  void create_device(const VkDeviceCreateInfo& info);
  /// A picture to draw into, of 16-bit floats, which may be added to.
  void create_picture(uint32_t width, uint32_t height);

  Buffer buffer(VkDeviceSize bytes, VkBufferUsageFlags usage);
  /// Draws triangle strips, with `floats` per instance of the buffer; without: once, over what is there.
  VkPipeline pipeline(std::span<const uint32_t> vertex, std::span<const uint32_t> fragment, bool instances);

  VkCommandBuffer begin();
  void begin_picture();  // black
  void end_picture();
  /// What is read later sees what was written before.
  void order(VkPipelineStageFlags stage, VkAccessFlags written, VkPipelineStageFlags later, VkAccessFlags read);
  /// Ends, submits, waits.
  void submit();
  /// Red, green and blue of each pixel, rows from the top: as the last submission has left them.
  std::vector<float> pixels() const;

  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t family = 0;

 private:
  VkDeviceMemory memory_for(const VkMemoryRequirements& needs, VkMemoryPropertyFlags wish, VkMemoryAllocateFlags flags);

  VkDeviceQueueCreateInfo queue_info_{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  float priority_ = 1;
  uint32_t width_ = 0, height_ = 0;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  VkImage image_ = VK_NULL_HANDLE;
  VkDeviceMemory image_memory_ = VK_NULL_HANDLE;
  VkImageView view_ = VK_NULL_HANDLE;
  VkRenderPass pass_ = VK_NULL_HANDLE;
  VkFramebuffer frame_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  Buffer read_back_;
  std::vector<VkPipeline> pipelines_;
  std::vector<Buffer> buffers_;
};

}  // namespace renderer
