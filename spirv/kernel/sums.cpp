#include "spirv/kernel/sums.h"

namespace spirograd::kernel {
namespace {

constexpr size_t kMostTerms = 8;

Sum added(const Sum& a, const Sum& b, uint32_t times) {
  Sum out{{}, a.constant + times * b.constant};
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    const bool left = y == b.terms.end() || (x != a.terms.end() && x->first <= y->first);
    const bool right = x == a.terms.end() || (y != b.terms.end() && y->first <= x->first);
    const Value v = left ? x->first : y->first;
    const uint32_t factor = (left ? x->second : 0) + (right ? times * y->second : 0);
    if (factor != 0) out.terms.emplace_back(v, factor);
    if (left) ++x;
    if (right) ++y;
  }
  return out;
}

}  // namespace

const Sum& Sums::operator[](Value v) {
  if (!known_[v]) known_[v] = sum_of(v);
  return *known_[v];
}

std::optional<uint32_t> Sums::constant(Value v) {
  const Sum& s = (*this)[v];
  return s.terms.empty() ? std::optional(s.constant) : std::nullopt;
}

Sum Sums::sum_of(Value v) {
  const Inst& i = body_[v];
  const Sum itself{{{v, 1}}, 0};
  if (!is_integer(i.type)) return itself;
  const auto operand = [&](size_t j) -> const Sum& { return (*this)[i.in[j]]; };
  Sum out = itself;
  if (i.op == KOp::Const) return {{}, static_cast<uint32_t>(i.imm)};
  if (i.op == KOp::Bitcast && is_integer(body_[i.in[0]].type)) out = operand(0);
  if (i.op == KOp::Add) out = added(operand(0), operand(1), 1);
  if (i.op == KOp::Sub) out = added(operand(0), operand(1), ~uint32_t{0});
  if (i.op == KOp::Mul) {
    if (const auto factor = constant(i.in[1]))
      out = added({}, operand(0), *factor);
    else if (const auto other = constant(i.in[0]))
      out = added({}, operand(1), *other);
  }
  if (i.op == KOp::Shl)
    if (const auto by = constant(i.in[1]); by && *by < 32) out = added({}, operand(0), uint32_t{1} << *by);
  return out.terms.size() <= kMostTerms ? out : itself;
}

}  // namespace spirograd::kernel
