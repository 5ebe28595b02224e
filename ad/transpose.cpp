// Reverse mode: cotangents flow down the Delta terms. Every Delta is visited once, by descending id, when all of its users
// have delivered; so the work and the size of the result are linear in the program.
#include "ad/arms.h"
#include "ad/cotangent_sum.h"
#include "ad/scope.h"
#include "frontend/ir/broken_row.h"

namespace spirograd::ad {

using namespace ir;

namespace {

class Transposer {
 public:
  /// `zeros`: per Delta, what the zeros of its cotangent stand for.
  Transposer(Graph& g, const DualScope& dual, const DeltaArms& arms, std::vector<Zeros> zeros)
      : g_(g), deltas_(dual.deltas), arms_(arms), zeros_(std::move(zeros)), ct_(deltas_.size()) {}

  void deliver(DeltaId to, Expr ct) {
    if (to == kZeroDelta || !ct) return;
    ct_[to].add(ct);
  }

  /// Returns the cotangents of the inputs.
  std::vector<Expr> run(size_t n_inputs, Replaced& replaced) {
    std::vector<Expr> grads(n_inputs);
    for (DeltaId id = deltas_.size(); id-- > 1;) {
      const Delta& d = deltas_[id];
      if (d.kind == DeltaKind::Loop) {
        visit_loop(id, d, replaced);
      } else if (const Expr ct = ct_[id].value()) {
        if (d.kind == DeltaKind::Input)
          grads[static_cast<size_t>(d.which)] = ct;
        else
          visit(id, d, ct, zeros_[id]);
      }
    }
    return grads;
  }

 private:
  // What a Delta gives to one of its operands.
  void give(DeltaId from, size_t operand, Expr ct) {
    if (ct) deliver(deltas_[from].in[operand], masked(ct, arms_.masks(from, operand)));
  }

  void visit(DeltaId id, const Delta& d, Expr ct, Zeros zeros) {
    switch (d.kind) {
      case DeltaKind::Zero:
      case DeltaKind::Input:
      case DeltaKind::Loop: break;
      case DeltaKind::Add: give(id, 0, ct), give(id, 1, ct); break;
      case DeltaKind::Neg: give(id, 0, -ct); break;
      case DeltaKind::Scale:
      case DeltaKind::Over: give(id, 0, multiplied(d, ct, zeros)); break;
      case DeltaKind::Choose: {
        const Expr none = ir::zeros(g_, d.type);
        const bool as_it_is = arms_.decides(id);
        give(id, 0, as_it_is ? ct : select(d.k, ct, none));
        give(id, 1, as_it_is ? ct : select(d.k, none, ct));
        break;
      }
      case DeltaKind::Linear:
        for (size_t j = 0; j < d.in.size(); ++j)
          if (d.in[j] != kZeroDelta) give_transposed(id, d, j, ct);
        break;
      case DeltaKind::Given: {
        const std::vector<Expr> arguments = pull_given(g_, d, ct, zeros);
        for (size_t j = 0; j < arguments.size(); ++j) give(id, j, arguments[j]);
        break;
      }
      case DeltaKind::Proj: {
        Arrived& results = loop_cts_[d.in[0]];
        results.cts.resize(deltas_[d.in[0]].active.size());
        results.zeros.resize(results.cts.size(), Zeros::Absent);
        const Conditions masks = arms_.masks(id, 0);
        results.cts[static_cast<size_t>(d.which)] = masked(ct, masks);
        results.zeros[static_cast<size_t>(d.which)] = masks.empty() ? zeros : Zeros::Mask;
        break;
      }
    }
  }

  // Zeros stay what they are, so the smaller one of both is masked.
  void give_transposed(DeltaId id, const Delta& d, size_t j, Expr ct) {
    const Conditions masks = arms_.masks(id, j);
    const bool before = ct.shape().count() <= deltas_[d.in[j]].type.shape.count();
    if (before) ct = masked(ct, masks);
    const Expr out = unless_broken("transpose", name(d.k.op()),
                                   rule(d.k.op()).transpose({.ct = ct, .y = d.k, .operand = static_cast<int>(j)}));
    deliver(d.in[j], out && !before ? masked(out, masks) : out);
  }

  void visit_loop(DeltaId id, const Delta& d, Replaced& replaced) {
    const auto it = loop_cts_.find(id);
    if (it == loop_cts_.end()) return;
    const std::vector<Expr> operands = pull_loop(g_, d, it->second.cts, it->second.zeros, replaced);
    for (size_t j = 0; j < operands.size(); ++j) give(id, j, operands[j]);
  }

  // The cotangents of the results of a loop.
  struct Arrived {
    std::vector<Expr> cts;
    std::vector<Zeros> zeros;
  };

  Graph& g_;
  const Deltas& deltas_;
  const DeltaArms& arms_;
  std::vector<Zeros> zeros_;
  std::vector<CotangentSum> ct_;
  std::unordered_map<DeltaId, Arrived> loop_cts_;
};

}  // namespace

Derivative pull_back(Graph& g, std::span<const Expr> roots, std::span<const Expr> inputs, std::span<const Expr> cotangents,
                     std::span<const Zeros> zeros, std::span<const Expr> others) {
  std::vector<Expr> all = expand_products(g, roots, inputs);
  const DualScope dual = dualise(g, all, inputs);
  const DeltaArms arms(g, dual);
  Transposer transposer(g, dual, arms, zeros_downwards(g, dual, arms, zeros));
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
