// What a scheduler has to know of the work that it schedules: facts only, no device and no loops.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "spirograd/shape.h"

namespace spirograd::schedule {

/// The axes along which there is more than one element, a bit each.
inline uint32_t long_axes(const Shape& s) {
  uint32_t axes = 0;
  for (int a = 0; a < s.rank(); ++a) axes |= s[a] > 1 ? 1u << a : 0;
  return axes;
}

/// An array that a map reads.
struct Read {
  uint32_t buffer = 0;
  uint32_t axes = 0;     // of the domain, that the place depends on
  bool own = false;      // at the invocation's own point only
  bool reduced = false;  // a reduction that runs for each point reads it,
  bool sums = false;     // at places that are sums of coordinates, so that it may be staged (Leaf)
  uint32_t last = 0;     // axes of the domain along which neighbours read neighbours in memory, about;
  bool along = false;    // so do neighbours along the last reduced axis;
  bool outer = false;    // the place depends on the element of a reduction around the one that reads it
};

/// A reduction that runs for each point, not inside of another one.
struct Reduction {
  uint32_t axes = 0;       // of the domain, that its point depends on
  double length = 1;       // elements per result
  bool contiguous = true;  // neighbours along its last axis are neighbours in memory wherever it reads
  bool position = false;   // it finds the place of an element, one after the other
  bool loops = false;      // another reduction runs for each of its elements, or those of one beside it
  bool one_axis = true;    // that it runs over
  double inner = 1;        // elements that reductions run over for each of its elements, one inside of another,
  double left = 1;         // and the part of them that are not known to be 0 by where they are
};

/// Work on one element of the innermost reductions.
struct Operations {
  uint32_t axes = 0;  // of the domain, that it depends on
  double count = 1;
  bool outer = false;  // it depends on the element of a reduction around, too
  bool each = true;    // it depends on the element at all; else it leaves the loop
};

/// Whether it reduces a row of so many elements as it lies in memory, to a value.
inline bool reduces_row(const Reduction& r, int64_t length) {
  return r.contiguous && !r.position && r.length == static_cast<double>(length);
}

/// The computation of one element per point of a domain, each on its own.
struct MapFacts {
  Shape domain;
  std::vector<Read> reads;
  int64_t code = 0;      // estimated instructions per element
  bool reduces = false;  // a reduction runs inside of it
  std::vector<Reduction> reductions;
  bool alone = false;   // shares its kernel with nothing else, so that workgroups may be its own
  bool stores = false;  // arrays are stored in the loops of its reductions: each point is computed once
  std::vector<Operations> operations;
  std::optional<std::pair<int, int>> symmetric = {};  // axes, in order, that may change places: the values are the same
  bool single = false;  // a subgroup takes no more than one row: the code of several was too large
};

/// An array in memory that a reduction reads at places that are sums of coordinates: of the tile of points that a workgroup
/// computes, and of what is reduced. Other arrays are not told of.
struct Leaf {
  /// One coordinate of the places: so many different ones over the tile, `step` further for each element along the last
  /// reduced axis.
  struct Coordinate {
    int64_t tile = 1, step = 0;
  };
  DType dtype = DType::F32;
  std::vector<Coordinate> place;
  int64_t own = 1;  // different elements that one invocation reads for its points, per reduced element
};

/// A reduction inside of a kernel, computed for several points side by side.
struct ReduceFacts {
  DType dtype = DType::F32;
  std::vector<int64_t> extents;  // of the reduced axes in order; more than one element in all
  int64_t points = 1;            // side by side
  int64_t code = 0;              // estimated instructions per element
  /// Elements per partial sum where sums are compensated, at most; 0: they are not.
  int64_t plain = 0;
  int64_t group = 0;         // invocations that compute the same points together, all of them on the same path; 0: none
  bool team = false;         // they are a subgroup, one of several of a workgroup
  bool rows = false;         // such a subgroup computes neighbouring points, outside of loops
  int64_t members = 0;       // of a workgroup that computes a tile of points together, all on the same path; 0: none
  std::vector<Leaf> leaves;  // that depend on the last axis, for such a workgroup
  int64_t shared = 0;        // bytes of shared memory that other reductions of the kernel have taken
  int64_t lanes = 0;         // of a subgroup that computes neighbouring points, all on the same path; 0: not known
  int64_t common = 0;        // values that change along the last axis and are the same for these lanes, per point
  int64_t staying = 0;       // arrays that each lane reads for itself, the same ones in each step of a loop around,
  int64_t kept = 0;          // where it keeps so many elements of other reductions already;
  int64_t changing = 0;      // and arrays in shared memory, of which each reads what others have written in this step
  int64_t copies = 1;        // of the reduction itself, where those around it are written out
  int64_t results = 1;       // of all invocations, each of so many elements
  bool loops = false;        // another reduction runs for each element
  bool parts = false;        // it combines what subgroups have summed up in rows, rounded by then
  bool inside = false;       // it runs for each element of another one
  bool alone = false;        // nothing is reduced beside it or stored in its loops, and it finds no place
};

/// What an invocation then keeps if the reduction is written out whole.
inline int64_t kept_elements(const ReduceFacts& f) {
  int64_t elements = f.points * f.staying;
  for (int64_t n : f.extents) elements *= n;
  return elements;
}

/// A reduction as a whole, before it is known in which kernel it runs.
struct PartialFacts {
  std::vector<int64_t> extents;  // of the reduced axes in order; at least one element in all
  int64_t results = 1;           // each of so many elements
  bool combines = false;         // what an earlier reduction has left
  bool position = false;         // its result is the place of an element of its only axis: parts are ranges
  int axes_left = 0;             // that its operand may get
  bool contiguous = true;        // neighbours along its last axis are neighbours in memory wherever it reads; else
  int64_t columns = 1;           // results that are next to each other
  bool streams = false;          // it reads an array of which each element is for one result
  int64_t row = 1;               // elements of such an array from one to the next along the last axis
  bool rows = false;             // contiguous, and streams rows as they lie in memory: a workgroup may take each
  int64_t code = 0;              // estimated operations per element of rows
  bool even = false;             // parts should leave nothing over
  int64_t read = 0;              // elements of the arrays of a contraction, which several results read
  bool beside = false;           // so they should because arrays of as many elements may be computed in their loops
};

/// An array that the lanes of many tiles read: whether in place, or from a copy.
struct PackFacts {
  int64_t elements = 0;     // of the array,
  int64_t bytes = 4;        // of each
  int64_t row = 1;          // elements along its last axis
  bool neighbours = false;  // neighbouring lanes read neighbours in memory
  int64_t width = 1;        // of a tile, along the lanes
  int64_t readers = 1;      // tiles that read the same of it
  bool rows = false;        // they are made for reading rows: neighbours in memory, from a copy if need be
};

/// All states of a loop whose step is associative, for each of `rows` on its own.
struct ScanFacts {
  DType dtype = DType::F32;
  int64_t length = 1;  // steps
  int64_t rows = 1;
  int64_t code = 0;        // estimated instructions per term
  bool contiguous = true;  // the terms of neighbouring steps are neighbours in memory
  bool chunkable = true;   // its totals can be computed: there is an axis left for them
};

/// Rows of updates, each added to the row of the result that an index names.
struct ScatterFacts {
  DType dtype = DType::F32;
  int64_t updates = 1;   // rows that are added,
  int64_t places = 1;    // rows of the result
  int64_t row = 1;       // elements of each, side by side in memory
  int64_t code = 0;      // estimated instructions per element
  bool atomic = true;    // the device adds such elements atomically, and may
  bool copyable = true;  // there is an axis left for copies of the result
  bool gathers = false;  // updates or indices come from what is read anywhere: it and the result share the caches
};

}  // namespace spirograd::schedule
