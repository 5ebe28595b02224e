// What the builder simplifies. Integer rules hold modulo 2^32 unless they ask the intervals first; float rules keep every
// bit.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "frontend/base/checked.h"
#include "spirv/kernel/builder.h"
#include "spirv/kernel/interval.h"
#include "spirv/kernel/scalar.h"

namespace spirograd::kernel {
namespace {

constexpr size_t kMaxTerms = 8;  // longer sums are left alone: the rules look at all pairs

// A float result that no device computes differently: not NaN (payload), not denormal (may be flushed).
bool portable(Scalar t, uint64_t word) {
  if (!is_float(t)) return true;
  const int kind = t == Scalar::F32 ? std::fpclassify(as_f32(word)) : std::fpclassify(as_f64(word));
  return kind != FP_NAN && kind != FP_SUBNORMAL;
}

// Two's complement view of a constant of either type: -5 for u32 4294967291.
int64_t signed_view(uint64_t bits) { return as_i32(bits); }

// The term of a linear combination that is about `value`.
template <class Terms>
auto find_term(Terms& terms, Value value) {
  return std::find_if(terms.begin(), terms.end(), [value](const auto& term) { return term.first == value; });
}

}  // namespace

std::optional<Value> Builder::fold(KOp op, Scalar result, Value a, std::optional<Value> b) {
  const Scalar t = type(a);
  if (!constant_bits(a) || (b && !constant_bits(*b))) return std::nullopt;
  const uint64_t x = at(a).imm, y = b ? at(*b).imm : 0;
  if (!portable(t, x) || (b && !portable(t, y))) return std::nullopt;
  const uint64_t word = apply(op, t, result, x, y);
  if (!portable(result, word)) return std::nullopt;
  return constant_word(result, word);
}

std::optional<Value> Builder::identity_bool(KOp op, Value a, Value b) {
  if (op == KOp::And) {
    if (a == b || is_constant(b, 1)) return a;
    if (is_constant(b, 0)) return b;
  }
  if (op == KOp::Or) {
    if (a == b || is_constant(b, 0)) return a;
    if (is_constant(b, 1)) return b;
  }
  if (op == KOp::Xor || op == KOp::Ne) {
    if (a == b) return boolean(false);
    if (is_constant(b, 0)) return a;
    if (is_constant(b, 1)) return this->op(KOp::Not, a);
  }
  if (op == KOp::Eq) {
    if (a == b) return boolean(true);
    if (is_constant(b, 1)) return a;
    if (is_constant(b, 0)) return this->op(KOp::Not, a);
  }
  return std::nullopt;
}

// x + 0 is not x for x = -0, but x + -0 and x - 0 are.
std::optional<Value> Builder::identity_float(KOp op, Value a, Value b) {
  const bool f32 = type(a) == Scalar::F32;
  const uint64_t one = f32 ? bits(1.0f) : bits(1.0), minus_zero = f32 ? bits(-0.0f) : bits(-0.0);
  if ((op == KOp::Mul || op == KOp::Div) && is_constant(b, one)) return a;
  if (op == KOp::Add && is_constant(b, minus_zero)) return a;
  if (op == KOp::Sub && is_constant(b, 0)) return a;
  return with_zero(op, a, b);
}

// llvmpipe makes 0 of x * 0, x - x and 0 / x, and anything of x / 0, whatever x is and whatever the kernel declares. Ask for
// what they are. (In f64 a product with x = -0 has the sign of a product with 0.)
std::optional<Value> Builder::with_zero(KOp op, Value a, Value b) {
  const Scalar t = type(a);
  const bool f32 = t == Scalar::F32;
  const uint64_t minus_zero = f32 ? bits(-0.0f) : bits(-0.0);
  const auto is_zero = [&](Value v) { return is_constant(v, 0) || is_constant(v, minus_zero); };
  const Value zero = constant(t, 0), nan = constant(t, std::numeric_limits<double>::quiet_NaN());
  const auto zero_like = [&](Value x, Value other) {  // with the sign of a product or quotient of x and the zero `other`
    const bool flip = !is_constant(other, 0);
    if (!f32) return select(this->op(KOp::Lt, x, zero), constant(t, flip ? 0.0 : -0.0), constant(t, flip ? -0.0 : 0.0));
    const Value sign = this->op(KOp::And, bitcast(Scalar::U32, x), constant_word(Scalar::U32, 0x80000000u));
    return bitcast(t, flip ? this->op(KOp::Xor, sign, constant_word(Scalar::U32, 0x80000000u)) : sign);
  };
  if ((op == KOp::Mul && is_zero(b)) || (op == KOp::Sub && a == b)) {
    const double most = f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    const Value above = this->op(KOp::Le, constant(t, -most), a), below = this->op(KOp::Le, a, constant(t, most));
    return select({logical_and(above, below), op == KOp::Mul ? zero_like(a, b) : zero, nan});
  }
  if (op != KOp::Div || (!is_zero(a) && !is_zero(b))) return std::nullopt;
  const Value x = is_zero(b) ? a : b, positive = this->op(KOp::Lt, zero, x), negative = this->op(KOp::Lt, x, zero);
  if (!is_zero(b)) return select({this->op(KOp::Or, positive, negative), zero_like(b, a), nan});
  const double infinity = is_constant(b, 0) ? HUGE_VAL : -HUGE_VAL;
  return select(positive, constant(t, infinity), select(negative, constant(t, -infinity), nan));
}

std::optional<Value> Builder::identity(KOp op, Value a, Value b) {
  const Scalar t = type(a);
  const auto c = constant_bits(b);
  const auto inner = [&](Value v) -> std::optional<uint64_t> {  // constant operand of v, if v is the same operation
    return at(v).op == op ? constant_bits(at(v).in[1]) : std::nullopt;
  };
  const auto minuend = [&](Value v) -> std::optional<uint64_t> {  // k of v = k - x
    return at(v).op == KOp::Sub ? constant_bits(at(v).in[0]) : std::nullopt;
  };
  const auto again = [&](uint64_t word) { return this->op(op, at(a).in[0], constant_word(t, word)); };
  if (op == KOp::Add) {
    if (c && *c == 0) return a;
    if (const auto k = inner(a); c && k) return again(*k + *c);
    if (const auto k = minuend(a); c && k) return this->op(KOp::Sub, constant_word(t, *k + *c), at(a).in[1]);
    return combined_sum(op, a, b);
  }
  if (op == KOp::Sub) {
    if (c) return this->op(KOp::Add, a, constant_word(t, 0u - *c));
    if (is_constant(a, 0)) return this->op(KOp::Neg, b);
    // Places that are reversed again and again.
    const auto from = constant_bits(a), less = minuend(b);
    if (from && less) return this->op(KOp::Add, at(b).in[1], constant_word(t, *from - *less));
    return combined_sum(op, a, b);
  }
  if (op == KOp::Mul) {
    if (c && *c == 0) return b;
    if (c && *c == 1) return a;
    if (const auto k = inner(a); c && k) return again(*k * *c);
  }
  if ((op == KOp::Quot || op == KOp::Rem) && c && signed_view(*c) > 0) return divided(op, a, signed_view(*c));
  // Some optimisers make the negative of a quotient one by the negative divisor, which this one does not have.
  if ((op == KOp::Quot || op == KOp::Rem) && t == Scalar::I32 && c && *c == 0x80000000u) {
    const Value is_least = this->op(KOp::Eq, a, b), zero = constant_word(t, 0);
    return op == KOp::Quot ? select(is_least, constant_word(t, 1), zero) : select(is_least, zero, a);
  }
  if (op == KOp::Min || op == KOp::Max) {
    if (a == b) return a;
    if (const auto lt = decide(KOp::Le, interval(a), interval(b))) return *lt == (op == KOp::Min) ? a : b;
  }
  if (op == KOp::And || op == KOp::Or || op == KOp::Xor) {
    if (a == b) return op == KOp::Xor ? constant_word(t, 0) : a;
    const uint64_t neutral = op == KOp::And ? 0xFFFFFFFFu : 0u;
    if (c && *c == neutral) return a;
    if (c && op != KOp::Xor && *c == (neutral ^ 0xFFFFFFFFu)) return b;
    if (const auto k = inner(a); c && k) return again(op == KOp::And ? *k & *c : op == KOp::Or ? *k | *c : *k ^ *c);
  }
  if (is_shift(op) && c && *c == 0) return a;
  return std::nullopt;
}

// What integer intervals follow from a condition being true or false.
void Builder::facts(Value condition, bool truth, std::vector<std::pair<Value, Interval>>& out) const {
  const auto learn = [&](Value v, Interval i) {
    out.emplace_back(v, i);
    // 0 <= x < 2^31 means the same number in both integer types.
    const Inst& of = at(v);
    if (of.op == KOp::Bitcast && is_integer(type(of.in[0])) && i.lo >= 0 && i.hi <= whole(Scalar::I32).hi)
      out.emplace_back(of.in[0], i);
  };
  std::vector<std::pair<Value, bool>> open{{condition, truth}};
  while (!open.empty()) {
    const auto [v, holds] = open.back();
    open.pop_back();
    const Inst& i = at(v);
    const Value a = i.in[0], b = i.in[1];
    if (i.op == KOp::Not) {
      open.emplace_back(a, !holds);
    } else if ((i.op == KOp::And && holds) || (i.op == KOp::Or && !holds)) {
      open.emplace_back(a, holds);
      open.emplace_back(b, holds);
    } else if ((i.op == KOp::Lt || i.op == KOp::Le) && is_integer(type(a))) {
      // a < b, a <= b, or their complements b <= a, b < a.
      const Value small = holds ? a : b, large = holds ? b : a;
      const int64_t gap = (i.op == KOp::Lt) == holds ? 1 : 0;
      learn(small, {whole(type(a)).lo, interval(large).hi - gap});
      learn(large, {interval(small).lo + gap, whole(type(a)).hi});
    } else if (((i.op == KOp::Eq && holds) || (i.op == KOp::Ne && !holds)) && is_integer(type(a))) {
      learn(a, interval(b));
      learn(b, interval(a));
    }
  }
}

void Builder::assume_condition(Value condition, bool truth) {
  std::vector<std::pair<Value, Interval>> known;
  facts(condition, truth, known);
  for (const auto& [v, i] : known) assume(v, i);
}

// v as a sum of multiples. exact: over the integers, so operations that might wrap are left whole; otherwise modulo 2^32.
Builder::Linear Builder::linear(Value v, bool exact) const {
  const Scalar t = type(v);
  Linear sum;
  std::vector<std::pair<Value, int64_t>> open{{v, 1}};
  const auto fits = [&](Interval i) { return !exact || contains(whole(t), i); };
  while (!open.empty()) {
    const auto [x, coefficient] = open.back();
    open.pop_back();
    const Inst& i = at(x);
    const Value a = i.in[0], b = i.in[1];
    const bool room = sum.terms.size() + open.size() < kMaxTerms;
    std::optional<uint64_t> k;
    if (i.op == KOp::Add || i.op == KOp::Mul) k = constant_bits(b);
    if (i.op == KOp::Const) {
      sum.constant += coefficient * intervals_[x].lo;
    } else if (i.op == KOp::Add && k && fits(exact_add(interval(a), {signed_view(*k), signed_view(*k)}))) {
      sum.constant += coefficient * signed_view(*k);
      open.emplace_back(a, coefficient);
    } else if (i.op == KOp::Add && !k && room && fits(exact_add(interval(a), interval(b)))) {
      open.emplace_back(b, coefficient);
      open.emplace_back(a, coefficient);
    } else if (i.op == KOp::Sub && room && fits(exact_sub(interval(a), interval(b)))) {
      open.emplace_back(b, -coefficient);
      open.emplace_back(a, coefficient);
    } else if (i.op == KOp::Mul && k && std::abs(coefficient) < (int64_t{1} << 31) && signed_view(*k) >= 0 &&
               fits(exact_mul(interval(a), intervals_[b]))) {
      const int64_t product = coefficient * signed_view(*k);
      open.emplace_back(a, exact ? product : as_i32(static_cast<uint64_t>(product)));
    } else {
      const auto same = find_term(sum.terms, x);
      if (same == sum.terms.end())
        sum.terms.emplace_back(x, coefficient);
      else
        same->second += coefficient;
    }
  }
  return sum;
}

Interval Builder::interval(const Linear& sum) const {
  Interval total = {sum.constant, sum.constant};
  for (const auto& [v, c] : sum.terms) total = exact_add(total, exact_mul(interval(v), {c, c}));
  return total;
}

Value Builder::build(Scalar t, const Linear& sum) {
  std::optional<Value> total;
  const auto scaled = [&](Value v, int64_t c) { return c == 1 ? v : op(KOp::Mul, v, unsigned_or_signed(t, c)); };
  for (const auto& [v, c] : sum.terms) {
    if (c == 0) continue;
    if (!total)
      total = scaled(v, c);
    else if (c < 0 && c > -(int64_t{1} << 31))
      total = plain(KOp::Sub, *total, scaled(v, -c));
    else {
      const Value next = scaled(v, c);
      total = plain(KOp::Add, std::min(*total, next), std::max(*total, next));
    }
  }
  if (!total) return unsigned_or_signed(t, sum.constant);
  if (static_cast<uint32_t>(sum.constant) == 0) return *total;
  return op(KOp::Add, *total, unsigned_or_signed(t, sum.constant));
}

// s*c * (y quot c) + s * (y rem c) = s * y: linearising what was taken apart. Joins one such pair.
bool Builder::join_quot_rem(Linear& sum) const {
  for (auto rem = sum.terms.begin(); rem != sum.terms.end(); ++rem) {
    const Inst& r = at(rem->first);
    if (r.op != KOp::Rem || !constant_bits(r.in[1])) continue;
    const Value y = r.in[0];
    const int64_t c = interval(r.in[1]).lo;
    // y quot c, where y may be a quotient itself: (x quot k) quot c is kept as x quot (k*c).
    Value base = y;
    int64_t divisor = c;
    if (at(y).op == KOp::Quot && constant_bits(at(y).in[1])) {
      base = at(y).in[0];
      divisor = exact_mul(interval(at(y).in[1]), {c, c}).lo;
    }
    for (auto quot = sum.terms.begin(); quot != sum.terms.end(); ++quot) {
      const Inst& q = at(quot->first);
      if (q.op != KOp::Quot || static_cast<uint32_t>(quot->second) != static_cast<uint32_t>(rem->second * c)) continue;
      const bool direct = q.in[0] == y && constant_bits(q.in[1]) && interval(q.in[1]).lo == c;
      const bool nested = q.in[0] == base && constant_bits(q.in[1]) && interval(q.in[1]).lo == divisor;
      if (!direct && !nested) continue;
      const int64_t s = rem->second;
      sum.terms.erase(quot < rem ? rem : quot);
      sum.terms.erase(quot < rem ? quot : rem);
      const auto same = std::find_if(sum.terms.begin(), sum.terms.end(), [&](const auto& term) { return term.first == y; });
      if (same == sum.terms.end())
        sum.terms.emplace_back(y, s);
      else
        same->second += s;
      return true;
    }
  }
  return false;
}

// a + b or a - b written anew if terms cancel or join.
std::optional<Value> Builder::combined_sum(KOp op, Value a, Value b) {
  const Scalar t = type(a);
  Linear sum = linear(a, false);
  const Linear right = linear(b, false);
  const int64_t sign = op == KOp::Add ? 1 : -1;
  if (sum.terms.size() + right.terms.size() > 2 * kMaxTerms) return std::nullopt;
  bool changed = false;
  sum.constant += sign * right.constant;
  for (const auto& [v, c] : right.terms) {
    const auto same = find_term(sum.terms, v);
    if (same == sum.terms.end()) {
      sum.terms.emplace_back(v, sign * c);
    } else {
      same->second += sign * c;
      changed |= static_cast<uint32_t>(same->second) == 0;  // x + x stays
    }
  }
  while (join_quot_rem(sum)) changed = true;
  if (!changed) return std::nullopt;
  for (auto& term : sum.terms) term.second = as_i32(static_cast<uint64_t>(term.second));
  sum.constant = as_i32(static_cast<uint64_t>(sum.constant));
  std::erase_if(sum.terms, [](const auto& term) { return term.second == 0; });
  std::stable_sort(sum.terms.begin(), sum.terms.end(),
                   [](const auto& x, const auto& y) { return (x.second > 0) > (y.second > 0); });
  return build(t, sum);
}

// a quot c and a rem c for a constant c > 0; a is not known to lie in [0, c) (the interval rule has taken those).
std::optional<Value> Builder::divided(KOp op, Value a, int64_t c) {
  const Scalar t = type(a);
  const bool quot = op == KOp::Quot;
  if (c == 1) return quot ? a : constant_word(t, 0);
  const auto number = [&](int64_t k) { return unsigned_or_signed(t, k); };
  const Inst i = at(a);
  const int64_t k = i.op == KOp::Quot || i.op == KOp::Rem ? (constant_bits(i.in[1]) ? interval(i.in[1]).lo : 0) : 0;

  if (i.op == KOp::Rem && k > 0 && k % c == 0 && !quot) return this->op(KOp::Rem, i.in[0], number(c));
  const Interval range_a = interval(a);
  if (range_a.lo < 0) return std::nullopt;
  if (!quot && range_a.hi < c) return a;
  const bool positive = k > 0 && interval(i.in[0]).lo >= 0;
  if (i.op == KOp::Quot && positive && quot) {
    if (k * c > whole(t).hi) return number(0);
    return this->op(KOp::Quot, i.in[0], number(k * c));
  }
  if (i.op == KOp::Rem && positive && quot && k % c == 0)
    return this->op(KOp::Rem, this->op(KOp::Quot, i.in[0], number(c)), number(k / c));

  // a = multiple * c + rest, both parts at least 0: then a quot c = multiple + rest quot c, a rem c = rest rem c.
  const Linear sum = linear(a, true);
  if (sum.terms.empty() || (sum.terms.size() == 1 && sum.constant == 0 && sum.terms[0].second == 1)) return std::nullopt;
  const auto split = [&](int64_t by, Linear& multiple, Linear& rest) {
    multiple.constant = floor_div(sum.constant, by);
    rest.constant = sum.constant - multiple.constant * by;
    for (const auto& [v, s] : sum.terms) {
      if (s % by == 0)
        multiple.terms.emplace_back(v, s / by);
      else
        rest.terms.emplace_back(v, s);
    }
    return !multiple.terms.empty() && interval(multiple).lo >= 0 && interval(rest).lo >= 0;
  };
  Linear multiple, rest;
  if (split(c, multiple, rest)) {
    const Value left = build(t, rest);
    narrowed(left, interval(rest));
    if (!quot) return this->op(KOp::Rem, left, number(c));
    const Value whole_part = build(t, multiple);
    narrowed(whole_part, interval(multiple));
    return this->op(KOp::Add, whole_part, this->op(KOp::Quot, left, number(c)));
  }
  // a = multiple * g + rest with 0 <= rest < g and g a divisor of c: a quot c = multiple quot (c/g), and
  // a rem c = (multiple rem (c/g)) * g + rest, which is as cheap where the rest is a constant.
  for (const auto& term : sum.terms) {
    const int64_t g = std::gcd(term.second, c);
    Linear many, few;
    if (g <= 1 || !split(g, many, few) || interval(few).hi >= g || (!quot && !few.terms.empty())) continue;
    const Value multiple_value = build(t, many);
    narrowed(multiple_value, interval(many));
    const Value part = this->op(op, multiple_value, number(c / g));
    if (quot) return part;
    return this->op(KOp::Add, this->op(KOp::Mul, part, number(g)), number(few.constant));
  }
  return std::nullopt;
}

}  // namespace spirograd::kernel
