// Living inside a host: this program links the Vulkan loader, makes its own device, and has sessions record into its command
// buffers.
#include <memory>

#include "tests/gpu/host.h"

namespace spirograd::vk {
namespace host_test {

using namespace testing;

class HostTest : public Host {};

TEST_F(HostTest, RunsOnTheHostsDevice) {
  adopt(external());
  for (BindingForm form : kForms) {
    auto s = Session::create(device, chain_program(form, 300, 3));
    ASSERT_TRUE(s) << s.error().str();
    const auto y = (*s)->run(std::vector{ramp(300)});
    ASSERT_TRUE(y) << y.error().str();
    EXPECT_EQ(first_wrong(ramp(300), (*y)[0], 8, 7), -1);
  }
}

TEST_F(HostTest, RecordsIntoTheHostsCommandBuffer) {
  adopt(external());
  for (BindingForm form : kForms) {
    Executable e = chain_program(form, 300, 3);
    e.steps.insert(e.steps.begin(), {Step::Kind::Fill, 0, 1, 0, {{1, 0, 1200, false, true}}, "zeros"});
    auto s = Session::create(device, e);
    ASSERT_TRUE(s) << s.error().str();
    const auto [x, x_data] = host_buffer(4096);
    const auto [y, y_data] = host_buffer(4096);
    // Places that suit no descriptor alignment.
    const Slice in{x, 12, 1200}, out{y, 20, 1200};
    const VkCommandBuffer commands = begin();
    const auto recorded = (*s)->record(commands, std::vector{in}, std::vector{out});
    ASSERT_TRUE(recorded) << recorded.error().str();
    VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                         nullptr, 0, nullptr);
    ASSERT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
    for (int round = 0; round < 3; ++round) {  // the same commands with new contents
      for (int i = 0; i < 1024; ++i) x_data[i] = static_cast<float>(i + round), y_data[i] = -1;
      submit(commands);
      for (int i = 0; i < 300; ++i) ASSERT_EQ(y_data[5 + i], 8 * x_data[3 + i] + 7) << i << " " << form_name(form);
      EXPECT_EQ(y_data[4], -1);
      EXPECT_EQ(y_data[305], -1);
    }
    // And recorded anew with other places.
    const VkCommandBuffer again = begin();
    ASSERT_TRUE((*s)->record(again, std::vector{out}, std::vector{Slice{x, 256, 1200}}));
    finish(again);
    for (int i = 0; i < 300; ++i) ASSERT_EQ(x_data[64 + i], 8 * y_data[5 + i] + 7);
  }
}

TEST_F(HostTest, WithoutAddressesDescriptorsAreTheForm) {
  External e = external();
  e.buffer_device_address = false;
  adopt(e);
  EXPECT_EQ(device->preferred_form(), BindingForm::Descriptors);
  EXPECT_FALSE(device->target().device_address);
  const auto refused = Session::create(device, affine_program(BindingForm::Address, 16));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("bufferDeviceAddress"), std::string::npos) << refused.error().str();
  auto s = Session::create(device, affine_program(BindingForm::Descriptors, 16));
  ASSERT_TRUE(s) << s.error().str();
  EXPECT_TRUE((*s)->run(std::vector{ramp(16)}));
}

