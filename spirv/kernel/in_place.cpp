#include "spirv/kernel/in_place.h"

#include <algorithm>
#include <map>
#include <optional>

#include "spirv/kernel/guard.h"
#include "spirv/kernel/scalar.h"

namespace spirograd::kernel {
namespace {

constexpr uint64_t kAll = ~uint64_t{0};
constexpr size_t kMostPlaces = 1 << 13;  // that are told apart one by one

// A digit of the number of an invocation: number / below % values. kAll values: what is left of it.
struct Digit {
  uint64_t below = 1, values = kAll;
  auto operator<=>(const Digit&) const = default;
};

// Sum of digits times how far they reach, and a constant.
struct Form {
  std::map<Digit, int64_t> digits;
  int64_t constant = 0;
  std::vector<std::pair<Value, int64_t>> below;  // as long as these values are no greater than these bounds
  bool is_constant() const { return digits.empty(); }
};

Form plus(Form a, const Form& b, int64_t times) {
  a.constant += times * b.constant;
  for (const auto& [digit, reach] : b.digits)
    if ((a.digits[digit] += times * reach) == 0) a.digits.erase(digit);
  a.below.insert(a.below.end(), b.below.begin(), b.below.end());
  return a;
}

int64_t constant_of(const Inst& i) { return i.type == Scalar::I32 ? as_i32(i.imm) : static_cast<int64_t>(i.imm); }

// Of each value that is one: every operand stands before what uses it.
class Forms {
 public:
  explicit Forms(const Kernel& k) : k_(k), forms_(k.body.size()) {
    for (size_t i = 0; i < k.body.size(); ++i) forms_[i] = found(k.body[i]);
  }
  const std::optional<Form>& operator[](Value v) const { return forms_[v]; }

  /// Whether all that the form supposes is among these conditions.
  bool holds(const Form& form, const std::vector<Value>& conditions) const {
    return std::all_of(form.below.begin(), form.below.end(), [&](const auto& supposed) {
      return std::any_of(conditions.begin(), conditions.end(), [&](Value c) {
        const Inst& is = k_.body[c];
        return is.op == KOp::Lt && is.in[0] == supposed.first && k_.body[is.in[1]].op == KOp::Const &&
               constant_of(k_.body[is.in[1]]) <= supposed.second + 1;
      });
    });
  }

 private:
  static Form digit(Digit d) { return {{{d, 1}}, 0, {}}; }

  std::optional<Form> found(const Inst& i) const {
    if (!is_integer(i.type)) return std::nullopt;
    if (i.op == KOp::Const) return Form{{}, constant_of(i), {}};
    if (i.op == KOp::Index) return digit({1, kAll});
    if (i.op == KOp::LocalIndex) return digit({1, k_.workgroup});
    if (i.op == KOp::GroupIndex) return digit({k_.workgroup, kAll});
    if (i.op == KOp::LaneIndex) return digit({1, std::max(1u, k_.subgroup)});
    if (i.op == KOp::Bitcast) return forms_[i.in[0]];
    const bool of_two = kind(i.op) == Kind::Arithmetic || kind(i.op) == Kind::Integer || kind(i.op) == Kind::Bitwise;
    if (!of_two || operand_count(i.op) != 2) return std::nullopt;
    const std::optional<Form>&a = forms_[i.in[0]], &b = forms_[i.in[1]];
    if (!a || !b) return std::nullopt;
    if (i.op == KOp::Min) return bounded(i);
    if (i.op == KOp::Add) return plus(*a, *b, 1);
    if (i.op == KOp::Sub) return plus(*a, *b, -1);
    if (i.op == KOp::Mul && (a->is_constant() || b->is_constant()))
      return a->is_constant() ? plus({}, *b, a->constant) : plus({}, *a, b->constant);
    if (!b->is_constant() || b->constant < 0) return std::nullopt;
    const auto n = static_cast<uint64_t>(b->constant);
    if (i.op == KOp::Shl && n < 31) return plus({}, *a, int64_t{1} << n);
    if (i.op == KOp::And && (n & (n + 1)) == 0) return split(*a, n + 1, true);
    if (i.op == KOp::Rem && n > 0) return split(*a, n, true);
    if ((i.op == KOp::ShrU || i.op == KOp::ShrS) && n < 31) return split(*a, uint64_t{1} << n, false);
    if (i.op == KOp::Quot && n > 0) return split(*a, n, false);
    return std::nullopt;
  }

  // A digit modulo n, or divided by n.
  static std::optional<Form> split(const Form& a, uint64_t n, bool low) {
    if (a.digits.size() != 1 || a.constant != 0 || a.digits.begin()->second != 1 || !a.below.empty()) return std::nullopt;
    const Digit d = a.digits.begin()->first;
    if (d.values != kAll && d.values % n != 0) return std::nullopt;
    if (low) return digit({d.below, n});
    return digit({d.below * n, d.values == kAll ? kAll : d.values / n});
  }

  // The lesser of a value and a bound is the value where it keeps the bound.
  std::optional<Form> bounded(const Inst& i) const {
    for (const size_t which : {0, 1}) {
      const Inst& bound = k_.body[i.in[1 - which]];
      if (bound.op != KOp::Const) continue;
      Form out = *forms_[i.in[which]];
      out.below.emplace_back(i.in[which], constant_of(bound));
      return out;
    }
    return std::nullopt;
  }

