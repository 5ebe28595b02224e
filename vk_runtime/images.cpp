#include "vk_runtime/images.h"

#include <algorithm>

namespace spirograd::vk {
namespace {

struct FormatRow {
  VkFormat format;
  Texel texel;
};
// Four bytes of colour are one word: what they mean is the program's to say (library, images).
constexpr FormatRow kFormats[] = {
    {VK_FORMAT_R8G8B8A8_UNORM, {DType::U32, 1}},
    {VK_FORMAT_R8G8B8A8_SRGB, {DType::U32, 1}},
    {VK_FORMAT_R8G8B8A8_UINT, {DType::U32, 1}},
    {VK_FORMAT_B8G8R8A8_UNORM, {DType::U32, 1}},
    {VK_FORMAT_B8G8R8A8_SRGB, {DType::U32, 1}},
    {VK_FORMAT_A2B10G10R10_UNORM_PACK32, {DType::U32, 1}},
    {VK_FORMAT_R32_UINT, {DType::U32, 1}},
    {VK_FORMAT_R32_SINT, {DType::I32, 1}},
    {VK_FORMAT_R32_SFLOAT, {DType::F32, 1}},
    {VK_FORMAT_R32G32_SFLOAT, {DType::F32, 2}},
    {VK_FORMAT_R32G32B32A32_SFLOAT, {DType::F32, 4}},
    {VK_FORMAT_R16_SFLOAT, {DType::F16, 1}},
    {VK_FORMAT_R16G16_SFLOAT, {DType::F16, 2}},
    {VK_FORMAT_R16G16B16A16_SFLOAT, {DType::F16, 4}},
};

// As its texels are laid out in a buffer; `layers`: whether they have an axis.
Type type_of(const ImageRegion& r, const Texel& t, bool layers) {
  Type out{t.dtype, {}};
  if (layers) out.shape.push_back(r.layers);
  out.shape.push_back(r.extent.height);
  out.shape.push_back(r.extent.width);
  if (t.channels > 1) out.shape.push_back(t.channels);
  return out;
}

}  // namespace

std::optional<Texel> texel_of(VkFormat format) {
  const auto at = std::ranges::find(kFormats, format, &FormatRow::format);
  return at == std::end(kFormats) ? std::nullopt : std::optional(at->texel);
}

void check_image(const std::string& what, const Type& type, const ImageRegion& region, bool written) {
  const auto wrong = [&](const std::string& why, const std::string& help) {
    return Error("SG0501", what + ": " + why).hint(help);
  };
  if (!region.image) throw wrong("the image is null", "");
  const std::optional<Texel> texel = texel_of(region.format);
  if (!texel)
    throw wrong("texels of format " + std::to_string(region.format) + " are no elements of an array",
                "RGBA8, BGRA8 and R32_UINT are u32, R32 to RGBA32_SFLOAT are f32, R16 to RGBA16_SFLOAT are f16");
  const VkImageLayout own = written ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
  if (region.layout != own && region.layout != VK_IMAGE_LAYOUT_GENERAL)
    throw wrong("the image is in a layout that it is not copied in",
                written ? "TRANSFER_DST_OPTIMAL or GENERAL" : "TRANSFER_SRC_OPTIMAL or GENERAL");
  const Type several = type_of(region, *texel, true), one = type_of(region, *texel, false);
  if (type != several && (region.layers != 1 || type != one))
    throw wrong("the program has " + to_string(type) + ", the image has " + to_string(region.layers == 1 ? one : several),
                "layers, rows, columns, channels: one layer, or one channel, may have no axis");
}

VkBufferImageCopy image_copy(const ImageRegion& region, VkDeviceSize buffer_offset) {
  VkBufferImageCopy c{};
  c.bufferOffset = buffer_offset;
  c.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, region.mip, region.first_layer, region.layers};
  c.imageOffset = {region.offset.x, region.offset.y, 0};
  c.imageExtent = {region.extent.width, region.extent.height, 1};
  return c;
}

}  // namespace spirograd::vk
