// Arrays that are read through shared memory, where a workgroup computes a tile of points together: the group copies what a
// block of the last axis of a reduction needs, or what the tile does, all of it at neighbouring places, and then reads it
// from there as often, and in whatever order, it likes.
#pragma once

#include "spirv/lower/affine.h"
#include "spirv/lower/inline.h"

namespace spirograd::lower {

class Inliner::Staging {
 public:
  /// Pre: the group takes the same path to here, and computes a tile.
  Staging(Inliner& inliner, const ir::Node& reduction, std::span<const Point> points);
  /// What `root` reads at these points at places that are neighbours along another axis than `neighbours`.
  Staging(Inliner& inliner, ir::NodeId root, std::span<const Point> points, size_t neighbours);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  std::vector<schedule::Leaf> leaves() const;
  /// Takes the arrays that the schedule asks for,
  void take_arrays(const schedule::ReduceSchedule& s);
  /// or all of them, rows in different banks.
  void take_arrays();
  /// Copies the block that begins at `place` on each reduced axis.
  void copy(const std::map<size_t, kernel::Value>& place = {});
  /// Lets the evaluation of the operand at its point number u, for `place` in the block, find what was copied.
  void provide(const std::map<size_t, kernel::Value>& place, size_t u, const Point& at);

 private:
  // A coordinate of the operand: the range of its values in the whole group, and how far from its beginning each point of
  // the invocation is.
  struct Variable {
    enum class Kind : uint8_t { Range, Reduced, Unknown } kind = Kind::Range;
    kernel::Value origin = kUnknown;  // Reduced: of the block that was copied last
    int64_t extent = 1;
    std::vector<kernel::Value> offsets = {};
  };
  // What is copied counts through the variables of each coordinate: one by one in steps of their factors, so that nothing in
  // between is copied, or where the factors are small, as in a convolution, through the range of their sum.
  struct Dimension {
    size_t coordinate;
    std::map<size_t, int64_t> terms;  // factor, not 0, by variable
    int64_t step;
  };
  static constexpr size_t kNone = ~size_t{0};
  struct Read {
    AffineRead at;
    std::vector<Dimension> dimensions;
  };
  struct Staged {
    const Read* read;
    Shape tile, padded;  // what is copied, without and with the padding of its rows
    size_t array;        // number among the inliner's arrays
  };
  void find(ir::NodeId root, std::span<const Point> points, const std::function<bool(const AffineRead&)>& wanted);
  bool depends(const rewrite::Affine& c, size_t axis) const { return !c.term[axis].zero(); }
  bool is_array(ir::NodeId id) const;
  bool is_part(ir::NodeId id, const AffinePlace& at) const;
  bool reads_arrays_only(ir::NodeId root) const;
  void take_array(const Read& r, int64_t pad);
  Variable variable_of(size_t axis, std::span<const Point> points) const;
  std::vector<Dimension> dimensions(const AffineRead& r) const;
  int64_t extent(const Dimension& d) const;
  Point place_in_tile(kernel::Value member, int64_t first, const Shape& tile) const;
  kernel::Value origin(const rewrite::Affine& c) const;
  kernel::Value offset(const Dimension& d, size_t u, kernel::Value along) const;

  Inliner& inliner_;
  kernel::Builder& b_;
  const size_t inner_;  // the last reduced axis, if there is one
  std::vector<Variable> variables_;
  std::vector<Read> reads_;
  std::vector<Staged> staged_;
};

}  // namespace spirograd::lower
