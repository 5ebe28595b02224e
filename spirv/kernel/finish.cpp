// Dead code and cheaper divisions; see finish.h.
#include "spirv/kernel/finish.h"

#include <algorithm>
#include <bit>

namespace spirograd::kernel {
namespace {

bool has_effect(KOp op) {
  return op == KOp::Store || op == KOp::AtomicAdd || op == KOp::SharedStore || op == KOp::LocalStore || op == KOp::Set ||
         op >= KOp::If;
}

template <class F>
void each_operand(Inst& i, F&& visit) {
  const auto count = static_cast<size_t>(operand_count(i.op));
  for (size_t k = names_memory(i.op) ? 1 : 0; k < count; ++k) visit(i.in[k]);
}

}  // namespace

bool names_memory(KOp op) { return op >= KOp::Load && op <= KOp::LocalStore; }

// clang-format off
int operand_count(KOp op) {
  switch (op) {
    case KOp::Const: case KOp::Index: case KOp::LocalIndex: case KOp::GroupIndex: case KOp::LaneIndex: case KOp::Else:
    case KOp::EndIf: case KOp::EndLoop: case KOp::Barrier: return 0;
    case KOp::SubgroupReduce: case KOp::SubgroupScan:
    case KOp::Neg: case KOp::Not: case KOp::Bitcast: case KOp::Convert: case KOp::Sqrt: case KOp::Floor: case KOp::Trunc:
    case KOp::Var: case KOp::Get: case KOp::If: case KOp::Loop: return 1;
    case KOp::SharedLoad: case KOp::LocalLoad: case KOp::Broadcast: case KOp::Shuffle:
    case KOp::Load: case KOp::Add: case KOp::Sub: case KOp::Mul: case KOp::Div: case KOp::Quot: case KOp::Rem: case KOp::Min:
    case KOp::Max: case KOp::And: case KOp::Or: case KOp::Xor: case KOp::Shl: case KOp::ShrU: case KOp::ShrS:
    case KOp::MulHiU:
    case KOp::Eq: case KOp::Ne: case KOp::Lt: case KOp::Le: case KOp::Gt: case KOp::Ge: case KOp::Set: return 2;
    case KOp::Store: case KOp::AtomicAdd: case KOp::SharedStore: case KOp::LocalStore: case KOp::Select: return 3;
  }
  return 0;
}
// clang-format on

std::vector<Inst> finished(const std::vector<Inst>& body, const std::vector<Value>& natural_divisions) {
  std::vector<bool> used(body.size(), false);
  for (size_t at = body.size(); at-- > 0;) {
    used[at] = used[at] || has_effect(body[at].op);
    Inst i = body[at];
    if (used[at]) each_operand(i, [&](Value& v) { used[v] = true; });
  }
  std::vector<Inst> out;
  std::vector<Value> moved(body.size(), 0);
  const auto put = [&](Inst i) {
    out.push_back(i);
    return static_cast<Value>(out.size() - 1);
  };
  for (size_t at = 0; at < body.size(); ++at) {
    if (!used[at]) continue;
    Inst i = body[at];
    const Inst* divisor = i.op == KOp::Quot || i.op == KOp::Rem ? &body[i.in[1]] : nullptr;
    each_operand(i, [&](Value& v) { v = moved[v]; });
    if (i.op == KOp::SharedLoad || i.op == KOp::LocalLoad) i.imm = 0;  // it told equal loads apart
    if (!divisor || !std::binary_search(natural_divisions.begin(), natural_divisions.end(), static_cast<Value>(at))) {
      moved[at] = put(i);
      continue;
    }
    const bool quot = i.op == KOp::Quot;
    const auto by = static_cast<uint32_t>(divisor->imm);
    if (divisor->op == KOp::Const && std::has_single_bit(by)) {
      const Value constant = put({KOp::Const, i.type, {}, quot ? static_cast<uint64_t>(std::countr_zero(by)) : by - 1});
      moved[at] = put({quot ? KOp::ShrU : KOp::And, i.type, {i.in[0], constant, 0}});
    } else if (i.type == Scalar::U32) {
      moved[at] = put(i);
    } else {
      const Value a = put({KOp::Bitcast, Scalar::U32, {i.in[0], 0, 0}});
      const Value b = divisor->op == KOp::Const ? put({KOp::Const, Scalar::U32, {}, by})
                                                : put({KOp::Bitcast, Scalar::U32, {i.in[1], 0, 0}});
      moved[at] = put({KOp::Bitcast, Scalar::I32, {put({i.op, Scalar::U32, {a, b, 0}}), 0, 0}});
    }
  }
  return out;
}

}  // namespace spirograd::kernel
