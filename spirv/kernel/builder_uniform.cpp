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

bool Builder::uniform(Value v) const {
  std::unordered_map<Value, bool> known;
  std::vector<Value> stack = {v};
  while (!stack.empty()) {
    const Value at = stack.back();
    const Inst& i = this->at(at);
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

bool Builder::uniform_path() const {
  for (const Block& b : blocks_) {
    if (!b.marked || b.kind == Block::Kind::Body) continue;
    const Value decides = b.kind == Block::Kind::Loop ? at(static_cast<Value>(b.start)).in[0] : b.condition;
    if (!uniform(decides)) return false;
  }
  return true;
}

}  // namespace spirograd::kernel
