// What the builder knows of invocations that go together: enough to decide where a workgroup may share work. uniformity.h
// says more of finished kernels, and verifies.
#include <unordered_map>

#include "spirv/kernel/builder.h"

namespace spirograd::kernel {
namespace {

// Whether invocations may get different results from equal operands.
bool differs(const Kernel& kernel, const Inst& i) {
  switch (kind(i.op)) {
    case Kind::Leaf: return i.op != KOp::Const && i.op != KOp::GroupIndex;
    case Kind::Memory:
      return i.op != KOp::SharedLoad && (i.op != KOp::Load || kernel.bindings[i.in[0]].access != Access::Read);
    case Kind::Arithmetic:
    case Kind::Float:
    case Kind::Integer:
    case Kind::Bitwise:
    case Kind::Comparison:
    case Kind::Select:
    case Kind::Conversion:
    case Kind::Control: return false;  // the counter of a loop
    case Kind::Subgroup:
    case Kind::Variable: break;
  }
  return true;
}

}  // namespace

// What an operation on the number of the invocation, in all or in its workgroup, says of its subgroup: Index / (n S),
// Index < n S.
bool Builder::counts_subgroups(const Inst& i) const {
  if (i.op != KOp::Quot && i.op != KOp::Lt) return false;
  const std::optional<uint64_t> count = constant_bits(i.in[1]);
  if (!count || *count == 0 || kernel_.subgroup == 0 || *count % kernel_.subgroup != 0) return false;
  const Inst& given = at(i.in[0]);
  const KOp number = given.op == KOp::Bitcast ? at(given.in[0]).op : given.op;
  return number == KOp::Index || number == KOp::LocalIndex;
}

bool Builder::same(Value v, bool in_subgroup) const {
  std::unordered_map<Value, bool> known;
  std::vector<Value> stack = {v};
  while (!stack.empty()) {
    const Value at = stack.back();
    const Inst& i = this->at(at);
    if (in_subgroup && (i.op == KOp::Broadcast || counts_subgroups(i))) {
      known[at] = true;
      stack.pop_back();
      continue;
    }
    bool all = !differs(kernel_, i), waits = false;
    for (const Value operand : operands(i)) {
      if (!all || waits) break;
      const auto it = known.find(operand);
      waits = it == known.end();
      if (waits)
        stack.push_back(operand);
      else
        all = it->second;
    }
    if (waits) continue;
    known[at] = all;
    stack.pop_back();
  }
  return known.at(v);
}

bool Builder::same_path(bool in_subgroup) const {
  for (const Block& b : blocks_) {
    if (!b.marked || b.kind == Block::Kind::Body) continue;
    if (b.breaks) return false;  // by a condition that is not known yet
    const Value decides = b.kind == Block::Kind::Loop ? at(static_cast<Value>(b.start)).in[0] : b.condition;
    if (!same(decides, in_subgroup)) return false;
  }
  return true;
}

}  // namespace spirograd::kernel
