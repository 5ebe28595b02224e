// What the lanes of a subgroup have in common while they compute neighbouring points of a reduction: each lane evaluates it
// for one element of what is unrolled, and reads that of the others when their turn comes. A matrix product whose lanes lie
// along the columns of its result loads an element of the left matrix once for all of them.
#pragma once

#include "spirv/lower/access.h"
#include "spirv/lower/inline.h"

namespace spirograd::lower {

class Inliner::CommonValues {
 public:
  /// Pre: the subgroup takes the same path to here, and whatever lanes evaluate at one point in this scope is the same.
  CommonValues(Inliner& inliner, int scope, const ir::Node& n, std::span<const Point> points);

  int64_t count() const { return static_cast<int64_t>(values_.size()); }
  /// Arrays that each lane reads for itself, and that are the same in all steps of the loop whose body this scope is.
  int64_t staying() const { return staying_; }
  /// Such that change from step to step: others have written what each lane reads.
  int64_t changing() const { return changing_; }
  /// Evaluates the elements `first`, `first + 1`, .. of the last axis, as many as there are copies. `at`: the operand's
  /// points, whose other coordinates are in place.
  void evaluate(std::span<const Point> at, kernel::Value first, int64_t copies);
  /// Lets the evaluation of the operand at its points, which are those of copy number k, find what its lane has.
  void provide(std::span<const Point> at, int64_t k);

 private:
  struct Common {
    ir::NodeId node;
    std::vector<ir::NodeId> path;  // layout operations and gathers between it and the operand, from the top
  };
  struct Visit {
    Common at;
    Place place;
  };
  bool in_memory(ir::NodeId id) const;
  bool reads_along(ir::NodeId id, const Place& place) const;
  void visit_operands(const Visit& v, std::vector<Visit>& stack) const;
  Point point_of(const Common& c, const Point& at) const;

  Inliner& inliner_;
  kernel::Builder& b_;
  const int scope_;
  const size_t inner_;  // the last reduced axis
  int64_t extent_ = 0;  // of it
  int64_t staying_ = 0, changing_ = 0;
  std::vector<Common> values_;
  int64_t own_ = 1;                                            // copies that a lane has beside each other, and at a time
  std::vector<std::vector<std::vector<kernel::Value>>> held_;  // by the lanes: per subgroup of copies, value and point
};

}  // namespace spirograd::lower
