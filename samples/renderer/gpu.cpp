#include "samples/renderer/gpu.h"

#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

namespace renderer {
namespace {

constexpr VkFormat kFormat = VK_FORMAT_R16G16B16A16_SFLOAT;  // all devices can add to it
constexpr VkImageSubresourceRange kWhole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};

void check(VkResult r, const char* call) {
  if (r < 0) throw std::runtime_error(std::string(call) + " answered " + std::to_string(r));
}

float from_half(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  const float size = exponent == 0    ? std::ldexp(static_cast<float>(fraction), -24)
                     : exponent == 31 ? INFINITY
                                      : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return h & 0x8000 ? -size : size;
}

}  // namespace

Gpu::Gpu() {
  VkApplicationInfo app{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  app.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &app;
  check(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
  uint32_t n = 1;
  check(vkEnumeratePhysicalDevices(instance, &n, &physical), "vkEnumeratePhysicalDevices");
  if (n == 0) throw std::runtime_error("there is no Vulkan device");
  uint32_t n_families = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &n_families, nullptr);
  std::vector<VkQueueFamilyProperties> families(n_families);
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &n_families, families.data());
  constexpr VkQueueFlags wish = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  while (family < n_families && (families[family].queueFlags & wish) != wish) ++family;
  if (family == n_families) throw std::runtime_error("no queue has both graphics and compute");
}

Gpu::~Gpu() {
  if (device) {
    vkDeviceWaitIdle(device);
    for (VkPipeline p : pipelines_) vkDestroyPipeline(device, p, nullptr);
    for (const Buffer& b : buffers_) {
      vkDestroyBuffer(device, b.handle, nullptr);
      vkFreeMemory(device, b.memory, nullptr);
    }
    vkDestroyPipelineLayout(device, layout_, nullptr);
    vkDestroyFramebuffer(device, frame_, nullptr);
    vkDestroyRenderPass(device, pass_, nullptr);
    vkDestroyImageView(device, view_, nullptr);
    vkDestroyImage(device, image_, nullptr);
    vkFreeMemory(device, image_memory_, nullptr);
    vkDestroyFence(device, fence_, nullptr);
    vkDestroyCommandPool(device, pool_, nullptr);
    vkDestroyDevice(device, nullptr);
  }
  if (instance) vkDestroyInstance(instance, nullptr);
}

VkDeviceCreateInfo Gpu::device_info() {
  queue_info_.queueFamilyIndex = family;
  queue_info_.queueCount = 1;
  queue_info_.pQueuePriorities = &priority_;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue_info_;
  return info;
}

void Gpu::create_device(const VkDeviceCreateInfo& info) {
  check(vkCreateDevice(physical, &info, nullptr, &device), "vkCreateDevice");
  vkGetDeviceQueue(device, family, 0, &queue);
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = family;
  check(vkCreateCommandPool(device, &pool, nullptr, &pool_), "vkCreateCommandPool");
  VkCommandBufferAllocateInfo commands{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  commands.commandPool = pool_;
  commands.commandBufferCount = 1;
  check(vkAllocateCommandBuffers(device, &commands, &commands_), "vkAllocateCommandBuffers");
  const VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  check(vkCreateFence(device, &fence, nullptr, &fence_), "vkCreateFence");
}

VkDeviceMemory Gpu::memory_for(const VkMemoryRequirements& needs, VkMemoryPropertyFlags wish, VkMemoryAllocateFlags flags) {
  VkPhysicalDeviceMemoryProperties types;
  vkGetPhysicalDeviceMemoryProperties(physical, &types);
  const VkMemoryAllocateFlagsInfo with_flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, nullptr, flags};
  VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, flags ? &with_flags : nullptr};
  info.allocationSize = needs.size;
  for (uint32_t& i = info.memoryTypeIndex; i < types.memoryTypeCount; ++i) {
    if (!(needs.memoryTypeBits >> i & 1) || (types.memoryTypes[i].propertyFlags & wish) != wish) continue;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    check(vkAllocateMemory(device, &info, nullptr, &memory), "vkAllocateMemory");
    return memory;
  }
  throw std::runtime_error("no memory is of the kind that is needed");
}

