// Images of a host as arrays: which formats have which elements, and the copies between images and buffers. Pure.
#pragma once

#include <optional>
#include <string>

#include "spirograd/vk.h"
#include "vk_runtime/memory.h"

namespace spirograd::vk {

/// What a texel is in an array: so many elements, along the last axis where there are several.
struct Texel {
  DType dtype = DType::F32;
  int channels = 1;
};
/// None: a format whose texels are no elements.
std::optional<Texel> texel_of(VkFormat format);

/// Throws SG0501, with `what` and both sides, unless the texels of the region are an array of that type and its image may be
/// copied from, or to.
void check_image(const std::string& what, const Type& type, const ImageRegion& region, bool written);

VkBufferImageCopy image_copy(const ImageRegion& region, VkDeviceSize buffer_offset);

}  // namespace spirograd::vk
