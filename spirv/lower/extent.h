// How large the kernel of a node gets, by estimate, before any is made.
#pragma once

#include <functional>
#include <unordered_set>
#include <vector>

#include "frontend/ir/graph.h"
#include "spirv/lower/access.h"
#include "spirv/lower/place_keys.h"

namespace spirograd::lower {

/// A Concat or Stack of more parts is written part by part.
inline constexpr size_t kInlinedParts = 4;

/// What a kernel that computes `root` reads and how large it gets: the walk stops at roots, parameters and constant arrays.
struct Extent {
  std::vector<ir::NodeId> leaves;  // roots (loops: the Proj), parameters, constant arrays, each once, in a fixed order
  int64_t code = 0;                // estimated instructions, of what is computed, each once,
  int64_t written_out = 0;         // and of what is computed at several places for the same point, at each of them
  bool reduces = false;            // a reduction is inlined
  bool gathers = false;            // a gather is inlined
  double longest = 1;              // elements per result of the longest reduction that is inlined
};

/// Finds extents; remembers what a walk has seen between walks, for there are many.
class ExtentWalk {
 public:
  ExtentWalk(const ir::Graph& g, const NodeSet& roots) : g_(g), roots_(roots) {}
  /// Ends early once what is written out is above the limit.
  Extent operator()(ir::NodeId root, int64_t limit = 1 << 30);

 private:
  enum class Visit { First, Elsewhere, Again };
  struct Asked {
    ir::NodeId node;
    uint32_t at;  // of places_
  };
  Visit visit(Asked a);
  int64_t code_of(const ir::Node& n, Visit v) const;
  void ask_operands(const ir::Node& n, uint32_t at);

  const ir::Graph& g_;
  const NodeSet& roots_;
  std::vector<uint32_t> seen_;   // number of the walk that saw the node last,
  std::vector<uint32_t> first_;  // and where
  uint32_t walk_ = 0;
  std::vector<Asked> stack_;
  std::vector<PlaceKeys> places_;
  std::unordered_set<uint64_t> elsewhere_;  // nodes at further places, as hashes
};

/// Where such a node is stored, each of its parts has a kernel.
inline bool has_parts(const ir::Node& n) { return n.op == ir::Op::Concat || n.op == ir::Op::Stack; }

inline double count(const Shape& s) { return static_cast<double>(s.count()); }

/// Instructions that one element of the operation takes, about.
int op_cost(const ir::Node& n);

/// Whether the node is an array of f16 as it is computed with: not worth storing, for that is stored in half the bytes.
bool reads_f16(const ir::Graph& g, const ir::Node& n);

/// Whether the parts of a Concat or Stack are so few instructions that all are computed and one is selected, where a branch
/// would cost more. `stored`: which nodes are loaded.
bool selects_parts(const ir::Graph& g, const ir::Node& n, const std::function<bool(ir::NodeId)>& stored);

}  // namespace spirograd::lower
