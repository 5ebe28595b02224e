// How a kernel runs: loops over a domain and what each of them is bound to. Plain values without any effect on what is
// computed: sums may be added in another order, nothing else. They print and parse:
//
//   i = grid 128 register 4; j = grid 64 register 8           a map over [512, 512], 4 x 8 elements per invocation
//   e = grid 1563 register 8 lane 8; tail recompute           over 100,000 elements, counted through all axes
//   k = serial 64 unroll 8; accumulators 4                    a reduction of 512 elements
//   i = grid 300; group 64                                    a workgroup for each of 300 elements,
//   k = serial 2 unroll 4 local 64; lanes 32                  whose invocations share a reduction of 512 elements,
//                                                             combined among 32 lanes first, then in shared memory
//   i = grid 4096; j = register 8 local 512; group 512        a workgroup for each row of 4096 elements, of which its
//                                                             invocations have eight each,
//   k = unroll 8 local 512; lanes 32                          the same ones as of a reduction of the row: read once
//   i = grid 512 local 8; j = register 2 lane 32; group 256; team 32
//                                                             eight such rows, shorter ones: a subgroup for each
//   i = grid 128 register 4 local 8; j = grid 128 local 32; group 256; staged
//                                                             a transpose, in tiles that go through shared memory
//   i = grid 8 local 16 register 4; j = grid 8 register 4 local 16; group 256
//                                                             workgroups that compute tiles of 64 x 64 points,
//   k = serial 8 serial 4 serial 4 unroll 4; stage A pad 1, B and copy what 16 elements need of two arrays at a time
//   i = grid 64 register 8; j = grid 16 register 4 lane 8; outer j
//                                                             subgroups of 8 that compute tiles of 8 x 32 points, all
//                                                             rows of tiles before the next column of tiles,
//   k = serial 8 serial 8 unroll 8; broadcast 8               whose lanes evaluate what they have in common for one
//                                                             element each of 8, and read each other's values
//   i = grid 4 register 5; j = grid 4 register 5; half        a symmetric map over [20, 20]: of x^T x, in 10 of 16 tiles
//   k = grid 64 serial 15625                                  a reduction of a million elements: 64 partial results
//   k = grid 128 serial 782                                   a scan of 100,000 steps in chunks, one per invocation
//   k = grid 25 serial 4 local 128 register 8                 the same in chunks of four tiles, one per workgroup
//   u = grid 4096 serial 1024; atomic                         a scatter of 4 million updates, 1024 per invocation
//   u = grid 4194304; atomic among 64; lanes 32               the same to 64 copies of the result, in turn; 32 lanes add up
//                                                             what all of them have for one place
//   u = grid 128 serial 8192 unroll 4; p = serial 1000        the same to 128 copies of the 1000 places of the result
//   u = grid 2 serial 262144 lane 8; p = serial 1000000       to a copy of a million places for each of two subgroups,
//                                                             whose lanes go to it together
//   u = serial 4194304; p = grid 16 serial 62500              the same to a million places, each invocation to its own
//   u = serial 9000; p = serial 500; r = grid 2 register 4 lane 8
//                                                             rows of 64 elements, eight invocations to half of each
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spirograd/shape.h"

