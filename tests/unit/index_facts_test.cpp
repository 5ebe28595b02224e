// What is proved of integer arrays holds for every element: closed forms, ranges and the axes that they depend on, of random
// expressions over positions and constants. And how much is proved: so much as before.
#include "frontend/rewrite/index_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "frontend/ir/eval.h"
#include "frontend/ir/layout.h"
#include "spirograd/program.h"

namespace spirograd::rewrite {
namespace index_facts_test {

using ir::Expr;
using ir::Op;

class Draw {
 public:
  Draw(ir::Graph& g, uint32_t seed) : g_(g), random_(seed) {
    const size_t rank = 1 + below(3);
    for (size_t t = 0; t < rank; ++t) shape_.push_back(static_cast<int64_t>(1 + below(6)));
  }
  const Shape& shape() const { return shape_; }

  Expr expression(int depth) { return expression(depth, shape_); }

 private:
  size_t below(size_t n) { return random_() % n; }
  int64_t up_to(int64_t n) { return static_cast<int64_t>(below(static_cast<size_t>(n) + 1)); }
  static Shape with(const Shape& shape, int axis, int64_t extent) { return shape.erased(axis).inserted(axis, extent); }
  int axis_of(const Shape& shape) { return static_cast<int>(below(static_cast<size_t>(shape.rank()))); }

  Expr expression(int depth, const Shape& shape) {
    if (depth == 0 || shape.rank() == 0 || below(6) == 0) return leaf(shape);
    if (below(3) == 0) return moved(depth - 1, shape);
    const Expr a = expression(depth - 1, shape);
    switch (below(12)) {
      case 0: return -a;
      case 1: return unary(Op::Abs, a);
      case 2: return unary(Op::Sign, a);
      case 3: {
        const Expr bound = leaf(shape), yes = expression(depth - 1, shape), no = expression(depth - 1, shape);
        return select(binary(Op::Lt, a, bound), yes, no);
      }
      default: break;
    }
    static constexpr Op kOps[] = {Op::Add, Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max, Op::Quot, Op::Rem};
    const Op op = kOps[below(std::size(kOps))];
    return binary(op, a, op == Op::Quot || op == Op::Rem ? constant(shape, 1 + up_to(4)) : expression(depth - 1, shape));
  }

  // Another array of other places, or of more elements.
  Expr moved(int depth, const Shape& shape) {
    const int axis = axis_of(shape), last = shape.rank() - 1;
    const int64_t extent = shape[axis];
    switch (below(9)) {
      case 0: return ir::reverse(expression(depth, shape), axis);
      case 1: {
        const int64_t more = up_to(3), from = up_to(more + 2) - 1;
        return ir::window(expression(depth, with(shape, axis, extent + more)), axis, from, extent);
      }
      case 2: {
        const Expr a = expression(depth, shape.erased(axis).inserted(last, extent));
        return ir::move_axis(a, last, axis);
      }
      case 3: return ir::replicate(expression(depth, shape.erased(axis)), axis, extent);
      case 4: return ir::reshape(expression(depth, {shape.count()}), shape);
      case 5: return ir::reshape(expression(depth, shape.erased(axis).inserted(last, extent)), shape);
      case 6: {
        const int64_t first = up_to(extent);
        const Expr parts[] = {expression(depth, with(shape, axis, first)),
                              expression(depth, with(shape, axis, extent - first))};
        return ir::concat(parts, axis);
      }
      case 7: {
        static constexpr Op kOps[] = {Op::ReduceMax, Op::ReduceMin, Op::Sum};
        const Expr a = expression(depth, shape.inserted(axis, 1 + up_to(3)));
        return ir::reduce(kOps[below(std::size(kOps))], a, {axis});
      }
      default: return arg_reduce(Op::ArgMax, expression(depth, shape.inserted(axis, 1 + up_to(3))), axis);
    }
  }

  Expr constant(const Shape& shape, int64_t v) { return ir::full(g_, {DType::I32, shape}, static_cast<double>(v)); }
  Expr leaf(const Shape& shape) {
    if (shape.rank() == 0 || below(3) == 0) return constant(shape, up_to(8) - 4);
    return ir::iota(g_, shape, axis_of(shape));
  }

  ir::Graph& g_;
  std::mt19937 random_;
  Shape shape_;
};

int64_t position(int64_t element, const Shape& shape, int axis) {
  for (int t = shape.rank() - 1; t > axis; --t) element /= shape[t];
  return element % shape[axis];
}

TEST(IndexFacts, HoldForEveryElementAndAreAsManyAsTheyWere) {
  int affine = 0, narrow = 0, independent = 0;
  for (uint32_t seed = 1; seed <= 3000; ++seed) {
    const auto graph = std::make_shared<ir::Graph>();
    Draw draw(*graph, seed);
    const Expr e = draw.expression(1 + static_cast<int>(seed % 4));
    Program p;
    p.graph = graph;
    p.results = {{"r", e.id.v, e.type()}};
    const std::vector<double> values = ir::evaluate(p, {})[0].data;
    Facts facts(*graph);
    const IndexFact fact = facts(e);
    const Shape& shape = draw.shape();
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    ASSERT_LE(fact.range.lo, static_cast<int64_t>(*least)) << seed;
    ASSERT_GE(fact.range.hi, static_cast<int64_t>(*most)) << seed;
    for (int64_t i = 0; i < shape.count(); ++i) {
      const auto value = static_cast<int64_t>(values[static_cast<size_t>(i)]);
      if (fact.affine) {
        int64_t said = fact.f.c;
        for (int t = 0; t < shape.rank(); ++t) {
          const int64_t at = position(i, shape, t);
          said += fact.f[t].a * at + fact.f[t].b * (at / fact.f[t].s);
        }
        ASSERT_EQ(said, value) << seed;
      }
      int64_t stride = 1;
      for (int t = shape.rank() - 1; t >= 0; stride *= shape[t--])
        if (!(fact.axes >> t & 1) && position(i, shape, t) > 0) {
          ASSERT_EQ(value, static_cast<int64_t>(values[static_cast<size_t>(i - stride)])) << seed << ": axis " << t;
        }
    }
    affine += fact.affine;
    narrow += fact.range.lo == static_cast<int64_t>(*least) && fact.range.hi == static_cast<int64_t>(*most);
    for (int t = 0; t < shape.rank(); ++t) independent += !(fact.axes >> t & 1);
  }
  EXPECT_EQ(affine, 1494);
  EXPECT_EQ(narrow, 2161);
  EXPECT_EQ(independent, 3109);
}

// 2^30 i for i up to 7 wraps around: what holds of the whole numbers does not hold of it.
TEST(IndexFacts, NothingIsSaidOfWhatWrapsAround) {
  ir::Graph g;
  Facts facts(g);
  const Expr wide = iota(g, {8}, 0) * full(g, i32({8}), 1 << 30);
  EXPECT_FALSE(facts(wide).affine);
  EXPECT_LT(facts(wide).range.lo, 0);
  EXPECT_TRUE(facts(iota(g, {2}, 0) * full(g, i32({2}), 1 << 30)).affine);
}

}  // namespace index_facts_test
}  // namespace spirograd::rewrite
