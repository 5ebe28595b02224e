#include "spirv/kernel/guard.h"

namespace spirograd::kernel {
namespace {

// Surplus invocations of the last workgroup are kept out by a bound on Index only, unless there are none.
bool keeps_out(const Kernel& k, const Inst& branch) {
  const Inst& condition = k.body[branch.in[0]];
  if (condition.op != KOp::Lt || k.body[condition.in[1]].op != KOp::Const) return false;
  const uint64_t bound = k.body[condition.in[1]].imm;
  const KOp number = k.body[condition.in[0]].op;
  if (number == KOp::Index) return bound <= k.invocations;
  return number == KOp::GroupIndex && bound * k.workgroup <= k.invocations;
}

}  // namespace

bool guards_surplus(const Kernel& kernel) {
  std::vector<bool> kept_out{false};  // per open block
  for (const Inst& i : kernel.body) {
    if ((i.op == KOp::Store || is_atomic(i.op)) && !kept_out.back()) return false;
    if (i.op == KOp::If) kept_out.push_back(kept_out.back() || keeps_out(kernel, i));
    if (i.op == KOp::Loop) kept_out.push_back(kept_out.back());
    if (i.op == KOp::Else) kept_out.back() = kept_out[kept_out.size() - 2];
    if (i.op == KOp::EndIf || i.op == KOp::EndLoop) kept_out.pop_back();
  }
  return true;
}

}  // namespace spirograd::kernel
