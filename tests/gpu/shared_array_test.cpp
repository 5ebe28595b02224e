// Arrays in memory that two devices reach by a descriptor: what one writes the other reads, runs of sessions included, in
// any order of ends; who lacks the extension or the bytes says so.
#include <unistd.h>

#include "tests/gpu/fixture.h"
#include "vk_runtime/device.h"

namespace spirograd::vk {
namespace shared_array_test {

using namespace testing;

class SharedArrayTest : public Gpu {
 protected:
  static std::shared_ptr<Device> another() { return Device::create().value(); }
};

TEST_F(SharedArrayTest, TwoDevicesHaveOneArray) {
  const std::shared_ptr<Device> other = another();
  for (const int64_t n : {300, 1'000'000}) {
    auto mine = DeviceArray::create_shared(device, f32({n}));
    ASSERT_TRUE(mine) << mine.error().str();
    const SharedMemory memory = mine->share().value();
    EXPECT_GE(memory.bytes, 4 * static_cast<uint64_t>(n));
    auto theirs = DeviceArray::import(other, f32({n}), memory);
    ASSERT_TRUE(theirs) << theirs.error().str();
    EXPECT_EQ(theirs->download().value().bytes, HostArray(f32({n})).bytes) << "zeros";
    ASSERT_TRUE(mine->upload(ramp(n)));
    EXPECT_EQ(theirs->download().value().bytes, ramp(n).bytes);
    // A session of the other device writes it in place of its output.
    const auto s = Session::create(other, chain_program(other->preferred_form(), n, 3)).value();
    ASSERT_TRUE(s->bind("y", *theirs));
    ASSERT_TRUE(s->write("x", ramp(n)));
    ASSERT_TRUE(s->run(1));
    EXPECT_EQ(first_wrong(ramp(n), mine->download().value(), 8, 7), -1);
    // And one of the first device reads that.
    const auto t = session(chain_program(device->preferred_form(), n, 3));
    ASSERT_TRUE(t->bind("x", *mine));
    ASSERT_TRUE(t->run(1));
    EXPECT_EQ(first_wrong(theirs->download().value(), t->read("y").value(), 8, 7), -1);
  }
}

TEST_F(SharedArrayTest, ItLivesAsLongAsAnybodyHasIt) {
  const std::shared_ptr<Device> other = another();
  std::optional<DeviceArray> mine = DeviceArray::create_shared(device, i32({5})).value();
  const HostArray contents = HostArray::of<int32_t>({3, 1, 4, 1, 5});
  ASSERT_TRUE(mine->upload(contents));
  DeviceArray theirs = DeviceArray::import(other, i32({5}), mine->share().value()).value();
  DeviceArray third = DeviceArray::import(device, i32({5}), theirs.share().value()).value();  // shared on
  mine.reset();
  EXPECT_EQ(theirs.download().value().bytes, contents.bytes);
  EXPECT_EQ(third.download().value().bytes, contents.bytes);
  // A descriptor that nobody takes is the caller's.
  const SharedMemory unused = theirs.share().value();
  EXPECT_EQ(::close(unused.fd), 0);
}

// A part of an allocation: of what another device made of a larger type.
TEST_F(SharedArrayTest, APartOfItIsAnArrayToo) {
  auto whole = DeviceArray::create_shared(device, f32({128})).value();
  ASSERT_TRUE(whole.upload(ramp(128)));
  SharedMemory memory = whole.share().value();
  memory.offset = 256;
  const DeviceArray part = DeviceArray::import(device, f32({2, 16}), memory).value();
  const std::vector<double> values = part.download().value().values();
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], ramp(128).values()[64 + i]);
}

TEST_F(SharedArrayTest, MistakesAreTold) {
  const auto plain = DeviceArray::create(device, f32({4})).value();
  EXPECT_NE(plain.share().error().str().find("create_shared"), std::string::npos);
  SharedMemory memory = DeviceArray::create_shared(device, f32({4})).value().share().value();
  const auto error = [&](const Type& type, auto&& change) {
    SharedMemory m = memory;
    change(m);
    const auto a = DeviceArray::import(device, type, m);
    return a ? std::string() : a.error().str();
  };
  EXPECT_NE(error(f32({1000}), [](SharedMemory&) {}).find("f32[1000] takes 4000 bytes"), std::string::npos);
  EXPECT_NE(error(f32({4}), [](SharedMemory& m) { m.offset = 4; }).find("multiple of 256"), std::string::npos);
  EXPECT_NE(error(f32({4}), [](SharedMemory& m) { m.fd = -1; }).find("no descriptor"), std::string::npos);
  EXPECT_NE(
      error(f32({4}), [](SharedMemory& m) { m.handle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP_BIT; }).find("SG0303"),
      std::string::npos);
  EXPECT_EQ(::close(memory.fd), 0);
  Device::Impl::of(*device).plan.enable_external_memory_fd = false;
  const auto refused = DeviceArray::create_shared(device, f32({4}));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().str().find("VK_KHR_external_memory_fd"), std::string::npos) << refused.error().str();
}

}  // namespace shared_array_test
}  // namespace spirograd::vk
