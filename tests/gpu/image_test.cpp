// Images of a host as inputs and outputs of what is recorded: texels are elements, in every format that has some, of one
// layer or several, whole or in part; what is no array of the program's is refused by name.
#include <cstring>

#include "spirograd/compile.h"
#include "spirograd/text.h"
#include "tests/gpu/host.h"

namespace spirograd::vk {
namespace image_test {

using namespace testing;

struct Image {
  VkImage image = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkFormat format = VK_FORMAT_UNDEFINED;
  uint32_t width = 0, height = 0, layers = 1;
  ImageRegion region() const {
    ImageRegion r;
    r.image = image, r.format = format, r.extent = {width, height}, r.layers = layers;
    return r;
  }
};

class ImageTest : public Host {
 protected:
  void SetUp() override {
    make_instance(VK_API_VERSION_1_2);
    auto w = wanted_features(vkGetInstanceProcAddr, instance, physical, api_version).value();
    make_device(w.chain(), w.extensions());
    adopt(w.external(host, queue, 0));
  }
  void TearDown() override {
    for (const Image& i : images) {
      vkDestroyImage(host, i.image, nullptr);
      vkFreeMemory(host, i.memory, nullptr);
    }
    Host::TearDown();
  }

  Image image(VkFormat format, uint32_t width, uint32_t height, uint32_t layers = 1) {
    VkImageCreateInfo c{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    c.imageType = VK_IMAGE_TYPE_2D, c.format = format, c.extent = {width, height, 1};
    c.mipLevels = 1, c.arrayLayers = layers, c.samples = VK_SAMPLE_COUNT_1_BIT;
    c.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    Image i{VK_NULL_HANDLE, VK_NULL_HANDLE, format, width, height, layers};
    EXPECT_EQ(vkCreateImage(host, &c, nullptr, &i.image), VK_SUCCESS);
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(host, i.image, &needs);
    VkMemoryAllocateInfo a{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    a.allocationSize = needs.size;
    a.memoryTypeIndex = memory_type(needs, 0);
    EXPECT_EQ(vkAllocateMemory(host, &a, nullptr, &i.memory), VK_SUCCESS);
    EXPECT_EQ(vkBindImageMemory(host, i.image, i.memory, 0), VK_SUCCESS);
    images.push_back(i);
    return i;
  }

  // From any layout to GENERAL, and everything before ahead of everything after.
  void order(VkCommandBuffer commands, const Image& i, VkImageLayout from = VK_IMAGE_LAYOUT_GENERAL) {
    VkImageMemoryBarrier b{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
    b.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT, b.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    b.oldLayout = from, b.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    b.srcQueueFamilyIndex = b.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    b.image = i.image, b.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, i.layers};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0,
                         nullptr, 1, &b);
  }

  // Between a buffer of the host's and a whole image, without a session.
  void copy(VkCommandBuffer commands, const Image& i, VkBuffer buffer, bool to_image) {
    VkBufferImageCopy c{};
    c.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, i.layers};
    c.imageExtent = {i.width, i.height, 1};
    if (to_image)
      vkCmdCopyBufferToImage(commands, buffer, i.image, VK_IMAGE_LAYOUT_GENERAL, 1, &c);
    else
      vkCmdCopyImageToBuffer(commands, i.image, VK_IMAGE_LAYOUT_GENERAL, buffer, 1, &c);
  }

  // What the image has by then, for the host to read.
  void read_back(VkCommandBuffer commands, const Image& i, VkBuffer buffer) {
    order(commands, i);
    copy(commands, i, buffer, false);
    VkMemoryBarrier b{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    b.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT, b.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &b, 0, nullptr, 0,
                         nullptr);
  }

  std::unique_ptr<Session> session_of(const std::string& text, BindingForm form) {
    const Program p = text::instantiate(text::parse(text, "image.sg").value()).value();
    auto s = Session::create(device, compile(p, device->target(), {.form = form}).value());
    if (!s) ADD_FAILURE() << s.error().str();
    return std::move(s).value();
  }

