// What the builder knows of invocations that go together: enough to decide where a workgroup may share work. uniformity.h
// says more of finished kernels, and verifies.
#include <unordered_map>

#include "spirv/kernel/builder.h"
#include "spirv/kernel/finish.h"

namespace spirograd::kernel {

bool Builder::uniform(Value v) const {
  std::unordered_map<Value, bool> known;
  std::vector<Value> stack = {v};
  while (!stack.empty()) {
    const Value at = stack.back();
    const Inst& i = this->at(at);
    const auto operands = static_cast<size_t>(operand_count(i.op));
    const size_t first = names_memory(i.op) ? 1 : 0;
    const bool own = i.op == KOp::Index || i.op == KOp::LocalIndex || i.op == KOp::LaneIndex || i.op == KOp::LocalLoad;
    const bool written = i.op == KOp::Load && kernel_.bindings[i.in[0]].access != Access::Read;
    const bool never = own || written || needs_all_lanes(i.op) || i.op == KOp::Var || i.op == KOp::Get;
    bool all = !never, waits = false;
    for (size_t j = first; j < operands && all; ++j) {
      const auto it = known.find(i.in[j]);
      if (it != known.end()) {
        all = it->second;
        continue;
      }
      stack.push_back(i.in[j]);
      waits = true;
      break;
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
