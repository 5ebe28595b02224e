// The evaluator. Batches of 32 invocations share the decoding; a mask says which of them take part, as on a device.
#include "spirv/kernel/eval.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "spirv/kernel/print.h"
#include "spirv/kernel/scalar.h"

namespace spirograd::kernel {
namespace {

constexpr size_t kLanes = 32;
constexpr size_t kOps = static_cast<size_t>(KOp::EndLoop) + 1;
constexpr size_t kTypes = 5;
using Lanes = std::array<uint64_t, kLanes>;
using Mask = std::array<uint8_t, kLanes>;
using Pure = void (*)(Lanes& out, const Lanes& a, const Lanes& b);

template <KOp op, Scalar operand, Scalar result>
void run_pure(Lanes& out, const Lanes& a, const Lanes& b) {
  for (size_t l = 0; l < kLanes; ++l) out[l] = apply(op, operand, result, a[l], b[l]);
}

template <size_t... k>
constexpr auto pure_table(std::index_sequence<k...>) {
  return std::array<Pure, sizeof...(k)>{
      run_pure<static_cast<KOp>(k / kTypes), static_cast<Scalar>(k % kTypes), static_cast<Scalar>(k % kTypes)>...};
}
template <size_t... k>
constexpr auto convert_table(std::index_sequence<k...>) {
  return std::array<Pure, sizeof...(k)>{
      run_pure<KOp::Convert, static_cast<Scalar>(k / kTypes), static_cast<Scalar>(k % kTypes)>...};
}
constexpr auto kPure = pure_table(std::make_index_sequence<kOps * kTypes>());
constexpr auto kConvert = convert_table(std::make_index_sequence<kTypes * kTypes>());

Pure pure_function(const Kernel& kernel, const Inst& i) {
  const auto operand = static_cast<size_t>(kernel.body[i.in[0]].type);
  if (i.op == KOp::Convert) return kConvert[operand * kTypes + static_cast<size_t>(i.type)];
  return kPure[static_cast<size_t>(i.op) * kTypes + operand];
}

bool is_pure(KOp op) {
  return (op >= KOp::Add && op <= KOp::Ge) || op == KOp::Bitcast || op == KOp::Convert || op == KOp::Sqrt ||
         op == KOp::Floor || op == KOp::Trunc;
}

size_t width(Scalar t) { return t == Scalar::F64 ? 8 : 4; }

class Machine {
 public:
  Machine(const Kernel& kernel, std::span<const std::span<uint8_t>> buffers) : kernel_(kernel), buffers_(buffers) {
    if (buffers.size() != kernel.bindings.size())
      throw Error("SG0902", "kernel " + kernel.name + " has " + std::to_string(kernel.bindings.size()) +
                                " bindings but was given " + std::to_string(buffers.size()) + " buffers");
    registers_.resize(kernel.body.size());
    functions_.resize(kernel.body.size());
    jumps_.resize(kernel.body.size());
    std::vector<size_t> open;
    for (size_t at = 0; at < kernel.body.size(); ++at) {
      const Inst& i = kernel.body[at];
      if (is_pure(i.op)) functions_[at] = pure_function(kernel, i);
      if (i.op == KOp::Const) registers_[at].fill(i.imm);
      if (i.op == KOp::If || i.op == KOp::Loop) open.push_back(at);
      if (i.op == KOp::Else || i.op == KOp::EndIf || i.op == KOp::EndLoop) {
        jumps_[open.back()] = at;
        if (i.op == KOp::EndLoop) jumps_[at] = open.back();
        open.pop_back();
        if (i.op == KOp::Else) open.push_back(at);
      }
    }
  }

  uint64_t run() {
    const uint64_t group = kernel_.workgroup, all = (kernel_.invocations + group - 1) / group * group;
    for (uint64_t first = 0; first < all; first += kLanes) {
      first_ = first;
      for (size_t l = 0; l < kLanes; ++l) mask_[l] = first + l < all;
      run_batch();
    }
    return executed_;
  }

 private:
  // An If keeps the mask around it, a Loop the mask and its counter.
  struct Open {
    Mask outer{};
    size_t at = 0;
    uint32_t trip = 0;
  };

