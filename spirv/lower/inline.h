// Fusion by inlining: the value of a node at a point, as instructions. Layout operations become index arithmetic, pointwise
// operations scalar instructions, reductions loops; the walk stops at nodes that have a buffer. Reads out of range are
// guarded here and nowhere else: every index that reaches a load is inside of its array.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/ir/algebra.h"
#include "spirv/kernel/builder.h"
#include "spirv/lower/arms.h"
#include "spirv/lower/plan.h"
#include "spirv/lower/row_blocks.h"
#include "spirv/schedule/rules.h"

namespace spirograd::lower {

/// An index per axis, i32 values. kUnknown marks coordinates that are not computed yet (only while hoisting).
using Point = std::vector<kernel::Value>;
inline constexpr kernel::Value kUnknown = 0xffffffffu;

/// A point of which no coordinate is known.
inline Point anywhere(const Shape& shape) { return Point(static_cast<size_t>(shape.rank()), kUnknown); }

/// An array of a loop's state that a workgroup has in memory, in two places.
struct ResidentArray {
  uint32_t array = 0;               // of the workgroup
  kernel::Value begins = kUnknown;  // where the state before this step begins in it
};

/// Where a parameter of a scope comes from.
struct ParamSource {
  enum class Kind : uint8_t { Buffer, Register, Outer } kind = Kind::Buffer;
  BufferRef buffer;                          // Buffer
  std::vector<Point> at;                     // Register: the elements of a loop's state that the invocation keeps,
  std::vector<kernel::Value> vars;           // in these mutable variables,
  std::optional<ResidentArray> memory = {};  // or all of them in memory
  int scope = 0;                             // Outer: the value of `node` in that scope,
  ir::NodeId node;
  bool stacked = false;           // the node is a stack with one element per step:
  kernel::Value step = kUnknown;  // this index comes before the point; unknown while the loop is not open yet
  // Of a block of rows: the axis that they lie along, of what a step is given, and the first of them.
  std::optional<std::pair<int, kernel::Value>> rows = {};
};

/// Nodes of a scope that have a buffer.
using Materialised = std::unordered_map<uint32_t, BufferRef>;

/// The points that a workgroup computes together: a range along each axis of the domain.
struct GroupTile {
  struct Axis {
    kernel::Value origin = kUnknown;  // the same in the whole group
    int64_t extent = 1;
  };
  struct Own {
    size_t axis;
    kernel::Value offset;  // from the origin
  };
  std::vector<Axis> axes;
  std::unordered_map<kernel::Value, Own> own;  // the coordinates of an invocation's own points, clamped to the domain
};

/// The elements of arrays of one shape that an invocation keeps, in a loop that runs inside of the kernel.
struct OwnElements {
  std::vector<Point> at;
  std::vector<std::optional<kernel::Value>> stores;  // whether it stores the element; none: it does
  std::vector<kernel::Value> slots;                  // where others find the element
};

/// How the state of a loop is spread over invocations.
struct StateLayout {
  std::function<OwnElements(const Shape&)> own;
  std::optional<int> whole_behind = {};              // each invocation keeps all elements behind so many axes, in registers
  int64_t members = 1;                               // invocations that tell each other their elements of
  std::vector<std::vector<ir::NodeId>> shared = {};  // these nodes of the body (loops.h)
  std::set<uint32_t> in_turn = {};                   // of these, one element after another, as nth says
  std::function<std::pair<Point, kernel::Value>(const Shape&, kernel::Value)> nth = {};  // own element: at, slot
  const RowBlocks* blocks = nullptr;  // none: all rows; else one block of them,
  kernel::Value first_row = 0;        // which begins here
};

/// A point of a block of rows, as one of all rows: they lie along `axis` (or kNoRow) and begin at `first`.
Point among_all_rows(kernel::Builder& b, Point at, int axis, kernel::Value first);

struct ScheduledReduction {
  std::string what;  // "sum of f32[512,512]"
  schedule::ReduceSchedule schedule;
  double loads = 0;  // of what is staged or could be, per element and result
  std::string how() const;
};

struct GoesOn;

/// Thrown when a kernel grows beyond what drivers compile in reasonable time.
struct CodeTooLarge {};

class Inliner {
 public:
  /// Nodes in `computed` are computed here though they have a buffer. `group`: the size of the workgroup, if its invocations
  /// share their work.
  Inliner(const ir::Graph& graph, const Materialised& materialised, std::set<uint32_t> computed,
          std::vector<ParamSource> params, kernel::Builder& builder, const schedule::Scheduler& scheduler,
          const Target& target, int64_t group = 0);

