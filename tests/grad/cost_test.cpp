// What a gradient costs, on random programs before they are simplified: a small multiple of the operations on elements, and
// of the longest chain of operations that wait for each other. Loops inside of loops are computed once more for each level.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "frontend/ir/traverse.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/grad.h"
#include "support/random_source.h"
#include "support/text_programs.h"

namespace spirograd {
namespace cost_test {

struct Cost {
  double work = 0;   // elements that operations give or, in reductions, take
  double chain = 0;  // operations one after the other, the logarithm of what they reduce counted in
};

class Costs {
 public:
  explicit Costs(const ir::Graph& g) : g_(g) {}

  Cost of(const std::vector<ir::NodeId>& roots) {
    Cost total;
    std::map<uint32_t, double> chain;
    for (ir::NodeId id : ir::postorder(g_, roots)) {
      const ir::Node& n = g_[id];
      double before = 0;
      for (ir::NodeId in : n.in) before = std::max(before, chain[in.v]);
      const Cost own = of_node(n);
      total.work += own.work;
      chain[id.v] = before + own.chain;
      total.chain = std::max(total.chain, chain[id.v]);
    }
    return total;
  }

 private:
  Cost of_node(const ir::Node& n) {
    if (n.op == ir::Op::MapAccum) {
      const Cost body = of(g_.function(n.attr[0]).results);
      const auto steps = static_cast<double>(ir::loop_parts(g_, n).length);
      return {steps * body.work, steps * std::max(1.0, body.chain)};
    }
    const auto given = static_cast<double>(n.type.shape.count());
    if (ir::is_pointwise(n.op)) return {given, 1};
    if (ir::info(n.op).kind == ir::Kind::Reduce) {
      const auto taken = static_cast<double>(g_[n.in[0]].type.shape.count());
      return {taken, 1 + std::log2(1 + taken)};
    }
    if (n.op == ir::Op::Scatter) return {static_cast<double>(g_[n.in[0]].type.shape.count()), 1};
    return {};
  }

  const ir::Graph& g_;
};

Cost cost(const Program& p) {
  const Program bulk = rewrite::vectorise(p);
  std::vector<ir::NodeId> roots;
  for (const ProgramResult& r : bulk.results) roots.push_back({r.node});
  return Costs(*bulk.graph).of(roots);
}

TEST(Cost, AGradientIsAConstantFactorOfItsFunction) {
  double work = 0, chain = 0;
  for (uint64_t k = 0; k < 1000; ++k) {
    const Program p = test::program(test::random_source(test::random_decisions(k), test::Spelling::Plain).text);
    const Cost value = cost(p), gradient = cost(vjp(p).value());
    work = std::max(work, gradient.work / (value.work + 20));
    chain = std::max(chain, gradient.chain / (value.chain + 10));
  }
  std::cout << "at most " << work << " times the work, " << chain << " times the longest chain\n";
  EXPECT_LT(work, 14);
  EXPECT_LT(chain, 8);
}

}  // namespace cost_test
}  // namespace spirograd
