// Builds kernel bodies: folds integer constants, gives equal pure instructions of one block (or an enclosing one) the same
// value, and knows an interval for every integer, so that bounds checks and divisor fix-ups are emitted only where they are
// needed.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "spirv/kernel/kernel.h"
#include "spirv/kernel/value_table.h"

namespace spirograd::kernel {

/// Closed interval of an i32 or u32 value, in int64.
struct Interval {
  int64_t lo, hi;
  bool operator==(const Interval&) const = default;
};

class Builder {
 public:
  /// subgroup: the number of lanes that the body is written for, if it knows of subgroups.
  Builder(std::string name, uint32_t workgroup, uint64_t invocations, uint32_t subgroup = 0);

  /// Adds a binding, an array of the workgroup, one of each invocation, and returns its number.
  uint32_t bind(std::string name, Scalar type, Access access);
  /// The binding is read and written from now on.
  void read_and_write(uint32_t binding) { kernel_.bindings[binding].access = Access::ReadWrite; }
  uint32_t shared(std::string name, Scalar type, uint32_t count);
  uint32_t local(std::string name, Scalar type, uint32_t count);
  /// Of all shared arrays so far.
  int64_t shared_bytes() const { return static_cast<int64_t>(kernel::shared_bytes(kernel_)); }

  Scalar type(Value v) const;
  /// Interval of an integer value; the whole range of its type when nothing is known.
  Interval interval(Value v) const;
  /// Promises a tighter interval (for values whose range the lowering knows: a loaded index after its guard). The promise
  /// holds to the end of the innermost open block. begin_if and select learn from integer comparisons in their condition
  /// themselves.
  void assume(Value v, Interval i);
  std::optional<uint64_t> constant_bits(Value v) const;
  /// The factors of a product.
  std::optional<std::pair<Value, Value>> factors(Value v) const;

  Value constant(Scalar t, double value);  // value converted to t exactly or by rounding
  Value i32(int64_t value) { return constant(Scalar::I32, static_cast<double>(value)); }
  Value f32(double value) { return constant(Scalar::F32, value); }
  Value boolean(bool value) { return constant(Scalar::Bool, value ? 1 : 0); }
  Value constant_word(Scalar t, uint64_t bits);

  /// Opens an If around what surplus invocations must not do: its condition is Index < invocations. Closed by end_if.
  void begin_guard();
  /// The same by whole workgroups, so that barriers may stand inside: GroupIndex < number of workgroups asked for.
  void begin_group_guard();
  Value index();  // u32, interval [0, invocations) inside of the guard, without it the whole workgroups
  Value load(uint32_t binding, Value index);
  void store(uint32_t binding, Value index, Value value);
  void atomic_add(uint32_t binding, Value index, Value value);
  void atomic_max(uint32_t binding, Value index, Value value);  // u32

  Value local_index();
  Value group_index();
  Value lane_index();
  /// Loads are shared while nothing can have been stored in between: not beyond stores, barriers and the beginning of loops.
  Value shared_load(uint32_t array, Value index);
  void shared_store(uint32_t array, Value index, Value value);
  Value local_load(uint32_t array, Value index);
  void local_store(uint32_t array, Value index, Value value);
  void barrier();
  /// The kernel is written for subgroups of so many lanes, from here on. Pre: for no other number so far.
  void use_lanes(uint32_t lanes);
  Value subgroup_reduce(KOp combiner, Value value);
  Value subgroup_scan(KOp combiner, Value value);
  Value broadcast(Value value, Value lane);
  Value shuffle(Value value, Value lane);

  /// Any pure operation of one to three operands; types are checked by assertions.
  Value op(KOp op, Value a);
  Value op(KOp op, Value a, Value b);
  Value mul_add(Value a, Value b, Value c);  // floats
  Value select(Value condition, Value a, Value b);
  Value bitcast(Scalar t, Value a);
  Value convert(Scalar t, Value a);

  Value add(Value a, Value b) { return op(KOp::Add, a, b); }
  Value sub(Value a, Value b) { return op(KOp::Sub, a, b); }
  Value mul(Value a, Value b) { return op(KOp::Mul, a, b); }
  Value logical_and(Value a, Value b) { return op(KOp::And, a, b); }

  /// The same with operands in braces. Those are computed from left to right, while compilers differ in which argument they
  /// compute first: where two operands are computed in place, braces keep the kernel the same whoever builds the compiler.
  struct Two {
    Value a, b;
  };
  struct Three {
    Value a, b, c;
  };
  Value op(KOp op, Two x) { return this->op(op, x.a, x.b); }
  Value add(Two x) { return op(KOp::Add, x); }
  Value sub(Two x) { return op(KOp::Sub, x); }
  Value mul(Two x) { return op(KOp::Mul, x); }
  Value logical_and(Two x) { return op(KOp::And, x); }
  Value select(Three x) { return select(x.a, x.b, x.c); }
  void store(uint32_t binding, Two index_and_value) { store(binding, index_and_value.a, index_and_value.b); }

