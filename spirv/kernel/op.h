// The opcode manual of the kernel IR: every operation, one row each. Who treats all operations asks the row, or switches on
// the kind and then on the few operations of that kind (LeafOp, MemoryOp, ..). So an operation that only computes is a row
// here, its value (scalar.h) and its instruction (emit_body.cpp), which the compiler asks for, as it does for the bounds
// (interval.cpp) if it is of integers; examples in kernel_op_test.cpp, and rules of the builder if there are any.
//
//   Const       imm: the bits                 Index        u32, linear invocation number over the whole grid
//   LocalIndex  u32, inside the workgroup     GroupIndex   u32, of the workgroup; Index = GroupIndex * size + LocalIndex
//   LaneIndex   u32, inside the subgroup: LocalIndex rem subgroup
//   Load        in = binding, index           Store        in = binding, index, value       index: i32 or u32, in elements
//   AtomicAdd   in = binding, index, value    (f32, i32, u32; the binding is used by nothing else in the kernel)
//   AtomicMax   in = binding, index, value    (u32; the same)
//   SharedLoad  in = array, index             SharedStore  in = array, index, value         arrays of Kernel::shared
//   LocalLoad   in = array, index             LocalStore   in = array, index, value         arrays of Kernel::locals
//   Add Sub Mul Neg                           floats and integers
//   Div         floats                        Quot Rem     integers, divisor known to be non-zero, no overflow
//               imm of Add, Sub, Mul and Div of floats: 1: exact, on every device an operation by itself, since a formula
//               depends on how it is rounded; 0: may become part of another one on targets where exactness is costly
//   Sqrt Floor Trunc                          floats, correctly rounded / exact
//   MulAdd      in = a, b, c of floats: a * b + c, rounded once or twice, as the device does it fastest
//   Min Max     integers only                 MulHiU       high word of u32 * u32
//   Shl ShrU ShrS                             shift count in [0, 31]; ShrU fills with 0, ShrS with the sign
//   And Or Xor Not                            bool: logical; integers: bitwise
//   Eq Ne Lt Le Gt Ge                         result bool; floats: ordered, but Ne is true when an operand is NaN
//   Select      in = condition, a, b
//   Bitcast     i32/u32/f32 to one another
//   Convert     i32/u32 -> f32/f64, f32 <-> f64 (round to nearest); f32/f64 -> i32/u32 truncates, the operand is in range
//   Var         in = initial value; a mutable variable; read by Get (in = var), written by Set (in = var, value)
//   If          in = condition; Else optional; EndIf
//   Loop        in = trip count (i32, at least 0); its value is the counter 0, 1, ..; EndLoop
//               imm: no invocation runs more iterations; 0: not known
//   Break       in = condition; where it holds the invocation leaves the Loop in which this stands, under no If inside of it
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
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spirograd::kernel {

// clang-format off
enum class KOp : uint8_t {
  Const, Index, LocalIndex, GroupIndex, LaneIndex,
  Load, Store, AtomicAdd, AtomicMax, SharedLoad, SharedStore, LocalLoad, LocalStore,
  Add, Sub, Mul, Neg,
  Div, Sqrt, Floor, Trunc, MulAdd,
  Quot, Rem, Min, Max, Shl, ShrU, ShrS, MulHiU,
  And, Or, Xor, Not,
  Eq, Ne, Lt, Le, Gt, Ge,
  Select,
  Bitcast, Convert,
  SubgroupReduce, SubgroupScan, Broadcast, Shuffle,
  Var, Get, Set,
  If, Else, EndIf, Loop, EndLoop, Break, Barrier,
};
inline constexpr int kOpCount = static_cast<int>(KOp::Barrier) + 1;

enum class Kind : uint8_t {
  Leaf,        // no operands: constants, numbers of the invocation
  Memory,      // an element of a binding or of an array is read or written
  Arithmetic,  // of floats and of integers ..
  Float,       // .. of floats only
  Integer,     // .. of integers only
  Bitwise,     // of integers and of bools
  Comparison,  // of two values of one type; a bool
  Select,
  Conversion,  // from one type to another
  Subgroup,    // of the lanes of a subgroup together
  Variable,
  Control,     // which instructions run next, and when
};

// The operations of one kind, for a `switch` that the compiler checks after one on the kind. In the order of KOp.
enum class LeafOp : uint8_t { Const = static_cast<uint8_t>(KOp::Const), Index, LocalIndex, GroupIndex, LaneIndex };
enum class MemoryOp : uint8_t {
  Load = static_cast<uint8_t>(KOp::Load), Store, AtomicAdd, AtomicMax, SharedLoad, SharedStore, LocalLoad, LocalStore
};
enum class ArithmeticOp : uint8_t { Add = static_cast<uint8_t>(KOp::Add), Sub, Mul, Neg };
enum class FloatOp : uint8_t { Div = static_cast<uint8_t>(KOp::Div), Sqrt, Floor, Trunc, MulAdd };
enum class IntegerOp : uint8_t { Quot = static_cast<uint8_t>(KOp::Quot), Rem, Min, Max, Shl, ShrU, ShrS, MulHiU };
enum class BitwiseOp : uint8_t { And = static_cast<uint8_t>(KOp::And), Or, Xor, Not };
enum class ComparisonOp : uint8_t { Eq = static_cast<uint8_t>(KOp::Eq), Ne, Lt, Le, Gt, Ge };
enum class ConversionOp : uint8_t { Bitcast = static_cast<uint8_t>(KOp::Bitcast), Convert };
enum class SubgroupOp : uint8_t {
  SubgroupReduce = static_cast<uint8_t>(KOp::SubgroupReduce), SubgroupScan, Broadcast, Shuffle
};
enum class VariableOp : uint8_t { Var = static_cast<uint8_t>(KOp::Var), Get, Set };
enum class ControlOp : uint8_t { If = static_cast<uint8_t>(KOp::If), Else, EndIf, Loop, EndLoop, Break, Barrier };

enum class Memory : uint8_t { None, Binding, Shared, Local };

struct OpInfo {
  KOp op;
  std::string_view name;  // as the printer shows it
  Kind kind;
  int8_t operands;        // entries of Inst::in that are in use; of kind Memory the first is the number of what is accessed
  bool has_result;        // defines a value
  Memory memory = Memory::None;
};

inline constexpr std::array<OpInfo, kOpCount> kOps = {{
    {KOp::Const,          "const",           Kind::Leaf,       0, true},
    {KOp::Index,          "index",           Kind::Leaf,       0, true},
    {KOp::LocalIndex,     "local_index",     Kind::Leaf,       0, true},
    {KOp::GroupIndex,     "group_index",     Kind::Leaf,       0, true},
    {KOp::LaneIndex,      "lane_index",      Kind::Leaf,       0, true},
    {KOp::Load,           "load",            Kind::Memory,     2, true,  Memory::Binding},
    {KOp::Store,          "store",           Kind::Memory,     3, false, Memory::Binding},
    {KOp::AtomicAdd,      "atomic_add",      Kind::Memory,     3, false, Memory::Binding},
    {KOp::AtomicMax,      "atomic_max",      Kind::Memory,     3, false, Memory::Binding},
    {KOp::SharedLoad,     "shared_load",     Kind::Memory,     2, true,  Memory::Shared},
    {KOp::SharedStore,    "shared_store",    Kind::Memory,     3, false, Memory::Shared},
    {KOp::LocalLoad,      "local_load",      Kind::Memory,     2, true,  Memory::Local},
    {KOp::LocalStore,     "local_store",     Kind::Memory,     3, false, Memory::Local},
    {KOp::Add,            "add",             Kind::Arithmetic, 2, true},
    {KOp::Sub,            "sub",             Kind::Arithmetic, 2, true},
    {KOp::Mul,            "mul",             Kind::Arithmetic, 2, true},
    {KOp::Neg,            "neg",             Kind::Arithmetic, 1, true},
    {KOp::Div,            "div",             Kind::Float,      2, true},
    {KOp::Sqrt,           "sqrt",            Kind::Float,      1, true},
    {KOp::Floor,          "floor",           Kind::Float,      1, true},
    {KOp::Trunc,          "trunc",           Kind::Float,      1, true},
    {KOp::MulAdd,         "mul_add",         Kind::Float,      3, true},
    {KOp::Quot,           "quot",            Kind::Integer,    2, true},
    {KOp::Rem,            "rem",             Kind::Integer,    2, true},
    {KOp::Min,            "min",             Kind::Integer,    2, true},
    {KOp::Max,            "max",             Kind::Integer,    2, true},
    {KOp::Shl,            "shl",             Kind::Integer,    2, true},
    {KOp::ShrU,           "shr_u",           Kind::Integer,    2, true},
    {KOp::ShrS,           "shr_s",           Kind::Integer,    2, true},
    {KOp::MulHiU,         "mul_hi_u",        Kind::Integer,    2, true},
    {KOp::And,            "and",             Kind::Bitwise,    2, true},
    {KOp::Or,             "or",              Kind::Bitwise,    2, true},
    {KOp::Xor,            "xor",             Kind::Bitwise,    2, true},
    {KOp::Not,            "not",             Kind::Bitwise,    1, true},
    {KOp::Eq,             "eq",              Kind::Comparison, 2, true},
    {KOp::Ne,             "ne",              Kind::Comparison, 2, true},
    {KOp::Lt,             "lt",              Kind::Comparison, 2, true},
    {KOp::Le,             "le",              Kind::Comparison, 2, true},
    {KOp::Gt,             "gt",              Kind::Comparison, 2, true},
    {KOp::Ge,             "ge",              Kind::Comparison, 2, true},
    {KOp::Select,         "select",          Kind::Select,     3, true},
    {KOp::Bitcast,        "bitcast",         Kind::Conversion, 1, true},
    {KOp::Convert,        "convert",         Kind::Conversion, 1, true},
    {KOp::SubgroupReduce, "subgroup_reduce", Kind::Subgroup,   1, true},
    {KOp::SubgroupScan,   "subgroup_scan",   Kind::Subgroup,   1, true},
    {KOp::Broadcast,      "broadcast",       Kind::Subgroup,   2, true},
    {KOp::Shuffle,        "shuffle",         Kind::Subgroup,   2, true},
    {KOp::Var,            "var",             Kind::Variable,   1, true},
    {KOp::Get,            "get",             Kind::Variable,   1, true},
    {KOp::Set,            "set",             Kind::Variable,   2, false},
    {KOp::If,             "if",              Kind::Control,    1, false},
    {KOp::Else,           "else",            Kind::Control,    0, false},
    {KOp::EndIf,          "end_if",          Kind::Control,    0, false},
    {KOp::Loop,           "loop",            Kind::Control,    1, true},
    {KOp::EndLoop,        "end_loop",        Kind::Control,    0, false},
    {KOp::Break,          "break",           Kind::Control,    1, false},
    {KOp::Barrier,        "barrier",         Kind::Control,    0, false},
}};
// clang-format on

consteval bool ops_in_order() {
  for (int i = 0; i < kOpCount; ++i)
    if (kOps[static_cast<size_t>(i)].op != static_cast<KOp>(i)) return false;
  return true;
}
static_assert(ops_in_order(), "kOps must list every operation in the order of the enum");

template <class SubOp>
consteval bool covers(Kind kind, SubOp first, SubOp last) {
  for (const OpInfo& i : kOps)
    if ((i.kind == kind) != (static_cast<SubOp>(i.op) >= first && static_cast<SubOp>(i.op) <= last)) return false;
  return true;
}
// Each lists the operations of its kind, as in KOp.
static_assert(covers(Kind::Leaf, LeafOp::Const, LeafOp::LaneIndex));
static_assert(covers(Kind::Memory, MemoryOp::Load, MemoryOp::LocalStore));
static_assert(covers(Kind::Arithmetic, ArithmeticOp::Add, ArithmeticOp::Neg));
static_assert(covers(Kind::Float, FloatOp::Div, FloatOp::MulAdd));
static_assert(covers(Kind::Integer, IntegerOp::Quot, IntegerOp::MulHiU));
static_assert(covers(Kind::Bitwise, BitwiseOp::And, BitwiseOp::Not));
static_assert(covers(Kind::Comparison, ComparisonOp::Eq, ComparisonOp::Ge));
static_assert(covers(Kind::Select, KOp::Select, KOp::Select));
static_assert(covers(Kind::Conversion, ConversionOp::Bitcast, ConversionOp::Convert));
static_assert(covers(Kind::Subgroup, SubgroupOp::SubgroupReduce, SubgroupOp::Shuffle));
static_assert(covers(Kind::Variable, VariableOp::Var, VariableOp::Set));
static_assert(covers(Kind::Control, ControlOp::If, ControlOp::Barrier));

constexpr const OpInfo& info(KOp op) { return kOps[static_cast<size_t>(op)]; }
constexpr std::string_view name(KOp op) { return info(op).name; }
constexpr Kind kind(KOp op) { return info(op).kind; }
constexpr size_t operand_count(KOp op) { return static_cast<size_t>(info(op).operands); }
constexpr bool has_result(KOp op) { return info(op).has_result; }
constexpr bool names_memory(KOp op) { return kind(op) == Kind::Memory; }
constexpr bool needs_all_lanes(KOp op) { return kind(op) == Kind::Subgroup; }
constexpr bool is_atomic(KOp op) { return op == KOp::AtomicAdd || op == KOp::AtomicMax; }
/// Whose second operand is a count, of either integer type.
constexpr bool is_shift(KOp op) { return op == KOp::Shl || op == KOp::ShrU || op == KOp::ShrS; }
/// Pre: the operation is of the kind that SubOp lists.
template <class SubOp>
constexpr SubOp as(KOp op) {
  return static_cast<SubOp>(op);
}

}  // namespace spirograd::kernel
