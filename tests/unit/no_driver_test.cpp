// Machines without a Vulkan driver get an error that helps. A program of its own, for the loader reads its environment once.
#include <gtest/gtest.h>

#include <cstdlib>

#include "spirograd/vk.h"

namespace spirograd::vk {
namespace no_driver_test {

TEST(NoDriver, IsAnErrorThatNamesAPackage) {
  ASSERT_EQ(setenv("VK_DRIVER_FILES", "/nonexistent/driver.json", 1), 0);
  ASSERT_EQ(setenv("VK_ICD_FILENAMES", "/nonexistent/driver.json", 1), 0);
  const auto list = devices();
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, "SG0302") << list.error().str();
  EXPECT_NE(list.error().help.find("mesa-vulkan-drivers"), std::string::npos) << list.error().str();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Device::create().error().code, "SG0302") << "a failure is not remembered";
}

}  // namespace no_driver_test
}  // namespace spirograd::vk
