// The whole contract between compiler and runtime: plain data. Nothing here knows Vulkan or the IR.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "spirograd/requirements.h"
#include "spirograd/shape.h"

namespace spirograd {

/// How kernels reach buffers. Address: push constants hold one 64-bit device address per binding, in order. Where the kernel
/// needs storage buffers, too (Requirements::buffers), the first so many bindings have descriptors beside their addresses,
/// as in the other form but pushed, and one u32 each follows. Behind all this, as far as what the kernel needs of push
/// constants reaches, the numbers 0, 1, 2, .. of 32 bits. Descriptors: set 0, binding j is storage buffer j, and push
/// constants hold one u32 per binding, the element offset into it.
enum class BindingForm : uint8_t { Address, Descriptors };
/// Arrays that are written through descriptors beside addresses begin at multiples of so many bytes there.
inline constexpr uint32_t kRowBytes = 32;
/// Push constants per binding.
constexpr uint32_t push_bytes(BindingForm form) { return form == BindingForm::Address ? 8 : 4; }
/// Buffers that a kernel reaches. Addresses need no descriptors.
constexpr uint32_t max_bindings(const Target& t, BindingForm form) {
  const uint32_t pushed = t.max_push_bytes / push_bytes(form);
  return form == BindingForm::Address || pushed < t.max_buffers ? pushed : t.max_buffers;
}

/// Two bindings of a kernel, one that it only reads and one that it only writes, which may be one array: each element is
/// read, if at all, by the invocation that writes it, for the value that it writes there.
struct InPlace {
  uint32_t read = 0, written = 0;
  bool operator==(const InPlace&) const = default;
};

struct KernelBinary {
  std::string name;             // for debug names and profiles
  std::vector<uint32_t> words;  // SPIR-V; entry point "main"
  uint32_t workgroup = 64;      // invocations per workgroup, one dimension
  uint32_t bindings = 0;        // number of buffers
  double operations = 0;        // on floating-point numbers, of one invocation; an estimate for people
  Requirements needs;           // of a device, as the emitter recorded them
  std::vector<InPlace> in_place = {};
};

/// Descriptors that a kernel of this form has, and its bytes of push constants.
constexpr uint32_t descriptors(const KernelBinary& k, BindingForm form) {
  return form == BindingForm::Descriptors ? k.bindings : k.needs.buffers;
}
constexpr uint32_t pushed(const KernelBinary& k, BindingForm form) {
  const uint32_t offsets = form == BindingForm::Address ? k.needs.buffers * push_bytes(BindingForm::Descriptors) : 0;
  return std::max(k.needs.push_bytes, k.bindings * push_bytes(form) + offsets);
}

enum class Role : uint8_t { Input, Output, Constant, Scratch };

/// One array in device memory. Bool elements are 32-bit words 0 or 1.
struct BufferDesc {
  Role role = Role::Scratch;
  std::string name;             // inputs and outputs: the user's name
  Type type;                    // inputs and outputs: the user's; others: the dtype counts (offsets are in its elements)
  uint64_t bytes = 0;           // of the elements; 0 for empty arrays
  uint64_t scratch_offset = 0;  // Scratch: place in the one scratch arena; lifetimes that do not meet share bytes
  std::vector<uint8_t> data;    // Constant: the contents
  std::string what;             // Scratch: the operation that makes it, and its place in the source; not kept in bundles
};

/// A use of a byte range of a buffer by a step.
struct BufferUse {
  uint32_t buffer = 0;
  uint64_t offset = 0;  // bytes from the start of the buffer; a multiple of the element size
  uint64_t bytes = 0;   // extent of the use from `offset`
  bool read = false, written = false;
  // Inside of Repeats: how far, in bytes, the use moves from one iteration to the next, per Repeat around the step, the
  // outermost first; what is not there is 0. Iterations i, j, .. use `offset` + i strides[0] + j strides[1] + ..
  std::vector<int64_t> strides;
};

/// One command, or a Repeat of those that follow it. What alternates between two places has a body of two iterations, and
/// what is irregular (a first iteration that reads other arrays) stands before the Repeat: in a body only offsets move.
struct Step {
  enum class Kind : uint8_t { Dispatch, Fill, Copy, Repeat } kind = Kind::Dispatch;
  uint32_t kernel = 0;          // Dispatch
  uint32_t groups = 1;          // Dispatch: workgroups in all; the runtime folds long ones into two axes (folded)
  uint32_t fill_word = 0;       // Fill: 32-bit pattern written over uses[0]
  std::vector<BufferUse> uses;  // Dispatch: one per binding, in order. Fill: one. Copy: source, destination. Repeat: none
  std::string label;            // for people: "sum over axis 0 of f32[3,4]"
  uint32_t count = 0;           // Repeat: iterations, at least 2
  uint32_t body = 0;            // Repeat: so many of the steps that follow are run in each, at least 1; may hold Repeats
  double work = 0;              // Dispatch: estimated, in the costs of Prices; 0: unknown
};

/// Workgroups of a dispatch along x and y. The number of a workgroup is its y * Grid::x + its x; where there are several
/// rows, up to y - 1 numbers are surplus, and kernels have a guard against them.
struct Grid {
  uint32_t x = 0, y = 0;
};
/// For so many workgroups in all: y = ceil(groups / max_x), x = ceil(groups / y), so that few are surplus. Pre: max_x > 0.
constexpr Grid folded(uint32_t groups, uint32_t max_x) {
  const auto ceil_div = [](uint32_t a, uint32_t b) { return a / b + (a % b != 0); };
  const uint32_t y = ceil_div(groups, max_x);
  return {y == 0 ? 0 : ceil_div(groups, y), y};
}

/// Of one program: dispatches, fills and copies, those of a body once per iteration. It bounds what a session records.
constexpr uint64_t kCommandLimit = 2'000'000;

struct Executable {
  uint32_t version = 1;
  BindingForm form = BindingForm::Address;
  std::vector<KernelBinary> kernels;
  std::vector<BufferDesc> buffers;  // inputs in program order, then outputs in program order, then the rest
  std::vector<Step> steps;
  uint32_t n_inputs = 0, n_outputs = 0;
  uint64_t scratch_bytes = 0;
};

/// Goes through steps in the order in which they run: a Repeat when it is reached, then its body as often as it says.
class StepWalk {
 public:
  explicit StepWalk(std::span<const Step> steps) : steps_(steps) {}
  bool done() const { return at_ >= steps_.size(); }
  /// Pre for the following: not done. The number of the step, and where each of its uses starts in this iteration.
  size_t step() const { return at_; }
  void offsets(std::vector<uint64_t>& out) const;
  void next();

 private:
  struct Open {  // a Repeat around the current step
    size_t begin, end;
    uint64_t count, iteration;
  };
  std::span<const Step> steps_;
  size_t at_ = 0;
  std::vector<Open> open_;
};

/// Visits all of them.
using StepVisitor = std::function<void(size_t step, std::span<const uint64_t> offsets)>;
void run_through(std::span<const Step> steps, const StepVisitor& visit);

/// How many steps of a kind run, those of a body once per iteration. Pre: below 2^64.
uint64_t runs(std::span<const Step> steps, Step::Kind kind);
/// The sum of `of` over all steps that run.
double total(std::span<const Step> steps, const std::function<double(const Step&)>& of);
/// Dispatches, fills and copies.
uint64_t commands(std::span<const Step> steps);

/// The largest arrays in scratch, for people: "f32[1000,800], 3.1 MiB: sum at model.sg:3:5".
std::vector<std::string> largest_scratch(const Executable& executable, size_t most = 3);

/// What all kernels together need of a device.
Requirements requirements_of(const Executable& executable);

}  // namespace spirograd