  [[noreturn]] void defect(size_t at, size_t lane, const std::string& what) const {
    throw Error("SG0902", "kernel " + kernel_.name + ": " + what)
        .note("instruction " + std::to_string(at) + ": " + to_string(kernel_, static_cast<Value>(at)))
        .note("invocation " + std::to_string(first_ + lane));
  }

  uint8_t* element(size_t at, size_t lane) const {
    const Inst& i = kernel_.body[at];
    const uint32_t index = as_u32(registers_[i.in[1]][lane]);
    const Binding& b = kernel_.bindings[i.in[0]];
    const uint64_t count = buffers_[i.in[0]].size() / width(b.type);
    if (index >= count) {
      const bool negative = kernel_.body[i.in[1]].type == Scalar::I32 && as_i32(index) < 0;
      defect(at, lane,
             "index " + (negative ? std::to_string(as_i32(index)) : std::to_string(index)) + " is outside of " + b.name +
                 ", which has " + std::to_string(count) + " elements");
    }
    return buffers_[i.in[0]].data() + uint64_t{index} * width(b.type);
  }

  static uint64_t read(const uint8_t* from, Scalar t) {
    uint64_t word = 0;
    std::memcpy(&word, from, width(t));
    return t == Scalar::Bool ? word != 0 : word;
  }

  bool any() const { return std::any_of(mask_.begin(), mask_.end(), [](uint8_t m) { return m != 0; }); }
  template <class F>
  void each_active(F&& body) {
    for (size_t l = 0; l < kLanes; ++l)
      if (mask_[l]) body(l);
  }

  void check_operands(size_t at) {
    const Inst& i = kernel_.body[at];
    const Scalar operand = kernel_.body[i.in[0]].type;
    if (i.op == KOp::Quot || i.op == KOp::Rem) {
      each_active([&](size_t l) {
        const uint32_t a = as_u32(registers_[i.in[0]][l]), b = as_u32(registers_[i.in[1]][l]);
        if (b == 0) defect(at, l, "division by zero");
        if (i.type == Scalar::I32 && a == 0x80000000u && b == 0xFFFFFFFFu)
          defect(at, l, "division -2147483648 / -1 overflows");
      });
    } else if (i.op == KOp::Convert && (i.type == Scalar::I32 || i.type == Scalar::U32) &&
               (operand == Scalar::F32 || operand == Scalar::F64)) {
      each_active([&](size_t l) {
        const uint64_t word = registers_[i.in[0]][l];
        const double x = operand == Scalar::F32 ? as_f32(word) : as_f64(word);
        const double low = i.type == Scalar::I32 ? -2147483649.0 : -1.0,
                     high = i.type == Scalar::I32 ? 2147483648.0 : 4294967296.0;
        if (!(x > low && x < high)) defect(at, l, std::to_string(x) + " does not fit " + std::string(name(i.type)));
      });
    }
  }

  void run_batch() {
    open_.clear();
    const size_t end = kernel_.body.size();
    for (size_t at = 0; at < end; ++at) {
      executed_ += static_cast<uint64_t>(std::count(mask_.begin(), mask_.end(), uint8_t{1}));
      at = step(at);
    }
  }

