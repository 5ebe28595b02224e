// The opcode manual: every operation of the IR, its arity, its kind, its flags. All operations are total.
//
// Attributes (Node::attr) per operation; shapes of results stand in Node::type.
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
//   Build        level, extent              result extent ++ body; the only binder; only in stage `traced`
//   MapAccum     function, reverse, k, n_acc, n_es, n_consts
//                                           operands acc0.., es.. (k-stacks), consts..; read through Proj
//   Proj         j                          result j of a MapAccum: final accumulators, then k-stacks
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace spirograd::ir {

enum class Op : uint8_t {
  Param, Const, Iota, IndexVar, Var,
  // one operand, elementwise
  Neg, Abs, Sign, Not, Floor, Sqrt, Exp, Log, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh,
  Erf, Logistic, Log1p, Expm1, Cast, StopGradient,
  // two operands, elementwise
  Add, Sub, Mul, Div, Pow, Atan2, Min, Max, Quot, Rem, Eq, Ne, Lt, Le, Gt, Ge, And, Or,
  // a * b and a / b, but 0 where a is 0, whatever b; a * b, but 0 where either is 0: derivatives under a mask
  MaskedMul, MaskedDiv, StrongMul,
  // mask, value where true, value where false
  Select,
  Broadcast, Transpose, Reshape, Window, Reverse, Concat, Stack,
  Sum, Prod, ReduceMax, ReduceMin, ArgMax, ArgMin,
  Gather, Scatter,
  Build,
  MapAccum, Proj,
};
inline constexpr int kOpCount = static_cast<int>(Op::Proj) + 1;

enum class Kind : uint8_t { Leaf, Pointwise, Layout, Reduce, Indexed, Binder, Loop };

enum Flags : uint8_t {
  kNone = 0,
  kCommutative = 1,
  kZeroPreserving = 2,  // op(0, ..) = 0: an index may be pushed inside without a guard
  kPredicate = 4,       // result is bool
  kFloatOnly = 8,       // operands must be f32 or f64
  kIntegerOk = 16,      // i32 and u32 operands allowed
  kBoolOk = 32,         // bool operands allowed
};

inline constexpr int kVariadic = -1;

struct OpInfo {
  Op op;
  std::string_view name;  // in text and messages
  int8_t arity;           // number of operands, or kVariadic
  Kind kind;
  uint8_t flags;
};

// clang-format off
inline constexpr std::array<OpInfo, kOpCount> kOps = {{
    {Op::Param,        "param",         0, Kind::Leaf,      kNone},
    {Op::Const,        "const",         0, Kind::Leaf,      kNone},
    {Op::Iota,         "iota",          0, Kind::Leaf,      kNone},
    {Op::IndexVar,     "index_var",     0, Kind::Leaf,      kNone},
    {Op::Var,          "var",           0, Kind::Leaf,      kNone},
    {Op::Neg,          "neg",           1, Kind::Pointwise, kZeroPreserving | kIntegerOk},
    {Op::Abs,          "abs",           1, Kind::Pointwise, kZeroPreserving | kIntegerOk},
    {Op::Sign,         "sign",          1, Kind::Pointwise, kZeroPreserving | kIntegerOk},
    {Op::Not,          "not",           1, Kind::Pointwise, kBoolOk},
    {Op::Floor,        "floor_",        1, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Sqrt,         "sqrt",          1, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Exp,          "exp",           1, Kind::Pointwise, kFloatOnly},
    {Op::Log,          "log",           1, Kind::Pointwise, kFloatOnly},
    {Op::Sin,          "sin",           1, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Cos,          "cos",           1, Kind::Pointwise, kFloatOnly},
    {Op::Tan,          "tan",           1, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Asin,         "asin",          1, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Acos,         "acos",          1, Kind::Pointwise, kFloatOnly},
    {Op::Atan,         "atan",          1, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Sinh,         "sinh",          1, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Cosh,         "cosh",          1, Kind::Pointwise, kFloatOnly},
    {Op::Tanh,         "tanh",          1, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Asinh,        "asinh",         1, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Acosh,        "acosh",         1, Kind::Pointwise, kFloatOnly},
    {Op::Atanh,        "atanh",         1, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Erf,          "erf",           1, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Logistic,     "logistic",      1, Kind::Pointwise, kFloatOnly},
    {Op::Log1p,        "log1p",         1, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Expm1,        "expm1",         1, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Cast,         "cast",          1, Kind::Pointwise, kZeroPreserving | kIntegerOk | kBoolOk},
    {Op::StopGradient, "stop_gradient", 1, Kind::Pointwise, kZeroPreserving | kIntegerOk | kBoolOk},
    {Op::Add,          "add",           2, Kind::Pointwise, kCommutative | kZeroPreserving | kIntegerOk},
    {Op::Sub,          "sub",           2, Kind::Pointwise, kZeroPreserving | kIntegerOk},
    {Op::Mul,          "mul",           2, Kind::Pointwise, kCommutative | kZeroPreserving | kIntegerOk},
    {Op::Div,          "div",           2, Kind::Pointwise, kFloatOnly},
    {Op::Pow,          "pow",           2, Kind::Pointwise, kFloatOnly},
    {Op::Atan2,        "atan2",         2, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::Min,          "min",           2, Kind::Pointwise, kZeroPreserving | kIntegerOk},
    {Op::Max,          "max",           2, Kind::Pointwise, kZeroPreserving | kIntegerOk},
    {Op::Quot,         "quot",          2, Kind::Pointwise, kZeroPreserving | kIntegerOk},
    {Op::Rem,          "rem",           2, Kind::Pointwise, kIntegerOk},
    {Op::Eq,           "eq",            2, Kind::Pointwise, kCommutative | kPredicate | kIntegerOk | kBoolOk},
    {Op::Ne,           "ne",            2, Kind::Pointwise, kCommutative | kZeroPreserving | kPredicate | kIntegerOk | kBoolOk},
    {Op::Lt,           "lt",            2, Kind::Pointwise, kZeroPreserving | kPredicate | kIntegerOk},
    {Op::Le,           "le",            2, Kind::Pointwise, kPredicate | kIntegerOk},
    {Op::Gt,           "gt",            2, Kind::Pointwise, kZeroPreserving | kPredicate | kIntegerOk},
    {Op::Ge,           "ge",            2, Kind::Pointwise, kPredicate | kIntegerOk},
    {Op::And,          "and",           2, Kind::Pointwise, kCommutative | kZeroPreserving | kBoolOk},
    {Op::Or,           "or",            2, Kind::Pointwise, kCommutative | kZeroPreserving | kBoolOk},
    {Op::MaskedMul,    "masked_mul",    2, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::MaskedDiv,    "masked_div",    2, Kind::Pointwise, kZeroPreserving | kFloatOnly},
    {Op::StrongMul,    "strong_mul",    2, Kind::Pointwise, kCommutative | kZeroPreserving | kFloatOnly},
    {Op::Select,       "select",        3, Kind::Pointwise, kZeroPreserving | kIntegerOk | kBoolOk},
    {Op::Broadcast,    "broadcast",     1, Kind::Layout,    kNone},
    {Op::Transpose,    "transpose",     1, Kind::Layout,    kNone},
    {Op::Reshape,      "reshape",       1, Kind::Layout,    kNone},
    {Op::Window,       "window",        1, Kind::Layout,    kNone},
    {Op::Reverse,      "reverse",       1, Kind::Layout,    kNone},
    {Op::Concat,       "concat",        kVariadic, Kind::Layout, kNone},
    {Op::Stack,        "stack",         kVariadic, Kind::Layout, kNone},
    {Op::Sum,          "sum",           1, Kind::Reduce,    kIntegerOk},
    {Op::Prod,         "prod",          1, Kind::Reduce,    kIntegerOk},
    {Op::ReduceMax,    "reduce_max",    1, Kind::Reduce,    kIntegerOk},
    {Op::ReduceMin,    "reduce_min",    1, Kind::Reduce,    kIntegerOk},
    {Op::ArgMax,       "argmax",        1, Kind::Reduce,    kIntegerOk},
    {Op::ArgMin,       "argmin",        1, Kind::Reduce,    kIntegerOk},
    {Op::Gather,       "gather",        kVariadic, Kind::Indexed, kNone},
    {Op::Scatter,      "scatter",       kVariadic, Kind::Indexed, kNone},
    {Op::Build,        "build",         1, Kind::Binder,    kNone},
    {Op::MapAccum,     "map_accum",     kVariadic, Kind::Loop, kNone},
    {Op::Proj,         "proj",          1, Kind::Loop,      kNone},
}};
// clang-format on

consteval bool ops_in_order() {
  for (int i = 0; i < kOpCount; ++i)
    if (kOps[static_cast<size_t>(i)].op != static_cast<Op>(i)) return false;
  return true;
}
static_assert(ops_in_order(), "kOps must list every operation in the order of the enum");

constexpr const OpInfo& info(Op op) { return kOps[static_cast<size_t>(op)]; }
constexpr std::string_view name(Op op) { return info(op).name; }
constexpr bool is_pointwise(Op op) { return info(op).kind == Kind::Pointwise; }
constexpr bool has_flag(Op op, uint8_t flag) { return (info(op).flags & flag) != 0; }

}  // namespace spirograd::ir
