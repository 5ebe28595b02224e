// Arrays larger than one storage-buffer descriptor may be (128 MiB on lavapipe).
#include "tests/gpu/fixture.h"
#include "vk_runtime/device.h"

namespace spirograd::vk {
namespace large_array_test {

using namespace testing;

constexpr int64_t kElements = 200 * 1024 * 1024 / 4;

class LargeArray : public Gpu {};

TEST_F(LargeArray, WorksThroughAddresses) {
  const auto s = session(affine_program(BindingForm::Address, kElements));
  EXPECT_GE(s->device_bytes(), uint64_t{kElements} * 8);
  const HostArray x = ramp(kElements);
  const auto y = s->run(std::vector{x});
  ASSERT_TRUE(y) << y.error().str();
  EXPECT_EQ(first_wrong(x, (*y)[0], 2, 1), -1);
}

TEST_F(LargeArray, ThroughDescriptorsWorksOrNamesTheLimit) {
  const auto s = Session::create(device, affine_program(BindingForm::Descriptors, kElements));
  if (device->info().target.max_range >= uint64_t{kElements} * 4) {
    ASSERT_TRUE(s) << s.error().str();
    const HostArray x = ramp(kElements);
    const auto y = (*s)->run(std::vector{x});
    ASSERT_TRUE(y) << y.error().str();
    EXPECT_EQ(first_wrong(x, (*y)[0], 2, 1), -1);
  } else {
    ASSERT_FALSE(s);
    EXPECT_EQ(s.error().code, "SG0303");
    EXPECT_NE(s.error().message.find("maxStorageBufferRange"), std::string::npos) << s.error().str();
  }
}

}  // namespace large_array_test
}  // namespace spirograd::vk
