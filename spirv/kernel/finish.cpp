// Dead code, the order of constants, and cheaper divisions; see finish.h.
#include "spirv/kernel/finish.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

namespace spirograd::kernel {
namespace {

// A loop may have an effect inside.
bool has_effect(KOp op) { return !has_result(op) || op == KOp::Loop; }

// Constants and all others apart. Until all are known, constants have the greatest numbers, counted downwards.
class Finished {
 public:
  Value put(const Inst& i) {
    if (i.op != KOp::Const) {
      body_.push_back(i);
      return static_cast<Value>(body_.size() - 1);
    }
    const auto [constant, fresh] = constants_.try_emplace({i.type, i.imm}, kFirst - static_cast<Value>(order_.size()));
    if (fresh) order_.push_back(i);
    return constant->second;
  }

  std::vector<Inst> joined() && {
    const auto count = static_cast<Value>(order_.size());
    std::vector<Inst> out = std::move(order_);
    for (Inst& i : body_) {
      for (Value& v : operands(i)) v = kFirst - v < count ? kFirst - v : v + count;
      out.push_back(i);
    }
    return out;
  }

 private:
  static constexpr Value kFirst = std::numeric_limits<Value>::max();
  std::vector<Inst> order_, body_;
  std::map<std::pair<Scalar, uint64_t>, Value> constants_;
};

}  // namespace

std::vector<Inst> finished(const std::vector<Inst>& body, const std::vector<Value>& natural_divisions) {
  std::vector<bool> used(body.size(), false);
  for (size_t at = body.size(); at-- > 0;) {
    used[at] = used[at] || has_effect(body[at].op);
    if (!used[at]) continue;
    for (const Value v : operands(body[at])) used[v] = true;
  }
  Finished out;
  std::vector<Value> moved(body.size(), 0);
  for (size_t at = 0; at < body.size(); ++at) {
    Inst i = body[at];
    if (!used[at] || i.op == KOp::Const) continue;
    const bool divides = std::binary_search(natural_divisions.begin(), natural_divisions.end(), static_cast<Value>(at));
    const Inst divisor = divides ? body[i.in[1]] : Inst{};
    const bool known = divides && divisor.op == KOp::Const;
    const auto by = static_cast<uint32_t>(divisor.imm);
    for (size_t number = 0; Value & v : operands(i)) {
      const bool replaced = known && number++ == 1;
      if (body[v].op != KOp::Const) {
        v = moved[v];
      } else if (!replaced) {
        v = out.put(body[v]);
      }
    }
    if (i.op == KOp::SharedLoad || i.op == KOp::LocalLoad) i.imm = 0;  // it told equal loads apart
    const bool quot = i.op == KOp::Quot;
    if (!divides) {
      moved[at] = out.put(i);
    } else if (known && std::has_single_bit(by)) {
      const Value constant = out.put({KOp::Const, i.type, {}, quot ? static_cast<uint64_t>(std::countr_zero(by)) : by - 1});
      moved[at] = out.put({quot ? KOp::ShrU : KOp::And, i.type, {i.in[0], constant, 0}});
    } else if (i.type == Scalar::U32) {
      if (known) i.in[1] = out.put(divisor);
      moved[at] = out.put(i);
    } else {
      const Value a = out.put({KOp::Bitcast, Scalar::U32, {i.in[0], 0, 0}});
      const Value b =
          out.put(known ? Inst{KOp::Const, Scalar::U32, {}, by} : Inst{KOp::Bitcast, Scalar::U32, {i.in[1], 0, 0}});
      const Value result = out.put({i.op, Scalar::U32, {a, b, 0}});
      moved[at] = out.put({KOp::Bitcast, Scalar::I32, {result, 0, 0}});
    }
  }
  return std::move(out).joined();
}

}  // namespace spirograd::kernel
