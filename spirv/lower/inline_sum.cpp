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

std::vector<Inliner::RunningSum> Inliner::running_sums(const ir::Function& body, const ir::LoopParts& parts) {
  std::vector<RunningSum> sums;
  for (int slot = 0; slot < parts.n_acc && parts.length > kPlainSteps; ++slot) {
    const NodeId result = body.results[static_cast<size_t>(slot)];
    if (node(result).type.dtype != DType::F32) continue;
    const std::optional<AssociativeStep> step = associative_step(graph_, body, slot);
    if (!step || step->op != Op::Add) continue;
    RunningSum sum{static_cast<size_t>(slot), result, step->terms, step->negative, 0};
    sum.lost = b_.var(b_.constant(kernel::Scalar::F32, 0));
    sums.push_back(std::move(sum));
  }
  return sums;
}

void Inliner::add_to_sum(int scope, const RunningSum& sum, Value accumulator, const Point& point) {
  std::optional<Value> x;
  for (size_t j = sum.terms.size(); j-- > 0;) {
    Value term = eval(scope, sum.terms[j], point);
    if (sum.negative[j]) term = b_.op(kernel::KOp::Neg, term);
    x = x ? b_.add(*x, term) : term;
  }
  const Value next = add_compensated(b_, b_.get(accumulator), *x, sum.lost);
  memo_.back()[Key{scope, sum.result.v, point}] = next;
}

}  // namespace spirograd::lower
