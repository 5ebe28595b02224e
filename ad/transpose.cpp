// Reverse mode: cotangents flow down the Delta terms. Every Delta is visited once, by descending id, when all of its users
// have delivered; so the work and the size of the result are linear in the program.
#include "ad/scope.h"

namespace spirograd::ad {

using namespace ir;

namespace {

class Transposer {
 public:
  Transposer(Graph& g, const Deltas& deltas) : g_(g), deltas_(deltas), ct_(deltas.size()) {}

  void deliver(DeltaId to, Expr ct) {
    if (to == kZeroDelta || !ct) return;
    ct_[to] = ct_[to] ? ct_[to] + ct : ct;
  }

  /// Returns the cotangents of the inputs.
  std::vector<Expr> run(size_t n_inputs, Replaced& replaced) {
    std::vector<Expr> grads(n_inputs);
    for (DeltaId id = deltas_.size(); id-- > 1;) {
      const Delta& d = deltas_[id];
      if (d.kind == DeltaKind::Loop) {
        visit_loop(id, d, replaced);
      } else if (ct_[id]) {
        if (d.kind == DeltaKind::Input)
          grads[static_cast<size_t>(d.which)] = ct_[id];
        else
          visit(d, ct_[id]);
      }
    }
    return grads;
  }

 private:
  void visit(const Delta& d, Expr ct) {
    switch (d.kind) {
      case DeltaKind::Zero:
      case DeltaKind::Input:
      case DeltaKind::Loop: break;
      case DeltaKind::Add: deliver(d.in[0], ct), deliver(d.in[1], ct); break;
      case DeltaKind::Neg: deliver(d.in[0], -ct); break;
      case DeltaKind::Scale: deliver(d.in[0], times(d.k, ct)); break;
      case DeltaKind::Over: deliver(d.in[0], ct / d.k); break;
      case DeltaKind::Choose: {
        const Expr none = zeros(g_, d.type);
        if (d.in[0] != kZeroDelta) deliver(d.in[0], select(d.k, ct, none));
        if (d.in[1] != kZeroDelta) deliver(d.in[1], select(d.k, none, ct));
        break;
      }
      case DeltaKind::Linear:
        for (size_t j = 0; j < d.in.size(); ++j)
          if (d.in[j] != kZeroDelta)
            deliver(d.in[j], rule(d.k.op()).transpose({.ct = ct, .y = d.k, .operand = static_cast<int>(j)}));
        break;
      case DeltaKind::Proj: {
        std::vector<Expr>& results = loop_cts_[d.in[0]];
        results.resize(deltas_[d.in[0]].active.size());
        results[static_cast<size_t>(d.which)] = ct;
        break;
      }
    }
  }

  void visit_loop(DeltaId id, const Delta& d, Replaced& replaced) {
    const auto it = loop_cts_.find(id);
    if (it == loop_cts_.end()) return;
    const std::vector<Expr> operands = pull_loop(g_, d, it->second, replaced);
    for (size_t j = 0; j < operands.size(); ++j) deliver(d.in[j], operands[j]);
  }

  Graph& g_;
  const Deltas& deltas_;
  std::vector<Expr> ct_;
  std::unordered_map<DeltaId, std::vector<Expr>> loop_cts_;
};

}  // namespace

Derivative pull_back(Graph& g, std::span<const Expr> roots, std::span<const Expr> inputs, std::span<const Expr> cotangents,
                     std::span<const Expr> others) {
  std::vector<Expr> all = guard_hazards(g, expand_products(g, roots, inputs), inputs);
  const DualScope dual = dualise(g, all, inputs);
  Transposer transposer(g, dual.deltas);
  for (size_t j = 0; j < roots.size(); ++j) transposer.deliver(dual.roots[j], cotangents[j]);
  Replaced replaced;
  const std::vector<Expr> grads = transposer.run(inputs.size(), replaced);
  all.insert(all.end(), grads.begin(), grads.end());
  all.insert(all.end(), others.begin(), others.end());
  all = resolve(g, all, replaced);
  Derivative out;
  const auto from = all.begin(), mid = from + static_cast<std::ptrdiff_t>(roots.size()),
             end = mid + static_cast<std::ptrdiff_t>(inputs.size());
  out.primal.assign(from, mid);
  out.linear.assign(mid, end);
  out.others.assign(end, all.end());
  return out;
}

}  // namespace spirograd::ad
