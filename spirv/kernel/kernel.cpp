// Names of the kernel operations, as the printer shows them, and equality of kernels.
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

bool same_code(const Kernel& a, const Kernel& b) {
  if (a.workgroup != b.workgroup || a.invocations != b.invocations || a.bindings.size() != b.bindings.size()) return false;
  for (size_t j = 0; j < a.bindings.size(); ++j)
    if (a.bindings[j].type != b.bindings[j].type || a.bindings[j].access != b.bindings[j].access) return false;
  return a.body == b.body;
}

size_t InstHash::operator()(const Inst& i) const {
  uint64_t h = static_cast<uint64_t>(i.op) << 8 | static_cast<uint64_t>(i.type);
  for (uint64_t x : {uint64_t{i.in[0]}, uint64_t{i.in[1]}, uint64_t{i.in[2]}, i.imm}) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return static_cast<size_t>(h);
}

uint64_t code_hash(const Kernel& k) {
  uint64_t h = k.invocations;
  for (const Inst& i : k.body) h = h * 0x9e3779b97f4a7c15u + InstHash{}(i);
  return h;
}

}  // namespace spirograd::kernel
