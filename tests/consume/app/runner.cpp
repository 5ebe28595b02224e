// A host that runs executables and compiles none: it copies its input to its output and links the runtime alone.
#include <spirograd/vk.h>

#include <cstdio>

int main() {
  using namespace spirograd;
  try {
    auto device = vk::Device::create().value();
    Executable copy;
    copy.form = device->preferred_form();
    copy.n_inputs = copy.n_outputs = 1;
    copy.buffers = {{Role::Input, "x", f32({3}), 12, 0, {}}, {Role::Output, "y", f32({3}), 12, 0, {}}};
    Step step;
    step.kind = Step::Kind::Copy;
    step.uses = {{0, 0, 12, true, false}, {1, 0, 12, false, true}};
    copy.steps = {step};
    auto session = vk::Session::create(device, copy).value();
    const auto x = HostArray::of<float>({1, 2, 3});
    const auto out = session->run({&x, 1}).value();
    for (float y : out[0].as<float>().value()) std::printf("%g ", y);
    std::printf("\n");
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.str().c_str());
    return 1;
  }
}