namespace spirograd::schedule {

enum class Bind : uint8_t {
  Grid,      // invocations, anywhere in the dispatch
  Local,     // invocations of one workgroup
  Lane,      // invocations next to each other, which should touch neighbouring elements
  Serial,    // a loop
  Unroll,    // a loop that is written out
  Register,  // elements that one invocation computes side by side; what they read in common is read once
};
std::string_view name(Bind b);

/// An axis in parts, outermost first: its index is that of the first part times the extents of the others, and so on.
struct Part {
  Bind bind = Bind::Grid;
  int64_t extent = 1;
  bool operator==(const Part&) const = default;
};
using Split = std::vector<Part>;
int64_t extent(const Split& s);
/// The index of an axis is the sum of the indices of its parts, each times its stride.
struct StridedPart {
  Part part;
  int64_t stride = 1;
};
std::vector<StridedPart> strided(const Split& s);
/// The product of the extents of the parts that are bound to `b`.
int64_t extent(const Split& s, Bind b);

/// What happens where the parts of an axis count further than the axis.
enum class Tail : uint8_t {
  Exact,      // they do not
  Recompute,  // the last element is computed again and not stored
};

/// Of a map. Invocations are numbered row-major through all parts that are bound to the grid, then to the workgroup, then to
/// lanes.
struct MapSchedule {
  bool flat = false;  // one axis: the elements in row-major order
  std::vector<Split> axes;
  Tail tail = Tail::Exact;
  /// The axis whose place on the grid changes last, with which numbers begin; none (-1): the first one.
  int outer = -1;
  /// Invocations that compute each point of the grid together: reductions may be spread over them. 0: each invocation for
  /// itself.
  int64_t group = 0;
  /// Of the group: subgroups of so many lanes have points of their own. 0: all of the group have the same ones.
  int64_t team = 0;
  /// Of a group with a tile: arrays that its neighbours read along another axis than they lie on are copied to its memory.
  bool staged = false;
  /// Of a map that is symmetric between two axes: only what lies on their diagonal or on one side of it is computed, and
  /// stored at both places. Tiles on the other side end before they begin.
  bool half = false;
  bool operator==(const MapSchedule&) const = default;
};
int64_t invocations(const MapSchedule& s);
/// Elements that one invocation computes side by side.
int64_t tile(const MapSchedule& s);

/// An array that the workgroup copies to shared memory before its invocations read it.
struct Stage {
  size_t leaf = 0;  // number in the facts; printed as A, B, ...
  int64_t pad = 0;  // elements that are left free behind each row, so that rows begin in different banks
  bool operator==(const Stage&) const = default;
};

/// Of a reduction inside of a kernel: loops in the order of the axes and of their parts. What is local is spread over the
/// invocations of the workgroup, whose results are then combined.
struct ReduceSchedule {
  std::vector<Split> axes;   // reduced axes in order
  int64_t accumulators = 1;  // independent partial results of what is unrolled
  int64_t lanes = 1;         // of a subgroup, which combine what is local by reading each other's values, before memory
  int64_t broadcast = 1;  // lanes of a subgroup that evaluate what they have in common for an element of the unrolled each
  std::vector<Stage> stages;  // copied before the innermost serial loop of the last axis: what this loop reads of them
  bool operator==(const ReduceSchedule&) const = default;
};
/// Whether all of its elements are written out, along each axis.
bool is_straight(const ReduceSchedule& s);
/// Elements of the last axis from one copy to the next: those of its innermost serial loop.
int64_t staged_elements(const ReduceSchedule& s);

/// Of a reduction in two: partial results of what is serial, one for each position of what is on the grid, which another
/// reduction combines. An axis stays whole or is cut in two. Nothing on the grid: it is one reduction.
struct PartialSchedule {
  std::vector<Split> axes;  // reduced axes in order
  bool operator==(const PartialSchedule&) const = default;
};
/// Partial results of each result.
int64_t partial_results(const PartialSchedule& s);

/// Whether each is that of a whole row along the last axis.
bool of_whole_rows(const PartialSchedule& s);

/// Of an operand: a copy in panels of so many elements along the lanes, one after the other; 0: the array as it lies.
struct PackSchedule {
  int64_t panel = 0;
  bool operator==(const PackSchedule&) const = default;
};

/// Of a scan: chunks, side by side on the grid, of tiles, one after the other. A tile is one step, or as many as the
/// invocations of a workgroup have in their registers. The last chunk may have fewer steps. One chunk of one-step tiles is
/// the loop as it stands.
struct ScanSchedule {
  Split steps = {{Bind::Grid, 1}, {Bind::Serial, 1}};
  bool operator==(const ScanSchedule&) const = default;
};
int64_t chunks(const ScanSchedule& s);
int64_t chunk_length(const ScanSchedule& s);
/// Invocations that share a tile; 0: each has a chunk for itself.
int64_t group(const ScanSchedule& s);
bool is_serial(const ScanSchedule& s);

/// Of a scatter: how invocations go through the updates, and who adds where. Atomically anybody adds anywhere; of what an
/// invocation adds one after the other, runs to the same place are added up before. Else each part of the updates that is on
/// the grid has a copy of the result, which a reduction adds up; of a copy, an invocation owns the places of one position on
/// the grid, and adds what goes there, in order: the same sums in every run. Where updates have lanes, a subgroup does that
/// together, an element each of all rows, which they count. The parts of each may count further than it.
struct ScatterSchedule {
  Split updates = {{Bind::Grid, 1}};
  bool atomic = true;
  Split places = {{Bind::Serial, 1}};  // not atomic
  int64_t among = 1;  // atomic: copies of the result that updates go to in turn, so that few of them wait for each other
  int64_t lanes = 1;  // atomic: of a subgroup, which adds once where all of them have the same place; and go to one copy
  Split row = {};     // not atomic: of the elements of each update; none: every element has invocations of its own
  bool operator==(const ScatterSchedule&) const = default;
};
/// Of the result; 1: updates are added to the result itself.
int64_t copies(const ScatterSchedule& s);
/// Invocations for all elements of a row that have the same ones, lanes apart.
int64_t invocations(const ScatterSchedule& s);
/// Lanes of the subgroups that go through updates together; 0: each invocation does by itself.
int64_t team(const ScatterSchedule& s);
/// Such elements of a row of so many: those on the grid and in lanes.
int64_t apart(const ScatterSchedule& s, int64_t row);

std::string to_string(const MapSchedule& s);
std::string to_string(const ReduceSchedule& s);
std::string to_string(const PartialSchedule& s);
std::string to_string(const ScanSchedule& s);
std::string to_string(const PackSchedule& s);  // "in place", "panels of 32"
std::string to_string(const ScatterSchedule& s);
/// Inverses of to_string. Throw SG0306 with the place of what they do not understand.
MapSchedule parse_map(std::string_view text);
ReduceSchedule parse_reduction(std::string_view text);
PartialSchedule parse_partial(std::string_view text);
ScanSchedule parse_scan(std::string_view text);
PackSchedule parse_pack(std::string_view text);
ScatterSchedule parse_scatter(std::string_view text);

}  // namespace spirograd::schedule
