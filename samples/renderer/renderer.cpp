// A renderer that owns its instance, device, queue and buffers: it draws soft discs, a few hundred of them, and writes
// pictures. What stands between the marks `gradients {` and `}` makes it an optimiser: in each frame's command buffer,
// before the discs are drawn, a step of Adam moves, bends and tints them towards the picture `target.png`. Without these
// lines it is still a renderer.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "corners.h"
#include "cover.h"
#include "samples/renderer/gpu.h"
#include "scene.h"
#include "splats.h"
#include "tools/io/files.h"
#include "tools/io/png.h"
// gradients {
#include <spirograd/build.h>
#include <spirograd/compile.h>
#include <spirograd/derivatives.h>
#include <spirograd/ops.h>
#include <spirograd/trace.h>
#include <spirograd/vk.h>

using namespace spirograd;
// }

namespace {

using spirograd::io::Picture;

Picture picture_of(const std::vector<float>& pixels, uint32_t width, uint32_t height) {
  Picture out(static_cast<int>(width), static_cast<int>(height));
  for (size_t i = 0; i < pixels.size(); ++i)
    out.rgb[i] = static_cast<uint8_t>(255 * std::min(1.0f, std::max(0.0f, pixels[i])) + 0.5f);
  return out;
}

// All over the picture, nearly round, reddish: x, y; the shape a, b, c; red, green, blue. In corners.vert is what they mean.
void scatter_discs(float* discs, uint32_t n) {
  std::mt19937 random(7);
  const auto uniform = [&](float low, float high) { return low + (high - low) * static_cast<float>(random()) * 0x1p-32f; };
  for (uint32_t i = 0; i < n; ++i)
    for (const float value : {uniform(-1, 1), uniform(-1, 1), uniform(9, 14), uniform(-2, 2), uniform(9, 14),
                              uniform(0, 0.5f), uniform(0, 0.3f), uniform(0, 0.3f)})
      *discs++ = value;
}

// Each twice as large.
Picture side_by_side(std::vector<Picture> pictures) {
  const int size = pictures[0].width, step = 2 * size + 8, n = static_cast<int>(pictures.size());
  Picture out(n * step - 8, 2 * size);
  for (int k = 0; k < n; ++k)
    for (int y = 0; y < 2 * size; ++y)
      for (int x = 0; x < 2 * size; ++x) {
        std::copy_n(pictures[static_cast<size_t>(k)].at(x / 2, y / 2), 3, out.at(k * step + x, y));
      }
  return out;
}

constexpr const char* kUsage =
    "usage: renderer [FOLDER [SIZE [DISCS [FRAMES]]]]\n"
    "Draws DISCS soft discs on SIZE x SIZE pixels, 1 to 4096, and writes before.png, after.png and renderer.png.\n"
    "  renderer                     here, 256 discs on 128 x 128 pixels, 300 frames\n"
    "  renderer pictures 64 100 50\n";

double mean_square(const std::vector<float>& a, const std::vector<float>& b) {
  double out = 0;
  for (size_t i = 0; i < a.size(); ++i) out += (a[i] - b[i]) * (a[i] - b[i]) / static_cast<double>(a.size());
  return out;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto number = [&](int i, uint32_t usual) { return argc > i ? static_cast<uint32_t>(std::atoi(argv[i])) : usual; };
  const std::string folder = argc > 1 ? argv[1] : ".";
  const uint32_t size = number(2, 128), n = number(3, 256), frames = number(4, 300);
  const bool asked = folder == "--help" || folder == "-h";
  if (folder.starts_with('-') || size < 1 || size > 4096 || n < 1 || n > 100000) {
    std::fputs(kUsage, asked ? stdout : stderr);
    return asked ? 0 : 2;
  }
  spirograd::io::check_writable(folder + "/renderer.png");  // before all the work that would be for nothing

  renderer::Gpu gpu;
  VkDeviceCreateInfo info = gpu.device_info();
  VkBufferUsageFlags usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT;
  VkDeviceSize disc_bytes = n * 8 * sizeof(float);
  // gradients {
  auto wanted = vk::wanted_features(vkGetInstanceProcAddr, gpu.instance, gpu.physical, VK_API_VERSION_1_2).value();
  const std::vector<const char*> extensions = wanted.extensions();
  info.pNext = wanted.chain();
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  usage |= wanted.buffer_usage();
  disc_bytes *= 3;  // behind the discs: means of their gradients, and of the squares of these
  // }
  gpu.create_device(info);
  gpu.create_picture(size, size);
  const VkPipeline evening = gpu.pipeline(cover, scene, false), soft_discs = gpu.pipeline(corners, splats, true);
  std::array<renderer::Buffer, 2> discs = {gpu.buffer(disc_bytes, usage), gpu.buffer(disc_bytes, usage)};
  scatter_discs(discs[0].data, n);

  const auto draw = [&](VkCommandBuffer commands, VkPipeline pipeline, VkBuffer instances, uint32_t vertices,
                        uint32_t count) {
    gpu.begin_picture();
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    const VkDeviceSize start = 0;
    vkCmdBindVertexBuffers(commands, 0, 1, &instances, &start);
    vkCmdDraw(commands, vertices, count, 0, 0);
    gpu.end_picture();
    gpu.submit();
  };
  draw(gpu.begin(), evening, discs[0].handle, 3, 1);
  const std::vector<float> wish = gpu.pixels();
  std::vector<Picture> shown;  // before, after, and what was wished for
  std::vector<double> errors;

  // gradients {
  const auto loss = [&](Array all) {
    const Array disc = transpose(all), wished = constant(HostArray::of<float>({size, size, 3}, wish).value());
    const Array at = (2 * cast(iota(size), DType::F32) + 1) / size - 1;
    const Array drawn = build({size, size}, [&](Index y, Index x) {
      const Array dx = at(x) - disc(0), dy = at(y) - disc(1), u = disc(2) * dx, v = disc(3) * dx + disc(4) * dy;
      return sum(exp(-0.5f * (u * u + v * v)) * slice(disc, 5, 8), 1);
    });
    return mean(square(drawn - wished));
  };
  const auto adam = [&](Array state) {
    const Array g = grad(loss)(state(0)), m = 0.9f * state(1) + 0.1f * g, v = 0.99f * state(2) + 0.01f * g * g;
    const Array rate = constant(f32({8}), {0.004, 0.004, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01});
    return Named("next", stack({state(0) - rate * m / (sqrt(v) + 1e-8f), m, v}));
  };
  const Program program = trace("adam", {{"state", f32({3, n, 8})}}, adam).value();
  const auto device = vk::Device::adopt(wanted.external(gpu.device, gpu.queue, gpu.family)).value();
  const auto executable = compile(program, device->target(), {.form = device->preferred_form()}).value();
  const auto session = vk::Session::create(device, executable).value();
  std::fill_n(discs[0].data + n * 8, n * 16, 0.0f);
  // }
  for (uint32_t frame = 0; frame <= frames; ++frame) {
    const VkCommandBuffer commands = gpu.begin();
    // gradients {
    if (frame > 0) {
      const vk::Slice before{discs[1 - frame % 2].handle, 0, disc_bytes}, after{discs[frame % 2].handle, 0, disc_bytes};
      session->record(commands, {&before, 1}, {&after, 1}).value();
      gpu.order(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_VERTEX_INPUT_BIT,
                VK_ACCESS_VERTEX_ATTRIBUTE_READ_BIT);
    }
    // }
    draw(commands, soft_discs, discs[frame % 2].handle, 4, n);
    errors.push_back(mean_square(gpu.pixels(), wish));
    if (frame == 0 || frame == frames) shown.push_back(picture_of(gpu.pixels(), size, size));
  }
  write_png(folder + "/before.png", shown.front());
  write_png(folder + "/after.png", shown.back());
  shown.push_back(picture_of(wish, size, size));
  write_png(folder + "/renderer.png", side_by_side(shown));
  std::printf("mean square error %.4f before, %.4f after %u frames\n", errors.front(), errors.back(), frames);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
