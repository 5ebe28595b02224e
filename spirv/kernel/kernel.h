// The kernel IR: a flat structured list of scalar instructions, run once per invocation. Between the bulk program and
// SPIR-V; it prints (print.h), is checked (verify.h) and runs on the host (eval.h), so that lowering and drivers can be told
// apart.
//
// A value's id is the position of its instruction. A value may be used after its definition inside the same block or in
// blocks nested in it; values defined between If/Loop and their ends are not visible after them. Mutable state lives in Var.
// Float arithmetic is IEEE; which of it may be contracted, where that is worth it, op.h says. Integer + - * wrap around.
// Nothing checks bounds: a kernel never loads or stores out of range (the evaluator reports it as a defect). The operations,
// and how invocations work together: op.h.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirv/kernel/op.h"

namespace spirograd::kernel {

enum class Scalar : uint8_t { Bool, I32, U32, F32, F64, F16 };  // F16: of bindings alone
constexpr bool is_integer(Scalar s) { return s == Scalar::I32 || s == Scalar::U32; }
constexpr bool is_float(Scalar s) { return s == Scalar::F32 || s == Scalar::F64; }

constexpr std::string_view name(Scalar s) {
  switch (s) {
    case Scalar::Bool: return "bool";
    case Scalar::I32: return "i32";
    case Scalar::U32: return "u32";
    case Scalar::F32: return "f32";
    case Scalar::F64: return "f64";
    case Scalar::F16: return "f16";
  }
  return "?";
}

using Value = uint32_t;

struct Inst {
  KOp op = KOp::Const;
  Scalar type = Scalar::F32;  // of the result; of the stored value for stores, atomics, Set; ignored for Control but Loop
  std::array<uint32_t, 3> in{};
  // Const: bits (f32 in the low word, f64 in all, integers in the low word, bool 0 or 1). What else has one: op.h.
  uint64_t imm = 0;
  bool operator==(const Inst&) const = default;
};

/// The entries of `in` that are values.
template <class I>
constexpr auto operands(I& i) {
  const size_t first = names_memory(i.op) ? 1 : 0;
  return std::span(i.in).subspan(first, operand_count(i.op) - first);
}

struct InstHash {
  size_t operator()(const Inst& i) const;
};

enum class Access : uint8_t { Read, Write, ReadWrite, Atomic };

struct Binding {
  std::string name;
  Scalar type = Scalar::F32;  // element type; Bool is stored as a 32-bit word, F16 is read and written as F32
  Access access = Access::Read;
};

/// Of a workgroup, or of each invocation. Holds no value at first; bools are 32-bit words.
struct Array {
  std::string name;
  Scalar type = Scalar::F32;
  uint32_t count = 0;
};

struct Kernel {
  std::string name;
  uint32_t workgroup = 64;
  uint32_t subgroup = 0;     // lanes of a subgroup, where the body knows of subgroups; divides the workgroup
  uint64_t invocations = 1;  // that are asked for. Whole workgroups run: the body guards what surplus ones must not do
  std::vector<Binding> bindings;
  std::vector<Array> shared, locals;
  std::vector<Inst> body;
};

constexpr uint32_t bytes_of(Scalar s) { return s == Scalar::F64 ? 8 : s == Scalar::F16 ? 2 : 4; }
/// What a load of such an element gives, and a store of one takes.
constexpr Scalar loaded_as(Scalar s) { return s == Scalar::F16 ? Scalar::F32 : s; }
/// Bytes of all shared arrays, each one rounded up to 16.
uint64_t shared_bytes(const Kernel& k);
/// Whether an instruction is one of those that are exact or not, and whether it is.
constexpr bool may_be_exact(const Inst& i) {
  return is_float(i.type) && (i.op == KOp::Add || i.op == KOp::Sub || i.op == KOp::Mul || i.op == KOp::Div);
}
constexpr bool is_exact(const Inst& i) { return may_be_exact(i) && i.imm != 0; }
/// SubgroupReduce, SubgroupScan: what combines two values.
constexpr KOp combiner(const Inst& i) { return static_cast<KOp>(i.imm); }
/// Whether one invocation depends on another one of its workgroup.
bool cooperates(const Kernel& k);

/// Whether two kernels differ in their names only, and a hash that is equal then.
bool same_code(const Kernel& a, const Kernel& b);
uint64_t code_hash(const Kernel& k);

/// Bits of a constant.
inline uint64_t bits(float x) { return std::bit_cast<uint32_t>(x); }
inline uint64_t bits(double x) { return std::bit_cast<uint64_t>(x); }
inline uint64_t bits(int32_t x) { return static_cast<uint32_t>(x); }
inline uint64_t bits(uint32_t x) { return x; }

}  // namespace spirograd::kernel
