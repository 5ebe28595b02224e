// The kernel IR: a flat structured list of scalar instructions, run once per invocation. Between the bulk program and
// SPIR-V; it prints (print.h), is checked (verify.h) and runs on the host (eval.h), so that lowering and drivers can be told
// apart.
//
// A value's id is the position of its instruction. A value may be used after its definition inside the same block or in
// blocks nested in it; values defined between If/Loop and their ends are not visible after them. Mutable state lives in Var.
// Float arithmetic is IEEE, never contracted. Integer + - * wrap around. Nothing checks bounds: a kernel never loads or
// stores out of range (the evaluator reports it as a defect).
//
//   Const       imm: the bits                 Index        u32, linear invocation number over the whole grid
//   LocalIndex  u32, inside the workgroup     GroupIndex   u32, of the workgroup; Index = GroupIndex * size + LocalIndex
//   LaneIndex   u32, inside the subgroup: LocalIndex rem subgroup
//   Load        in = binding, index           Store        in = binding, index, value       index: i32 or u32, in elements
//   AtomicAdd   in = binding, index, value    (f32, i32, u32; the binding is used by nothing else in the kernel)
//   SharedLoad  in = array, index             SharedStore  in = array, index, value         arrays of Kernel::shared
//   LocalLoad   in = array, index             LocalStore   in = array, index, value         arrays of Kernel::locals
//   Add Sub Mul                               Div: floats  Quot Rem: integers, divisor known to be non-zero, no overflow
//   Neg         floats and integers           Min Max: integers only
//   And Or Xor Not                            bool: logical; integers: bitwise
//   Shl ShrU ShrS                             shift count in [0, 31]; ShrU fills with 0, ShrS with the sign
//   MulHiU      high word of u32 * u32
//   Eq Ne Lt Le Gt Ge                         result bool; floats: ordered, but Ne is true when an operand is NaN
//   Select      in = condition, a, b
//   Bitcast     i32/u32/f32 to one another
//   Convert     i32/u32 -> f32/f64, f32 <-> f64 (round to nearest); f32/f64 -> i32/u32 truncates, the operand is in range
//   Sqrt Floor Trunc                          floats, correctly rounded / exact
//   Var         in = initial value; a mutable variable; read by Get (in = var), written by Set (in = var, value)
//   If          in = condition; Else optional; EndIf
//   Loop        in = trip count (i32, at least 0); its value is the counter 0, 1, ..; EndLoop
//               imm: no invocation runs more iterations; 0: not known
//
// Invocations of a workgroup work together through shared memory. Nothing orders them but this:
//
//   Barrier     all of the workgroup get here before one goes on, and then see each other's stores to shared arrays (not
//               those to bindings). Between two barriers nobody reads or writes an element that another one writes; an
//               element is written before it is read. Stands where the whole workgroup takes the same path.
//
// and those of a subgroup of Kernel::subgroup lanes by the following, which stand where all its lanes take the same path
// (uniformity.h tells what is known of that). The workgroup is a multiple of the subgroup, so no lane is missing.
//
//   SubgroupReduce  in = value; imm: Add, Mul, Min or Max; of all lanes. Floats: the order is open, Min and Max have no NaN
//   SubgroupScan    in = value; imm: the same; of the lanes before this one, none of them: 0, 1, greatest, least value
//   Broadcast       in = value, lane (u32, the same in all lanes); the value in that lane
//   Shuffle         in = value, lane (u32, each its own); the value in that lane
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spirograd::kernel {

enum class Scalar : uint8_t { Bool, I32, U32, F32, F64 };

constexpr std::string_view name(Scalar s) {
  switch (s) {
    case Scalar::Bool: return "bool";
    case Scalar::I32: return "i32";
    case Scalar::U32: return "u32";
    case Scalar::F32: return "f32";
    case Scalar::F64: return "f64";
  }
  return "?";
}

// clang-format off
enum class KOp : uint8_t {
  Const, Index, LocalIndex, GroupIndex, LaneIndex,
  Load, Store, AtomicAdd, SharedLoad, SharedStore, LocalLoad, LocalStore,
  Add, Sub, Mul, Div, Quot, Rem, Neg, Min, Max,
  And, Or, Xor, Not, Shl, ShrU, ShrS, MulHiU,
  Eq, Ne, Lt, Le, Gt, Ge, Select,
  Bitcast, Convert, Sqrt, Floor, Trunc,
  SubgroupReduce, SubgroupScan, Broadcast, Shuffle,
  Var, Get, Set, If, Else, EndIf, Loop, EndLoop, Barrier,
};
// clang-format on
std::string_view name(KOp op);

using Value = uint32_t;

struct Inst {
  KOp op = KOp::Const;
  Scalar type = Scalar::F32;  // of the result; of the stored value for stores, AtomicAdd, Set; ignored for If, Else, ends
  std::array<uint32_t, 3> in{};
  uint64_t imm = 0;  // Const: bits (f32 in the low word, f64 in all, integers in the low word, bool 0 or 1)
  bool operator==(const Inst&) const = default;
};

struct InstHash {
  size_t operator()(const Inst& i) const;
};

enum class Access : uint8_t { Read, Write, ReadWrite, Atomic };

struct Binding {
  std::string name;
  Scalar type = Scalar::F32;  // element type; Bool is stored as a 32-bit word
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

constexpr uint32_t bytes_of(Scalar s) { return s == Scalar::F64 ? 8 : 4; }
/// Bytes of all shared arrays, each one rounded up to 16.
uint64_t shared_bytes(const Kernel& k);
/// SubgroupReduce, SubgroupScan: what combines two values.
constexpr KOp combiner(const Inst& i) { return static_cast<KOp>(i.imm); }
constexpr bool needs_all_lanes(KOp op) { return op >= KOp::SubgroupReduce && op <= KOp::Shuffle; }
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