  const Target& target() const { return target_; }
  /// Which nodes of the outermost scope only arms use, and the flags of these arms that the kernel reads. `arms` outlives
  /// this.
  void set_arms(const Arms& arms, std::set<uint32_t> flags) { scopes_[0].arms = &arms, flags_ = std::move(flags); }
  /// The group computes this tile, each invocation the points that belong to it.
  void set_tile(GroupTile tile) { tile_ = std::move(tile); }
  /// Subgroups of so many lanes have points of their own. Pre: the kernel is written for them.
  void set_team(int64_t lanes) { team_ = lanes; }
  /// The point of an array that is counted through has this number.
  void number_point(const Shape& shape, const Point& point, kernel::Value number) {
    numbers_.back()[point].emplace_back(shape, number);
  }
  /// Of what is computed at `own`, along whatever axis, by each lane for a place of its own, the subgroup reduces the rows
  /// one after the other: those at `places`, one for each lane. All of `results` will be asked for there. known: they have
  /// been asked for at all of the places.
  void set_rows_of_lanes(kernel::Value own, std::vector<kernel::Value> places, std::span<const ir::NodeId> results,
                         bool known);
  /// Neighbouring invocations, so many, are a subgroup and compute neighbouring points. Pre: the kernel is written for them.
  void set_lanes(int64_t lanes) { lanes_ = lanes; }
  /// Invocations keep nothing for all steps of a loop: that takes code.
  void keep_nothing() { keeps_ = false; }
  /// Each invocation computes all points of rows of so many elements; 0: none does.
  void set_row(int64_t length) { row_ = length; }
  /// All invocations together compute so many points from here on.
  void set_points(int64_t points) { points_ = points; }

  /// In the loops of the reduction `of`, `node` has an element for each element: `store` is told its point and value, and
  /// whether there is such an element (none: always).
  struct Companion {
    ir::NodeId of, node;
    std::function<void(const Point&, kernel::Value, std::optional<kernel::Value>)> store;
  };
  void add_companion(Companion c) { companions_.push_back(std::move(c)); }

  /// Results that will be asked for at these points: their reductions may share loops.
  void find_together(std::span<const ir::NodeId> results, std::span<const Point> points);

  /// Values of `node` at each point of a batch. Instructions shared between the points are made once. Throws CodeTooLarge.
  std::vector<kernel::Value> eval(int scope, ir::NodeId node, std::span<const Point> points);
  kernel::Value eval(int scope, ir::NodeId node, const Point& point);

  /// The same in the outermost scope where the group has a tile: what its neighbours, along the last axis, read elsewhere is
  /// copied to its memory first.
  std::vector<kernel::Value> eval_staged(ir::NodeId node, std::span<const Point> points);

  /// Runs a loop. `after_step(step, values)` sees of each result of the body (accumulators first) the elements that the
  /// invocation keeps. Returns those of the final accumulators.
  using Elements = std::vector<std::vector<kernel::Value>>;
  using AfterStep = std::function<void(kernel::Value step, const Elements& values)>;
  Elements run_loop(int scope, ir::NodeId loop, const StateLayout& layout, const AfterStep& after_step);

  /// Runs a loop whose arrays of state are in memory (LoopForm::in_memory). `store` is told each element of each result of
  /// the body, at a step or (none) after the last one, where a member has it: its point, and its number, which may be beyond
  /// the last element of the array, whose value then is that of the last.
  using StoreElement = std::function<void(size_t result, std::optional<kernel::Value> step, const Point& at,
                                          kernel::Value number, kernel::Value value)>;
  void run_loop_in_memory(int scope, ir::NodeId loop, const StateLayout& layout, const StoreElement& store);

  /// Coordinates of element number `linear` (i32) of a row-major array.
  Point unlinear(kernel::Value linear, std::span<const int64_t> shape);
  kernel::Value linear(const Point& point, const Shape& shape);