  const Kernel& k_;
  std::vector<std::optional<Form>> forms_;
};

// How many values a digit takes.
uint64_t extent(const Digit& d, uint64_t invocations) { return std::min(d.values, (invocations + d.below - 1) / d.below); }

// Whether no two invocations, nor two of the constants, give the same place. Pre: one constant for each store.
bool is_injective(const std::map<Digit, int64_t>& digits, std::vector<int64_t> constants, uint64_t invocations) {
  uint64_t told_apart = 1;  // invocations that differ in digits so far
  for (const auto& [d, reach] : digits) {
    if (told_apart == kAll || d.below != told_apart || reach <= 0) return false;
    told_apart = d.values == kAll ? kAll : d.below * d.values;
  }
  if (told_apart < invocations) return false;
  std::vector<std::pair<int64_t, uint64_t>> left;  // how far it reaches, values
  for (const auto& [d, reach] : digits) left.emplace_back(reach, extent(d, invocations));
  std::sort(left.begin(), left.end());
  const auto [least, greatest] = std::minmax_element(constants.begin(), constants.end());
  int64_t span = *greatest - *least;
  for (const auto& [reach, values] : left) span += reach * static_cast<int64_t>(values - 1);
  constexpr int64_t kWraps = int64_t{1} << 31;
  if (*least < 0 || *least + span >= kWraps) return false;
  // The digit that reaches furthest can be told from the sum where all the others together stay below one step of it.
  while (!left.empty()) {
    const auto [reach, values] = left.back();
    const int64_t others = span - reach * static_cast<int64_t>(values - 1);
    if (others >= reach) break;
    span = others;
    left.pop_back();
  }
  std::vector<int64_t>& places = constants;
  for (const auto& [reach, values] : left) {
    if (values > kMostPlaces / places.size()) return false;
    const size_t before = places.size();
    for (uint64_t v = 1; v < values; ++v)
      for (size_t k = 0; k < before; ++k) places.push_back(places[k] + reach * static_cast<int64_t>(v));
  }
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) == places.end();
}

struct Stores {
  std::map<Value, size_t> at;  // by index, the only one
  bool right = true;           // outside of loops, no two invocations at one place
};

Stores stores_of(const Kernel& k, const Forms& forms, uint32_t binding) {
  Stores out;
  // Those that store anything.
  const uint64_t whole_groups = (k.invocations + k.workgroup - 1) / k.workgroup * k.workgroup;
  const uint64_t invocations = guards_surplus(k) ? k.invocations : whole_groups;
  std::vector<Value> conditions;
  std::vector<size_t> opened;  // conditions when a block began
  std::optional<std::map<Digit, int64_t>> digits;
  std::vector<int64_t> constants;
  size_t loops = 0;
  for (size_t i = 0; i < k.body.size(); ++i) {
    const Inst& inst = k.body[i];
    if (inst.op == KOp::If) {
      opened.push_back(conditions.size());
      conditions.push_back(inst.in[0]);
    }
    if (inst.op == KOp::Else) conditions.resize(opened.back());
    if (inst.op == KOp::EndIf) {
      conditions.resize(opened.back());
      opened.pop_back();
    }
    if (inst.op == KOp::Loop) ++loops;
    if (inst.op == KOp::EndLoop) --loops;
    if (inst.op != KOp::Store || inst.in[0] != binding) continue;
    const std::optional<Form>& form = forms[inst.in[1]];
    out.right = out.right && loops == 0 && form && forms.holds(*form, conditions) && out.at.emplace(inst.in[1], i).second;
    if (!out.right) return out;
    if (!digits) digits = form->digits;
    out.right = *digits == form->digits;
    constants.push_back(form->constant);
  }
  out.right = out.right && digits && is_injective(*digits, std::move(constants), invocations);
  return out;
}

// Whether anything is read of the binding, and what is read at an index only takes part in what is stored there later.
bool only_updates(const Kernel& k, uint32_t read, uint32_t written, const std::map<Value, size_t>& stores) {
  bool reads = false;
  std::vector<std::optional<Value>> from(k.body.size());  // the index at which what is in it was read
  for (size_t i = 0; i < k.body.size(); ++i) {
    const Inst& inst = k.body[i];
    std::optional<Value> index;
    for (const uint32_t v : operands(inst)) {
      if (!from[v]) continue;
      if (index && *index != *from[v]) return false;
      index = from[v];
    }
    if (inst.op == KOp::Load && inst.in[0] == read) {
      const auto store = stores.find(inst.in[1]);
      if (index || store == stores.end() || store->second < i) return false;
      from[i] = inst.in[1];
      reads = true;
      continue;
    }
    if (!index) continue;
    const bool computes = has_result(inst.op) && !names_memory(inst.op) && kind(inst.op) != Kind::Variable &&
                          kind(inst.op) != Kind::Control && kind(inst.op) != Kind::Subgroup;
    const bool is_store = inst.op == KOp::Store && inst.in[0] == written && inst.in[1] == *index && !from[inst.in[1]];
    if (!computes && !is_store) return false;
    if (computes) from[i] = index;
  }
  return reads;
}

}  // namespace

std::vector<std::pair<uint32_t, uint32_t>> in_place(const Kernel& k) {
  std::vector<std::pair<uint32_t, uint32_t>> out;
  std::optional<Forms> forms;
  for (uint32_t w = 0; w < k.bindings.size(); ++w) {
    if (k.bindings[w].access != Access::Write) continue;
    std::optional<Stores> stores;
    for (uint32_t r = 0; r < k.bindings.size(); ++r) {
      if (k.bindings[r].access != Access::Read || k.bindings[r].type != k.bindings[w].type) continue;
      if (!forms) forms.emplace(k);
      if (!stores) stores = stores_of(k, *forms, w);
      if (stores->right && only_updates(k, r, w, stores->at)) out.emplace_back(r, w);
    }
  }
  return out;
}

}  // namespace spirograd::kernel
