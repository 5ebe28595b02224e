// What the programs of the gallery minimise, in small, on a device: values and gradients against the interpreter.
#include <cmath>

#include "frontend/ir/eval.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "tests/gpu/fixture.h"

namespace spirograd::vk::testing {
namespace device_gallery_test {

struct Part {
  const char* name;
  const char* function;
  text::ShapeVariables sizes;
  double error;
};

class DeviceGallery : public Gpu {
 protected:
  // The value of a function and what reverse mode makes of it, at numbers that differ from one another.
  void expect_the_interpreters(const Part& part) {
    const std::string file = SPIROGRAD_SOURCE_DIR "/samples/gallery/" + std::string(part.name) + ".sg";
    const text::Module module = text::parse(text::read_file(file).value(), file).value();
    const Program p = vjp(text::instantiate(module, part.function, part.sizes).value()).value();
    std::vector<std::vector<double>> inputs;
    std::vector<HostArray> arrays;
    for (const Param& param : p.params) {
      std::vector<double> x(static_cast<size_t>(param.type.shape.count()));
      for (size_t i = 0; i < x.size(); ++i) {
        const double k = static_cast<double>(7 * i + 3 * inputs.size() + 1);
        x[i] = is_float(param.type.dtype) ? static_cast<float>(0.5 + 0.4 * std::sin(k)) : static_cast<double>(i % 2);
      }
      inputs.push_back(x);
      arrays.emplace_back(param.type, x);
    }
    const std::vector<ir::Array> want = ir::evaluate(p, inputs);
    const std::unique_ptr<Session> s = session(compile(p, device->target(), {.form = device->preferred_form()}).value());
    ASSERT_TRUE(s) << part.name;
    const std::vector<HostArray> have = s->run(arrays).value();
    for (size_t r = 0; r < want.size(); ++r) {
      double most = 1e-3;
      for (const double x : want[r].data) most = std::max(most, std::abs(x));
      for (size_t i = 0; i < want[r].data.size(); ++i)
        ASSERT_NEAR(have[r].values()[i], want[r].data[i], part.error * most)
            << part.name << ", " << p.results[r].name << "[" << i << "]";
    }
  }
};

TEST_F(DeviceGallery, Splats) { expect_the_interpreters({"splats", "paint", {{"K", 9}}, 1e-5}); }
TEST_F(DeviceGallery, Distance) { expect_the_interpreters({"distance", "loss", {{"H", 4}, {"N", 3}, {"M", 3}}, 1e-4}); }
TEST_F(DeviceGallery, Cloth) { expect_the_interpreters({"cloth", "move", {{"N", 9}}, 1e-4}); }
TEST_F(DeviceGallery, Deblurring) { expect_the_interpreters({"deblur", "loss", {{"N", 17}}, 1e-5}); }
TEST_F(DeviceGallery, SoftRasteriser) { expect_the_interpreters({"raster", "shade", {}, 1e-3}); }
TEST_F(DeviceGallery, Smoke) { expect_the_interpreters({"smoke", "carried", {{"N", 16}}, 1e-5}); }
TEST_F(DeviceGallery, NeuralField) { expect_the_interpreters({"field", "colour", {{"T", 64}}, 1e-5}); }
TEST_F(DeviceGallery, Digits) { expect_the_interpreters({"digits", "drawn", {}, 1e-4}); }
TEST_F(DeviceGallery, Newton) { expect_the_interpreters({"newton", "loss", {{"N", 20}}, 1e-5}); }
TEST_F(DeviceGallery, RandomField) { expect_the_interpreters({"crf", "log_z", {{"T", 9}}, 1e-5}); }

}  // namespace device_gallery_test
}  // namespace spirograd::vk::testing