  /// Where an element of an array is: the binding, added on first use, and the place in it. Arrays that share a buffer share
  /// a binding.
  struct Element {
    uint32_t binding;
    kernel::Value index;
  };
  Element element(BufferRef array, const Type& type, kernel::Access access, const Point& point);
  /// The same for the element of this number in row-major order.
  Element element(BufferRef array, const Type& type, kernel::Access access, kernel::Value number_in_array);
  /// Buffers in binding order, with their access and size.
  struct Bound {
    uint32_t buffer;
    kernel::Access access;
    uint64_t bytes;       // from `offset`
    uint64_t offset = 0;  // from its beginning, where number 0 of the kernel's elements is
    bool exact = false;   // all of it is reached
  };
  const std::vector<Bound>& bound() const { return bound_; }

  /// At how many different points each node of the outermost scope was computed.
  const std::unordered_map<uint32_t, size_t>& evaluations() const { return evaluations_; }

  const std::vector<ScheduledReduction>& reductions() const { return reductions_; }

  /// Values made between push and pop are forgotten at the pop: their block ends there.
  void push_block() { memo_.emplace_back(), loops_run_.emplace_back(), zeros_.emplace_back(), numbers_.emplace_back(); }
  void pop_block() { memo_.pop_back(), loops_run_.pop_back(), zeros_.pop_back(), numbers_.pop_back(); }

  /// Evaluates whatever below `node` does not depend on unknown coordinates, so that it stands before a loop that is about
  /// to open. Nodes that change from step to step of the loop whose body is `guard` (a scope, or -1) are left alone.
  void hoist(int scope, ir::NodeId node, const Point& point, int guard = -1);

 private:
  struct Scope {
    std::vector<ParamSource> params;
    std::vector<bool> varying;  // parameters that change from step to step of the loop this scope is the body of
    int64_t function = -1;
    const Arms* arms = nullptr;
    OwnElements own = {};                  // of arrays of a loop's state
    std::optional<int> whole_behind = {};  // of a loop whose state is in registers behind so many axes
    bool together = false;                 // the members of a workgroup run that loop, step by step,
    int64_t kept = 0;  // and each keeps so many elements for all steps, in reductions that are written out
    std::unordered_map<uint32_t, uint32_t> shared = {};  // nodes of which the workgroup has all elements -> shared array
  };
  // An accumulator of a loop whose body adds `terms` to it; `lost` are the variables of what additions rounded away.
  struct RunningSum {
    size_t slot;
    ir::NodeId result;
    std::vector<ir::NodeId> terms;  // outermost addition first
    std::vector<bool> negative;
    std::vector<kernel::Value> lost;  // by element
  };
  struct Guarded {
    Point point;
    std::optional<kernel::Value> inside;  // none: always
  };

