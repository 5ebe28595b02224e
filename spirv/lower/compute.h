// A compute is a piece of work over one domain; a kernel runs one or more of them. Computes of the same domain share
// instructions; small ones of different domains stand side by side in one kernel, so that gradients of many small arrays are
// one dispatch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spirv/lower/inline.h"
#include "spirv/lower/loops.h"
#include "spirv/lower/rfactor.h"

namespace spirograd::lower {

/// Where the value of a node goes. An axis moved by `shift` (concat) or inserted at `shift` (stack) puts parts into a whole.
struct Store {
  ir::NodeId value;
  BufferRef to;
  Type target;    // type of the whole destination
  int axis = -1;  // -1: the destination has the domain's shape
  int64_t shift = 0;
  bool inserted = false;
};

/// A flag in memory, and what it is where somebody wants what is computed.
struct Gate {
  BufferRef flag;
  bool open = true;
  bool operator==(const Gate&) const = default;
};

struct Compute {
  enum class Kind : uint8_t { Map, Scatter, Loop, Scan } kind = Kind::Map;
  Shape domain;
  std::vector<Store> stores;         // Map
  std::vector<Store> rows;           // Map: values of each row of the domain, without its last axis or with 1
  std::optional<ir::NodeId> within;  // Map: the reduction in whose loops it may run
  std::vector<std::pair<ir::NodeId, Store>> beside;  // Map: reductions, and what is stored in their loops
  ir::NodeId node;                                   // Scatter, Loop, Scan: the node
  BufferRef to;                                      // Scatter: the destination
  int64_t first = 0, count = 0;                      // Scatter: the updates it adds; 0: all
  std::vector<std::optional<BufferRef>> results;     // Loop, Scan: where accumulators and stacks go, if anybody reads them
  std::vector<Shape> turned;                         // the order of the axes of each in memory; empty: as they are
  std::vector<Gate> gates;                           // all as they are here, or nothing is computed
  std::string label;
  // For scheduling:
  std::vector<schedule::Read> reads;
  std::vector<schedule::Reduction> reductions;
  std::vector<schedule::Operations> operations;
  std::vector<uint32_t> writes;       // buffer ids
  int64_t code = 0;                   // estimated instructions
  double work = 0;                    // estimated operations in all
  bool reduces = false;               // a reduction runs inside of it
  bool alone = false;                 // shares no kernel
  bool single = false;                // one point for each invocation, or one row
  bool of_rows = false;               // of a kernel of rows (row_kernels): each point needs all of its row
  schedule::MapSchedule schedule;     // Map: chosen when it is known what shares the kernel
  schedule::ScanSchedule scan;        // Scan
  LoopForm loop;                      // Loop
  schedule::ScatterSchedule scatter;  // Scatter
  /// Map: axes between which all that is stored is symmetric.
  std::optional<std::pair<int, int>> symmetric = {};
};

/// Invocations that run a compute.
int64_t invocations(const Compute& s);
/// Those of a workgroup that work together on it, or 0.
int64_t group_of(const Compute& s);
/// How it runs, for people.
std::string schedule_of(const Compute& s);

/// Stores an element of a result of a Loop or a Scan, of type `t`, wherever its axes lie.
void store_element(Inliner& inliner, kernel::Builder& b, const Compute& s, size_t result, Type t, const Point& at,
                   kernel::Value v);
/// The instructions of a Map: `index` numbers its invocations.
void emit_map(Inliner& inliner, kernel::Builder& b, const Compute& s, kernel::Value index);
/// The instructions of a Loop: `index` numbers its invocations.
void emit_loop(Inliner& inliner, kernel::Builder& b, const ir::Graph& g, const Compute& s, kernel::Value index);
/// The instructions of a Scan: `index` numbers the chunks of all rows.
void emit_scan(Inliner& inliner, kernel::Builder& b, const ir::Graph& g, const Compute& s, kernel::Value index);
/// Those of a Scatter: `index` numbers the parts of the updates, of the places, and the elements of a row.
void emit_scatter(Inliner& inliner, kernel::Builder& b, const ir::Graph& g, const Compute& s, kernel::Value index);

/// Groups computes into kernels. Pre: a compute comes after those whose results it reads. A compute may join the kernel
/// that computes what it reads if it reads it at its own point only.
std::vector<std::vector<Compute>> merge_computes(std::vector<Compute> computes, const Target& target,
                                                 const schedule::Scheduler& scheduler);

struct MadeKernel {
  kernel::Kernel kernel;
  std::vector<Inliner::Bound> bound;           // buffers in binding order
  bool too_large = false;                      // the kernel grew beyond all bounds and is not complete
  std::vector<ir::NodeId> repeated;            // too_large: nodes computed at many times the points that were asked for
  std::vector<ScheduledReduction> reductions;  // in the order in which they run
};
/// Nodes in `computed` are computed here though they have a buffer. `arms`: of the whole scope. `keeps`: loops may keep what
/// all steps read; where that makes one too large it is made without.
MadeKernel make_kernel(const ir::Graph& g, std::span<const Compute> group, const Materialised& materialised,
                       std::set<uint32_t> computed, const std::vector<ParamSource>& params, const Arms& arms,
                       const Target& target, const schedule::Scheduler& scheduler, const std::string& name,
                       bool keeps = true);

/// How the computes of a kernel run, and the reductions within them: a line each.
std::vector<ScheduleLine> schedule_lines(std::span<const Compute> group, const MadeKernel& made, const Partials& partial);

}  // namespace spirograd::lower
