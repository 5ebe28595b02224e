// A scheduler that prefers what was measured to the tables of rules, and can tell what it was asked.
#pragma once

#include <string>
#include <vector>

#include "spirograd/choices.h"
#include "spirv/schedule/rules.h"

namespace spirograd::schedule {

/// A question of a lowering, and what could be answered.
struct Asked {
  std::string facts;
  std::string schedule;                 // that was chosen
  std::string usual;                    // of the rules
  std::vector<std::string> neighbours;  // of the chosen one
};

class Chooser : public Scheduler {
 public:
  /// Both outlive the chooser. `asked` gets every question once, in the order in which they come.
  explicit Chooser(const Choices& choices, std::vector<Asked>* asked = nullptr) : choices_(choices), asked_(asked) {}
  MapSchedule map(const MapFacts& facts, const Target& target) const override;
  ReduceSchedule reduction(const ReduceFacts& facts, const Target& target) const override;
  PartialSchedule partial(const PartialFacts& facts, const Target& target) const override;
  ScanSchedule scan(const ScanFacts& facts, const Target& target) const override;
  PackSchedule pack(const PackFacts& facts, const Target& target) const override;
  ScatterSchedule scatter(const ScatterFacts& facts, const Target& target) const override;

 private:
  template <class Facts, class Schedule>
  Schedule chosen(const Facts& facts, const Target& target, Schedule usual, Schedule (*parse)(std::string_view)) const;
  const Choices& choices_;
  std::vector<Asked>* asked_;
};

}  // namespace spirograd::schedule