  std::vector<kernel::Value> compute(int scope, ir::NodeId node, std::span<const Point> points);
  std::vector<kernel::Value> param(int scope, ir::NodeId id, std::span<const Point> points);
  std::vector<kernel::Value> load(BufferRef ref, const Type& type, std::span<const Point> points);
  /// Of an array that is computed by others.
  kernel::Value load_element(ir::NodeId id, BufferRef ref, const Point& point);
  /// Whether a value is an element that is known to be 0, or a multiple of one.
  bool is_zero(kernel::Value v) const;
  kernel::Value constant(const ir::Node& n);
  std::vector<kernel::Value> pointwise(int scope, const ir::Node& n, std::span<const Point> points);
  std::vector<kernel::Value> moved(int scope, const ir::Node& n, std::span<const Point> points);
  std::vector<kernel::Value> gather(int scope, const ir::Node& n, std::span<const Point> points);
  std::vector<kernel::Value> reduce(int scope, ir::NodeId id, std::span<const Point> points);
  std::vector<Point> reduced_points(const ir::Node& n, const Point& point);
  std::vector<kernel::Value> reduce_unrolled(int scope, const ir::Node& n, std::span<const Point> points);
  std::vector<kernel::Value> reduce_straight(int scope, const ir::Node& n, std::span<const Point> points);
  struct Streamed {
    ir::NodeId reduction;
    std::vector<Point> at;
  };
  struct Below {
    std::set<uint32_t> arrays, reductions;
  };
  Below below_reduction(const ir::Node& n) const;
  /// Other reductions that the loops of this one compute, too.
  std::vector<ir::NodeId> reduced_with(int scope, const ir::Node& n, std::span<const Point> points) const;
  bool is_known(int scope, ir::NodeId id, std::span<const Point> points) const;
  struct ReductionLoops;
  class Staging;
  class CommonValues;
  /// by_lane: there is a point for each lane, which gets the result of its own only.
  std::vector<kernel::Value> reduce_loop(int scope, ir::NodeId id, std::span<const Point> points, bool by_lane = false);
  std::vector<Point> points_of_lanes(int scope, std::span<const Point> points) const;
  struct ReducedElement {
    int64_t code = 0;    // instructions
    bool loops = false;  // another reduction runs for it
    bool parts = false;  // it is what a subgroup has summed up
  };
  ReducedElement reduced_element(int scope, const ir::Node& reduction);
  schedule::ReduceFacts facts_of(int scope, const ir::Node& n, std::span<const ir::NodeId> others,
                                 std::span<const Point> points);
  void describe_sharers(schedule::ReduceFacts& facts, int scope, std::span<const Point> points) const;
  /// Invocations that are here together, all of them at the same points; 0: there are none.
  int64_t together(std::span<const Point> points) const;
  /// How what two invocations have found becomes one; symmetric: the same bits whichever comes first.
  struct Join {
    bool symmetric;
    std::function<std::vector<kernel::Value>(const std::vector<kernel::Value>& first,
                                             const std::vector<kernel::Value>& second)>
        combine;
  };
  Join join_of(ir::Op op);
  std::vector<kernel::Value> joined(const Join& join, std::vector<kernel::Value> parts, uint32_t lanes, uint32_t sharers);
  kernel::Value joined_by_lane(const Join& join, std::vector<kernel::Value> parts);
  kernel::Value of_lane(std::span<const kernel::Value> values);
  void exchange(const Join& join, std::vector<kernel::Value>& parts, uint32_t among);
  /// Of an argmax or argmin: what it has found, by invocation; `place_vars`: where. sharers: that look together, or 0.
  std::vector<kernel::Value> places(const ir::Node& n, std::span<const kernel::Value> best,
                                    std::span<const kernel::Value> place_vars, int64_t sharers);
  kernel::Value joined_place(ir::Op op, kernel::Value best, kernel::Value place, int64_t sharers);
  kernel::Value single_update(int scope, const ir::Node& n, const Point& point);
  kernel::Value piecewise(int scope, const ir::Node& n, const Point& point);
  std::vector<kernel::Value> projection(int scope, const ir::Node& n, std::span<const Point> points);
  const Elements& loop_inside(int scope, ir::NodeId loop, std::span<const Point> points);
  OwnElements own_elements(int scope, const Shape& shape, std::span<const Point> points) const;
  void store_row(ir::NodeId stack, kernel::Value step, const OwnElements& own, std::span<const kernel::Value> values);
  std::vector<ir::NodeId> stacks_read(int scope, ir::NodeId loop) const;
  struct IndexArithmetic;
  Guarded operand_point(const ir::Node& n, const Point& point);  // of a layout operation of one operand
  Guarded uncut_point(const ir::Node& reduction, Point at, const Shape& whole);
  Guarded table_point(const ir::Node& n, const Point& point, std::span<const kernel::Value> index);  // of a gather
  Point point_below(ir::NodeId id, const Point& at);  // of a layout operation or a gather, as its evaluation comes by it
  bool counts_through(ir::NodeId id);                 // lies_flat
  Point reshape_point(const Shape& from, const Shape& to, const Point& point);
  Point reduced_operand_point(const ir::Node& n, const Point& point) const;
  std::vector<kernel::Value> in_range(std::span<const kernel::Value> index, const Shape& dims,
                                      std::optional<kernel::Value>& inside);
  int open_loop_scope(int scope, const ir::LoopParts& parts, std::span<const RowBlocks::Operand> operands,
                      const StateLayout& layout);
  Point outer_point(const ParamSource& source, Point at);
  void set_step(int scope, kernel::Value step);
  std::vector<RunningSum> running_sums(const ir::Function& body, const ir::LoopParts& parts,
                                       std::span<const ParamSource> state);
  void add_to_sum(int scope, const RunningSum& sum, const ParamSource& accumulator);
  kernel::Value state_element(int scope, ir::NodeId param, const ParamSource& state, const Point& point);
  kernel::Value picked(std::span<const kernel::Value> elements, const Shape& shape, const Point& point);
  kernel::Value has_ended(int scope, std::span<const GoesOn> conditions);
  void share(int scope, std::span<const ir::NodeId> nodes, const StateLayout& layout);
  /// Visits a member's own elements of an array in turn, by a loop: where each is, and its slot.
  void for_own(const Shape& shape, const StateLayout& layout,
               const std::function<void(const Point& at, kernel::Value slot)>& visit);
  /// Under which the node is asked for, of those that can be asked here.
  ir::Conditions conditions(int scope, ir::NodeId node);
  /// Whether they hold. None: always.
  std::optional<kernel::Value> holds(int scope, const ir::Conditions& all);
  /// How often a loop runs, of a value that is asked for under conditions. `together`: invocations wait for each other in
  /// it.
  kernel::Value trips(kernel::Value count, std::optional<kernel::Value> wanted, bool together);
  bool in_registers(int scope, ir::NodeId node);
  void hoist_below(int scope, ir::NodeId node, const Point& point, int guard);
  bool varies(int scope, ir::NodeId node);
  /// From here on all is computed so many times; returns at how many points it was before.
  int64_t repeat(int64_t times);
  const ir::Node& node(ir::NodeId id) const { return graph_[id]; }
  const BufferRef* buffer_of(ir::NodeId id) const;
  const BufferRef* memory_of(int scope, ir::NodeId id) const;  // none: computed here

