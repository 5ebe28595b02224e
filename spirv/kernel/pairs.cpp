#include "spirv/kernel/pairs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "spirv/kernel/sums.h"

namespace spirograd::kernel {
namespace {

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
