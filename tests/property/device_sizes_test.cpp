// Programs by size class on every driver: the device against the host evaluator, both against the interpreter.
#include "tests/gpu/fixture.h"
#include "tests/property/sizes.h"

namespace spirograd::property {
namespace device_sizes_test {

class DeviceSizes : public vk::testing::Gpu {
 protected:
  Engine engine() {
    const char* driver = std::getenv("SPIROGRAD_TEST_DRIVER");
    Engine e{driver ? driver : device->info().name, device->target(), {}};
    e.loses_infinities = device->info().name.find("llvmpipe") != std::string::npos;
    e.rounds_freely = !on_processors();
    e.every_form = std::getenv("SPIROGRAD_SECONDS") != nullptr;
    e.device = [this](const Executable& executable, const std::vector<HostArray>& inputs) {
      auto session = vk::Session::create(device, executable);
      if (!session) throw session.error();
      std::vector<HostArray> have = (*session)->run(inputs).value();
      if (messages.lines.empty()) return have;
      const std::string said = messages.text();
      messages.lines.clear();
      throw std::runtime_error("validation: " + said);
    };
    return e;
  }
};

class DeviceSizesOf : public DeviceSizes, public ::testing::WithParamInterface<test::SizeClassInfo> {};

TEST_F(DeviceSizes, EveryKeptSeedHolds) { check_seeds(engine()); }

TEST_P(DeviceSizesOf, ProgramsMeanTheSame) {
  const SizeClass c = GetParam().size_class;
  const bool dear = c == SizeClass::Wide || c == SizeClass::Long || c == SizeClass::Loops || c == SizeClass::Nested ||
                    c == SizeClass::Axes;
  const Tallies tallies = check_sizes(engine(), c, dear ? 6 : 12);
  // A run of so many seconds gets as far as the machine lets it; its summary tells how far.
  EXPECT_GT(tallies[0].agreed, std::getenv("SPIROGRAD_SECONDS") ? 0 : dear ? 3 : 6);
}

INSTANTIATE_TEST_SUITE_P(Of, DeviceSizesOf, ::testing::ValuesIn(test::kSizeClasses),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace device_sizes_test
}  // namespace spirograd::property
