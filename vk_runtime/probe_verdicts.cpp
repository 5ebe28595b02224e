#include "vk_runtime/probe_verdicts.h"

#include <algorithm>

#include "vk_runtime/probe_table.h"

namespace spirograd::vk {
namespace {

// Assumed of a device on which no loop was tried, and of arrays where large ones went wrong.
constexpr uint64_t kAssumedIterations = 65535;
constexpr uint64_t kSmallArray = (uint64_t{1} << 31) - 1;

bool is_mistake(Outcome o) { return o == Outcome::Wrong || o == Outcome::Failed || o == Outcome::Hung; }

std::string_view name_of(BindingForm form) { return form == BindingForm::Address ? "addresses" : "descriptors"; }

// The findings of some binding forms.
class Reading {
 public:
  Reading(std::span<const Finding> findings, bool address, bool descriptors) {
    for (const Finding& f : findings)
      if (f.form == BindingForm::Address ? address : descriptors) findings_.push_back(&f);
  }

  const Finding* mistake(uint32_t number, uint32_t part = kWholeProbe) const {
    return find([&](const Finding& f) { return f.number == number && f.part == part && is_mistake(f.outcome); });
  }
  bool is_wrong(uint32_t number, uint32_t part = kWholeProbe) const { return mistake(number, part) != nullptr; }
  bool is_proved(uint32_t number, uint32_t part = kWholeProbe) const {
    return !is_wrong(number, part) &&
           find([&](const Finding& f) { return f.number == number && f.part == part && f.outcome == Outcome::Passed; });
  }
  const std::vector<const Finding*>& all() const { return findings_; }

 private:
  template <class F>
  const Finding* find(F wanted) const {
    const auto at = std::find_if(findings_.begin(), findings_.end(), [&](const Finding* f) { return wanted(*f); });
    return at == findings_.end() ? nullptr : *at;
  }
  std::vector<const Finding*> findings_;
};

// Loops end early, or not, however buffers are reached.
bool may_depend_on_form(uint32_t number) { return number != 5 && probe_table()[number - 1].weight == Weight::Decides; }

bool cannot_compute(const Reading& seen) { return seen.is_wrong(1) || seen.is_wrong(2); }

// Whether something that decides goes wrong where the other form is right.
bool is_worse(const Reading& seen, const Reading& other) {
  return std::any_of(seen.all().begin(), seen.all().end(), [&](const Finding* f) {
    return is_mistake(f->outcome) && may_depend_on_form(f->number) && other.is_proved(f->number, f->part);
  });
}

uint64_t iterations(const Reading& seen) {
  uint64_t limit = kNoLimit;
  for (const Finding* f : seen.all())
    if (f->number == 5 && (f->outcome == Outcome::Passed || f->outcome == Outcome::Wrong)) limit = std::min(limit, f->value);
  return limit == kNoLimit ? kAssumedIterations : limit;
}

// Names what lies behind a verdict, of all forms that were run.
Verdict verdict(const ProbeRow& row, std::span<const Finding> findings) {
  Verdict v{row.number, std::string(row.name), Outcome::NotRun, ""};
  const Finding* wrong = nullptr;
  std::string passed, measured;
  bool offered = true, ran = false;
  for (const Finding& f : findings) {
    if (f.number != row.number) continue;
    if (is_mistake(f.outcome) && !wrong) wrong = &f;
    if (f.outcome == Outcome::NotOffered) offered = false;
    if (f.outcome == Outcome::NotRun && v.text.empty()) v.text = f.text;
    if (f.outcome != Outcome::Passed) continue;
    ran = true;
    if (passed.find(name_of(f.form)) == std::string::npos)
      passed += (passed.empty() ? "by " : " and ") + std::string(name_of(f.form));
    if (measured.empty()) measured = f.text;
  }
  if (wrong) {
    v.outcome = wrong->outcome;
    v.text = "by " + std::string(name_of(wrong->form)) + ": " + wrong->text;
    if (!row.otherwise.empty()) v.text += "; " + std::string(row.otherwise);
  } else if (ran) {
    v.outcome = Outcome::Passed;
    v.text = passed + (measured.empty() ? "" : ": " + measured);
  } else if (!offered && v.text.empty()) {
    v.outcome = Outcome::NotOffered;
  } else if (v.text.empty()) {
    v.text = "only where the device is examined";
  }
  return v;
}

std::string why_unusable(const Reading& seen, const Target& t) {
  const auto text = [](uint32_t number, const std::string& what) {
    return "right " + std::string(probe_table()[number - 1].name) + " (probe " + std::to_string(number) +
           " of the self-test: " + what + ")";
  };
  // Where the device was lost or hung before anything was right.
  if (!seen.is_proved(1))
    for (const Finding* f : seen.all())
      if (f->outcome == Outcome::Failed || f->outcome == Outcome::Hung) return text(1, f->text);
  for (uint32_t number : {12u, 13u, 14u, 24u})
    if (const Finding* f = seen.mistake(number)) return text(number, f->text);
  if (t.max_loop_iterations == 0) return text(5, "they do not compute what they count");
  return "";
}

}  // namespace

bool doubts_addresses(std::span<const Finding> findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) {
    return f.form == BindingForm::Address && is_mistake(f.outcome) && may_depend_on_form(f.number);
  });
}

Proof conclude(const Target& offered, std::span<const Finding> findings) {
  Proof p;
  p.target = offered;
  for (const ProbeRow& row : probe_table()) p.verdicts.push_back(verdict(row, findings));

  Target& t = p.target;
  const Reading address(findings, true, false), descriptors(findings, false, true);
  t.device_address = offered.device_address && !cannot_compute(address) && !is_worse(address, descriptors);
  t.descriptors = !cannot_compute(descriptors) && !(t.device_address && is_worse(descriptors, address));
  if (!t.device_address && !t.descriptors) {
    const Reading all(findings, true, true);
    const Finding* f = all.mistake(1) ? all.mistake(1) : all.mistake(2);
    p.unusable = "a binding form that works" +
                 (f ? " (probe " + std::to_string(f->number) + " of the self-test: " + f->text + ")" : std::string());
  }

  const Reading seen(findings, t.device_address, t.descriptors);
  t.max_array = seen.is_wrong(3) ? kSmallArray : kNoLimit;
  t.folded_grids = !seen.is_wrong(4);
  t.dispatch_base = !seen.is_wrong(4, kBasePart);
  t.max_loop_iterations = iterations(seen);
  t.atomic_float_add = offered.atomic_float_add && seen.is_proved(7);
  t.exchange_float_add = !seen.is_wrong(6) && !seen.is_wrong(9);
  t.integer_atomics = !seen.is_wrong(8);
  p.full_barriers = seen.is_wrong(10);
  t.float64 = offered.float64 && !seen.is_wrong(25);
  t.float16_storage = offered.float16_storage && !seen.is_wrong(31);
  t.float16_addresses = offered.float16_addresses && t.float16_storage;
  t.shared_memory = !seen.is_wrong(30);
  if (!seen.is_proved(30, kLanePart)) t.subgroup_operations &= kSubgroupBasic;
  if (!seen.is_proved(30, kLaneSumPart)) t.subgroup_operations &= ~uint32_t{kSubgroupArithmetic | kSubgroupBallot};
  if (p.unusable.empty()) p.unusable = why_unusable(seen, t);
  return p;
}

}  // namespace spirograd::vk
