// Where a kernel reads: for everything that the computation of a node loads, how the place depends on the node's own point.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "frontend/ir/graph.h"
#include "spirv/schedule/compute.h"

namespace spirograd::lower {

/// Reductions of at most this many elements are unrolled whole: they are no loops.
inline constexpr int64_t kUnrolled = 4;

/// A set of nodes of one graph, asked far more often than changed.
class NodeSet {
 public:
  bool contains(uint32_t id) const { return id < in_.size() && in_[id]; }
  void insert(uint32_t id) {
    if (id >= in_.size()) in_.resize(id + 1, false);
    in_[id] = true;
  }
  void erase(uint32_t id) {
    if (id < in_.size()) in_[id] = false;
  }
  void clear() { in_.clear(); }

 private:
  std::vector<bool> in_;  // by id
};

/// One coordinate of a place: which coordinates of a kernel's own point it depends on, and whether it is one of them
/// unchanged, or a sum of multiples of them.
struct Coordinate {
  uint32_t axes = 0;
  int same_as = -1;
  bool sum = true;
  auto operator<=>(const Coordinate&) const = default;
};
using Place = std::vector<Coordinate>;

/// That of the kernel's own point.
Place place_of_point(const Shape& domain);

/// Where operand j is read when the node is computed at `place`. `reduced` stands for the axes that a reduction runs over.
Place operand_place(const ir::Graph& g, const ir::Node& n, size_t j, const Place& place, Coordinate reduced = {});

struct Access {
  ir::NodeId leaf;       // a root, a loop result, a parameter or a constant array
  uint32_t axes = 0;     // bit a: the place depends on coordinate a of the point
  bool own = false;      // the place is the point itself
  bool reduced = false;  // it depends on a reduction that runs for the point
  bool sums = true;      // its coordinates are sums of multiples of coordinates
  bool outer = false;    // it depends on a reduction inside of which another one runs that reads it
  uint32_t last = 0;     // bit a: the last coordinate depends on coordinate a of the point, or on one of kReducedAxes
};

/// Bits beside those of a point's coordinates: depends on an axis that a reduction runs over for the point, on the last of
/// them, and on one of a reduction inside of which another one runs.
inline constexpr uint32_t kReducedAxis = 1u << 31, kLastReducedAxis = 1u << 30, kOuterReducedAxis = 1u << 29,
                          kReducedAxes = kReducedAxis | kLastReducedAxis | kOuterReducedAxis;

/// Like operand_place; what is reduced depends on kReducedAxis, and on kLastReducedAxis along the last axis that has more
/// than one element.
Place place_of_operand(const ir::Graph& g, const ir::Node& n, size_t j, const Place& place);

/// As schedulers know it.
schedule::Read read_of(const Access& a, uint32_t buffer);

struct Accesses {
  std::vector<Access> reads;                    // each different one, in a fixed order
  std::vector<schedule::Reduction> reductions;  // that run for the point, not inside of others:
  std::vector<ir::NodeId> reduced;              // these nodes
  std::vector<schedule::Operations> operations;
};

/// Nodes by which it is told what kind of computation one is, before it is known what is stored: of a long program, what
/// lies further down is not looked at.
constexpr size_t kLookedAt = 200;

/// What the kernel that computes `root` reads, and which reductions it runs. The walk stops at `roots`, parameters and
/// constants, and after `most` nodes.
Accesses accesses(const ir::Graph& g, ir::NodeId root, const NodeSet& roots, size_t most = SIZE_MAX);

/// Elements that a reduction has for each of its results.
int64_t reduced_length(const ir::Graph& g, const ir::Node& n);

/// Whether it reduces a few elements around each of its own along several axes, all of which lanes may take as rows
/// (schedule::wants_row_windows).
bool is_window(const ir::Graph& g, const ir::Node& n);

/// Asks of x and of what it is computed from, each node once, which operands to ask next; none: the node will not do.
/// Whether all of them do, if they are not too many.
using Operands = std::optional<std::span<const ir::NodeId>>;
bool all_below(ir::NodeId x, const std::function<Operands(ir::NodeId)>& operands);

/// Whether x is computed element by element from arrays of its shape and from single values, so that its elements may be
/// counted through; `stored`: which nodes are arrays.
bool lies_flat(const ir::Graph& g, ir::NodeId x, const std::function<bool(ir::NodeId)>& stored);

}  // namespace spirograd::lower
