#include "spirv/schedule/chooser.h"

#include "spirv/schedule/facts_text.h"
#include "spirv/schedule/neighbour_list.h"
#include "spirv/schedule/neighbours.h"

namespace spirograd::schedule {
namespace {

// What cannot be read, or is not legal here, counts as absent.
template <class Facts, class Schedule>
std::optional<Schedule> read(const std::string& text, const Facts& facts, const Target& target,
                             Schedule (*parse)(std::string_view)) {
  try {
    Schedule s = parse(text);
    if (!check(facts, s, target)) return s;
  } catch (const Error&) {
  }
  return std::nullopt;
}

}  // namespace

template <class Facts, class Schedule>
Schedule Chooser::chosen(const Facts& facts, const Target& target, Schedule usual,
                         Schedule (*parse)(std::string_view)) const {
  if (choices_.empty() && !asked_) return usual;
  const std::string key = to_string(facts);
  Schedule out = usual;
  if (const auto found = choices_.find(key); found != choices_.end())
    if (std::optional<Schedule> s = read(found->second, facts, target, parse)) out = *std::move(s);
  const auto known = [&](const Asked& a) { return a.facts == key; };
  if (!asked_ || std::any_of(asked_->begin(), asked_->end(), known)) return out;
  Asked asked{key, to_string(out), to_string(usual), {}};
  for (const Schedule& s : neighbours(facts, out, target)) asked.neighbours.push_back(to_string(s));
  asked_->push_back(std::move(asked));
  return out;
}

MapSchedule Chooser::map(const MapFacts& f, const Target& t) const { return chosen(f, t, Scheduler::map(f, t), parse_map); }
ReduceSchedule Chooser::reduction(const ReduceFacts& f, const Target& t) const {
  return chosen(f, t, Scheduler::reduction(f, t), parse_reduction);
}
PartialSchedule Chooser::partial(const PartialFacts& f, const Target& t) const {
  return chosen(f, t, Scheduler::partial(f, t), parse_partial);
}
ScanSchedule Chooser::scan(const ScanFacts& f, const Target& t) const {
  return chosen(f, t, Scheduler::scan(f, t), parse_scan);
}
PackSchedule Chooser::pack(const PackFacts& f, const Target& t) const {
  return chosen(f, t, Scheduler::pack(f, t), parse_pack);
}
ScatterSchedule Chooser::scatter(const ScatterFacts& f, const Target& t) const {
  return chosen(f, t, Scheduler::scatter(f, t), parse_scatter);
}

}  // namespace spirograd::schedule
