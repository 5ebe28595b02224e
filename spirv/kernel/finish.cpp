// Dead code and cheaper divisions; see finish.h.
#include "spirv/kernel/finish.h"

#include <algorithm>
#include <bit>

namespace spirograd::kernel {
namespace {

// A loop may have an effect inside.
bool has_effect(KOp op) { return !has_result(op) || op == KOp::Loop; }

}  // namespace

std::vector<Inst> finished(const std::vector<Inst>& body, const std::vector<Value>& natural_divisions) {
  std::vector<bool> used(body.size(), false);
  for (size_t at = body.size(); at-- > 0;) {
    used[at] = used[at] || has_effect(body[at].op);
    if (!used[at]) continue;
    for (const Value v : operands(body[at])) used[v] = true;
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
    for (Value& v : operands(i)) v = moved[v];
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
