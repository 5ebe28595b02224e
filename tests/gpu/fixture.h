// Devices under validation for the tests of the runtime, and small executables made by hand: every message of the layers is
// a failure.
#pragma once

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "spirograd/vk.h"

namespace spirograd::vk::testing {

/// What validation said. Thread-safe, for drivers may call from their threads.
struct Messages {
  std::mutex mutex;
  std::vector<std::string> lines;
  static void take(void* user, const char* id, const char* text);
  std::string text() const;
};

/// A device of our own with core and synchronization validation. Its end must be silent, too: leaks are reported then.
class Gpu : public ::testing::Test {
 protected:
  void SetUp() override { open(); }
  void open();
  void TearDown() override;
  /// Whether the driver computes on processors: quotients and roots have the bits of the host, all memory is the host's. And
  /// whether it is lavapipe, where little work may run inline.
  bool on_processors() const { return device->info().type == DeviceType::Cpu; }
  bool on_lavapipe() const { return device->info().name.find("llvmpipe") != std::string::npos; }
  std::unique_ptr<Session> session(const Executable& e);

  Messages messages;
  std::string cache_dir;                                       // "": that of all tests, for verdicts only
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;  // what lies between the device and the loader, if anything
  std::shared_ptr<Device> device;
};

std::vector<uint32_t> words(std::span<const uint32_t> w);

KernelBinary affine(BindingForm form);
KernelBinary flip(BindingForm form);

BufferDesc array(Role role, const char* name, Type type, uint64_t scratch_offset = 0);
BufferDesc constant(uint32_t value);
uint32_t groups_for(uint64_t n);

/// y = f(x) for all elements of buffers with these numbers; `n` is the constant that holds their count.
Step apply(const Executable& e, uint32_t x, uint32_t n, uint32_t y, uint32_t kernel = 0);

/// One input x of n elements, one output y = 2 x + 1.
Executable affine_program(BindingForm form, int64_t n);

/// y = f(f(..f(x))) with so many f, through two scratch arrays that take turns.
Executable chain_program(BindingForm form, int64_t n, int length);

HostArray ramp(int64_t n);

/// The first element that is not `scale` x + `shift`, or -1.
int64_t first_wrong(const HostArray& x, const HostArray& y, float scale, float shift);

inline const BindingForm kForms[] = {BindingForm::Address, BindingForm::Descriptors};
inline const char* form_name(BindingForm f) { return f == BindingForm::Address ? "address form" : "descriptors form"; }

}  // namespace spirograd::vk::testing
