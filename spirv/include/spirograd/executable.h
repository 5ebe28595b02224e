// The whole contract between compiler and runtime: plain data. Nothing here knows Vulkan or the IR.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spirograd/requirements.h"
#include "spirograd/shape.h"

namespace spirograd {

/// How kernels reach buffers. Address: push constants hold one 64-bit device address per binding, in order. Descriptors: set
/// 0, binding j is storage buffer j, and push constants hold one u32 per binding, the element offset into it.
enum class BindingForm : uint8_t { Address, Descriptors };
/// Push constants per binding.
constexpr uint32_t push_bytes(BindingForm form) { return form == BindingForm::Address ? 8 : 4; }

struct KernelBinary {
  std::string name;             // for debug names and profiles
  std::vector<uint32_t> words;  // SPIR-V; entry point "main"
  uint32_t workgroup = 64;      // invocations per workgroup, one dimension
  uint32_t bindings = 0;        // number of buffers
  Requirements needs;           // of a device, as the emitter recorded them
};

enum class Role : uint8_t { Input, Output, Constant, Scratch };

/// One array in device memory. Bool elements are 32-bit words 0 or 1.
struct BufferDesc {
  Role role = Role::Scratch;
  std::string name;             // inputs and outputs: the user's name
  Type type;                    // inputs and outputs: the user's; others: the dtype counts (offsets are in its elements)
  uint64_t bytes = 0;           // of the elements; 0 for empty arrays
  uint64_t scratch_offset = 0;  // Scratch: place in the one scratch arena; lifetimes that do not meet share bytes
  std::vector<uint8_t> data;    // Constant: the contents
};

/// A use of a byte range of a buffer by a step.
struct BufferUse {
  uint32_t buffer = 0;
  uint64_t offset = 0;  // bytes from the start of the buffer; a multiple of the element size
  uint64_t bytes = 0;   // extent of the use from `offset`
  bool read = false, written = false;
};

struct Step {
  enum class Kind : uint8_t { Dispatch, Fill, Copy } kind = Kind::Dispatch;
  uint32_t kernel = 0;          // Dispatch
  uint32_t groups = 1;          // Dispatch: workgroups in all; the runtime folds them into x and y by max_groups:
                                // x = min(groups, max_groups), y = ceil(groups / x); kernels guard the surplus
  uint32_t fill_word = 0;       // Fill: 32-bit pattern written over uses[0]
  std::vector<BufferUse> uses;  // Dispatch: one per binding, in order. Fill: one. Copy: source, destination
  std::string label;            // for people: "sum over axis 0 of f32[3,4]"
};

struct Executable {
  uint32_t version = 1;
  BindingForm form = BindingForm::Address;
  std::vector<KernelBinary> kernels;
  std::vector<BufferDesc> buffers;  // inputs in program order, then outputs in program order, then the rest
  std::vector<Step> steps;
  uint32_t n_inputs = 0, n_outputs = 0;
  uint64_t scratch_bytes = 0;
};

/// What all kernels together need of a device.
Requirements requirements_of(const Executable& executable);

}  // namespace spirograd
