// Passes over the body, until no variable and no local array becomes less uniform.
#include "spirv/kernel/uniformity.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "spirv/kernel/finish.h"
#include "spirv/kernel/interval.h"

namespace spirograd::kernel {
namespace {

class Analysis {
 public:
  explicit Analysis(const Kernel& kernel) : kernel_(kernel), body_(kernel.body) {
    facts_.value.assign(body_.size(), Uniformity::Workgroup);
    facts_.path.assign(body_.size(), Uniformity::Workgroup);
    facts_.decided_by.assign(body_.size(), 0);
    locals_.assign(kernel.locals.size(), Uniformity::Workgroup);
  }

  UniformityFacts run() {
    do {
      changed_ = false;
      path_ = Uniformity::Workgroup;
      decided_by_ = 0;
      for (size_t at = 0; at < body_.size(); ++at) visit(static_cast<Value>(at));
    } while (changed_);
    return std::move(facts_);
  }

 private:
  struct Outer {
    Uniformity path;
    Value decided_by;
  };

  // Where a workgroup or a subgroup is one invocation, or the workgroup one subgroup.
  Uniformity in_this_kernel(Uniformity u) const {
    if (kernel_.workgroup == 1) return Uniformity::Workgroup;
    if (u == Uniformity::Divergent && kernel_.subgroup == 1) u = Uniformity::Subgroup;
    if (u == Uniformity::Subgroup && kernel_.subgroup == kernel_.workgroup) u = Uniformity::Workgroup;
    return u;
  }

  Uniformity of(const Inst& i, size_t operand) const { return facts_.value[i.in[operand]]; }

  Uniformity of_operands(const Inst& i) const {
    Uniformity u = Uniformity::Workgroup;
    const auto count = static_cast<size_t>(operand_count(i.op));
    for (size_t k = names_memory(i.op) ? 1 : 0; k < count; ++k) u = std::max(u, of(i, k));
    return u;
  }

  void lower_to(Uniformity& known, Uniformity u) {
    u = std::max(known, in_this_kernel(u));
    changed_ = changed_ || u != known;
    known = u;
  }

  void enter(Value block, Uniformity decision) {
    outer_.push_back({path_, decided_by_});
    decision = in_this_kernel(decision);
    if (decision <= path_) return;
    path_ = decision;
    decided_by_ = block;
  }

  void leave() {
    path_ = outer_.back().path;
    decided_by_ = outer_.back().decided_by;
    outer_.pop_back();
  }

  // LocalIndex, or Index, whose workgroups begin at multiples of the subgroup; as a number that is at least 0.
  bool counts_invocations(Value v) const {
    const Inst& i = body_[v];
    if (i.op == KOp::Bitcast && is_integer(body_[i.in[0]].type) && kernel_.invocations <= uint64_t{1} << 30)
      return counts_invocations(i.in[0]);
    return i.op == KOp::LocalIndex || i.op == KOp::Index;
  }

  std::optional<uint32_t> constant(Value v) const {
    if (body_[v].op != KOp::Const) return std::nullopt;
    return static_cast<uint32_t>(body_[v].imm);
  }

  // Whether an operation on the number of the invocation cannot tell the lanes of a subgroup apart.
  bool ignores_lanes(const Inst& i) const {
    const uint32_t lanes = kernel_.subgroup;
    if (lanes == 0 || kernel_.workgroup % lanes != 0 || operand_count(i.op) != 2 || names_memory(i.op)) return false;
    const auto multiple = [&](std::optional<uint32_t> c, uint32_t plus) { return c && (uint64_t{*c} + plus) % lanes == 0; };
    if (counts_invocations(i.in[1])) {  // c op number
      const auto c = constant(i.in[0]);
      if (i.op == KOp::Lt || i.op == KOp::Ge) return multiple(c, 1);
      return (i.op == KOp::Le || i.op == KOp::Gt) && multiple(c, 0);
    }
    if (!counts_invocations(i.in[0])) return false;
    const auto c = constant(i.in[1]);
    if (i.op == KOp::Lt || i.op == KOp::Ge) return multiple(c, 0);
    if (i.op == KOp::Le || i.op == KOp::Gt) return multiple(c, 1);
    if (i.op == KOp::Quot) return c && *c != 0 && multiple(c, 0);
    if (i.op == KOp::ShrU) return c && *c < 32 && (uint64_t{1} << *c) % lanes == 0;
    return i.op == KOp::And && c && std::has_single_bit(lanes) && (*c & (lanes - 1)) == 0;
  }

