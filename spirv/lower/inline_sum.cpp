// Accumulators of loops that only add: `sum + x`, where x does not depend on the sum. What an addition rounds away is taken
// off the next one (Kahan 1965), so that the error of a long sum, and of all its partial sums, does not grow with its
// length.
#include "spirv/lower/associative.h"
#include "spirv/lower/inline.h"
#include "spirv/lower/scalar_ops.h"

namespace spirograd::lower {

using ir::NodeId;
using ir::Op;
using kernel::Value;

namespace {

constexpr int64_t kPlainSteps = 32;  // shorter loops need no compensation

}  // namespace

std::vector<Inliner::RunningSum> Inliner::running_sums(const ir::Function& body, const ir::LoopParts& parts,
                                                       std::span<const ParamSource> state) {
  std::vector<RunningSum> sums;
  for (int slot = 0; slot < parts.n_acc && parts.length > kPlainSteps; ++slot) {
    const NodeId result = body.results[static_cast<size_t>(slot)];
    if (node(result).type.dtype != DType::F32) continue;
    const std::optional<AssociativeStep> step = associative_step(graph_, body, slot);
    if (!step || step->op != Op::Add) continue;
    RunningSum sum{static_cast<size_t>(slot), result, step->terms, step->negative, {}};
    for (size_t e = 0; e < state[sum.slot].at.size(); ++e) sum.lost.push_back(b_.var(b_.constant(kernel::Scalar::F32, 0)));
    sums.push_back(std::move(sum));
  }
  return sums;
}

void Inliner::add_to_sum(int scope, const RunningSum& sum, const ParamSource& accumulator) {
  const std::vector<Point> at = accumulator.at;
  const std::vector<Value> vars = accumulator.vars;
  std::vector<std::vector<Value>> terms;
  for (NodeId term : sum.terms) terms.push_back(eval(scope, term, at));
  for (size_t e = 0; e < at.size(); ++e) {
    std::optional<Value> x;
    for (size_t j = terms.size(); j-- > 0;) {
      const Value term = sum.negative[j] ? b_.op(kernel::KOp::Neg, terms[j][e]) : terms[j][e];
      x = x ? b_.add(*x, term) : term;
    }
    memo_.back()[Key{scope, sum.result.v, at[e]}] = add_compensated(b_, b_.get(vars[e]), *x, sum.lost[e]);
  }
}

}  // namespace spirograd::lower
