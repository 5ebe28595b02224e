// The verifier of kernels.
#include "spirv/kernel/verify.h"

#include <string>
#include <vector>

#include "spirv/kernel/interval.h"
#include "spirv/kernel/print.h"
#include "spirv/kernel/uniformity.h"

namespace spirograd::kernel {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  std::optional<Error> run() {
    try {
      at_ = kernel_.body.size();
      check_groups();
      visible_.assign(kernel_.body.size(), false);
      for (at_ = 0; at_ < kernel_.body.size(); ++at_) check(kernel_.body[at_]);
      if (!open_.empty()) throw std::string("a block is not closed");
      if (cooperates(kernel_)) check_paths();
    } catch (const std::string& what) {
      Error e("SG0901", "kernel " + kernel_.name + ": " + what);
      if (at_ < kernel_.body.size())
        e.notes.push_back("instruction " + std::to_string(at_) + ": " + to_string(kernel_, static_cast<Value>(at_)));
      return e;
    }
    return std::nullopt;
  }

 private:
  struct Open {
    KOp op;
    std::vector<Value> defined;  // not visible after the end of the block
  };

  static void require(bool holds, const char* what) {
    if (!holds) throw std::string(what);
  }

  void check_groups() const {
    require(kernel_.workgroup != 0, "workgroups have no invocations");
    require(kernel_.subgroup == 0 || kernel_.workgroup % kernel_.subgroup == 0,
            "the workgroup is not a multiple of the subgroup: lanes would be missing");
    for (const std::vector<Array>* arrays : {&kernel_.shared, &kernel_.locals})
      for (const Array& a : *arrays)
        if (a.count == 0) throw "array " + a.name + " has no elements";
  }

  // Where all of a workgroup or of a subgroup have to be.
  void check_paths() {
    const UniformityFacts facts = uniformity(kernel_);
    const auto decision = [&] { return ": %" + std::to_string(facts.decided_by[at_]) + " decides"; };
    for (at_ = 0; at_ < kernel_.body.size(); ++at_) {
      const Inst& i = kernel_.body[at_];
      if (i.op == KOp::Barrier && facts.path[at_] != Uniformity::Workgroup)
        throw "not all invocations of the workgroup may get to this barrier" + decision();
      if (!needs_all_lanes(i.op)) continue;
      if (facts.path[at_] == Uniformity::Divergent) throw "not all lanes of the subgroup may get here" + decision();
      if (i.op == KOp::Broadcast && facts.value[i.in[1]] == Uniformity::Divergent)
        throw "the lane of a broadcast, %" + std::to_string(i.in[1]) + ", may differ inside the subgroup";
    }
  }

  Scalar operand(size_t k) const {
    const Value v = kernel_.body[at_].in[k];
    if (v >= at_) throw "operand %" + std::to_string(v) + " is not defined before its use";
    if (!visible_[v]) throw "operand %" + std::to_string(v) + " is not a value, or was defined in a block that has ended";
    if (kernel_.body[v].op == KOp::Var) throw "%" + std::to_string(v) + " is a variable; its value is read by get";
    return kernel_.body[v].type;
  }

  void operand_is(size_t k, Scalar t) const {
    const Scalar is = operand(k);
    if (is != t)
      throw "operand " + std::to_string(k) + " is " + std::string(name(is)) + " and should be " + std::string(name(t));
  }

  void variable(Scalar t) const {
    const Value v = kernel_.body[at_].in[0];
    require(v < at_ && visible_[v] && kernel_.body[v].op == KOp::Var, "not a visible variable");
    require(kernel_.body[v].type == t, "the variable has another type");
  }

  void access(const Inst& i) const {
    require(i.in[0] < kernel_.bindings.size(), "no such binding");
    const Binding& b = kernel_.bindings[i.in[0]];
    require(is_integer(operand(1)), "the index is not an integer");
    require(i.type == b.type, "the type is not that of the binding");
    if (i.op != KOp::Load) operand_is(2, b.type);
    switch (b.access) {
      case Access::Read: require(i.op == KOp::Load, "the binding is read only"); break;
      case Access::Write: require(i.op == KOp::Store, "the binding is written only"); break;
      case Access::ReadWrite: require(i.op != KOp::AtomicAdd, "the binding is not atomic"); break;
      case Access::Atomic: require(i.op == KOp::AtomicAdd, "the binding takes atomic additions only"); break;
    }
    if (i.op == KOp::AtomicAdd) require(b.type != Scalar::Bool, "bools have no sum");
  }

  void array_access(const Inst& i, const std::vector<Array>& arrays) const {
    require(i.in[0] < arrays.size(), "no such array");
    require(is_integer(operand(1)), "the index is not an integer");
    require(i.type == arrays[i.in[0]].type, "the type is not that of the array");
    if (i.op == KOp::SharedStore || i.op == KOp::LocalStore) operand_is(2, i.type);
  }

  void subgroup_operation(const Inst& i) {
    require(kernel_.subgroup != 0, "the kernel does not say how many lanes a subgroup has");
    operand_is(0, i.type);
    if (i.op == KOp::Broadcast || i.op == KOp::Shuffle) {
      operand_is(1, Scalar::U32);
    } else {
      const KOp by = combiner(i);
      require(by == KOp::Add || by == KOp::Mul || by == KOp::Min || by == KOp::Max,
              "lanes are combined by add, mul, min, max");
      require(i.type != Scalar::Bool, "not for bools");
    }
    define(i);
  }

