// Programs by size class on the host: interpreter against the evaluator of the kernels, for a small processor and a large
// GPU.
#include "tests/property/sizes.h"

namespace spirograd::property {
namespace sizes_test {

Engine engine(bool cpu) {
  Engine e{cpu ? "host-as-cpu" : "host-as-gpu", {}, {}};
  e.target.float64 = true;
  e.target.subgroup_size = cpu ? 8 : 32;
  if (cpu) e.target.price = software_prices(e.target.subgroup_size, 2);
  e.target.max_buffers = 30;
  if (!cpu) e.target.max_invocations = 1024;
  return e;
}

TEST(HostSizes, EveryKeptSeedHolds) {
  check_seeds(engine(true));
  check_seeds(engine(false));
}

class HostSizes : public ::testing::TestWithParam<test::SizeClassInfo> {};

// These are among the quick tests; the devices see more.
uint64_t how_many(SizeClass c) {
  switch (c) {
    case SizeClass::Wide: return 2;
    case SizeClass::Loops:
    case SizeClass::Nested: return 3;
    case SizeClass::Primes: return 4;
    case SizeClass::Long:
    case SizeClass::Axes: return 8;
    case SizeClass::Thresholds:
    case SizeClass::Small:
    case SizeClass::Integers:
    case SizeClass::Extremes:
    case SizeClass::Indexed: return 16;
  }
  return 0;
}

TEST_P(HostSizes, ProgramsMeanTheSame) {
  const SizeClass c = GetParam().size_class;
  const Tallies cpu = check_sizes(engine(true), c, how_many(c)), gpu = check_sizes(engine(false), c, how_many(c));
  EXPECT_GT(cpu[0].agreed + gpu[0].agreed, static_cast<int>(how_many(c)));
}

INSTANTIATE_TEST_SUITE_P(Of, HostSizes, ::testing::ValuesIn(test::kSizeClasses),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace sizes_test
}  // namespace spirograd::property