Buffer Gpu::buffer(VkDeviceSize bytes, VkBufferUsageFlags usage) {
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = bytes;
  info.usage = usage;
  Buffer& out = buffers_.emplace_back();
  check(vkCreateBuffer(device, &info, nullptr, &out.handle), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, out.handle, &needs);
  out.memory = memory_for(needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                          usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT : 0);
  check(vkBindBufferMemory(device, out.handle, out.memory, 0), "vkBindBufferMemory");
  void* data = nullptr;
  check(vkMapMemory(device, out.memory, 0, VK_WHOLE_SIZE, 0, &data), "vkMapMemory");
  out.data = static_cast<float*>(data);
  return out;
}

void Gpu::create_picture(uint32_t width, uint32_t height) {
  width_ = width;
  height_ = height;
  VkImageCreateInfo image{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
  image.imageType = VK_IMAGE_TYPE_2D;
  image.format = kFormat;
  image.extent = {width, height, 1};
  image.mipLevels = image.arrayLayers = 1;
  image.samples = VK_SAMPLE_COUNT_1_BIT;
  image.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
  check(vkCreateImage(device, &image, nullptr, &image_), "vkCreateImage");
  VkMemoryRequirements needs;
  vkGetImageMemoryRequirements(device, image_, &needs);
  image_memory_ = memory_for(needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0);
  check(vkBindImageMemory(device, image_, image_memory_, 0), "vkBindImageMemory");
  VkImageViewCreateInfo view{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
  view.image = image_;
  view.viewType = VK_IMAGE_VIEW_TYPE_2D;
  view.format = kFormat;
  view.subresourceRange = kWhole;
  check(vkCreateImageView(device, &view, nullptr, &view_), "vkCreateImageView");

  VkAttachmentDescription attachment{};
  attachment.format = kFormat;
  attachment.samples = VK_SAMPLE_COUNT_1_BIT;
  attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
  attachment.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  attachment.finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
  const VkAttachmentReference reference{0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
  VkSubpassDescription subpass{};
  subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
  subpass.colorAttachmentCount = 1;
  subpass.pColorAttachments = &reference;
  constexpr auto draw = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
  constexpr auto copy = VK_PIPELINE_STAGE_TRANSFER_BIT;
  const VkSubpassDependency around[] = {
      {VK_SUBPASS_EXTERNAL, 0, copy, draw, VK_ACCESS_TRANSFER_READ_BIT, VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT, 0},
      {0, VK_SUBPASS_EXTERNAL, draw, copy, VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT, VK_ACCESS_TRANSFER_READ_BIT, 0}};
  VkRenderPassCreateInfo pass{VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO};
  pass.attachmentCount = 1;
  pass.pAttachments = &attachment;
  pass.subpassCount = 1;
  pass.pSubpasses = &subpass;
  pass.dependencyCount = 2;
  pass.pDependencies = around;
  check(vkCreateRenderPass(device, &pass, nullptr, &pass_), "vkCreateRenderPass");
  VkFramebufferCreateInfo frame{VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO};
  frame.renderPass = pass_;
  frame.attachmentCount = 1;
  frame.pAttachments = &view_;
  frame.width = width;
  frame.height = height;
  frame.layers = 1;
  check(vkCreateFramebuffer(device, &frame, nullptr, &frame_), "vkCreateFramebuffer");
  const VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  check(vkCreatePipelineLayout(device, &layout, nullptr, &layout_), "vkCreatePipelineLayout");
  read_back_ = buffer(VkDeviceSize{8} * width * height, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
}

VkPipeline Gpu::pipeline(std::span<const uint32_t> vertex, std::span<const uint32_t> fragment, bool instances) {
  std::array<VkPipelineShaderStageCreateInfo, 2> stages{};
  for (size_t i : {0, 1}) {
    const std::span<const uint32_t> code = i == 0 ? vertex : fragment;
    VkShaderModuleCreateInfo module{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    module.codeSize = code.size_bytes();
    module.pCode = code.data();
    stages[i].sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    stages[i].stage = i == 0 ? VK_SHADER_STAGE_VERTEX_BIT : VK_SHADER_STAGE_FRAGMENT_BIT;
    stages[i].pName = "main";
    check(vkCreateShaderModule(device, &module, nullptr, &stages[i].module), "vkCreateShaderModule");
  }
  const VkVertexInputBindingDescription binding{0, 32, VK_VERTEX_INPUT_RATE_INSTANCE};
  const VkVertexInputAttributeDescription attributes[] = {
      {0, 0, VK_FORMAT_R32G32_SFLOAT, 0}, {1, 0, VK_FORMAT_R32G32B32_SFLOAT, 8}, {2, 0, VK_FORMAT_R32G32B32_SFLOAT, 20}};
  VkPipelineVertexInputStateCreateInfo input{VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
  if (instances) {
    input.vertexBindingDescriptionCount = 1;
    input.pVertexBindingDescriptions = &binding;
    input.vertexAttributeDescriptionCount = 3;
    input.pVertexAttributeDescriptions = attributes;
  }
  VkPipelineInputAssemblyStateCreateInfo assembly{VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO};
  assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
  const VkViewport viewport{0, 0, static_cast<float>(width_), static_cast<float>(height_), 0, 1};
  const VkRect2D scissor{{0, 0}, {width_, height_}};
  VkPipelineViewportStateCreateInfo view{VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
  view.viewportCount = view.scissorCount = 1;
  view.pViewports = &viewport;
  view.pScissors = &scissor;
  VkPipelineRasterizationStateCreateInfo raster{VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
  raster.cullMode = VK_CULL_MODE_NONE;
  raster.lineWidth = 1;
  VkPipelineMultisampleStateCreateInfo samples{VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO};
  samples.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
  VkPipelineColorBlendAttachmentState added{};
  added.blendEnable = instances;
  added.srcColorBlendFactor = added.dstColorBlendFactor = VK_BLEND_FACTOR_ONE;
  added.srcAlphaBlendFactor = added.dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE;
  added.colorWriteMask = 15;
  VkPipelineColorBlendStateCreateInfo blend{VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
  blend.attachmentCount = 1;
  blend.pAttachments = &added;
  VkGraphicsPipelineCreateInfo info{VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO};
  info.stageCount = 2;
  info.pStages = stages.data();
  info.pVertexInputState = &input;
  info.pInputAssemblyState = &assembly;
  info.pViewportState = &view;
  info.pRasterizationState = &raster;
  info.pMultisampleState = &samples;
  info.pColorBlendState = &blend;
  info.layout = layout_;
  info.renderPass = pass_;
  VkPipeline out = VK_NULL_HANDLE;
  const VkResult r = vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &out);
  for (const auto& stage : stages) vkDestroyShaderModule(device, stage.module, nullptr);
  check(r, "vkCreateGraphicsPipelines");
  return pipelines_.emplace_back(out);
}

VkCommandBuffer Gpu::begin() {
  VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vkBeginCommandBuffer(commands_, &info), "vkBeginCommandBuffer");
  return commands_;
}

void Gpu::begin_picture() {
  const VkClearValue black{};
  VkRenderPassBeginInfo info{VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
  info.renderPass = pass_;
  info.framebuffer = frame_;
  info.renderArea.extent = {width_, height_};
  info.clearValueCount = 1;
  info.pClearValues = &black;
  vkCmdBeginRenderPass(commands_, &info, VK_SUBPASS_CONTENTS_INLINE);
}

void Gpu::end_picture() {
  vkCmdEndRenderPass(commands_);
  VkBufferImageCopy whole{};
  whole.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  whole.imageExtent = {width_, height_, 1};
  vkCmdCopyImageToBuffer(commands_, image_, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, read_back_.handle, 1, &whole);
  order(VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

void Gpu::order(VkPipelineStageFlags stage, VkAccessFlags written, VkPipelineStageFlags later, VkAccessFlags read) {
  const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, written, read};
  vkCmdPipelineBarrier(commands_, stage, later, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void Gpu::submit() {
  check(vkEndCommandBuffer(commands_), "vkEndCommandBuffer");
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands_;
  check(vkQueueSubmit(queue, 1, &info, fence_), "vkQueueSubmit");
  check(vkWaitForFences(device, 1, &fence_, VK_TRUE, UINT64_MAX), "vkWaitForFences");
  check(vkResetFences(device, 1, &fence_), "vkResetFences");
}

std::vector<float> Gpu::pixels() const {
  std::vector<float> out;
  for (size_t i = 0; i < size_t{4} * width_ * height_; ++i) {
    if (i % 4 == 3) continue;
    uint16_t half;
    std::memcpy(&half, reinterpret_cast<const uint8_t*>(read_back_.data) + 2 * i, 2);
    out.push_back(from_half(half));
  }
  return out;
}

}  // namespace renderer
