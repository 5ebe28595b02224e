// Traces a function, takes its gradient, compiles it and runs it on the first Vulkan device.
#include <spirograd/build.h>
#include <spirograd/compile.h>
#include <spirograd/grad.h>
#include <spirograd/ops.h>
#include <spirograd/trace.h>
#include <spirograd/vk.h>
#include <vulkan/vulkan.h>

#include <cstdio>

int main() {
  using namespace spirograd;
#ifdef CALLS_VULKAN
  uint32_t version = 0;
  if (vkEnumerateInstanceVersion(&version) != VK_SUCCESS || version < VK_API_VERSION_1_2) return 2;
#endif
  try {
    const Program f = trace("f", {{"x", f32({3})}}, [](Array x) {
                        return sum(build(3, [&](Index i) { return square(x(i)) * x(2 - i); }));
                      }).value();
    auto device = vk::Device::create().value();
    auto session = vk::Session::create(device, compile(value_and_grad(f).value(), device->target()).value()).value();
    const auto x = HostArray::of<float>({1, 2, 3});
    const auto out = session->run({&x, 1}).value();
    std::printf("value %g, gradient", out[0].as<float>().value()[0]);
    for (float d : out[1].as<float>().value()) std::printf(" %g", d);
    std::printf("\n");
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.str().c_str());
    return 1;
  }
}