  Uniformity result(const Inst& i) {
    switch (i.op) {
      case KOp::Const:
      case KOp::GroupIndex: return Uniformity::Workgroup;
      case KOp::Index:
      case KOp::LocalIndex:
      case KOp::LaneIndex: return Uniformity::Divergent;
      case KOp::Load: return kernel_.bindings[i.in[0]].access == Access::Read ? of(i, 1) : Uniformity::Divergent;
      case KOp::SharedLoad: return of(i, 1);
      case KOp::LocalLoad: return std::max(of(i, 1), locals_[i.in[0]]);
      case KOp::SubgroupReduce:
      case KOp::Broadcast: return std::min(of(i, 0), Uniformity::Subgroup);
      case KOp::Shuffle: return of(i, 0);
      case KOp::SubgroupScan: return Uniformity::Divergent;
      case KOp::Get: return of(i, 0);
      case KOp::Var: return std::max(of(i, 0), path_);
      case KOp::Loop: return std::max(of(i, 0), path_);
      case KOp::Add:
      case KOp::Sub:
      case KOp::Mul:
      case KOp::Div:
      case KOp::Quot:
      case KOp::Rem:
      case KOp::Neg:
      case KOp::Min:
      case KOp::Max:
      case KOp::And:
      case KOp::Or:
      case KOp::Xor:
      case KOp::Not:
      case KOp::Shl:
      case KOp::ShrU:
      case KOp::ShrS:
      case KOp::MulHiU:
      case KOp::Eq:
      case KOp::Ne:
      case KOp::Lt:
      case KOp::Le:
      case KOp::Gt:
      case KOp::Ge:
      case KOp::Select:
      case KOp::Bitcast:
      case KOp::Convert:
      case KOp::Sqrt:
      case KOp::Floor:
      case KOp::Trunc: {
        const Uniformity u = of_operands(i);
        return ignores_lanes(i) ? std::min(u, Uniformity::Subgroup) : u;
      }
      case KOp::Store:
      case KOp::AtomicAdd:
      case KOp::SharedStore:
      case KOp::LocalStore:
      case KOp::Set:
      case KOp::If:
      case KOp::Else:
      case KOp::EndIf:
      case KOp::EndLoop:
      case KOp::Barrier: break;
    }
    return Uniformity::Workgroup;
  }

  void visit(Value v) {
    const Inst& i = body_[v];
    facts_.path[v] = path_;
    facts_.decided_by[v] = decided_by_;
    lower_to(facts_.value[v], result(i));
    if (i.op == KOp::Set) lower_to(facts_.value[i.in[0]], std::max(of(i, 1), path_));
    if (i.op == KOp::LocalStore) lower_to(locals_[i.in[0]], std::max(of_operands(i), path_));
    if (i.op == KOp::If) enter(v, of(i, 0));
    if (i.op == KOp::Loop) enter(v, of(i, 0));
    if (i.op == KOp::EndIf || i.op == KOp::EndLoop) leave();
  }

  const Kernel& kernel_;
  const std::vector<Inst>& body_;
  UniformityFacts facts_;
  std::vector<Uniformity> locals_;  // of what each local array holds
  std::vector<Outer> outer_;
  Uniformity path_ = Uniformity::Workgroup;
  Value decided_by_ = 0;
  bool changed_ = false;
};

}  // namespace

UniformityFacts uniformity(const Kernel& kernel) { return Analysis(kernel).run(); }

}  // namespace spirograd::kernel
