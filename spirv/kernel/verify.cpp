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
      for (at_ = 0; at_ < kernel_.body.size(); ++at_) {
        check(kernel_.body[at_]);
        if (has_result(kernel_.body[at_].op)) define();
      }
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

  void visible_variable(const Inst& i) const {
    const Value v = i.in[0];
    require(v < at_ && visible_[v] && kernel_.body[v].op == KOp::Var, "not a visible variable");
    require(kernel_.body[v].type == i.type, "the variable has another type");
  }

  void access(const Inst& i) const {
    switch (info(i.op).memory) {
      case Memory::Binding: return binding_access(i);
      case Memory::Shared: return array_access(i, kernel_.shared);
      case Memory::Local: return array_access(i, kernel_.locals);
      case Memory::None: break;
    }
  }

  void binding_access(const Inst& i) const {
    require(i.in[0] < kernel_.bindings.size(), "no such binding");
    const Binding& b = kernel_.bindings[i.in[0]];
    require(is_integer(operand(1)), "the index is not an integer");
    require(i.type == loaded_as(b.type), "the type is not that of the binding");
    if (!has_result(i.op)) operand_is(2, i.type);
    switch (b.access) {
      case Access::Read: require(i.op == KOp::Load, "the binding is read only"); break;
      case Access::Write: require(i.op == KOp::Store, "the binding is written only"); break;
      case Access::ReadWrite: require(!is_atomic(i.op), "the binding is not atomic"); break;
      case Access::Atomic: require(is_atomic(i.op), "the binding takes atomic operations only"); break;
    }
    if (i.op == KOp::AtomicMax) require(b.type == Scalar::U32, "only greatest u32 are found atomically");
    if (i.op == KOp::AtomicAdd) require(b.type != Scalar::Bool && b.type != Scalar::F16, "bools and halves have no sum");
  }

  void array_access(const Inst& i, const std::vector<Array>& arrays) const {
    require(i.in[0] < arrays.size(), "no such array");
    require(is_integer(operand(1)), "the index is not an integer");
    require(i.type == arrays[i.in[0]].type, "the type is not that of the array");
    if (!has_result(i.op)) operand_is(2, i.type);
  }

  void has_lanes() const { require(kernel_.subgroup != 0, "the kernel does not say how many lanes a subgroup has"); }

  void subgroup_operation(const Inst& i) const {
    has_lanes();
    operand_is(0, i.type);
    const KOp by = combiner(i);
    switch (as<SubgroupOp>(i.op)) {
      case SubgroupOp::SubgroupReduce:
      case SubgroupOp::SubgroupScan:
        require(by == KOp::Add || by == KOp::Mul || by == KOp::Min || by == KOp::Max,
                "lanes are combined by add, mul, min, max");
        return require(i.type != Scalar::Bool, "not for bools");
      case SubgroupOp::Broadcast:
      case SubgroupOp::Shuffle: return operand_is(1, Scalar::U32);
    }
  }

  void define() {
    visible_[at_] = true;
    if (!open_.empty()) open_.back().defined.push_back(static_cast<Value>(at_));
  }

  void begin(KOp op) { open_.push_back({op, {}}); }

  void end(KOp a, KOp b) {
    require(!open_.empty() && (open_.back().op == a || open_.back().op == b), "this end does not match the open block");
    for (Value v : open_.back().defined) visible_[v] = false;
    open_.pop_back();
  }

  void check(const Inst& i) {
    switch (kind(i.op)) {
      case Kind::Leaf: return leaf(i);
      case Kind::Memory: return access(i);
      case Kind::Arithmetic: return of_one_type(i, "not for bools");
      case Kind::Float: return of_one_type(i, "for floats only");
      case Kind::Integer: return of_one_type(i, i.op == KOp::MulHiU ? "for u32 only" : "for integers only");
      case Kind::Bitwise: return of_one_type(i, "not for floats");
      case Kind::Comparison:
        require(i.type == Scalar::Bool, "a comparison gives a bool");
        require(operand(0) == operand(1), "the operands have different types");
        return require(takes(i.op, operand(0)), "bools have no order");
      case Kind::Select:
        operand_is(0, Scalar::Bool);
        operand_is(1, i.type);
        return operand_is(2, i.type);
      case Kind::Conversion: return conversion(i);
      case Kind::Subgroup: return subgroup_operation(i);
      case Kind::Variable: return variable(i);
      case Kind::Control: return control(i);
    }
  }

  void leaf(const Inst& i) const {
    const Scalar t = i.type;
    switch (as<LeafOp>(i.op)) {
      case LeafOp::Const:
        require(t != Scalar::Bool || i.imm <= 1, "a bool is 0 or 1");
        return require(t == Scalar::F64 || i.imm <= 0xFFFFFFFFu, "the constant has more bits than its type");
      case LeafOp::Index:
      case LeafOp::LocalIndex:
      case LeafOp::GroupIndex: return require(t == Scalar::U32, "the index is u32");
      case LeafOp::LaneIndex: require(t == Scalar::U32, "the index is u32"); return has_lanes();
    }
  }

  // The result, too. A shift count may be of the other integer type.
  void of_one_type(const Inst& i, const char* types) const {
    require(takes(i.op, i.type), types);
    require(i.imm <= (may_be_exact(i) ? 1 : 0), "only sums, differences, products and quotients of floats are exact or not");
    operand_is(0, i.type);
    if (operand_count(i.op) < 2) return;
    if (is_shift(i.op))
      require(is_integer(operand(1)), "the shift count is not an integer");
    else
      operand_is(1, i.type);
    if (operand_count(i.op) > 2) operand_is(2, i.type);
  }

  void conversion(const Inst& i) const {
    const Scalar t = i.type;
    switch (as<ConversionOp>(i.op)) {
      case ConversionOp::Bitcast:
        return require(t != Scalar::Bool && t != Scalar::F64 && operand(0) != Scalar::Bool && operand(0) != Scalar::F64,
                       "only 32-bit numbers are reinterpreted");
      case ConversionOp::Convert:
        return require(
            t != Scalar::Bool && operand(0) != Scalar::Bool && (is_float(t) || is_float(operand(0))) && operand(0) != t,
            "converts between integers and floats, or between floats");
    }
  }

  void variable(const Inst& i) const {
    switch (as<VariableOp>(i.op)) {
      case VariableOp::Var: return operand_is(0, i.type);
      case VariableOp::Get: return visible_variable(i);
      case VariableOp::Set: visible_variable(i); return operand_is(1, i.type);
    }
  }

  void control(const Inst& i) {
    switch (as<ControlOp>(i.op)) {
      case ControlOp::If: operand_is(0, Scalar::Bool); return begin(KOp::If);
      case ControlOp::Else: end(KOp::If, KOp::If); return begin(KOp::Else);
      case ControlOp::EndIf: return end(KOp::If, KOp::Else);
      case ControlOp::Loop:
        require(i.type == Scalar::I32, "a counter is i32");
        operand_is(0, Scalar::I32);
        return begin(KOp::Loop);
      case ControlOp::EndLoop: return end(KOp::Loop, KOp::Loop);
      case ControlOp::Break:
        operand_is(0, Scalar::Bool);
        return require(!open_.empty() && open_.back().op == KOp::Loop,
                       "a loop is left from its own body, under no condition");
      case ControlOp::Barrier: return;
    }
  }

  const Kernel& kernel_;
  size_t at_ = 0;
  std::vector<bool> visible_;
  std::vector<Open> open_;
};

}  // namespace

bool takes(KOp op, Scalar operand) {
  switch (kind(op)) {
    case Kind::Arithmetic: return operand != Scalar::Bool;
    case Kind::Float: return is_float(operand);
    case Kind::Integer: return op == KOp::MulHiU ? operand == Scalar::U32 : is_integer(operand);
    case Kind::Bitwise: return !is_float(operand);
    case Kind::Comparison: return operand != Scalar::Bool || op == KOp::Eq || op == KOp::Ne;
    case Kind::Leaf:
    case Kind::Memory:
    case Kind::Select:
    case Kind::Conversion:
    case Kind::Subgroup:
    case Kind::Variable:
    case Kind::Control: break;
  }
  return false;
}

std::optional<Error> verify(const Kernel& kernel) { return Verifier(kernel).run(); }

}  // namespace spirograd::kernel