  // Executes one instruction; returns the position before the next.
  size_t step(size_t at) {
    const Inst& i = kernel_.body[at];
    Lanes& out = registers_[at];
    if (functions_[at]) {
      if (i.op == KOp::Quot || i.op == KOp::Rem || i.op == KOp::Convert) check_operands(at);
      functions_[at](out, registers_[i.in[0]], registers_[i.in[1]]);
      return at;
    }
    switch (i.op) {
      case KOp::Const: return at;
      case KOp::Index:
        for (size_t l = 0; l < kLanes; ++l) out[l] = static_cast<uint32_t>(first_ + l);
        return at;
      case KOp::Load:
        each_active([&](size_t l) { out[l] = read(element(at, l), i.type); });
        return at;
      case KOp::Store:
        each_active([&](size_t l) { std::memcpy(element(at, l), &registers_[i.in[2]][l], width(i.type)); });
        return at;
      case KOp::AtomicAdd:
        each_active([&](size_t l) {
          uint8_t* place = element(at, l);
          const uint64_t sum = apply(KOp::Add, i.type, i.type, read(place, i.type), registers_[i.in[2]][l]);
          std::memcpy(place, &sum, width(i.type));
        });
        return at;
      case KOp::Select: {
        const Lanes &c = registers_[i.in[0]], &a = registers_[i.in[1]], &b = registers_[i.in[2]];
        for (size_t l = 0; l < kLanes; ++l) out[l] = c[l] ? a[l] : b[l];
        return at;
      }
      case KOp::Var: case KOp::Get:
        each_active([&](size_t l) { out[l] = registers_[i.in[0]][l]; });
        return at;
      case KOp::Set:
        each_active([&](size_t l) { registers_[i.in[0]][l] = registers_[i.in[1]][l]; });
        return at;
      case KOp::If:
        open_.push_back({mask_, at, 0});
        for (size_t l = 0; l < kLanes; ++l) mask_[l] &= registers_[i.in[0]][l] != 0;
        return any() ? at : jumps_[at] - 1;
      case KOp::Else: {
        const Lanes& condition = registers_[kernel_.body[open_.back().at].in[0]];
        mask_ = open_.back().outer;
        for (size_t l = 0; l < kLanes; ++l) mask_[l] &= condition[l] == 0;
        return any() ? at : jumps_[at] - 1;
      }
      case KOp::EndIf:
        mask_ = open_.back().outer;
        open_.pop_back();
        return at;
      case KOp::Loop:
        open_.push_back({mask_, at, 0});
        return enter(at, 0) ? at : leave(jumps_[at]);
      case KOp::EndLoop: {
        const size_t loop = jumps_[at];
        return enter(loop, ++open_.back().trip) ? loop : leave(at);
      }
      case KOp::Add: case KOp::Sub: case KOp::Mul: case KOp::Div: case KOp::Quot: case KOp::Rem: case KOp::Neg:
      case KOp::Min:
      case KOp::Max: case KOp::And: case KOp::Or: case KOp::Xor: case KOp::Not: case KOp::Shl: case KOp::ShrU:
      case KOp::ShrS:
      case KOp::MulHiU: case KOp::Eq: case KOp::Ne: case KOp::Lt: case KOp::Le: case KOp::Gt: case KOp::Ge:
      case KOp::Bitcast:
      case KOp::Convert: case KOp::Sqrt: case KOp::Floor: case KOp::Trunc: break;
    }
    return at;
  }

  bool enter(size_t loop, uint32_t trip) {
    const Lanes& count = registers_[kernel_.body[loop].in[0]];
    registers_[loop].fill(trip);
    if (const uint64_t most = kernel_.body[loop].imm; most != 0)
      for (size_t l = 0; l < kLanes; ++l)
        if (mask_[l] && as_i32(count[l]) > static_cast<int64_t>(most))
          defect(loop, l, "a loop of " + std::to_string(as_i32(count[l])) + " iterations, at most " + std::to_string(most) +
                              " were promised");
    for (size_t l = 0; l < kLanes; ++l) mask_[l] &= static_cast<int32_t>(trip) < as_i32(count[l]);
    return any();
  }

  size_t leave(size_t end_loop) {
    mask_ = open_.back().outer;
    open_.pop_back();
    return end_loop;
  }

  const Kernel& kernel_;
  std::span<const std::span<uint8_t>> buffers_;
  std::vector<Lanes> registers_;
  std::vector<Pure> functions_;
  std::vector<size_t> jumps_;  // If: its Else or EndIf; Else: its EndIf; Loop: its EndLoop; EndLoop: its Loop
  std::vector<Open> open_;
  Mask mask_{};
  uint64_t first_ = 0, executed_ = 0;
};

}  // namespace

uint64_t evaluate(const Kernel& kernel, std::span<const std::span<uint8_t>> buffers) {
  return Machine(kernel, buffers).run();
}

}  // namespace spirograd::kernel
