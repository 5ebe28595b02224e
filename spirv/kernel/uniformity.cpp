// Passes over the body, until no variable and no local array becomes less uniform.
#include "spirv/kernel/uniformity.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "spirv/kernel/interval.h"

namespace spirograd::kernel {
namespace {

class Analysis {
 public:
  explicit Analysis(const Kernel& kernel) : kernel_(kernel), body_(kernel.body) {
    facts_.value.assign(body_.size(), Uniformity::Workgroup);
    facts_.path.assign(body_.size(), Uniformity::Workgroup);
    facts_.decided_by.assign(body_.size(), 0);
    breaks_.assign(body_.size(), Uniformity::Workgroup);
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
    Value block;  // that was entered from there
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
    for (const Value v : operands(i)) u = std::max(u, facts_.value[v]);
    return u;
  }

  void lower_to(Uniformity& known, Uniformity u) {
    u = std::max(known, in_this_kernel(u));
    changed_ = changed_ || u != known;
    known = u;
  }

  void enter(Value block, Uniformity decision) {
    outer_.push_back({path_, decided_by_, block});
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

  Uniformity result(const Inst& i) const {
    if (!has_result(i.op)) return Uniformity::Workgroup;
    switch (kind(i.op)) {
      case Kind::Leaf: return of_leaf(as<LeafOp>(i.op));
      case Kind::Memory: return of_memory(i);
      case Kind::Arithmetic:
      case Kind::Float:
      case Kind::Integer:
      case Kind::Bitwise:
      case Kind::Comparison:
      case Kind::Select:
      case Kind::Conversion: {
        const Uniformity u = of_operands(i);
        return ignores_lanes(i) ? std::min(u, Uniformity::Subgroup) : u;
      }
      case Kind::Subgroup: return of_subgroup(i);
      case Kind::Variable: return i.op == KOp::Get ? of(i, 0) : std::max(of(i, 0), path_);
      case Kind::Control: return std::max(of(i, 0), path_);  // the counter of a loop
    }
    return Uniformity::Divergent;
  }

  static Uniformity of_leaf(LeafOp op) {
    switch (op) {
      case LeafOp::Const:
      case LeafOp::GroupIndex: return Uniformity::Workgroup;
      case LeafOp::Index:
      case LeafOp::LocalIndex:
      case LeafOp::LaneIndex: break;
    }
    return Uniformity::Divergent;
  }

  Uniformity of_memory(const Inst& i) const {
    switch (as<MemoryOp>(i.op)) {
      case MemoryOp::Load: return kernel_.bindings[i.in[0]].access == Access::Read ? of(i, 1) : Uniformity::Divergent;
      case MemoryOp::SharedLoad: return of(i, 1);
      case MemoryOp::LocalLoad: return std::max(of(i, 1), locals_[i.in[0]]);
      case MemoryOp::Store:
      case MemoryOp::AtomicAdd:
      case MemoryOp::AtomicMax:
      case MemoryOp::SharedStore:
      case MemoryOp::LocalStore: break;
    }
    return Uniformity::Workgroup;
  }

  Uniformity of_subgroup(const Inst& i) const {
    switch (as<SubgroupOp>(i.op)) {
      case SubgroupOp::SubgroupReduce:
      case SubgroupOp::Broadcast: return std::min(of(i, 0), Uniformity::Subgroup);
      case SubgroupOp::Shuffle: return of(i, 0);
      case SubgroupOp::SubgroupScan: break;
    }
    return Uniformity::Divergent;
  }

  void visit(Value v) {
    const Inst& i = body_[v];
    facts_.path[v] = path_;
    facts_.decided_by[v] = decided_by_;
    lower_to(facts_.value[v], result(i));
    if (i.op == KOp::Set) lower_to(facts_.value[i.in[0]], std::max(of(i, 1), path_));
    if (i.op == KOp::LocalStore) lower_to(locals_[i.in[0]], std::max(of_operands(i), path_));
    if (i.op == KOp::If) enter(v, of(i, 0));
    if (i.op == KOp::Loop) enter(v, std::max(of(i, 0), breaks_[v]));
    if (i.op == KOp::Break) lower_to(breaks_[outer_.back().block], of(i, 0));
    if (i.op == KOp::EndIf || i.op == KOp::EndLoop) leave();
  }

  const Kernel& kernel_;
  const std::vector<Inst>& body_;
  UniformityFacts facts_;
  std::vector<Uniformity> locals_;  // of what each local array holds
  std::vector<Uniformity> breaks_;  // per Loop: of the conditions to leave it
  std::vector<Outer> outer_;
  Uniformity path_ = Uniformity::Workgroup;
  Value decided_by_ = 0;
  bool changed_ = false;
};

}  // namespace

UniformityFacts uniformity(const Kernel& kernel) { return Analysis(kernel).run(); }

}  // namespace spirograd::kernel
