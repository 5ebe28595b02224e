#include "spirv/kernel/pairs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "spirv/kernel/scalar.h"

namespace spirograd::kernel {
namespace {

constexpr size_t kMostTerms = 8;

// An integer as a sum of multiples of values, which do not repeat, in their order; modulo 2^32, as the machine adds.
struct Sum {
  std::vector<std::pair<Value, uint32_t>> terms;
  uint32_t constant = 0;
};

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

class Sums {
 public:
  explicit Sums(const std::vector<Inst>& body) : body_(body), known_(body.size()) {}

  // Operands come before their users, so that those of a long chain are known by the time they are asked for.
  const Sum& operator[](Value v) {
    if (!known_[v]) known_[v] = sum_of(v);
    return *known_[v];
  }

 private:
  std::optional<uint32_t> constant(Value v) {
    const Sum& s = (*this)[v];
    return s.terms.empty() ? std::optional(s.constant) : std::nullopt;
  }

  Sum sum_of(Value v) {
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

  const std::vector<Inst>& body_;
  std::vector<std::optional<Sum>> known_;
};

class Finder {
 public:
  Finder(const Kernel& k, const std::vector<bool>& allowed) : k_(k), allowed_(allowed), sums_(k.body), out_(k.body.size()) {
    allowed_.resize(k.bindings.size());
    for (size_t b = 0; b < allowed_.size(); ++b) {
      const Binding& binding = k.bindings[b];
      const bool one_way = binding.access == Access::Read || binding.access == Access::Write;
      allowed_[b] = allowed_[b] && one_way && (is_integer(binding.type) || binding.type == Scalar::F32);
    }
  }

  std::vector<Half> run() {
    if (std::ranges::find(allowed_, true) == allowed_.end()) return std::move(out_);
    for (Value at = 0; at < k_.body.size(); ++at) {
      const Inst& i = k_.body[at];
      if (is_integer(i.type) && info(i.op).has_result && info(i.op).memory == Memory::None) sums_[at];
      if (i.op == KOp::Load) {
        waiting_stores_.erase(i.in[0]);
        enter(at, waiting_loads_[i.in[0]]);
      } else if (i.op == KOp::Store) {
        waiting_loads_.erase(i.in[0]);
        enter(at, waiting_stores_[i.in[0]]);
      } else if (info(i.op).memory == Memory::Binding || info(i.op).kind == Kind::Control) {
        waiting_loads_.clear();
        waiting_stores_.clear();
      }
    }
    return std::move(out_);
  }

 private:
  struct Place {
    std::vector<std::pair<Value, uint32_t>> terms;
    uint32_t constant;  // of the first of two
    auto operator<=>(const Place&) const = default;
  };
  using Waiting = std::map<Place, Value>;

  void enter(Value at, Waiting& waiting) {
    const Inst& i = k_.body[at];
    if (!allowed_[i.in[0]]) return;
    const Sum& s = sums_[i.in[1]];
    if (std::ranges::any_of(s.terms, [](const auto& t) { return t.second % 2 != 0; })) return;
    const auto [it, fresh] = waiting.try_emplace({s.terms, s.constant & ~uint32_t{1}}, at);
    if (fresh) return;
    if (sums_[k_.body[it->second].in[1]].constant == s.constant) {
      it->second = at;  // of stores to one place the last one counts
      return;
    }
    const bool odd = s.constant % 2 != 0;
    out_[it->second] = {at, !odd};
    out_[at] = {it->second, odd};
    waiting.erase(it);
  }

  const Kernel& k_;
  std::vector<bool> allowed_;  // by binding
  Sums sums_;
  std::vector<Half> out_;
  std::map<uint32_t, Waiting> waiting_loads_, waiting_stores_;  // by binding, in the block that is open
};

}  // namespace

std::vector<Half> pairs(const Kernel& k, const std::vector<bool>& allowed) { return Finder(k, allowed).run(); }

}  // namespace spirograd::kernel
