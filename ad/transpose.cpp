// Reverse mode: cotangents flow down the Delta terms. Every Delta is visited once, by descending id, when all of its users
// have delivered; so the work and the size of the result are linear in the program.
#include "ad/cotangent_sum.h"
#include "ad/scope.h"
#include "frontend/ir/broken_row.h"

namespace spirograd::ad {

using namespace ir;

namespace {

class Transposer {
 public:
  /// `zeros`: per Delta, what the zeros of its cotangent stand for.
  Transposer(Graph& g, const Deltas& deltas, std::vector<Zeros> zeros)
      : g_(g), deltas_(deltas), zeros_(std::move(zeros)), ct_(deltas.size()) {}

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
          visit(d, ct, zeros_[id]);
      }
    }
    return grads;
  }

 private:
  void visit(const Delta& d, Expr ct, Zeros zeros) {
    switch (d.kind) {
      case DeltaKind::Zero:
      case DeltaKind::Input:
      case DeltaKind::Loop: break;
      case DeltaKind::Add: deliver(d.in[0], ct), deliver(d.in[1], ct); break;
      case DeltaKind::Neg: deliver(d.in[0], -ct); break;
      case DeltaKind::Scale:
      case DeltaKind::Over: deliver(d.in[0], multiplied(d, ct, zeros)); break;
      case DeltaKind::Choose: {
        const Expr none = ir::zeros(g_, d.type);
        deliver(d.in[0], select(d.k, ct, none));
        deliver(d.in[1], select(d.k, none, ct));
        break;
      }
      case DeltaKind::Linear:
        for (size_t j = 0; j < d.in.size(); ++j)
          if (d.in[j] != kZeroDelta)
            deliver(d.in[j], unless_broken("transpose", name(d.k.op()),
                                           rule(d.k.op()).transpose({.ct = ct, .y = d.k, .operand = static_cast<int>(j)})));
        break;
      case DeltaKind::Given: {
        const std::vector<Expr> arguments = pull_given(g_, d, ct, zeros);
        for (size_t j = 0; j < arguments.size(); ++j) deliver(d.in[j], arguments[j]);
        break;
      }
      case DeltaKind::Proj: {
        Arrived& results = loop_cts_[d.in[0]];
        results.cts.resize(deltas_[d.in[0]].active.size());
        results.zeros.resize(results.cts.size(), Zeros::Absent);
        results.cts[static_cast<size_t>(d.which)] = ct;
        results.zeros[static_cast<size_t>(d.which)] = zeros;
        break;
      }
    }
  }

  void visit_loop(DeltaId id, const Delta& d, Replaced& replaced) {
    const auto it = loop_cts_.find(id);
    if (it == loop_cts_.end()) return;
    const std::vector<Expr> operands = pull_loop(g_, d, it->second.cts, it->second.zeros, replaced);
    for (size_t j = 0; j < operands.size(); ++j) deliver(d.in[j], operands[j]);
  }

  // The cotangents of the results of a loop.
  struct Arrived {
    std::vector<Expr> cts;
    std::vector<Zeros> zeros;
  };

  Graph& g_;
  const Deltas& deltas_;
  std::vector<Zeros> zeros_;
  std::vector<CotangentSum> ct_;
  std::unordered_map<DeltaId, Arrived> loop_cts_;
};

}  // namespace

Derivative pull_back(Graph& g, std::span<const Expr> roots, std::span<const Expr> inputs, std::span<const Expr> cotangents,
                     std::span<const Zeros> zeros, std::span<const Expr> others) {
  std::vector<Expr> all = expand_products(g, roots, inputs);
  const DualScope dual = dualise(g, all, inputs);
  Transposer transposer(g, dual.deltas, zeros_downwards(g, dual, zeros));
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
