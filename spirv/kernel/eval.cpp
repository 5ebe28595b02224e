// The evaluator. Batches of 32 invocations share the decoding; a mask says which of them take part, as on a device. Where
// invocations work together, all of a workgroup go through the body in step, and only barriers are relied on.
#include "spirv/kernel/eval.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "spirv/kernel/group_eval.h"
#include "spirv/kernel/memory_element.h"
#include "spirv/kernel/print.h"
#include "spirv/kernel/scalar.h"

namespace spirograd::kernel {
namespace {

constexpr size_t kLanes = 32;
constexpr size_t kTypes = 5;
using Pure = void (*)(uint64_t* out, const uint64_t* a, const uint64_t* b, const uint64_t* c);  // on a batch

template <KOp op, Scalar operand, Scalar result>
void run_pure(uint64_t* out, const uint64_t* a, const uint64_t* b, const uint64_t* c) {
  for (size_t l = 0; l < kLanes; ++l) out[l] = apply(op, operand, result, a[l], b[l], c[l]);
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
constexpr auto kPure = pure_table(std::make_index_sequence<kOpCount * kTypes>());
constexpr auto kConvert = convert_table(std::make_index_sequence<kTypes * kTypes>());

Pure pure_function(const Kernel& kernel, const Inst& i) {
  const auto operand = static_cast<size_t>(kernel.body[i.in[0]].type);
  if (i.op == KOp::Convert) return kConvert[operand * kTypes + static_cast<size_t>(i.type)];
  return kPure[static_cast<size_t>(i.op) * kTypes + operand];
}

/// together: the lanes are one workgroup, in as many batches as it takes; otherwise one batch of any invocations.
template <bool together>
class Machine {
 public:
  Machine(const Kernel& kernel, std::span<const std::span<uint8_t>> buffers, const Latitude* latitude)
      : kernel_(kernel), latitude_(latitude), buffers_(buffers), shared_(kernel) {
    if (buffers.size() != kernel.bindings.size())
      throw Error("SG0902", "kernel " + kernel.name + " has " + std::to_string(kernel.bindings.size()) +
                                " bindings but was given " + std::to_string(buffers.size()) + " buffers");
    if constexpr (together) mask_.resize((kernel.workgroup + kLanes - 1) / kLanes * kLanes);
    registers_.resize(kernel.body.size() * lanes());
    for (const Array& a : kernel.locals) locals_.emplace_back(a.count * lanes());
    jumps_.resize(kernel.body.size());
    std::vector<size_t> open;
    for (size_t at = 0; at < kernel.body.size(); ++at) {
      const Inst& i = kernel.body[at];
      if (i.op == KOp::Const) std::fill_n(lanes_of(at), lanes(), i.imm);
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
    const uint64_t at_once = together ? group : kLanes;
    for (first_ = 0; first_ < all; first_ += at_once) {
      for (size_t l = 0; l < lanes(); ++l) mask_[l] = l < at_once && first_ + l < all;
      if constexpr (together) shared_.clear();
      run_batch();
    }
    return executed_;
  }

 private:
  using Mask = std::conditional_t<together, std::vector<uint8_t>, std::array<uint8_t, kLanes>>;
  struct Element {
    uint64_t value = 0;
    bool written = false;
  };
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

  size_t lanes() const {
    if constexpr (together)
      return mask_.size();
    else
      return kLanes;
  }
  uint64_t* lanes_of(size_t v) { return registers_.data() + v * lanes(); }
  const uint64_t* lanes_of(size_t v) const { return registers_.data() + v * lanes(); }

  // The index of an access, which is inside of what has `count` elements.
  uint32_t index_of(size_t at, size_t lane, const std::string& array, uint64_t count) const {
    const Inst& i = kernel_.body[at];
    const uint32_t index = as_u32(lanes_of(i.in[1])[lane]);
    if (index >= count) {
      const bool negative = kernel_.body[i.in[1]].type == Scalar::I32 && as_i32(index) < 0;
      defect(at, lane,
             "index " + (negative ? std::to_string(as_i32(index)) : std::to_string(index)) + " is outside of " + array +
                 ", which has " + std::to_string(count) + " elements");
    }
    return index;
  }

  uint8_t* element(size_t at, size_t lane) const {
    const Inst& i = kernel_.body[at];
    const Binding& b = kernel_.bindings[i.in[0]];
    const uint64_t width = bytes_of(b.type);
    return buffers_[i.in[0]].data() + index_of(at, lane, b.name, buffers_[i.in[0]].size() / width) * width;
  }

  Element& local_element(size_t at, size_t lane) {
    const uint32_t array = kernel_.body[at].in[0];
    const Array& a = kernel_.locals[array];
    return locals_[array][index_of(at, lane, a.name, a.count) * lanes() + lane];
  }

  uint64_t local_load(size_t at, size_t lane) {
    const Element& e = local_element(at, lane);
    if (!e.written) defect(at, lane, "an element of " + kernel_.locals[kernel_.body[at].in[0]].name + " is read unwritten");
    return e.value;
  }

  void shared_access(size_t at, size_t lane) {
    const Inst& i = kernel_.body[at];
    const Array& a = kernel_.shared[i.in[0]];
    const uint32_t index = index_of(at, lane, a.name, a.count), invocation = static_cast<uint32_t>(lane);
    const std::string wrong = i.op == KOp::SharedLoad ? shared_.read(i.in[0], index, invocation, lanes_of(at)[lane])
                                                      : shared_.write(i.in[0], index, invocation, lanes_of(i.in[2])[lane]);
    if (!wrong.empty()) defect(at, lane, wrong);
  }

  // Pre: `size` invocations from `first` on, a workgroup or a subgroup. False if none of them is here.
  bool all_here(size_t at, size_t first, size_t size) const {
    const auto here = static_cast<size_t>(std::count(mask_.begin() + first, mask_.begin() + first + size, uint8_t{1}));
    if (here != 0 && here != size)
      defect(at, first, std::to_string(here) + " of " + std::to_string(size) + " invocations get here together");
    return here != 0;
  }

  void subgroups(size_t at) {
    const size_t size = kernel_.subgroup;
    if (size == 0 || kernel_.workgroup % size != 0)
      defect(at, 0, "workgroups of " + std::to_string(kernel_.workgroup) + " in subgroups of " + std::to_string(size));
    for (size_t first = 0; first < kernel_.workgroup; first += size)
      if (all_here(at, first, size)) subgroup(at, first, size);
  }

  void subgroup(size_t at, size_t first, size_t size) {
    switch (as<SubgroupOp>(kernel_.body[at].op)) {
      case SubgroupOp::SubgroupReduce:
      case SubgroupOp::SubgroupScan: return combine_lanes(at, first, size);
      case SubgroupOp::Broadcast:
      case SubgroupOp::Shuffle: return read_lanes(at, first, size);
    }
  }

  void combine_lanes(size_t at, size_t first, size_t size) {
    const Inst& i = kernel_.body[at];
    const uint64_t* from = lanes_of(i.in[0]) + first;
    uint64_t* out = lanes_of(at) + first;
    const KOp by = combiner(i);
    uint64_t sum = identity(by, i.type);
    for (size_t l = 0; l < size; ++l) {
      if ((by == KOp::Min || by == KOp::Max) && is_nan(i.type, from[l])) defect(at, first + l, "a NaN has no order");
      out[l] = sum;
      sum = combine(by, i.type, sum, from[l]);
    }
    if (i.op == KOp::SubgroupReduce) std::fill_n(out, size, sum);
  }

  void read_lanes(size_t at, size_t first, size_t size) {
    const Inst& i = kernel_.body[at];
    const uint64_t *from = lanes_of(i.in[0]) + first, *lane = lanes_of(i.in[1]) + first;
    uint64_t* out = lanes_of(at) + first;
    for (size_t l = 0; l < size; ++l) {
      if (lane[l] >= size) defect(at, first + l, "there is no lane " + std::to_string(lane[l]));
      if (i.op == KOp::Broadcast && lane[l] != lane[0]) defect(at, first + l, "lanes of a broadcast differ");
      out[l] = from[lane[l]];
    }
  }

  bool any() const {
    return std::any_of(mask_.begin(), mask_.end(), [](uint8_t m) { return m != 0; });
  }
  template <class F>
  void each_active(F&& body) {
    for (size_t l = 0; l < lanes(); ++l)
      if (mask_[l]) body(l);
  }

  void check_operands(size_t at) {
    const Inst& i = kernel_.body[at];
    const Scalar operand = kernel_.body[i.in[0]].type;
    if (i.op == KOp::Quot || i.op == KOp::Rem) {
      each_active([&](size_t l) {
        const uint32_t a = as_u32(lanes_of(i.in[0])[l]), b = as_u32(lanes_of(i.in[1])[l]);
        if (b == 0) defect(at, l, "division by zero");
        if (i.type == Scalar::I32 && a == 0x80000000u && b == 0xFFFFFFFFu)
          defect(at, l, "division -2147483648 / -1 overflows");
      });
    } else if (i.op == KOp::Convert && (i.type == Scalar::I32 || i.type == Scalar::U32) &&
               (operand == Scalar::F32 || operand == Scalar::F64)) {
      each_active([&](size_t l) {
        const uint64_t word = lanes_of(i.in[0])[l];
        const double x = operand == Scalar::F32 ? as_f32(word) : as_f64(word);
        const double low = i.type == Scalar::I32 ? -2147483649.0 : -1.0,
                     high = i.type == Scalar::I32 ? 2147483648.0 : 4294967296.0;
        if (!(x > low && x < high)) defect(at, l, std::to_string(x) + " does not fit " + std::string(name(i.type)));
      });
    }
  }

  void run_batch() {
    open_.clear();
    for (std::vector<Element>& array : locals_) std::fill(array.begin(), array.end(), Element{});
    const size_t end = kernel_.body.size();
    for (size_t at = 0; at < end; ++at) {
      if (kernel_.body[at].op == KOp::Const) continue;  // where it is used it is part of the instruction
      executed_ += static_cast<uint64_t>(std::count(mask_.begin(), mask_.end(), uint8_t{1}));
      at = step(at);
    }
  }

  // Executes one instruction; returns the position before the next.
  size_t step(size_t at) {
    const Inst& i = kernel_.body[at];
    uint64_t* out = lanes_of(at);
    switch (kind(i.op)) {
      case Kind::Arithmetic:
      case Kind::Float:
      case Kind::Integer:
      case Kind::Bitwise:
      case Kind::Comparison:
      case Kind::Conversion: {
        check_operands(at);
        const Pure function = pure_function(kernel_, i);
        const uint64_t *a = lanes_of(i.in[0]), *b = lanes_of(i.in[1]), *c = lanes_of(i.in[2]);
        const Scalar operand = kernel_.body[i.in[0]].type;
        for (size_t l = 0; latitude_ && l < lanes(); ++l)
          out[l] = apply_with(*latitude_, i.op, operand, i.type, a[l], b[l], c[l]);
        for (size_t l = 0; !latitude_ && l < lanes(); l += kLanes) function(out + l, a + l, b + l, c + l);
        return at;
      }
      case Kind::Select: {
        const uint64_t *c = lanes_of(i.in[0]), *a = lanes_of(i.in[1]), *b = lanes_of(i.in[2]);
        for (size_t l = 0; l < lanes(); ++l) out[l] = c[l] ? a[l] : b[l];
        return at;
      }
      case Kind::Leaf: leaf(i.op, out); return at;
      case Kind::Memory: memory(at); return at;
      case Kind::Subgroup: subgroups(at); return at;
      case Kind::Variable: variable(at); return at;
      case Kind::Control: return control(at);
    }
    return at;
  }

  // Constants are there since the beginning.
  void leaf(KOp op, uint64_t* out) const {
    const auto number = [&](auto of) {
      for (size_t l = 0; l < lanes(); ++l) out[l] = of(first_ + l);
    };
    switch (as<LeafOp>(op)) {
      case LeafOp::Const: return;
      case LeafOp::Index: return number([](uint64_t at) { return static_cast<uint32_t>(at); });
      case LeafOp::LocalIndex: return number([&](uint64_t at) { return at % kernel_.workgroup; });
      case LeafOp::GroupIndex: return number([&](uint64_t at) { return at / kernel_.workgroup; });
      case LeafOp::LaneIndex:
        return number([&](uint64_t at) { return at % kernel_.workgroup % std::max(1u, kernel_.subgroup); });
    }
  }

  void memory(size_t at) {
    const Inst& i = kernel_.body[at];
    uint64_t* out = lanes_of(at);
    const uint64_t* value = lanes_of(i.in[2]);
    switch (as<MemoryOp>(i.op)) {
      case MemoryOp::Load:
        return each_active([&](size_t l) { out[l] = read_element(element(at, l), kernel_.bindings[i.in[0]].type); });
      case MemoryOp::Store:
        return each_active([&](size_t l) { write_element(element(at, l), kernel_.bindings[i.in[0]].type, value[l]); });
      case MemoryOp::AtomicAdd:
      case MemoryOp::AtomicMax:
        return each_active([&](size_t l) {
          uint8_t* place = element(at, l);
          const KOp with = i.op == KOp::AtomicAdd ? KOp::Add : KOp::Max;
          const uint64_t sum = apply(with, i.type, i.type, read_element(place, i.type), value[l]);
          std::memcpy(place, &sum, bytes_of(i.type));
        });
      case MemoryOp::SharedLoad:
      case MemoryOp::SharedStore: return each_active([&](size_t l) { shared_access(at, l); });
      case MemoryOp::LocalLoad: return each_active([&](size_t l) { out[l] = local_load(at, l); });
      case MemoryOp::LocalStore: return each_active([&](size_t l) { local_element(at, l) = {value[l], true}; });
    }
  }

  void variable(size_t at) {
    const Inst& i = kernel_.body[at];
    const auto copy = [&](uint64_t* to, const uint64_t* from) { each_active([&](size_t l) { to[l] = from[l]; }); };
    switch (as<VariableOp>(i.op)) {
      case VariableOp::Var:
      case VariableOp::Get: return copy(lanes_of(at), lanes_of(i.in[0]));
      case VariableOp::Set: return copy(lanes_of(i.in[0]), lanes_of(i.in[1]));
    }
  }

  size_t control(size_t at) {
    const Inst& i = kernel_.body[at];
    switch (as<ControlOp>(i.op)) {
      case ControlOp::If:
        open_.push_back({mask_, at, 0});
        for (size_t l = 0; l < lanes(); ++l) mask_[l] &= lanes_of(i.in[0])[l] != 0;
        return any() ? at : jumps_[at] - 1;
      case ControlOp::Else: {
        const uint64_t* condition = lanes_of(kernel_.body[open_.back().at].in[0]);
        mask_ = open_.back().outer;
        for (size_t l = 0; l < lanes(); ++l) mask_[l] &= condition[l] == 0;
        return any() ? at : jumps_[at] - 1;
      }
      case ControlOp::EndIf: return leave(at);
      case ControlOp::Loop: open_.push_back({mask_, at, 0}); return enter(at, 0) ? at : leave(jumps_[at]);
      case ControlOp::EndLoop: {
        const size_t loop = jumps_[at];
        return enter(loop, ++open_.back().trip) ? loop : leave(at);
      }
      case ControlOp::Break:
        for (size_t l = 0; l < lanes(); ++l) mask_[l] &= lanes_of(i.in[0])[l] == 0;
        return any() ? at : leave(jumps_[open_.back().at]);
      case ControlOp::Barrier:
        if (all_here(at, 0, kernel_.workgroup)) shared_.barrier();
        return at;
    }
    return at;
  }

  bool enter(size_t loop, uint32_t trip) {
    const uint64_t* count = lanes_of(kernel_.body[loop].in[0]);
    std::fill_n(lanes_of(loop), lanes(), trip);
    if (const uint64_t most = kernel_.body[loop].imm; most != 0)
      for (size_t l = 0; l < lanes(); ++l)
        if (mask_[l] && as_i32(count[l]) > static_cast<int64_t>(most))
          defect(loop, l,
                 "a loop of " + std::to_string(as_i32(count[l])) + " iterations, at most " + std::to_string(most) +
                     " were promised");
    for (size_t l = 0; l < lanes(); ++l) mask_[l] &= static_cast<int32_t>(trip) < as_i32(count[l]);
    return any();
  }

  size_t leave(size_t end) {
    mask_ = open_.back().outer;
    open_.pop_back();
    return end;
  }

  const Kernel& kernel_;
  const Latitude* latitude_;  // null: none
  std::span<const std::span<uint8_t>> buffers_;
  SharedMemory shared_;
  std::vector<std::vector<Element>> locals_;  // per array: all lanes of element 0, of element 1, ..
  std::vector<uint64_t> registers_;           // the same per value
  std::vector<size_t> jumps_;                 // If: its Else or EndIf; Else: its EndIf; Loop: its EndLoop; EndLoop: its Loop
  std::vector<Open> open_;
  Mask mask_{};
  uint64_t first_ = 0, executed_ = 0;
};

}  // namespace

uint64_t evaluate(const Kernel& kernel, std::span<const std::span<uint8_t>> buffers, const Latitude* latitude) {
  return cooperates(kernel) ? Machine<true>(kernel, buffers, latitude).run()
                            : Machine<false>(kernel, buffers, latitude).run();
}

}  // namespace spirograd::kernel
