// Builds kernel bodies: folds integer constants, gives equal pure instructions of one block (or an enclosing one) the same value,
// and knows an interval for every integer, so that bounds checks and divisor fix-ups are emitted only where they are needed.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// Closed interval of an i32 or u32 value, in int64.
struct Interval {
  int64_t lo, hi;
  bool operator==(const Interval&) const = default;
};

class Builder {
 public:
  Builder(std::string name, uint32_t workgroup, uint64_t invocations);

  /// Adds a binding and returns its number.
  uint32_t bind(std::string name, Scalar type, Access access);

  Scalar type(Value v) const;
  /// Interval of an integer value; the whole range of its type when nothing is known.
  Interval interval(Value v) const;
  /// Promises a tighter interval (for values whose range the lowering knows: a loaded index after its guard).
  void assume(Value v, Interval i);
  std::optional<uint64_t> constant_bits(Value v) const;

  Value constant(Scalar t, double value);  // value converted to t exactly or by rounding
  Value i32(int64_t value) { return constant(Scalar::I32, static_cast<double>(value)); }
  Value f32(double value) { return constant(Scalar::F32, value); }
  Value boolean(bool value) { return constant(Scalar::Bool, value ? 1 : 0); }
  Value constant_word(Scalar t, uint64_t bits);

  Value index();                                    // u32, interval [0, invocations)
  Value load(uint32_t binding, Value index);
  void store(uint32_t binding, Value index, Value value);
  void atomic_add(uint32_t binding, Value index, Value value);

  /// Any pure operation of one to three operands; types are checked by assertions.
  Value op(KOp op, Value a);
  Value op(KOp op, Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value bitcast(Scalar t, Value a);
  Value convert(Scalar t, Value a);

  Value add(Value a, Value b) { return op(KOp::Add, a, b); }
  Value sub(Value a, Value b) { return op(KOp::Sub, a, b); }
  Value mul(Value a, Value b) { return op(KOp::Mul, a, b); }
  Value logical_and(Value a, Value b) { return op(KOp::And, a, b); }

  Value var(Value initial);
  Value get(Value var);
  void set(Value var, Value value);

  void begin_if(Value condition);
  void begin_else();
  void end_if();
  Value begin_loop(Value count);  // returns the counter, i32 in [0, count)
  void end_loop();

  /// Number of instructions so far; a measure of code size.
  size_t size() const;
  Kernel finish() &&;

 private:
  struct Scope;
  Value append(Inst inst);
  Value pure(Inst inst);
  Kernel kernel_;
  std::vector<Interval> intervals_;
  // Value numbering: one table per open block; closing a block drops its table.
  using Key = std::tuple<KOp, Scalar, std::array<uint32_t, 3>, uint64_t>;
  std::vector<std::map<Key, Value>> scopes_;
};

}  // namespace spirograd::kernel