  /// As long as one lives, arithmetic of floats is exact (op.h): what is asked for, not what it is computed from. A value
  /// that others ask for as well is still one value, and exact.
  class Exact {
   public:
    explicit Exact(Builder& b, bool wanted = true) : b_(b), wanted_(wanted) { b_.exact_scopes_ += wanted_; }
    ~Exact() { b_.exact_scopes_ -= wanted_; }
    Exact(const Exact&) = delete;
    Exact& operator=(const Exact&) = delete;

   private:
    Builder& b_;
    const bool wanted_;
  };

  Value var(Value initial);
  Value get(Value var);
  void set(Value var, Value value);

  /// Results of a whole computation on `of`, by a name that the caller gives it: kept as long as the innermost open block
  /// is. Variables and blocks are not numbered, so a formula that has them asks here first.
  void remember(uint32_t what, Value of, std::array<Value, 3> results);
  std::optional<std::array<Value, 3>> recall(uint32_t what, Value of) const;

  void begin_if(Value condition);
  void begin_else();
  void end_if();
  /// Returns the counter, i32 in [0, count). `breaks`: invocations may leave it, by break_if.
  Value begin_loop(Value count, bool breaks = false);
  /// Where the condition holds the innermost loop is left. Pre: it breaks, and is the innermost block.
  void break_if(Value condition);
  void end_loop();

  /// Whether all invocations of a workgroup have the same value, or take the same path to here. Conservative: variables,
  /// what subgroups compute and what is read from written bindings count as different.
  bool uniform(Value v) const { return same(v, false); }
  bool uniform_path() const { return same_path(false); }
  /// The same of the lanes of a subgroup. Pre: the kernel is written for lanes.
  bool uniform_in_subgroup(Value v) const { return same(v, true); }
  bool uniform_path_in_subgroup() const { return same_path(true); }

  /// Number of instructions so far; a measure of code size.
  size_t size() const;
  /// The kernel: unused instructions are dropped, and divisions of numbers known to be non-negative become shifts, masks or
  /// unsigned divisions, which devices do faster. Values change their ids.
  Kernel finish() &&;

 private:
  // An open block. Blocks whose condition is a known constant leave no markers; those that never run are cut out when they
  // close.
  struct Block {
    enum class Kind : uint8_t { Body, If, Else, Loop } kind = Kind::Body;
    bool marked = true;  // If/Loop instructions were emitted
    bool dead = false;   // never runs: cut at its end
    bool breaks = false;
    Value condition = 0;
    size_t start = 0;                              // position of its marker, or of its first instruction
    std::vector<std::pair<Value, Interval>> undo;  // intervals to restore at the end
  };
  // c0 + sum of coefficient * value
  struct Linear {
    std::vector<std::pair<Value, int64_t>> terms;
    int64_t constant = 0;
  };

  Value append(Inst inst, Interval interval);
  void cut(size_t size);
  Value pure(Inst inst, Interval interval);
  void open(Block block);
  void close();
  void assume_condition(Value condition, bool truth);
  void facts(Value condition, bool truth, std::vector<std::pair<Value, Interval>>& out) const;
  const Inst& at(Value v) const { return kernel_.body[v]; }
  Value narrowed(Value v, Interval i);
  bool is_constant(Value v, uint64_t bits) const;
  Value unsigned_or_signed(Scalar t, int64_t value) { return constant_word(t, static_cast<uint32_t>(value)); }

  // Rules; nullopt: no rule applies.
  std::optional<Value> fold(KOp op, Scalar result, Value a, std::optional<Value> b);
  std::optional<Value> identity(KOp op, Value a, Value b);
  std::optional<Value> identity_float(KOp op, Value a, Value b);
  std::optional<Value> with_zero(KOp op, Value a, Value b);
  std::optional<Value> identity_bool(KOp op, Value a, Value b);
  std::optional<Value> combined_sum(KOp op, Value a, Value b);
  std::optional<Value> divided(KOp op, Value a, int64_t divisor);
  bool join_quot_rem(Linear& sum) const;
  Linear linear(Value v, bool exact) const;
  Interval interval(const Linear& sum) const;
  Value build(Scalar t, const Linear& sum);
  Value plain(KOp op, Value a, Value b);

  bool counts_subgroups(const Inst& i) const;
  bool same(Value v, bool in_subgroup) const;
  bool same_path(bool in_subgroup) const;
  uint64_t groups() const;
  Value numbered(KOp op, uint64_t count);

  Kernel kernel_;
  uint64_t shared_version_ = 0, local_version_ = 0;  // counts what may have changed the arrays
  std::vector<Interval> intervals_;
  // Not in Inst::imm before the kernel is complete: value numbering does not tell exact values from others.
  std::vector<bool> exact_;
  int exact_scopes_ = 0;
  std::vector<Value> natural_divisions_;  // Quot and Rem of a number at least 0 by one above 0
  std::vector<Block> blocks_;
  // Value numbering: closing a block forgets what it added.
  ValueTable known_;
  std::vector<size_t> scopes_;  // sizes of the table when the blocks were opened
  std::vector<std::map<std::pair<uint32_t, Value>, std::array<Value, 3>>> remembered_;  // one table per open block
};

}  // namespace spirograd::kernel
