#include "spirograd/requirements.h"

#include <algorithm>

#include "spirograd/executable.h"

namespace spirograd {
namespace {

class Comparison {
 public:
  explicit Comparison(std::string_view device) : device_(device) {}

  void feature(bool wanted, bool has, const std::string& what, const std::string& hint) {
    if (wanted && !has) lacks_.push_back({what + ", which " + device_ + " does not have", hint});
  }
  void limit(uint64_t wanted, uint64_t has, const std::string& what, const std::string& limit, const std::string& hint) {
    if (wanted > has)
      lacks_.push_back({std::to_string(wanted) + " " + what + "; " + device_ + " has " + std::to_string(has) + limit, hint});
  }
  void add(Missing m) { lacks_.push_back(std::move(m)); }
  std::vector<Missing> take() && { return std::move(lacks_); }

 private:
  const std::string device_;
  std::vector<Missing> lacks_;
};

std::string names_of(uint32_t operations) {
  std::string text;
  for (const auto& [bit, name] : kSubgroupOperations)
    if (operations & bit) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace

Requirements joined(const Requirements& a, const Requirements& b) {
  Requirements r;
  r.device_address = a.device_address || b.device_address;
  r.descriptors = a.descriptors || b.descriptors;
  r.float64 = a.float64 || b.float64;
  r.float16_storage = a.float16_storage || b.float16_storage;
  r.float16_addresses = a.float16_addresses || b.float16_addresses;
  r.atomic_float_add = a.atomic_float_add || b.atomic_float_add;
  r.signed_zero_inf_nan = a.signed_zero_inf_nan || b.signed_zero_inf_nan;
  r.round_to_even = a.round_to_even || b.round_to_even;
  r.signed_zero_inf_nan64 = a.signed_zero_inf_nan64 || b.signed_zero_inf_nan64;
  r.round_to_even64 = a.round_to_even64 || b.round_to_even64;
  r.exchange_float_add = a.exchange_float_add || b.exchange_float_add;
  r.integer_atomics = a.integer_atomics || b.integer_atomics;
  r.shared_memory = a.shared_memory || b.shared_memory;
  r.subgroup_operations = a.subgroup_operations | b.subgroup_operations;
  r.subgroup_size = std::max(a.subgroup_size, b.subgroup_size);
  r.workgroup = std::max(a.workgroup, b.workgroup);
  r.groups = std::max(a.groups, b.groups);
  r.buffers = std::max(a.buffers, b.buffers);
  r.push_bytes = std::max(a.push_bytes, b.push_bytes);
  r.shared_bytes = std::max(a.shared_bytes, b.shared_bytes);
  r.loop_iterations = std::max(a.loop_iterations, b.loop_iterations);
  return r;
}

std::vector<Missing> missing(const Requirements& needs, const Target& t, std::string_view device) {
  const std::string again = "compile for the target() of this device";
  Comparison c(device);
  c.feature(needs.float64, t.float64, "f64 arithmetic (shaderFloat64)",
            "use f32, or choose a device with f64: spirograd devices");
  c.feature(needs.float16_storage, t.float16_storage, "f16 in memory (storageBuffer16BitAccess)",
            "use f32, or choose a device with f16: spirograd devices");
  c.feature(needs.float16_addresses, t.float16_addresses, "f16 through device addresses (storagePushConstant16)",
            "compile with BindingForm::Descriptors");
  c.feature(needs.device_address, t.device_address, "device addresses (bufferDeviceAddress)",
            "compile with BindingForm::Descriptors");
  c.feature(needs.descriptors, t.descriptors, "descriptors that the self-test has proved",
            "compile with BindingForm::Address");
  c.feature(needs.device_address && needs.buffers > 0, (t.quirks & kScatteredStores) != 0,
            "descriptors that are pushed beside addresses (VK_KHR_push_descriptor)", again);
  c.feature(needs.atomic_float_add, t.atomic_float_add, "proved f32 atomics (shaderBufferFloat32AtomicAdd)",
            "compile without native float atomics");
  c.feature(needs.exchange_float_add, t.exchange_float_add, "f32 sums by compare-exchange that the self-test has proved",
            again);
  c.feature(needs.integer_atomics, t.integer_atomics, "integer atomics that the self-test has proved", again);
  c.feature(needs.shared_memory, t.shared_memory, "shared memory that the self-test has proved", again);
  c.feature(needs.signed_zero_inf_nan, t.signed_zero_inf_nan, "shaderSignedZeroInfNanPreserveFloat32", again);
  c.feature(needs.round_to_even, t.round_to_even, "shaderRoundingModeRTEFloat32", again);
  c.feature(needs.signed_zero_inf_nan64, t.signed_zero_inf_nan64, "shaderSignedZeroInfNanPreserveFloat64", again);
  c.feature(needs.round_to_even64, t.round_to_even64, "shaderRoundingModeRTEFloat64", again);
  const uint32_t operations = needs.subgroup_operations & ~t.subgroup_operations;
  c.feature(operations != 0, false, "the subgroup operations " + names_of(operations) + " in compute", again);
  if (needs.subgroup_size != 0 && needs.subgroup_size != t.subgroup_size)
    c.add({"subgroups of " + std::to_string(needs.subgroup_size) + " invocations; " + std::string(device) + " has " +
               std::to_string(t.subgroup_size),
           again});
  c.limit(needs.workgroup, t.max_invocations, "invocations in a workgroup", " (maxComputeWorkGroupInvocations)", again);
  c.limit(needs.groups, t.max_groups, "workgroups in a row", " (maxComputeWorkGroupCount)", again);
  c.limit(needs.buffers, t.max_buffers, "storage buffers in a kernel", " (maxPerStageDescriptorStorageBuffers)", again);
  c.limit(needs.push_bytes, t.max_push_bytes, "bytes of push constants", " (maxPushConstantsSize)", again);
  c.limit(needs.shared_bytes, t.shared_bytes, "bytes of shared memory", " (maxComputeSharedMemorySize)", again);
  c.limit(needs.loop_iterations, t.max_loop_iterations, "loop iterations in one invocation", ", and ends loops after them",
          again);
  return std::move(c).take();
}

Requirements requirements_of(const Executable& e) {
  Requirements all;
  all.device_address = e.form == BindingForm::Address;
  all.descriptors = e.form == BindingForm::Descriptors;
  for (const KernelBinary& k : e.kernels) {
    Requirements own = k.needs;
    own.workgroup = std::max(own.workgroup, k.workgroup);
    own.push_bytes = pushed(k, e.form);
    own.buffers = std::max(own.buffers, descriptors(k, e.form));
    all = joined(all, own);
  }
  return all;
}

}  // namespace spirograd
