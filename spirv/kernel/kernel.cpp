// Names of the kernel operations, as the printer shows them.
#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

std::string_view name(KOp op) {
  switch (op) {
    case KOp::Const: return "const";
    case KOp::Index: return "index";
    case KOp::Load: return "load";
    case KOp::Store: return "store";
    case KOp::AtomicAdd: return "atomic_add";
    case KOp::Add: return "add";
    case KOp::Sub: return "sub";
    case KOp::Mul: return "mul";
    case KOp::Div: return "div";
    case KOp::Quot: return "quot";
    case KOp::Rem: return "rem";
    case KOp::Neg: return "neg";
    case KOp::Min: return "min";
    case KOp::Max: return "max";
    case KOp::And: return "and";
    case KOp::Or: return "or";
    case KOp::Xor: return "xor";
    case KOp::Not: return "not";
    case KOp::Shl: return "shl";
    case KOp::ShrU: return "shr_u";
    case KOp::ShrS: return "shr_s";
    case KOp::MulHiU: return "mul_hi_u";
    case KOp::Eq: return "eq";
    case KOp::Ne: return "ne";
    case KOp::Lt: return "lt";
    case KOp::Le: return "le";
    case KOp::Gt: return "gt";
    case KOp::Ge: return "ge";
    case KOp::Select: return "select";
    case KOp::Bitcast: return "bitcast";
    case KOp::Convert: return "convert";
    case KOp::Sqrt: return "sqrt";
    case KOp::Floor: return "floor";
    case KOp::Trunc: return "trunc";
    case KOp::Var: return "var";
    case KOp::Get: return "get";
    case KOp::Set: return "set";
    case KOp::If: return "if";
    case KOp::Else: return "else";
    case KOp::EndIf: return "end_if";
    case KOp::Loop: return "loop";
    case KOp::EndLoop: return "end_loop";
  }
  return "?";
}

}  // namespace spirograd::kernel
