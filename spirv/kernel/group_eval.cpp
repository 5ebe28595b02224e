#include "spirv/kernel/group_eval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "spirv/kernel/scalar.h"

namespace spirograd::kernel {

SharedMemory::SharedMemory(const Kernel& kernel) : kernel_(kernel) {
  for (const Array& a : kernel.shared) words_.emplace_back(a.count);
}

void SharedMemory::clear() {
  for (std::vector<Word>& array : words_) std::fill(array.begin(), array.end(), Word{});
}

std::string SharedMemory::read(uint32_t array, uint32_t index, uint32_t invocation, uint64_t& value) {
  Word& w = words_[array][index];
  const auto name = [&] { return kernel_.shared[array].name + "[" + std::to_string(index) + "]"; };
  if (w.writer == kNobody) return name() + " is read before anybody has written it";
  if (w.written == epoch_ && w.writer != invocation)
    return "a race: invocation " + std::to_string(invocation) + " of the workgroup reads " + name() + ", and invocation " +
           std::to_string(w.writer) + " writes it between the same barriers";
  if (w.read != epoch_) {
    w.read = epoch_;
    w.readers[0] = w.readers[1] = invocation;
  } else if (w.readers[1] == w.readers[0]) {
    w.readers[1] = invocation;
  }
  value = w.value;
  return {};
}

std::string SharedMemory::write(uint32_t array, uint32_t index, uint32_t invocation, uint64_t value) {
  Word& w = words_[array][index];
  const auto race = [&](uint32_t other, const char* does) {
    return "a race: invocation " + std::to_string(invocation) + " of the workgroup writes " + kernel_.shared[array].name +
           "[" + std::to_string(index) + "], and invocation " + std::to_string(other) + " " + does +
           " it between the same barriers";
  };
  if (w.written == epoch_ && w.writer != invocation) return race(w.writer, "writes");
  if (w.read == epoch_)
    for (uint32_t reader : w.readers)
      if (reader != invocation) return race(reader, "reads");
  w.value = value;
  w.written = epoch_;
  w.writer = invocation;
  return {};
}

bool is_nan(Scalar type, uint64_t word) {
  return (type == Scalar::F32 && std::isnan(as_f32(word))) || (type == Scalar::F64 && std::isnan(as_f64(word)));
}

uint64_t combine(KOp combiner, Scalar type, uint64_t a, uint64_t b) {
  const bool floats = type == Scalar::F32 || type == Scalar::F64;
  if (!floats || (combiner != KOp::Min && combiner != KOp::Max)) return apply(combiner, type, type, a, b);
  const bool b_less = apply(KOp::Lt, type, Scalar::Bool, b, a) != 0;
  return b_less == (combiner == KOp::Min) ? b : a;
}

uint64_t identity(KOp combiner, Scalar type) {
  constexpr uint64_t kLeast = 0x80000000u, kGreatest = 0x7FFFFFFFu;
  const bool least = combiner == KOp::Max;  // where nothing is greater than anything
  switch (type) {
    case Scalar::Bool:
    case Scalar::F16: return 0;
    case Scalar::I32: return combiner == KOp::Add ? 0 : combiner == KOp::Mul ? 1 : least ? kLeast : kGreatest;
    case Scalar::U32: return combiner == KOp::Add ? 0 : combiner == KOp::Mul ? 1 : least ? 0 : 0xFFFFFFFFu;
    case Scalar::F32:
      return bits(combiner == KOp::Add ? 0.0f : combiner == KOp::Mul ? 1.0f : least ? -HUGE_VALF : HUGE_VALF);
    case Scalar::F64: return bits(combiner == KOp::Add ? 0.0 : combiner == KOp::Mul ? 1.0 : least ? -HUGE_VAL : HUGE_VAL);
  }
  return 0;
}

}  // namespace spirograd::kernel
