// Delta terms: the derivative of a scope as plain data, one node per float node of the primal that an input reaches. Each
// denotes a linear map from the tangents of the inputs. Nodes are created operands first, so ids are a topological order
// and sharing is identity: forward mode walks up, reverse mode walks down. Id 0 is the symbolic zero of every type; the
// constructors drop it, and it matters: (-1)^n has no log(-1) in its derivative because n has no tangent.
#pragma once

#include <vector>

#include "ad/deriv_rules.h"

namespace spirograd::ad {

using DeltaId = uint32_t;
inline constexpr DeltaId kZeroDelta = 0;

enum class DeltaKind : uint8_t {
  Zero,
  Input,   // which: position in the list of inputs
  Add,     // in[0] + in[1]
  Neg,     // -in[0]
  Scale,   // k * in[0]
  Over,    // in[0] / k
  Choose,  // in[0] where k, else in[1]; either may be zero
  Linear,  // the operation of node k applied to `in`, one entry per operand; a zero stands for zeros or a primal operand
  Loop,    // the MapAccum node k; `in` per operand, `active` per result. Has no value of its own
  Proj,    // result `which` of the loop in[0]
  Given,   // the WithVjp node k, whose function gives cotangents; `in` per argument x, then that of a value with a tangent
};

/// What the zeros of a tangent or cotangent may stand for. Above None: for what a min, a max or a select did not take, and
/// then they stay zero whatever they are multiplied with. Known before any value is; in increasing order of protection.
enum class Zeros : uint8_t {
  Absent,  // no tangent or cotangent arrives
  None,    // nothing in particular
  Choice,  // some: left out by min or max. Kept by all factors but those of a plain product
  Mask,    // some: left out by a select. Kept by all factors
};

struct Delta {
  DeltaKind kind = DeltaKind::Zero;
  Type type;
  std::vector<DeltaId> in;
  ir::Expr k;
  int64_t which = 0;
  std::vector<bool> active{};
  Zeros zeros = Zeros::None;  // Choose: what its zeros are. Scale, Over: from where on zeros of in[0] are kept
  bool strong = false;        // Scale: zeros of k are kept, too
};

class Deltas {
 public:
  Deltas() : nodes_(1) {}
  const Delta& operator[](DeltaId id) const { return nodes_[id]; }
  DeltaId size() const { return static_cast<DeltaId>(nodes_.size()); }

  DeltaId input(Type type, int64_t which);
  DeltaId add(DeltaId a, DeltaId b);
  DeltaId neg(DeltaId a);
  DeltaId scale(ir::Expr k, DeltaId a, Zeros kept_from, bool strong);
  DeltaId over(DeltaId a, ir::Expr k);
  DeltaId choose(ir::Expr mask, DeltaId a, DeltaId b, Zeros zeros);
  DeltaId linear(ir::Expr node, std::vector<DeltaId> in);
  DeltaId loop(ir::Expr map_accum, std::vector<DeltaId> in, std::vector<bool> active);
  DeltaId proj(DeltaId loop, int64_t j, Type type);
  DeltaId given(ir::Expr with_vjp, std::vector<DeltaId> in);

 private:
  DeltaId push(Delta d);
  std::vector<Delta> nodes_;
};

/// The Deltas of a scope: of its roots, in terms of its inputs.
struct DualScope {
  Deltas deltas;
  std::vector<DeltaId> roots;
};

/// Pre: no Build and no Prod with a tangent below `roots`. `inputs` are Param nodes of the scope.
DualScope dualise(ir::Graph& g, std::span<const ir::Expr> roots, std::span<const ir::Expr> inputs);

/// Which of `roots` an input can influence differentiably; the nodes on the way as well.
struct Activity {
  std::vector<bool> node;  // by node id
  bool operator[](ir::NodeId id) const { return id.v < node.size() && node[id.v]; }
};
Activity find_active(ir::Graph& g, std::span<const ir::Expr> roots, std::span<const ir::Expr> inputs);

/// Which results of a loop are active if these operands are (accumulators, elements, constants).
std::vector<bool> active_loop_results(ir::Graph& g, const ir::Node& map_accum, std::vector<bool> operands);

}  // namespace spirograd::ad
