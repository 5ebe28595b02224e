// What zeros of tangents and cotangents stand for. A select or a minimum gives an exact zero to what it did not take, and
// linear operations keep it; but 0 times an infinite or undefined slope is NaN. So it is worked out here, for every Delta
// and before anything is built, whether such zeros may occur in it, and `multiplied` lets them win where they do. Where they
// can't occur, nothing is added to the derivative.
#include <algorithm>

#include "ad/scope.h"

namespace spirograd::ad {

using namespace ir;

std::vector<Zeros> zeros_upwards(Graph& g, const Deltas& deltas, std::span<const Zeros> inputs) {
  std::vector<Zeros> zeros(deltas.size(), Zeros::Absent);
  std::unordered_map<DeltaId, std::vector<Zeros>> loop_results;
  for (DeltaId id = 1; id < deltas.size(); ++id) {
    const Delta& d = deltas[id];
    std::vector<Zeros> in;
    for (DeltaId operand : d.in) in.push_back(zeros[operand]);
    Zeros& here = zeros[id];
    for (Zeros z : in) here = std::max(here, z);
    switch (d.kind) {
      case DeltaKind::Zero:
      case DeltaKind::Add:
      case DeltaKind::Neg:
      case DeltaKind::Over:
      case DeltaKind::Linear: break;
      case DeltaKind::Input: here = inputs[static_cast<size_t>(d.which)]; break;
      case DeltaKind::Scale:
        if (d.strong) here = Zeros::Mask;
        break;
      case DeltaKind::Choose:
        // With tangents in both branches the result is that of one of them everywhere.
        if (d.in[0] == kZeroDelta || d.in[1] == kZeroDelta) here = std::max(here, d.zeros);
        break;
      case DeltaKind::Given: here = Zeros::Mask; break;
      case DeltaKind::Loop: loop_results[id] = push_loop_zeros(g, d, in); break;
      case DeltaKind::Proj: here = loop_results.at(d.in[0])[static_cast<size_t>(d.which)]; break;
    }
  }
  return zeros;
}

std::vector<Zeros> zeros_downwards(Graph& g, const DualScope& dual, const DeltaArms& arms, std::span<const Zeros> roots) {
  const Deltas& deltas = dual.deltas;
  std::vector<Zeros> zeros(deltas.size(), Zeros::Absent);
  std::unordered_map<DeltaId, std::vector<Zeros>> loop_results;
  const auto deliver = [&](DeltaId to, Zeros z) { zeros[to] = std::max(zeros[to], z); };
  const auto give = [&](DeltaId from, size_t operand, Zeros z) {
    if (z != Zeros::Absent) deliver(deltas[from].in[operand], arms.masks(from, operand).empty() ? z : Zeros::Mask);
  };
  for (size_t j = 0; j < roots.size(); ++j) deliver(dual.roots[j], roots[j]);
  for (DeltaId id = deltas.size(); id-- > 1;) {
    const Delta& d = deltas[id];
    Zeros z = zeros[id];
    if (d.kind == DeltaKind::Loop) {
      const auto it = loop_results.find(id);
      if (it == loop_results.end()) continue;
      const std::vector<Zeros> operands = pull_loop_zeros(g, d, it->second);
      for (size_t j = 0; j < operands.size(); ++j) give(id, j, operands[j]);
      continue;
    }
    if (z == Zeros::Absent) continue;
    if (d.kind == DeltaKind::Proj) {
      std::vector<Zeros>& results = loop_results[d.in[0]];
      results.resize(deltas[d.in[0]].active.size(), Zeros::Absent);
      results[static_cast<size_t>(d.which)] = arms.masks(id, 0).empty() ? z : Zeros::Mask;
      continue;
    }
    if (d.kind == DeltaKind::Choose) z = std::max(z, d.zeros);
    if (d.strong || d.kind == DeltaKind::Given) z = Zeros::Mask;
    for (size_t j = 0; j < d.in.size(); ++j) give(id, j, z);
  }
  return zeros;
}

Expr multiplied(const Delta& d, Expr t, Zeros zeros) {
  const bool over = d.kind == DeltaKind::Over;
  const bool keep = zeros >= d.zeros && !(over ? is_divisor(d.k) : is_finite(d.k));
  if (over) return keep ? binary(Op::MaskedDiv, t, d.k) : t / d.k;
  if (d.strong) return keep ? binary(Op::StrongMul, d.k, t) : binary(Op::MaskedMul, d.k, t);
  return keep ? binary(Op::MaskedMul, t, d.k) : times(d.k, t);
}

}  // namespace spirograd::ad