  // Uploads bytes to one image, has `text` make another of it, twice, and gives back that.
  std::vector<uint8_t> through(const std::string& text, BindingForm form, const Image& in, const Image& out,
                               const std::vector<uint8_t>& bytes, size_t out_bytes) {
    const auto s = session_of(text, form);
    const auto [up, up_data] = host_buffer(bytes.size());
    const auto [down, down_data] = host_buffer(out_bytes);
    std::memcpy(up_data, bytes.data(), bytes.size());
    for (int time = 0; time < 2; ++time) {
      const VkCommandBuffer commands = begin();
      order(commands, in, VK_IMAGE_LAYOUT_UNDEFINED);
      order(commands, out, VK_IMAGE_LAYOUT_UNDEFINED);
      copy(commands, in, up, true);
      order(commands, in);
      const auto recorded =
          s->record_images(commands, std::vector<HostArgument>{in.region()}, std::vector<HostArgument>{out.region()});
      EXPECT_TRUE(recorded) << recorded.error().str();
      read_back(commands, out, down);
      EXPECT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
      submit(commands);
    }
    std::vector<uint8_t> result(out_bytes);
    std::memcpy(result.data(), down_data, out_bytes);
    return result;
  }

  std::vector<Image> images;
};

std::vector<uint8_t> bytes_of(const std::vector<float>& x) {
  std::vector<uint8_t> out(x.size() * sizeof(float));
  std::memcpy(out.data(), x.data(), out.size());
  return out;
}

TEST_F(ImageTest, ColoursOfFourBytesAreWords) {
  std::vector<uint8_t> pixels;
  for (uint32_t i = 0; i < 7 * 5 * 4; ++i) pixels.push_back(static_cast<uint8_t>(37 * i + 5));
  for (const VkFormat format : {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_B8G8R8A8_SRGB})
    for (const BindingForm form : kForms) {
      const Image in = image(format, 7, 5), out = image(format, 7, 5);
      const std::vector<uint8_t> have =
          through("def main(p: u32[5, 7]) -> u32[5, 7] = bit_xor(p, 16777215u)", form, in, out, pixels, pixels.size());
      for (size_t i = 0; i < pixels.size(); ++i)
        ASSERT_EQ(have[i], i % 4 == 3 ? pixels[i] : 255 - pixels[i]) << i << " " << form_name(form);
    }
}

TEST_F(ImageTest, LayersRowsColumnsAndChannelsAreAxes) {
  constexpr uint32_t kLayers = 3, kHeight = 4, kWidth = 6;
  std::vector<float> x, want;
  for (uint32_t i = 0; i < kLayers * kHeight * kWidth * 4; ++i) x.push_back(static_cast<float>(i) / 8);
  for (uint32_t l = 0; l < kLayers; ++l)
    for (uint32_t r = 0; r < kHeight; ++r)
      for (uint32_t c = 0; c < kWidth; ++c) want.push_back(4 * x[((l * kHeight + r) * kWidth + c) * 4 + l]);
  for (const BindingForm form : kForms) {
    const Image in = image(VK_FORMAT_R32G32B32A32_SFLOAT, kWidth, kHeight, kLayers),
                out = image(VK_FORMAT_R32_SFLOAT, kWidth, kHeight, kLayers);
    EXPECT_EQ(through("def main(x: f32[3, 4, 6, 4]) -> f32[3, 4, 6] = for l: 3, r: 4, c: 6 => 4 * x[l, r, c, l]", form, in,
                      out, bytes_of(x), want.size() * sizeof(float)),
              bytes_of(want));
  }
}

TEST_F(ImageTest, HalvesAreF16) {
  if (!device->target().float16_storage) return;  // DeviceF16 sees that it is refused
  std::vector<uint8_t> in_bytes, want;
  const auto put = [](std::vector<uint8_t>& to, double x) {
    const Half h(x);
    to.insert(to.end(), {static_cast<uint8_t>(h.bits), static_cast<uint8_t>(h.bits >> 8)});
  };
  for (int i = 0; i < 9 * 3 * 4; ++i) put(in_bytes, i / 16.0), put(want, i / 32.0);
  for (const BindingForm form : kForms) {
    const Image in = image(VK_FORMAT_R16G16B16A16_SFLOAT, 9, 3), out = image(VK_FORMAT_R16G16B16A16_SFLOAT, 9, 3);
    EXPECT_EQ(through("def main(x: f16[3, 9, 4]) -> f16[3, 9, 4] = x / 2", form, in, out, in_bytes, want.size()), want);
  }
}

// Beside a buffer, and a part of an image: what lies around it stays.
TEST_F(ImageTest, PartsAndBuffersStandBesideThem) {
  const auto s =
      session_of("def main(x: f32[2, 3], k: f32) -> (y: f32[2, 3], s: f32) = (k * x, sum(x))", device->preferred_form());
  const Image all = image(VK_FORMAT_R32_SFLOAT, 5, 4);
  const auto [up, up_data] = host_buffer(80);
  const auto [scalars, scalar_data] = host_buffer(512);
  for (int i = 0; i < 20; ++i) up_data[i] = static_cast<float>(i);
  scalar_data[0] = 10;
  const VkCommandBuffer commands = begin();
  order(commands, all, VK_IMAGE_LAYOUT_UNDEFINED);
  copy(commands, all, up, true);
  order(commands, all);
  ImageRegion part = all.region();
  part.extent = {3, 2}, part.offset = {1, 2};
  const auto recorded = s->record_images(commands, std::vector<HostArgument>{part, Slice{scalars, 0, 4}},
                                         std::vector<HostArgument>{part, Slice{scalars, 256, 4}});
  ASSERT_TRUE(recorded) << recorded.error().str();
  read_back(commands, all, up);
  ASSERT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
  submit(commands);
  float sum = 0;
  for (int i = 0; i < 20; ++i) {
    const bool inside = i / 5 >= 2 && i % 5 >= 1 && i % 5 < 4;
    EXPECT_EQ(up_data[i], static_cast<float>(inside ? 10 * i : i)) << i;
    if (inside) sum += static_cast<float>(i);
  }
  EXPECT_EQ(scalar_data[64], sum);
}

TEST_F(ImageTest, WhatIsNoArrayOfTheProgramIsRefused) {
  const auto s = session_of("def main(x: f32[2, 3]) -> (y: f32[2, 3]) = 2 * x", device->preferred_form());
  const Image good = image(VK_FORMAT_R32_SFLOAT, 3, 2);
  const VkCommandBuffer commands = begin();
  const auto refused = [&](const ImageRegion& in, const ImageRegion& out) {
    const auto r = s->record_images(commands, std::vector<HostArgument>{in}, std::vector<HostArgument>{out});
    return r ? std::string() : r.error().str();
  };
  const auto changed = [&](auto&& change) {
    ImageRegion r = good.region();
    change(r);
    return refused(r, good.region());
  };
  EXPECT_NE(changed([](ImageRegion& r) { r.image = VK_NULL_HANDLE; }).find("the image for 'x': the image is null"),
            std::string::npos);
  EXPECT_NE(changed([](ImageRegion& r) { r.format = VK_FORMAT_D32_SFLOAT; }).find("are no elements"), std::string::npos);
  EXPECT_NE(changed([](ImageRegion& r) { r.layout = VK_IMAGE_LAYOUT_UNDEFINED; }).find("TRANSFER_SRC_OPTIMAL"),
            std::string::npos);
  EXPECT_NE(changed([](ImageRegion& r) {
              r.extent = {2, 3};
            }).find("the program has f32[2,3], the image has f32[3,2]"),
            std::string::npos);
  EXPECT_NE(changed([](ImageRegion& r) { r.format = VK_FORMAT_R8G8B8A8_UNORM; }).find("the image has u32[2,3]"),
            std::string::npos);
  EXPECT_NE(changed([](ImageRegion& r) { r.layers = 2; }).find("the image has f32[2,2,3]"), std::string::npos);
  ImageRegion read_only = good.region();
  read_only.layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
  EXPECT_NE(refused(good.region(), read_only).find("the image for 'y'"), std::string::npos);
  auto array = DeviceArray::create(device, f32({2, 3})).value();
  ASSERT_TRUE(s->bind("x", array));
  EXPECT_NE(refused(good.region(), good.region()).find("bound"), std::string::npos);
  EXPECT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
}

}  // namespace image_test
}  // namespace spirograd::vk