// Arrays in the host's buffers: results lie there after each run, though steps take turns with memory of the session.
TEST_F(HostTest, ItsBuffersAreArrays) {
  for (const bool timeline : {false, true})
    for (BindingForm form : kForms) {
      External e = external();
      e.timeline_semaphore = timeline;
      device.reset();
      adopt(e);
      auto s = Session::create(device, chain_program(form, 300, 3));
      ASSERT_TRUE(s) << s.error().str();
      const auto [buffer, data] = host_buffer(4096);
      const auto [other, other_data] = host_buffer(4096);
      DeviceArray x = DeviceArray::adopt(device, f32({300}), {buffer, 12, 1200}).value();
      DeviceArray y = DeviceArray::adopt(device, f32({300}), {other, 20, 1200}).value();
      ASSERT_TRUE((*s)->bind("x", x));
      ASSERT_TRUE((*s)->bind("y", y));
      for (int i = 0; i < 1024; ++i) data[i] = static_cast<float>(i % 7), other_data[i] = -1;
      ASSERT_TRUE((*s)->run(2));
      for (int i = 0; i < 300; ++i) ASSERT_EQ(other_data[5 + i], 8 * data[3 + i] + 7);
      EXPECT_EQ(other_data[4], -1);
      EXPECT_EQ(other_data[305], -1);
      EXPECT_EQ(first_wrong(x.download().value(), y.download().value(), 8, 7), -1);
      ASSERT_TRUE(y.upload(HostArray(f32({300}))));
      EXPECT_EQ(other_data[5], 0);

      auto fed = Session::create(device, affine_program(form, 300));
      ASSERT_TRUE(fed);
      ASSERT_TRUE((*fed)->bind("x", x));
      ASSERT_TRUE((*fed)->feed("y", "x"));
      std::vector<float> want(data + 3, data + 303);
      for (const int n : {1, 2, 3, 1}) {
        const auto ran = (*fed)->run(n);
        ASSERT_TRUE(ran) << ran.error().str();
        for (float& w : want)
          for (int k = 0; k < n; ++k) w = 2 * w + 1;
        for (size_t i = 0; i < 300; ++i) ASSERT_EQ(data[3 + i], want[i]) << n << " steps";
        EXPECT_EQ((*fed)->read("y").value().values()[7], want[7]);
      }
      EXPECT_EQ(data[2], 2) << "bytes before it";
      EXPECT_EQ(data[303], 303 % 7);
    }
}

// Recorded, too, an output may lie where the input lies that was donated to it, and then has to.
TEST_F(HostTest, DonatedInputsAreRecordedInPlace) {
  adopt(external());
  for (BindingForm form : kForms) {
    Executable e = affine_program(form, 300);
    auto s = Session::create(device, e);
    ASSERT_TRUE(s) << s.error().str();
    EXPECT_EQ((*s)->donate("x", "y").error().message,
              "donate: output 'y' cannot be written over input 'x': step 0 reads elements of 'x' that may be written before "
              "as 'y'");
    e.kernels[0].in_place = {{0, 2}};
    s = Session::create(device, e);
    ASSERT_TRUE(s) << s.error().str();
    const auto [x, data] = host_buffer(4096);
    const Slice place{x, 12, 1200}, other{x, 2048, 1200};
    ASSERT_TRUE((*s)->donate("x", "y"));
    const VkCommandBuffer commands = begin();
    EXPECT_EQ((*s)->record(commands, std::vector{place}, std::vector{other}).error().message,
              "record: output 'y' (bytes 2048 to 3248) is written over input 'x' (bytes 12 to 1212), so both have the same "
              "place");
    ASSERT_TRUE((*s)->record(commands, std::vector{place}, std::vector{place}));
    for (int i = 0; i < 1024; ++i) data[i] = static_cast<float>(i);
    finish(commands);
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(data[i], i >= 3 && i < 303 ? 2 * i + 1 : i) << i << " " << form_name(form);
  }
}

// No wait and no semaphore between what the host submits and what a session submits to the same queue.
TEST_F(HostTest, SubmissionsToOneQueueAreInOrder) {
  adopt(external());
  auto s = Session::create(device, affine_program(BindingForm::Descriptors, 300));
  ASSERT_TRUE(s) << s.error().str();
  const auto [x, x_data] = host_buffer(1200);
  const auto [y, y_data] = host_buffer(1200);
  const auto [z, z_data] = host_buffer(1200);
  DeviceArray in = DeviceArray::adopt(device, f32({300}), {x, 0, 1200}).value();
  DeviceArray out = DeviceArray::adopt(device, f32({300}), {y, 0, 1200}).value();
  ASSERT_TRUE((*s)->bind("x", in));
  ASSERT_TRUE((*s)->bind("y", out));
  const auto send = [&](VkCommandBuffer commands) {
    ASSERT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    ASSERT_EQ(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE), VK_SUCCESS);
  };
  const VkCommandBuffer fill = begin(), copy = begin();
  vkCmdFillBuffer(fill, x, 0, 1200, 0x40400000);  // 3.0
  send(fill);
  ASSERT_TRUE((*s)->submit());
  const VkBufferCopy region{0, 0, 1200};
  vkCmdCopyBuffer(copy, y, z, 1, &region);
  send(copy);
  ASSERT_EQ(vkQueueWaitIdle(queue), VK_SUCCESS);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(z_data[i], 7);
}

