// Blocks, value numbering and the typed constructors of the kernel builder. Simplification rules: builder_rules.cpp.
#include "spirv/kernel/builder.h"

#include <algorithm>
#include <cassert>

#include "spirv/kernel/finish.h"
#include "spirv/kernel/interval.h"
#include "spirv/kernel/verify.h"

namespace spirograd::kernel {
namespace {

bool is_comparison(KOp op) { return kind(op) == Kind::Comparison; }

bool is_commutative(KOp op) {
  return op == KOp::Add || op == KOp::Mul || op == KOp::And || op == KOp::Or || op == KOp::Xor || op == KOp::MulHiU ||
         op == KOp::Eq || op == KOp::Ne;
}

}  // namespace

Builder::Builder(std::string name, uint32_t workgroup, uint64_t invocations, uint32_t subgroup) {
  kernel_.name = std::move(name);
  kernel_.subgroup = subgroup;
  kernel_.workgroup = workgroup;
  kernel_.invocations = invocations;
  open({.kind = Block::Kind::Body, .marked = false});
}

uint32_t Builder::bind(std::string name, Scalar type, Access access) {
  kernel_.bindings.push_back({std::move(name), type, access});
  return static_cast<uint32_t>(kernel_.bindings.size() - 1);
}

Scalar Builder::type(Value v) const { return at(v).type; }
Interval Builder::interval(Value v) const { return intervals_[v]; }

void Builder::assume(Value v, Interval i) {
  assert(i.lo <= i.hi);
  const Interval tighter = intersect(intervals_[v], i);
  if (tighter == intervals_[v]) return;
  blocks_.back().undo.emplace_back(v, intervals_[v]);
  intervals_[v] = tighter;
}

Value Builder::narrowed(Value v, Interval i) {
  if (is_integer(type(v))) assume(v, i);
  return v;
}

std::optional<uint64_t> Builder::constant_bits(Value v) const {
  if (at(v).op != KOp::Const) return std::nullopt;
  return at(v).imm;
}

std::optional<std::pair<Value, Value>> Builder::factors(Value v) const {
  if (at(v).op != KOp::Mul) return std::nullopt;
  return std::pair(at(v).in[0], at(v).in[1]);
}

bool Builder::is_constant(Value v, uint64_t bits) const { return at(v).op == KOp::Const && at(v).imm == bits; }

Value Builder::append(Inst inst, Interval interval) {
  kernel_.body.push_back(inst);
  intervals_.push_back(interval);
  exact_.push_back(false);
  return static_cast<Value>(kernel_.body.size() - 1);
}

void Builder::cut(size_t size) {
  kernel_.body.resize(size);
  intervals_.resize(size);
  exact_.resize(size);
}

Value Builder::pure(Inst inst, Interval interval) {
  const auto found = known_.find(inst, kernel_.body);
  const Value v = found ? narrowed(*found, interval) : append(inst, interval);
  if (exact_scopes_ > 0 && may_be_exact(inst)) exact_[v] = true;
  if (!found) known_.insert(v, kernel_.body);
  return v;
}

Value Builder::constant(Scalar t, double value) {
  switch (t) {
    case Scalar::Bool: return constant_word(t, value != 0);
    case Scalar::I32:
    case Scalar::U32: return constant_word(t, static_cast<uint64_t>(static_cast<int64_t>(value)));
    case Scalar::F16:  // no value is of it
    case Scalar::F32: return constant_word(t, bits(static_cast<float>(value)));
    case Scalar::F64: return constant_word(t, bits(value));
  }
  return 0;
}

Value Builder::constant_word(Scalar t, uint64_t bits) {
  if (t != Scalar::F64) bits &= 0xFFFFFFFFu;
  return pure({KOp::Const, t, {}, bits}, point(t, bits));
}

Value Builder::load(uint32_t binding, Value index) {
  assert(is_integer(type(index)) && binding < kernel_.bindings.size());
  const Binding& b = kernel_.bindings[binding];
  assert(b.access == Access::Read || b.access == Access::ReadWrite);
  const Scalar t = loaded_as(b.type);
  const Inst inst{KOp::Load, t, {binding, index, 0}, 0};
  return b.access == Access::Read ? pure(inst, whole(t)) : append(inst, whole(t));
}

void Builder::store(uint32_t binding, Value index, Value value) {
  assert(is_integer(type(index)) && type(value) == loaded_as(kernel_.bindings[binding].type));
  append({KOp::Store, type(value), {binding, index, value}, 0}, {});
}

void Builder::atomic_max(uint32_t binding, Value index, Value value) {
  assert(is_integer(type(index)) && type(value) == Scalar::U32 && kernel_.bindings[binding].type == Scalar::U32);
  append({KOp::AtomicMax, type(value), {binding, index, value}, 0}, {});
}

void Builder::atomic_add(uint32_t binding, Value index, Value value) {
  assert(is_integer(type(index)) && type(value) == kernel_.bindings[binding].type);
  append({KOp::AtomicAdd, type(value), {binding, index, value}, 0}, {});
}

Value Builder::op(KOp op, Value a) {
  const Scalar t = type(a);
  assert(takes(op, t));
  if (const auto folded = fold(op, t, a, std::nullopt)) return *folded;
  const Inst& of = at(a);
  if ((op == KOp::Not || op == KOp::Neg) && of.op == op) return of.in[0];
  if (op == KOp::Not && t == Scalar::Bool && is_comparison(of.op)) {
    // The complement of an ordering of floats is not an ordering: both are false on NaN. Eq and Ne are complements.
    const Value x = of.in[0], y = of.in[1];
    if (of.op == KOp::Eq) return this->op(KOp::Ne, x, y);
    if (of.op == KOp::Ne) return this->op(KOp::Eq, x, y);
    if (is_integer(type(x))) return of.op == KOp::Lt ? this->op(KOp::Le, y, x) : this->op(KOp::Lt, y, x);
  }
  if ((op == KOp::Floor || op == KOp::Trunc) && (of.op == KOp::Floor || of.op == KOp::Trunc)) return a;
  return pure({op, t, {a, 0, 0}, 0}, range(op, t, interval(a), {}));
}

Value Builder::op(KOp op, Value a, Value b) {
  const bool compares = is_comparison(op);
  const Scalar t = type(a), result = compares ? Scalar::Bool : t;
  assert(takes(op, t));
  assert(type(b) == t || (is_shift(op) && is_integer(type(b))));
  if (op == KOp::Gt || op == KOp::Ge) return this->op(op == KOp::Gt ? KOp::Lt : KOp::Le, b, a);
  if (const auto folded = fold(op, result, a, b)) return *folded;
  // One order for both ways to write a commutative operation: constants last, otherwise older values first.
  const bool swappable = is_commutative(op) || (is_integer(t) && (op == KOp::Min || op == KOp::Max));
  const bool constant_a = constant_bits(a).has_value(), constant_b = constant_bits(b).has_value();
  if (swappable && (constant_a != constant_b ? constant_a : b < a)) std::swap(a, b);

  if (is_integer(t)) {
    if (compares) {
      if (a == b) return boolean(op == KOp::Eq || op == KOp::Le);
      if (const auto known = decide(op, interval(a), interval(b))) return boolean(*known);
    } else {
      const Interval possible = range(op, t, interval(a), interval(b));
      if (possible.lo == possible.hi) return unsigned_or_signed(t, possible.lo);
      if (const auto same = identity(op, a, b)) return narrowed(*same, possible);
    }
  } else if (const auto same = is_float(t) ? identity_float(op, a, b) : identity_bool(op, a, b)) {
    return *same;
  }
  return plain(op, a, b);
}

// The instruction itself, without rules.
Value Builder::plain(KOp op, Value a, Value b) {
  const Scalar t = type(a);
  if (is_comparison(op)) return pure({op, Scalar::Bool, {a, b, 0}, 0}, whole(Scalar::Bool));
  const Value v = pure({op, t, {a, b, 0}, 0}, range(op, t, interval(a), interval(b)));
  if ((op == KOp::Quot || op == KOp::Rem) && v + 1 == kernel_.body.size() && interval(a).lo >= 0 && interval(b).lo > 0)
    natural_divisions_.push_back(v);
  return v;
}

Value Builder::mul_add(Value a, Value b, Value c) {
  assert(takes(KOp::MulAdd, type(a)) && type(a) == type(b) && type(a) == type(c));
  const Value product = mul(a, b);
  if (!factors(product)) return add(product, c);
  if (b < a) std::swap(a, b);
  return pure({KOp::MulAdd, type(a), {a, b, c}, 0}, whole(type(a)));
}

Value Builder::select(Value condition, Value a, Value b) {
  assert(type(condition) == Scalar::Bool && type(a) == type(b));
  if (const auto known = constant_bits(condition)) return *known ? a : b;
  if (a == b) return a;
  if (at(condition).op == KOp::Not) return select(at(condition).in[0], b, a);
  const Scalar t = type(a);
  if (t == Scalar::Bool) {
    if (is_constant(a, 1)) return op(KOp::Or, condition, b);
    if (is_constant(b, 0)) return op(KOp::And, condition, a);
    if (is_constant(a, 0)) return op(KOp::And, op(KOp::Not, condition), b);
    if (is_constant(b, 1)) return op(KOp::Or, op(KOp::Not, condition), a);
  }
  const auto under = [&](Value arm, bool truth) {
    std::vector<std::pair<Value, Interval>> known;
    facts(condition, truth, known);
    Interval i = interval(arm);
    for (const auto& [v, tighter] : known)
      if (v == arm) i = intersect(i, tighter);
    return i;
  };
  const Interval either = is_integer(t) ? unite(under(a, true), under(b, false)) : whole(t);
  return pure({KOp::Select, t, {condition, a, b}, 0}, either);
}

Value Builder::bitcast(Scalar t, Value a) {
  const Scalar from = type(a);
  assert(from != Scalar::Bool && from != Scalar::F64 && t != Scalar::Bool && t != Scalar::F64);
  if (from == t) return a;
  if (at(a).op == KOp::Const) return constant_word(t, at(a).imm);
  if (at(a).op == KOp::Bitcast) return bitcast(t, at(a).in[0]);
  const bool integers = is_integer(from) && is_integer(t);
  return pure({KOp::Bitcast, t, {a, 0, 0}, 0}, integers ? wrap(t, interval(a)) : whole(t));
}

Value Builder::convert(Scalar t, Value a) {
  const Scalar from = type(a);
  assert(from != Scalar::Bool && t != Scalar::Bool);
  if (from == t) return a;
  if (is_integer(from) && is_integer(t)) return bitcast(t, a);
  if (const auto folded = fold(KOp::Convert, t, a, std::nullopt)) return *folded;
  if (from == Scalar::U32 && interval(a).hi <= whole(Scalar::I32).hi)
    a = bitcast(Scalar::I32, a);  // cheaper, and exact on all devices
  return pure({KOp::Convert, t, {a, 0, 0}, 0}, whole(t));
}

Value Builder::var(Value initial) { return append({KOp::Var, type(initial), {initial, 0, 0}, 0}, whole(type(initial))); }

Value Builder::get(Value var) {
  assert(at(var).op == KOp::Var);
  return append({KOp::Get, type(var), {var, 0, 0}, 0}, whole(type(var)));
}

void Builder::set(Value var, Value value) {
  assert(at(var).op == KOp::Var && type(var) == type(value));
  append({KOp::Set, type(var), {var, value, 0}, 0}, {});
}

void Builder::open(Block block) {
  if (!block.marked) block.start = kernel_.body.size();
  blocks_.push_back(std::move(block));
  scopes_.push_back(known_.size());
  remembered_.emplace_back();
}

void Builder::close() {
  Block& block = blocks_.back();
  if (block.dead) {
    cut(block.start);
    std::erase_if(natural_divisions_, [&](Value v) { return v >= block.start; });
  }
  for (auto saved = block.undo.rbegin(); saved != block.undo.rend(); ++saved)
    if (saved->first < intervals_.size()) intervals_[saved->first] = saved->second;
  blocks_.pop_back();
  known_.shrink(scopes_.back());
  scopes_.pop_back();
  remembered_.pop_back();
}

void Builder::remember(uint32_t what, Value of, std::array<Value, 3> results) { remembered_.back()[{what, of}] = results; }

std::optional<std::array<Value, 3>> Builder::recall(uint32_t what, Value of) const {
  for (auto block = remembered_.rbegin(); block != remembered_.rend(); ++block)
    if (const auto it = block->find({what, of}); it != block->end()) return it->second;
  return std::nullopt;
}

void Builder::begin_if(Value condition) {
  assert(type(condition) == Scalar::Bool);
  Block block{.kind = Block::Kind::If, .condition = condition};
  if (const auto known = constant_bits(condition)) {
    block.marked = false;
    block.dead = *known == 0;
  } else {
    block.start = append({KOp::If, Scalar::Bool, {condition, 0, 0}, 0}, {});
  }
  open(std::move(block));
  assume_condition(condition, true);
}

void Builder::begin_else() {
  assert(blocks_.back().kind == Block::Kind::If);
  Block block = blocks_.back();
  close();
  block.kind = Block::Kind::Else;
  block.undo.clear();
  if (block.marked)
    append({KOp::Else, Scalar::Bool, {}, 0}, {});
  else
    block.dead = !block.dead;
  const Value condition = block.condition;
  open(std::move(block));
  assume_condition(condition, false);
}

void Builder::end_if() {
  const Block block = blocks_.back();
  assert(block.kind == Block::Kind::If || block.kind == Block::Kind::Else);
  close();
  if (!block.marked) return;
  if (block.kind == Block::Kind::If && kernel_.body.size() == block.start + 1) {
    cut(block.start);  // nothing inside
    return;
  }
  append({KOp::EndIf, Scalar::Bool, {}, 0}, {});
}

Value Builder::begin_loop(Value count, bool breaks) {
  assert(type(count) == Scalar::I32);
  const Interval trips = interval(count);
  ++shared_version_, ++local_version_;  // a store further down in the body comes before its beginning
  Block block{.kind = Block::Kind::Loop, .breaks = breaks};
  if (trips.hi <= 0 || (trips.hi == 1 && trips.lo == 1 && !breaks)) {  // never, or exactly once
    block.marked = false;
    block.dead = trips.hi <= 0;
    open(std::move(block));
    return i32(0);
  }
  const Value counter = append({KOp::Loop, Scalar::I32, {count, 0, 0}, static_cast<uint64_t>(trips.hi)}, {0, trips.hi - 1});
  block.start = counter;
  open(std::move(block));
  return counter;
}

void Builder::break_if(Value condition) {
  assert(blocks_.back().kind == Block::Kind::Loop && blocks_.back().breaks && type(condition) == Scalar::Bool);
  append({KOp::Break, Scalar::Bool, {condition, 0, 0}, 0}, {});
}

void Builder::end_loop() {
  assert(blocks_.back().kind == Block::Kind::Loop);
  const bool marked = blocks_.back().marked;
  close();
  if (marked) append({KOp::EndLoop, Scalar::I32, {}, 0}, {});
}

size_t Builder::size() const { return kernel_.body.size(); }

Kernel Builder::finish() && {
  assert(blocks_.size() == 1);
  for (size_t v = 0; v < exact_.size(); ++v)
    if (exact_[v]) kernel_.body[v].imm = 1;
  kernel_.body = finished(kernel_.body, natural_divisions_);
  return std::move(kernel_);
}

}  // namespace spirograd::kernel