  const ir::Graph& graph_;
  const Materialised& materialised_;
  std::set<uint32_t> computed_;
  kernel::Builder& b_;
  const schedule::Scheduler& scheduler_;
  std::vector<std::map<Point, std::vector<std::pair<Shape, kernel::Value>>>> numbers_;  // of points that are counted through
  std::unordered_map<uint32_t, bool> counts_through_;                                   // by node
  size_t unused_ = 0;  // instructions of coordinates that nobody asks for, as elements are counted
  const Target& target_;
  int64_t group_;  // invocations that compute the same points of the grid together, or 0
  std::optional<GroupTile> tile_;
  int64_t copies_ = 1;  // of what is written now: the unrolled parts of reductions that are open
  int64_t team_ = 0;    // lanes of a subgroup that has points of its own, in a group; 0: there are none
  int64_t lanes_ = 0;   // of a subgroup that computes neighbouring points; 0: not known
  kernel::Value row_of_lane_ = kUnknown;
  std::vector<kernel::Value> rows_of_lanes_;
  std::set<uint32_t> of_rows_;  // reductions that others need of each of these rows
  bool keeps_ = true;           // for all steps of a loop what its reductions read in each of them
  int64_t points_ = 1;          // at which all invocations compute what is written now; 2^31 - 1 at most
  int open_ = 0;                // reductions around what is written now
  int64_t row_ = 0;             // elements of a row that an invocation has all points of
  std::vector<Companion> companions_;
  std::vector<Streamed> streamed_;
  std::map<std::pair<kernel::Scalar, size_t>, uint32_t> shared_;  // arrays of the group, by type and elements per invocation
  struct StageArray {
    kernel::Scalar type;
    int64_t count;
    uint32_t array;
    bool in_use;  // by a reduction whose loops are open
  };
  std::vector<StageArray> stage_arrays_;

  std::vector<ScheduledReduction> reductions_;
  std::vector<Scope> scopes_;
  std::map<int64_t, Arms> body_arms_;  // by function
  std::set<uint32_t> flags_;           // of the outermost scope, that may be asked for
  struct Key {
    int scope;
    uint32_t node;
    Point point;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const {
      uint64_t h = static_cast<uint64_t>(k.scope) << 32 | k.node;
      for (kernel::Value v : k.point) h = (h ^ v) * 0x9e3779b97f4a7c15u, h ^= h >> 32;
      return static_cast<size_t>(h * 0x9e3779b97f4a7c15u >> 16);
    }
  };
  std::vector<std::unordered_map<Key, kernel::Value, KeyHash>> memo_;
  std::vector<std::unordered_map<Key, kernel::Value, KeyHash>> zeros_;  // an element that is 0, for each row that has some
  std::unordered_map<uint32_t, bool> chooses_;                          // by node: whether elements may be known to be 0
  std::vector<std::unordered_map<Key, Elements, KeyHash>> loops_run_;   // inside of bodies, by loop and point
  std::map<std::pair<int, uint32_t>, bool> varies_, in_registers_;
  std::unordered_set<Key, KeyHash> hoisted_;  // visited by the hoist that is under way
  std::vector<Bound> bound_;
  std::unordered_map<uint32_t, size_t> evaluations_;
};

}  // namespace spirograd::lower
