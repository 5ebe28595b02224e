#include "spirv/kernel/lane_rows.h"

#include <algorithm>

namespace spirograd::kernel {
namespace {

class RowFinder {
 public:
  explicit RowFinder(const Kernel& k) : k_(k), sums_(k.body), known_before_(k.body.size()) {
    out_.accesses.resize(k.body.size());
    out_.subgroup_by.resize(k.body.size());
  }

  LaneRows run() {
    if (k_.subgroup == 0) return std::move(out_);
    int open = 0;
    for (Value at = 0; at < k_.body.size(); ++at) {
      const Inst& i = k_.body[at];
      open += i.op == KOp::If || i.op == KOp::Loop;
      open -= i.op == KOp::EndIf || i.op == KOp::EndLoop;
      out_.subgroup_by[at] = subgroup_by(i);
      known_before_[at] = out_.subgroup_by[at] != 0 || is_known_before(i);
      if (is_integer(i.type) && has_result(i.op) && info(i.op).memory == Memory::None) sums_[at];
      if (open == 0 && (i.op == KOp::Load || i.op == KOp::Store)) enter(at);
    }
    return std::move(out_);
  }

 private:
  // LocalIndex by the size of the subgroup, or by a multiple of it.
  uint32_t subgroup_by(const Inst& i) const {
    if (i.op != KOp::Quot && i.op != KOp::ShrU) return 0;
    const Inst* number = &k_.body[i.in[0]];
    while (number->op == KOp::Bitcast) number = &k_.body[number->in[0]];
    const Inst& by = k_.body[i.in[1]];
    if (number->op != KOp::LocalIndex || by.op != KOp::Const || (i.op == KOp::ShrU && by.imm >= 32)) return 0;
    const uint64_t lanes = i.op == KOp::Quot ? by.imm : uint64_t{1} << by.imm;
    return lanes % k_.subgroup == 0 ? static_cast<uint32_t>(lanes / k_.subgroup) : 0;
  }

  bool is_known_before(const Inst& i) const {
    if (i.op == KOp::Const || i.op == KOp::GroupIndex) return true;
    switch (kind(i.op)) {
      case Kind::Arithmetic:
      case Kind::Integer:
      case Kind::Bitwise:
      case Kind::Comparison:
      case Kind::Select:
      case Kind::Conversion: return std::ranges::all_of(operands(i), [&](Value v) { return known_before_[v]; });
      case Kind::Leaf:
      case Kind::Memory:
      case Kind::Float:
      case Kind::Subgroup:
      case Kind::Variable:
      case Kind::Control: return false;
    }
    return false;
  }

  void enter(Value at) {
    const Inst& i = k_.body[at];
    const uint32_t bytes = bytes_of(k_.bindings[i.in[0]].type);
    LaneRow row{sums_[i.in[1]]};
    auto& terms = row.first.terms;
    const auto lane = std::ranges::find_if(terms, [&](const auto& t) { return k_.body[t.first].op == KOp::LaneIndex; });
    if ((bytes != 4 && bytes != 8) || (lane == terms.end() && i.op == KOp::Store)) return;
    row.common = lane == terms.end();
    if (!row.common) {
      row.turned = i.op == KOp::Load && lane->second == ~uint32_t{0};
      if (i.op == KOp::Load && lane->second > 2 && !row.turned) return;
      row.step = row.turned ? 1 : lane->second;
      if (row.turned) row.first.constant -= k_.subgroup - 1;
      terms.erase(lane);
    }
    if (!std::ranges::all_of(terms, [&](const auto& t) { return known_before_[t.first]; })) return;
    ++(row.common ? out_.common : i.op == KOp::Load ? out_.loads : out_.stores);
    out_.accesses[at] = std::move(row);
  }

  const Kernel& k_;
  Sums sums_;
  std::vector<bool> known_before_;  // per instruction: what the sums of places may be of
  LaneRows out_;
};

}  // namespace

LaneRows lane_rows(const Kernel& k) { return RowFinder(k).run(); }

}  // namespace spirograd::kernel