  void define(const Inst&) {
    visible_[at_] = true;
    if (!open_.empty()) open_.back().defined.push_back(static_cast<Value>(at_));
  }

  void end(KOp a, KOp b) {
    require(!open_.empty() && (open_.back().op == a || open_.back().op == b), "this end does not match the open block");
    for (Value v : open_.back().defined) visible_[v] = false;
    open_.pop_back();
  }

  void check(const Inst& i) {
    const Scalar t = i.type;
    switch (i.op) {
      case KOp::Const:
        require(t != Scalar::Bool || i.imm <= 1, "a bool is 0 or 1");
        require(t == Scalar::F64 || i.imm <= 0xFFFFFFFFu, "the constant has more bits than its type");
        return define(i);
      case KOp::Index:
      case KOp::LocalIndex:
      case KOp::GroupIndex: require(t == Scalar::U32, "the index is u32"); return define(i);
      case KOp::LaneIndex:
        require(t == Scalar::U32, "the index is u32");
        require(kernel_.subgroup != 0, "the kernel does not say how many lanes a subgroup has");
        return define(i);
      case KOp::Load: access(i); return define(i);
      case KOp::Store:
      case KOp::AtomicAdd: return access(i);
      case KOp::SharedLoad: array_access(i, kernel_.shared); return define(i);
      case KOp::SharedStore: return array_access(i, kernel_.shared);
      case KOp::LocalLoad: array_access(i, kernel_.locals); return define(i);
      case KOp::LocalStore: return array_access(i, kernel_.locals);
      case KOp::SubgroupReduce:
      case KOp::SubgroupScan:
      case KOp::Broadcast:
      case KOp::Shuffle: return subgroup_operation(i);
      case KOp::Barrier: return;
      case KOp::Add:
      case KOp::Sub:
      case KOp::Mul: require(t != Scalar::Bool, "not for bools"); return binary(i);
      case KOp::Div: require(is_float(t), "for floats only"); return binary(i);
      case KOp::Quot:
      case KOp::Rem:
      case KOp::Min:
      case KOp::Max: require(is_integer(t), "for integers only"); return binary(i);
      case KOp::And:
      case KOp::Or:
      case KOp::Xor: require(!is_float(t), "not for floats"); return binary(i);
      case KOp::MulHiU: require(t == Scalar::U32, "for u32 only"); return binary(i);
      case KOp::Shl:
      case KOp::ShrU:
      case KOp::ShrS:
        require(is_integer(t), "for integers only");
        operand_is(0, t);
        require(is_integer(operand(1)), "the shift count is not an integer");
        return define(i);
      case KOp::Neg: require(t != Scalar::Bool, "not for bools"); return unary(i);
      case KOp::Not: require(!is_float(t), "not for floats"); return unary(i);
      case KOp::Sqrt:
      case KOp::Floor:
      case KOp::Trunc: require(is_float(t), "for floats only"); return unary(i);
      case KOp::Eq:
      case KOp::Ne:
      case KOp::Lt:
      case KOp::Le:
      case KOp::Gt:
      case KOp::Ge:
        require(t == Scalar::Bool, "a comparison gives a bool");
        require(operand(0) == operand(1), "the operands have different types");
        require(operand(0) != Scalar::Bool || i.op == KOp::Eq || i.op == KOp::Ne, "bools have no order");
        return define(i);
      case KOp::Select:
        operand_is(0, Scalar::Bool);
        operand_is(1, t);
        operand_is(2, t);
        return define(i);
      case KOp::Bitcast:
        require(t != Scalar::Bool && t != Scalar::F64 && operand(0) != Scalar::Bool && operand(0) != Scalar::F64,
                "only 32-bit numbers are reinterpreted");
        return define(i);
      case KOp::Convert:
        require(t != Scalar::Bool && operand(0) != Scalar::Bool && (is_float(t) || is_float(operand(0))) && operand(0) != t,
                "converts between integers and floats, or between floats");
        return define(i);
      case KOp::Var: operand_is(0, t); return define(i);
      case KOp::Get: variable(t); return define(i);
      case KOp::Set: variable(t); return operand_is(1, t);
      case KOp::If:
        operand_is(0, Scalar::Bool);
        open_.push_back({KOp::If, {}});
        return;
      case KOp::Else:
        end(KOp::If, KOp::If);
        open_.push_back({KOp::Else, {}});
        return;
      case KOp::EndIf: return end(KOp::If, KOp::Else);
      case KOp::Loop:
        require(t == Scalar::I32, "a counter is i32");
        operand_is(0, Scalar::I32);
        open_.push_back({KOp::Loop, {}});
        return define(i);
      case KOp::EndLoop: return end(KOp::Loop, KOp::Loop);
    }
  }

  void unary(const Inst& i) {
    operand_is(0, i.type);
    define(i);
  }
  void binary(const Inst& i) {
    operand_is(0, i.type);
    operand_is(1, i.type);
    define(i);
  }

  const Kernel& kernel_;
  size_t at_ = 0;
  std::vector<bool> visible_;
  std::vector<Open> open_;
};

}  // namespace

std::optional<Error> verify(const Kernel& kernel) { return Verifier(kernel).run(); }

}  // namespace spirograd::kernel