// A host that fills the input only after the session has submitted, and waits for a value that the session signals.
TEST_F(HostTest, SemaphoresOfTheHostAreWaitedForAndSignalled) {
  External e = external();
  e.timeline_semaphore = true;
  adopt(e);
  const auto timeline = [&] {
    VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    const VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type, 0};
    VkSemaphore out = VK_NULL_HANDLE;
    EXPECT_EQ(vkCreateSemaphore(host, &info, nullptr, &out), VK_SUCCESS);
    return out;
  };
  const VkSemaphore filled = timeline(), doubled = timeline();
  const auto [x, x_data] = host_buffer(1200);
  const auto [y, y_data] = host_buffer(1200);
  DeviceArray in = DeviceArray::adopt(device, f32({300}), {x, 0, 1200}).value();
  DeviceArray out = DeviceArray::adopt(device, f32({300}), {y, 0, 1200}).value();
  auto s = Session::create(device, affine_program(BindingForm::Descriptors, 300));
  ASSERT_TRUE(s) << s.error().str();
  ASSERT_TRUE((*s)->bind("x", in));
  ASSERT_TRUE((*s)->bind("y", out));
  for (const uint64_t turn : {10, 20}) {
    const SemaphoreValue wait[] = {{filled, turn}}, signal[] = {{doubled, turn + 1}};
    const auto point = (*s)->submit(3, {wait, signal});
    ASSERT_TRUE(point) << point.error().str();
    EXPECT_FALSE((*s)->done(*point).value());
    for (int i = 0; i < 300; ++i) x_data[i] = static_cast<float>(turn);
    VkSemaphoreSignalInfo now{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, nullptr, filled, turn};
    ASSERT_EQ(vkSignalSemaphore(host, &now), VK_SUCCESS);
    VkSemaphoreWaitInfo until{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, nullptr, 0, 1, &doubled, &signal[0].value};
    ASSERT_EQ(vkWaitSemaphores(host, &until, UINT64_C(60'000'000'000)), VK_SUCCESS);
    for (int i = 0; i < 300; ++i) ASSERT_EQ(y_data[i], static_cast<float>(2 * turn + 1));
    EXPECT_TRUE((*s)->wait(*point));
  }
  const SemaphoreValue none[] = {{}};
  EXPECT_EQ((*s)->submit(1, {.signal = none}).error().message, "submit: a semaphore is null");
  ASSERT_EQ(vkDeviceWaitIdle(host), VK_SUCCESS);
  vkDestroySemaphore(host, filled, nullptr);
  vkDestroySemaphore(host, doubled, nullptr);
}

// Devices without timeline semaphores have binary ones, between two submissions.
TEST_F(HostTest, BinarySemaphoresNeedNoTimelines) {
  adopt(external());
  auto first = Session::create(device, affine_program(BindingForm::Descriptors, 300));
  auto second = Session::create(device, affine_program(BindingForm::Descriptors, 300));
  ASSERT_TRUE(first && second);
  const VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  VkSemaphore between = VK_NULL_HANDLE;
  ASSERT_EQ(vkCreateSemaphore(host, &info, nullptr, &between), VK_SUCCESS);
  const SemaphoreValue value[] = {{between}};
  for (const auto& s : {&first, &second}) ASSERT_TRUE((**s)->write("x", HostArray(f32({300}), std::vector<double>(300, 2))));
  ASSERT_TRUE((*first)->submit(1, {.signal = value}));
  ASSERT_TRUE((*second)->submit(1, {.wait = value}));
  EXPECT_EQ((*second)->read("y").value().values()[7], 5);
  ASSERT_EQ(vkDeviceWaitIdle(host), VK_SUCCESS);
  vkDestroySemaphore(host, between, nullptr);
}

TEST_F(HostTest, SlicesThatAreNoArraysAreRefused) {
  adopt(external());
  const auto [x, data] = host_buffer(256);
  const auto refused = [&](const Slice& slice) {
    const auto a = DeviceArray::adopt(device, f32({16}), slice);
    return a ? std::string() : a.error().code + " " + a.error().message;
  };
  EXPECT_EQ(refused({x, 192, 64}), "");
  EXPECT_NE(refused({x, 0, 60}).find("SG0501 DeviceArray::adopt: the slice for f32[16] must name a buffer, hold 64 bytes"),
            std::string::npos);
  EXPECT_NE(refused({x, 2, 64}).find("it holds 64 from 2"), std::string::npos);
  EXPECT_NE(refused({}).find("SG0501"), std::string::npos);
  EXPECT_NE(refused({x, 1 << 20, 64}).find("the slice ends at byte 1048640, and the buffer has at most"), std::string::npos);
  EXPECT_NE(refused({x, 0, 1 << 20}).find("the slice ends at byte 1048576"), std::string::npos);
  auto s = Session::create(device, affine_program(BindingForm::Address, 16));
  ASSERT_TRUE(s);
  DeviceArray in = DeviceArray::adopt(device, f32({16}), {x, 0, 64}).value();
  DeviceArray over = DeviceArray::adopt(device, f32({16}), {x, 60, 64}).value();
  DeviceArray behind = DeviceArray::adopt(device, f32({16}), {x, 64, 64}).value();
  ASSERT_TRUE((*s)->bind("x", in));
  EXPECT_EQ((*s)->bind("y", over).error().message,
            "bind: output 'y' (bytes 60 to 124) and input 'x' (bytes 0 to 64) share bytes of one buffer");
  EXPECT_EQ((*s)->bind("y", in).error().code, "SG0501");
  ASSERT_TRUE((*s)->bind("y", behind));
  EXPECT_TRUE((*s)->run(1));
}

TEST_F(HostTest, SlicesTooSmallOrMisplacedAreRefused) {
  adopt(external());
  auto s = Session::create(device, affine_program(BindingForm::Address, 16));
  ASSERT_TRUE(s);
  const auto [x, data] = host_buffer(256);
  const VkCommandBuffer commands = begin();
  const Slice good{x, 0, 64}, small{x, 0, 60}, crooked{x, 2, 64}, none{};
  for (const Slice& bad : {small, crooked, none}) {
    const auto r = (*s)->record(commands, std::vector{bad}, std::vector{good});
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, "SG0501");
  }
  EXPECT_FALSE((*s)->record(commands, {}, std::vector{good}));
  EXPECT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
}

TEST_F(HostTest, OutputsThatShareBytesAreRefusedByName) {
  adopt(external());
  Executable e = affine_program(BindingForm::Address, 16);
  e.buffers.insert(e.buffers.begin() + 2, array(Role::Output, "z", f32({16})));
  e.n_outputs = 2;
  e.steps = {apply(e, 0, 3, 1), apply(e, 0, 3, 2)};
  auto s = Session::create(device, e);
  ASSERT_TRUE(s) << s.error().str();
  const auto [x, data] = host_buffer(256);
  const auto [other, other_data] = host_buffer(256);
  const VkCommandBuffer commands = begin();
  const auto refused = [&](Slice in, Slice y, Slice z) {
    const auto r = (*s)->record(commands, std::vector{in}, std::vector{y, z});
    return r ? std::string() : r.error().code + " " + r.error().message;
  };
  EXPECT_EQ(refused({x, 0, 64}, {x, 64, 64}, {x, 128, 64}), "") << "neighbours";
  EXPECT_EQ(refused({x, 0, 64}, {x, 64, 64}, {other, 0, 64}), "") << "the same places of different buffers";
  EXPECT_EQ(refused({x, 0, 256}, {x, 64, 128}, {x, 128, 64}), "") << "slices may be longer than their arrays";
  EXPECT_EQ(refused({x, 0, 64}, {x, 60, 64}, {other, 0, 64}),
            "SG0501 record: output 'y' (bytes 60 to 124) and input 'x' (bytes 0 to 64) share bytes of one buffer");
  EXPECT_EQ(refused({x, 0, 64}, {other, 0, 64}, {other, 32, 64}),
            "SG0501 record: output 'z' (bytes 32 to 96) and output 'y' (bytes 0 to 64) share bytes of one buffer");
  EXPECT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
}

// The contract, and not more: the host orders its own uses of inputs and outputs against compute shaders, and submits the
// recording again without waiting. Scratch memory, fills and copies are the session's business. Validation watches.
TEST_F(HostTest, TheHostsBarriersConcernComputeShadersOnly) {
  adopt(external());
  Executable copies = affine_program(BindingForm::Descriptors, 300);
  copies.steps = {{Step::Kind::Copy, 0, 1, 0, {{0, 0, 1200, true, false}, {1, 0, 1200, false, true}}, "copy"}};
  Executable fills = chain_program(BindingForm::Descriptors, 300, 3);
  fills.steps.insert(fills.steps.begin(), {Step::Kind::Fill, 0, 1, 0, {{1, 0, 1200, false, true}}, "zeros"});
  for (const Executable& e : {copies, fills, chain_program(BindingForm::Descriptors, 300, 3)}) {
    auto s = Session::create(device, e);
    ASSERT_TRUE(s) << s.error().str();
    const auto [x, x_data] = host_buffer(1200);
    const auto [y, y_data] = host_buffer(1200);
    for (int i = 0; i < 300; ++i) x_data[i] = static_cast<float>(i);
    const auto order = [&, y = y](VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written,
                                  VkPipelineStageFlags to, VkAccessFlags read) {
      VkBufferMemoryBarrier b{VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER};
      b.srcAccessMask = written;
      b.dstAccessMask = read;
      b.srcQueueFamilyIndex = b.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
      b.buffer = y;
      b.size = VK_WHOLE_SIZE;
      vkCmdPipelineBarrier(commands, from, to, 0, 0, nullptr, 1, &b, 0, nullptr);
    };
    const VkCommandBuffer commands = begin();
    constexpr auto compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    order(commands, VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, compute,
          VK_ACCESS_SHADER_WRITE_BIT);
    ASSERT_TRUE((*s)->record(commands, std::vector{Slice{x, 0, 1200}}, std::vector{Slice{y, 0, 1200}}));
    order(commands, compute, VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
          VK_ACCESS_HOST_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    ASSERT_EQ(vkEndCommandBuffer(commands), VK_SUCCESS);
    VkSubmitInfo submits[2] = {{VK_STRUCTURE_TYPE_SUBMIT_INFO}, {VK_STRUCTURE_TYPE_SUBMIT_INFO}};
    submits[0].commandBufferCount = submits[1].commandBufferCount = 1;
    submits[0].pCommandBuffers = submits[1].pCommandBuffers = &commands;
    EXPECT_EQ(vkQueueSubmit(queue, 1, submits, VK_NULL_HANDLE), VK_SUCCESS);
    EXPECT_EQ(vkQueueWaitIdle(queue), VK_SUCCESS);
    const bool copy = e.steps[0].kind == Step::Kind::Copy;
    for (int i = 0; i < 300; ++i) ASSERT_EQ(y_data[i], copy ? x_data[i] : 8 * x_data[i] + 7);
  }
}

TEST_F(HostTest, SubmitsHoldTheHostsLock) {
  struct Lock {
    int taken = 0, given = 0;
  } lock;
  External e = external();
  e.user = &lock;
  e.lock_queue = [](void* user) { ++static_cast<Lock*>(user)->taken; };
  e.unlock_queue = [](void* user) { ++static_cast<Lock*>(user)->given; };
  adopt(e);
  auto s = Session::create(device, affine_program(BindingForm::Address, 16));
  const int before = lock.taken;
  ASSERT_TRUE((*s)->replay());
  EXPECT_EQ(lock.taken, before + 1);
  EXPECT_EQ(lock.taken, lock.given);
}

TEST_F(HostTest, DevicesThatShareAQueueBothHaveItsLock) {
  adopt(external());
  External e = external();
  EXPECT_EQ(Device::adopt(e).error().code, "SG0303");
  e.lock_queue = [](void*) {};
  EXPECT_NE(Device::adopt(e).error().message.find("go together"), std::string::npos);
  e.unlock_queue = [](void*) {};
  EXPECT_EQ(Device::adopt(e).error().code, "SG0303") << "the first has none";
  device.reset();
  adopt(e);
  const auto second = Device::adopt(e);
  ASSERT_TRUE(second) << second.error().str();
  EXPECT_TRUE((*Session::create(*second, affine_program(BindingForm::Address, 16)))->replay());
  EXPECT_EQ(
      (*Session::create(device, affine_program(BindingForm::Address, 16)))->record(VK_NULL_HANDLE, {}, {}).error().code,
      "SG0501");
}

TEST_F(HostTest, IncompleteHandlesAreAnError) {
  EXPECT_EQ(Device::adopt({}).error().code, "SG0303");
  External e = external();
  e.queue_family = 99;
  EXPECT_EQ(Device::adopt(e).error().code, "SG0303");
  e = external();
  e.api_version = VK_API_VERSION_1_0;
  EXPECT_NE(Device::adopt(e).error().message.find("Vulkan 1.1"), std::string::npos);
}

}  // namespace host_test
}  // namespace spirograd::vk
