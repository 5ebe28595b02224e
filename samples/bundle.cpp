// Runs the bundle that `spirograd compile samples/line.sg N=4 --value-and-grad w -o line.sgb` writes: the runtime alone is
// linked.
#include <spirograd/bundle_file.h>
#include <spirograd/vk.h>
#include <cstdio>
#include <fstream>
#include <iterator>
using namespace spirograd;

int main(int argc, char** argv) try {
  const char* name = argc > 1 ? argv[1] : "line.sgb";
  std::ifstream file(name, std::ios::binary);
  if (!file) return std::fprintf(stderr, "there is no file '%s'\n", name), 1;
  const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});

  const auto device = vk::Device::create().value();
  const Executable line = load_bundle(bytes, device->target(), device->preferred_form(), name).value();
  const auto session = vk::Session::create(device, line).value();

  const HostArray w = HostArray::of<float>({1, 0}), x = HostArray::of<float>({0, 1, 2, 3}),
                  y = HostArray::of<float>({1, 3, 5, 7});
  const std::vector<HostArray> results = session->run(std::vector{w, x, y}).value();
  for (size_t j = 0; j < results.size(); ++j) {
    std::printf("%s", line.buffers[line.n_inputs + j].name.c_str());
    for (double value : results[j].values()) std::printf(" %g", value);
    std::printf("\n");
  }
} catch (const Error& error) {
  return std::fprintf(stderr, "%s\n", error.str().c_str()), 1;
}
