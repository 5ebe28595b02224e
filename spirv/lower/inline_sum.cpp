// Accumulators of loops that only add: `sum + x`, where x does not depend on the sum. What an addition rounds away is taken
// off the next one (Kahan 1965), so that the error of a long sum, and of all its partial sums, does not grow with its
// length.
#include <algorithm>

#include "frontend/ir/traverse.h"
#include "spirv/lower/inline.h"
#include "spirv/lower/scalar_ops.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;
using kernel::Value;

namespace {

constexpr int64_t kPlainSteps = 32;  // shorter loops need no compensation
constexpr size_t kMaxTerms = 4;      // of one step's addition

bool is_param(const Node& n, int64_t slot) { return n.op == Op::Param && n.attr[0] == slot; }

bool mentions(const ir::Graph& g, NodeId root, int64_t slot) {
  const std::vector<NodeId> below = ir::postorder(g, std::span(&root, 1));
  return std::any_of(below.begin(), below.end(), [&](NodeId id) { return is_param(g[id], slot); });
}

}  // namespace

std::vector<Inliner::RunningSum> Inliner::running_sums(const ir::Function& body, const ir::LoopParts& parts) {
  std::vector<RunningSum> sums;
  for (int slot = 0; slot < parts.n_acc && parts.length > kPlainSteps; ++slot) {
    RunningSum sum{static_cast<size_t>(slot), body.results[static_cast<size_t>(slot)], {}, {}, 0};
    if (node(sum.result).type.dtype != DType::F32) continue;
    // From the result down to the accumulator through additions; the other operands are the terms.
    NodeId at = sum.result;
    bool adds = true;
    while (adds && !is_param(node(at), slot)) {
      const Node& n = node(at);
      adds = (n.op == Op::Add || n.op == Op::Sub) && sum.terms.size() < kMaxTerms;
      if (!adds) break;
      const bool right = mentions(graph_, n.in[1], slot);
      adds = !right || (n.op == Op::Add && !mentions(graph_, n.in[0], slot));
      sum.terms.push_back(n.in[right ? 0 : 1]);
      sum.negative.push_back(n.op == Op::Sub);
      at = n.in[right ? 1 : 0];
    }
    if (!adds || sum.terms.empty()) continue;
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
  const Value before = b_.get(accumulator), y = b_.sub(*x, b_.get(sum.lost)), next = b_.add(before, y);
  // Nothing is lost once the sum is infinite.
  const Value rest = b_.sub(b_.sub(next, before), y), none = b_.constant(kernel::Scalar::F32, 0);
  const Value size =
      b_.op(kernel::KOp::And, b_.bitcast(kernel::Scalar::U32, next), b_.constant_word(kernel::Scalar::U32, 0x7fffffff));
  const Value finite = b_.op(kernel::KOp::Lt, size, b_.constant_word(kernel::Scalar::U32, 0x7f800000));
  b_.set(sum.lost, b_.select(finite, rest, none));
  memo_.back()[Key{scope, sum.result.v, point}] = next;
}

}  // namespace spirograd::lower
