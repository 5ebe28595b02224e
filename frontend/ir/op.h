// The opcode manual: every operation of the IR, one row each. All operations are total. Passes ask the row, or switch on the
// kind and then on the few operations of that kind (LeafOp, LayoutOp, ReduceOp); a table by operation is an op_table.h.
//
// Attributes (Node::attr) per operation; shapes of results are in Node::type.
//   Param        slot
//   Const        no attributes; Node::data holds the elements, row-major, as double (exact for every dtype)
//   Iota         axis                       i32 of any shape, the position along that axis
//   IndexVar     level, extent              i32 scalar in [0, extent), bound by the Build of the same level
//   Var          uid                        placeholder while a lambda is traced; never in a finished program
//   Broadcast    result axis of each operand axis, strictly increasing
//   Transpose    perm: result axis j is operand axis perm[j]
//   Window       axis, lo                   out[p] = in[lo + p] along axis, 0 outside: slice, pad and shift
//   Reverse      axis
//   Concat       axis                       operands joined along an existing axis
//   Stack        axis                       operands of equal type joined along a new axis (array literal)
//   Sum, Prod, ReduceMax, ReduceMin         axes, strictly increasing
//   ArgMax, ArgMin                          axis; i32; the first extreme wins, NaN only when all are NaN (then 0)
//   Gather       -                          operands: table, one i32 index array of shape m per addressed leading axis;
//                                           result m ++ rest; a read out of range gives 0. Scalars as index arrays: index
//   Scatter      the addressed extents P    operands: updates of shape m ++ n, one i32 array of shape m per extent;
//                                           result P ++ n, sums of what arrives; updates out of range are dropped
//   ScatterMax   the same                   the same of u32: the greatest of what arrives, 0 where nothing does
//   Build        level, extent              result extent ++ body; the only binder; only in stage `traced`
//   MapAccum     function, reverse, k, n_acc, n_es, n_consts
//                                           operands acc0.., es.. (k-stacks), consts..; read through Proj
//   Proj         j                          result j of a MapAccum: final accumulators, then k-stacks
//   WithJvp      function, n                operands: a value, n floats x that it depends on, constants; the value itself.
//                                           Its tangent is function(x.., constants.., tangents of x..), whatever made it
//   WithVjp      function, n                the same, but function(x.., constants.., cotangent of the value) gives the
//                                           cotangents of x..
//   ByKernel     a kernel                   operands: a value, then what the kernel computes it from on a device
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace spirograd::ir {

// clang-format off
enum class Op : uint8_t {
  Param, Const, Iota, IndexVar, Var,
  // one operand, elementwise
  Neg, Abs, Sign, Not, Floor, Sqrt, Exp, Log, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh,
  Erf, Erfc, Logistic, Log1p, Expm1, Lgamma, Digamma, Bits, FromBits, Cast, StopGradient, PreferStore, PreferRecompute,
  // two operands, elementwise
  Add, Sub, Mul, Div, Pow, Atan2, Min, Max, Quot, Rem, BitAnd, BitOr, BitXor, ShiftLeft, ShiftRight,
  Eq, Ne, Lt, Le, Gt, Ge, And, Or,
  // a * b and a / b, but 0 where a is 0, whatever b; a * b, but 0 where either is 0: derivatives under a mask
  MaskedMul, MaskedDiv, StrongMul,
  // mask, value where true, value where false
  Select,
  Broadcast, Transpose, Reshape, Window, Reverse, Concat, Stack,
  Sum, Prod, ReduceMax, ReduceMin, ArgMax, ArgMin,
  Gather, Scatter, ScatterMax,
  Build,
  MapAccum, Proj,
  WithJvp, WithVjp, ByKernel,
};
// clang-format on
inline constexpr int kOpCount = static_cast<int>(Op::ByKernel) + 1;

/// Whether it puts updates together by their places.
constexpr bool is_scatter(Op op) { return op == Op::Scatter || op == Op::ScatterMax; }

enum class Kind : uint8_t { Leaf, Pointwise, Layout, Reduce, Indexed, Binder, Loop, Rule };

// The operations of one kind, for a `switch` that the compiler checks after one on the kind. In the order of Op.
enum class LeafOp : uint8_t { Param = static_cast<uint8_t>(Op::Param), Const, Iota, IndexVar, Var };
enum class LayoutOp : uint8_t {
  Broadcast = static_cast<uint8_t>(Op::Broadcast),
  Transpose,
  Reshape,
  Window,
  Reverse,
  Concat,
  Stack
};
enum class ReduceOp : uint8_t { Sum = static_cast<uint8_t>(Op::Sum), Prod, ReduceMax, ReduceMin, ArgMax, ArgMin };

enum Flags : uint8_t {
  kNone = 0,
  kCommutative = 1,
  kZeroPreserving = 2,  // op(0, ..) = 0: an index may be pushed inside without a guard
  kPredicate = 4,       // result is bool
  kFloatOnly = 8,       // operands must be f32 or f64
  kIntegerOk = 16,      // i32 and u32 operands allowed
  kBoolOk = 32,         // bool operands allowed
  kFolds = 64,          // of constants is replaced by a constant, computed in double
  kIntegerOnly = 128,   // operands must be i32 or u32
};

inline constexpr int kVariadic = -1;

struct OpInfo {
  Op op;
  std::string_view name;  // in text and messages
  int8_t arity;           // number of operands, or kVariadic
  Kind kind;
  int8_t cost;  // instructions that one element takes, about
  uint8_t flags;
  std::string_view symbol = {};      // in text, of an operator between operands
  std::string_view parameters = {};  // in text, of the function `name` that makes this operation of arrays; empty: none does
  std::string_view meaning = {};     // of that function, for messages
};

/// A function of one float operand.
constexpr OpInfo function(Op op, std::string_view name, uint8_t flags, int8_t cost, std::string_view meaning = {}) {
  return {op, name, 1, Kind::Pointwise, cost, static_cast<uint8_t>(flags | kFloatOnly), {}, "x", meaning};
}

/// An operation on the bits of two integers.
constexpr OpInfo integer(Op op, std::string_view name, uint8_t flags, std::string_view parameters,
                         std::string_view meaning = {}) {
  const auto all = static_cast<uint8_t>(flags | kIntegerOk | kIntegerOnly | kFolds);
  return {op, name, 2, Kind::Pointwise, 1, all, {}, parameters, meaning};
}

// clang-format off
inline constexpr std::array<OpInfo, kOpCount> kOps = {{
    {Op::Param,        "param",         0, Kind::Leaf,      2, kNone},
    {Op::Const,        "const",         0, Kind::Leaf,      2, kNone},
    {Op::Iota,         "iota",          0, Kind::Leaf,      0, kNone},
    {Op::IndexVar,     "index_var",     0, Kind::Leaf,      0, kNone},
    {Op::Var,          "var",           0, Kind::Leaf,      0, kNone},
    {Op::Neg,          "neg",           1, Kind::Pointwise, 1, kZeroPreserving | kIntegerOk | kFolds, "", "x"},
    {Op::Abs,          "abs",           1, Kind::Pointwise, 3, kZeroPreserving | kIntegerOk | kFolds, "", "x"},
    {Op::Sign,         "sign",          1, Kind::Pointwise, 4, kZeroPreserving | kIntegerOk | kFolds, "", "x"},
    {Op::Not,          "not",           1, Kind::Pointwise, 1, kBoolOk | kFolds},
    function(Op::Floor,    "floor_",   kZeroPreserving | kFolds,  1, "rounded down, still a float"),
    function(Op::Sqrt,     "sqrt",     kZeroPreserving,           4),
    function(Op::Exp,      "exp",      kNone,                     25),
    function(Op::Log,      "log",      kNone,                     35),
    function(Op::Sin,      "sin",      kZeroPreserving,           70),
    function(Op::Cos,      "cos",      kNone,                     70),
    function(Op::Tan,      "tan",      kZeroPreserving,           70),
    function(Op::Asin,     "asin",     kZeroPreserving,           35),
    function(Op::Acos,     "acos",     kNone,                     35),
    function(Op::Atan,     "atan",     kZeroPreserving,           35),
    function(Op::Sinh,     "sinh",     kZeroPreserving,           35),
    function(Op::Cosh,     "cosh",     kNone,                     35),
    function(Op::Tanh,     "tanh",     kZeroPreserving,           35),
    function(Op::Asinh,    "asinh",    kZeroPreserving,           35),
    function(Op::Acosh,    "acosh",    kNone,                     35),
    function(Op::Atanh,    "atanh",    kZeroPreserving,           35),
    function(Op::Erf,      "erf",      kZeroPreserving,           25),
    function(Op::Erfc,     "erfc",     kNone,                     60, "1 - erf(x)"),
    function(Op::Logistic, "logistic", kNone,                     25),
    function(Op::Log1p,    "log1p",    kZeroPreserving,           35, "log(1 + x)"),
    function(Op::Expm1,    "expm1",    kZeroPreserving,           25, "exp(x) - 1"),
    function(Op::Lgamma,   "lgamma",   kNone,                     120, "log(abs(gamma(x)))"),
    function(Op::Digamma,  "digamma",  kNone,                     70, "the derivative of lgamma"),
    {Op::Bits,         "bits",          1, Kind::Pointwise, 0, kZeroPreserving},
    {Op::FromBits,     "from_bits",     1, Kind::Pointwise, 0, kZeroPreserving | kIntegerOk},
    {Op::Cast,         "cast",          1, Kind::Pointwise, 3, kZeroPreserving | kIntegerOk | kBoolOk | kFolds},
    {Op::StopGradient, "stop_gradient", 1, Kind::Pointwise, 0, kZeroPreserving | kIntegerOk | kBoolOk, "", "x"},
    {Op::PreferStore,  "prefer_store",  1, Kind::Pointwise, 0, kZeroPreserving | kIntegerOk | kBoolOk | kFolds, "", "x", "x, stored where several need it"},
    {Op::PreferRecompute, "prefer_recompute", 1, Kind::Pointwise, 0, kZeroPreserving | kIntegerOk | kBoolOk | kFolds, "", "x", "x, computed again where it is needed"},
    {Op::Add,          "add",           2, Kind::Pointwise, 1, kCommutative | kZeroPreserving | kIntegerOk | kFolds, "+", "a, b"},
    {Op::Sub,          "sub",           2, Kind::Pointwise, 1, kZeroPreserving | kIntegerOk | kFolds, "-", "a, b"},
    {Op::Mul,          "mul",           2, Kind::Pointwise, 1, kCommutative | kZeroPreserving | kIntegerOk | kFolds, "*", "a, b"},
    {Op::Div,          "div",           2, Kind::Pointwise, 4, kFloatOnly | kFolds, "/", "a, b"},
    {Op::Pow,          "pow",           2, Kind::Pointwise, 70, kFloatOnly, "**", "a, b"},
    {Op::Atan2,        "atan2",         2, Kind::Pointwise, 35, kZeroPreserving | kFloatOnly, "", "y, x"},
    {Op::Min,          "min",           2, Kind::Pointwise, 3, kZeroPreserving | kIntegerOk | kFolds},
    {Op::Max,          "max",           2, Kind::Pointwise, 3, kZeroPreserving | kIntegerOk | kFolds},
    {Op::Quot,         "quot",          2, Kind::Pointwise, 6, kZeroPreserving | kIntegerOk | kIntegerOnly | kFolds, "", "a, b"},
    {Op::Rem,          "rem",           2, Kind::Pointwise, 6, kIntegerOk | kFolds, "%", "a, b"},
    integer(Op::BitAnd,     "bit_and",     kCommutative | kZeroPreserving, "a, b"),
    integer(Op::BitOr,      "bit_or",      kCommutative,                   "a, b"),
    integer(Op::BitXor,     "bit_xor",     kCommutative,                   "a, b"),
    integer(Op::ShiftLeft,  "shift_left",  kZeroPreserving,                "a, count", "the bits, moved up; counts modulo 32"),
    integer(Op::ShiftRight, "shift_right", kZeroPreserving,                "a, count", "the bits, moved down; i32 keeps its sign"),
    {Op::Eq,           "eq",            2, Kind::Pointwise, 1, kCommutative | kPredicate | kIntegerOk | kBoolOk | kFolds, "==", "a, b"},
    {Op::Ne,           "ne",            2, Kind::Pointwise, 1, kCommutative | kZeroPreserving | kPredicate | kIntegerOk | kBoolOk | kFolds, "!=", "a, b"},
    {Op::Lt,           "lt",            2, Kind::Pointwise, 1, kZeroPreserving | kPredicate | kIntegerOk | kFolds, "<", "a, b"},
    {Op::Le,           "le",            2, Kind::Pointwise, 1, kPredicate | kIntegerOk | kFolds, "<=", "a, b"},
    {Op::Gt,           "gt",            2, Kind::Pointwise, 1, kZeroPreserving | kPredicate | kIntegerOk | kFolds, ">", "a, b"},
    {Op::Ge,           "ge",            2, Kind::Pointwise, 1, kPredicate | kIntegerOk | kFolds, ">=", "a, b"},
    {Op::And,          "and",           2, Kind::Pointwise, 1, kCommutative | kZeroPreserving | kBoolOk | kFolds, "and"},
    {Op::Or,           "or",            2, Kind::Pointwise, 1, kCommutative | kZeroPreserving | kBoolOk | kFolds, "or"},
    {Op::MaskedMul,    "masked_mul",    2, Kind::Pointwise, 3, kZeroPreserving | kFloatOnly | kFolds, "", "x, y"},
    {Op::MaskedDiv,    "masked_div",    2, Kind::Pointwise, 6, kZeroPreserving | kFloatOnly | kFolds, "", "x, y"},
    {Op::StrongMul,    "strong_mul",    2, Kind::Pointwise, 5, kCommutative | kZeroPreserving | kFloatOnly | kFolds, "", "x, y"},
    {Op::Select,       "select",        3, Kind::Pointwise, 1, kZeroPreserving | kIntegerOk | kBoolOk | kFolds},
    {Op::Broadcast,    "broadcast",     1, Kind::Layout,    0, kNone},
    {Op::Transpose,    "transpose",     1, Kind::Layout,    0, kFolds},
    {Op::Reshape,      "reshape",       1, Kind::Layout,    4, kFolds},
    {Op::Window,       "window",        1, Kind::Layout,    4, kFolds},
    {Op::Reverse,      "reverse",       1, Kind::Layout,    1, kFolds},
    {Op::Concat,       "concat",        kVariadic, Kind::Layout,    4, kFolds},
    {Op::Stack,        "stack",         kVariadic, Kind::Layout,    4, kFolds},
    {Op::Sum,          "sum",           1, Kind::Reduce,    8, kIntegerOk},
    {Op::Prod,         "prod",          1, Kind::Reduce,    8, kIntegerOk},
    {Op::ReduceMax,    "reduce_max",    1, Kind::Reduce,    8, kIntegerOk},
    {Op::ReduceMin,    "reduce_min",    1, Kind::Reduce,    8, kIntegerOk},
    {Op::ArgMax,       "argmax",        1, Kind::Reduce,    8, kIntegerOk},
    {Op::ArgMin,       "argmin",        1, Kind::Reduce,    8, kIntegerOk},
    {Op::Gather,       "gather",        kVariadic, Kind::Indexed,   5, kNone},
    {Op::Scatter,      "scatter",       kVariadic, Kind::Indexed,   5, kNone},
    {Op::ScatterMax,   "scatter_max",   kVariadic, Kind::Indexed,   5, kNone},
    {Op::Build,        "build",         1, Kind::Binder,    0, kNone},
    {Op::MapAccum,     "map_accum",     kVariadic, Kind::Loop,      2, kNone},
    {Op::Proj,         "proj",          1, Kind::Loop,      2, kNone},
    {Op::WithJvp,      "with_jvp",      kVariadic, Kind::Rule,      0, kNone},
    {Op::WithVjp,      "with_vjp",      kVariadic, Kind::Rule,      0, kNone},
    {Op::ByKernel,     "by_kernel",     kVariadic, Kind::Rule,      0, kNone},
}};
// clang-format on

consteval bool ops_in_order() {
  for (int i = 0; i < kOpCount; ++i)
    if (kOps[static_cast<size_t>(i)].op != static_cast<Op>(i)) return false;
  return true;
}
static_assert(ops_in_order(), "kOps must list every operation in the order of the enum");

template <class SubOp>
consteval bool covers(Kind kind, SubOp first, SubOp last) {
  for (const OpInfo& i : kOps)
    if ((i.kind == kind) != (static_cast<SubOp>(i.op) >= first && static_cast<SubOp>(i.op) <= last)) return false;
  return true;
}
static_assert(covers(Kind::Leaf, LeafOp::Param, LeafOp::Var), "LeafOp must list the leaves in the order of Op");
static_assert(covers(Kind::Layout, LayoutOp::Broadcast, LayoutOp::Stack), "LayoutOp: the layout operations, as in Op");
static_assert(covers(Kind::Reduce, ReduceOp::Sum, ReduceOp::ArgMin), "ReduceOp: the reductions, as in Op");

constexpr const OpInfo& info(Op op) { return kOps[static_cast<size_t>(op)]; }
constexpr std::string_view name(Op op) { return info(op).name; }
constexpr Kind kind(Op op) { return info(op).kind; }
constexpr bool is_pointwise(Op op) { return kind(op) == Kind::Pointwise; }
constexpr bool has_flag(Op op, uint8_t flag) { return (info(op).flags & flag) != 0; }
/// Whose attribute 0 is the number of a function.
constexpr bool has_function(Op op) { return op == Op::MapAccum || op == Op::WithJvp || op == Op::WithVjp; }
/// Whether it is where an extreme is that is asked for, not what it is.
constexpr bool finds_place(Op op) { return op == Op::ArgMax || op == Op::ArgMin; }
/// Of one operand: all but concat and stack.
constexpr bool is_unary_layout(Op op) { return kind(op) == Kind::Layout && info(op).arity == 1; }
// Pre: the operation is of that kind.
constexpr LeafOp leaf_op(Op op) { return static_cast<LeafOp>(op); }
constexpr LayoutOp layout_op(Op op) { return static_cast<LayoutOp>(op); }
constexpr ReduceOp reduce_op(Op op) { return static_cast<ReduceOp>(op); }

}  // namespace spirograd::ir
