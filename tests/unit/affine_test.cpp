// Closed forms against what they say at every position: arithmetic on quasi-affine functions, bounds, reshapes and
// divisions.
#include "frontend/rewrite/affine.h"

#include <gtest/gtest.h>

#include <random>

#include "frontend/ir/eval.h"
#include "spirograd/program.h"

namespace spirograd::rewrite {
namespace affine_test {

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint32_t>(n)); }
  Shape shape(int most_rank) {
    Shape s;
    for (int64_t a = 1 + below(most_rank); a > 0; --a) s.push_back(1 + below(7));
    return s;
  }
  Affine affine(const Shape& shape, bool quotients) {
    Affine f;
    f.c = below(21) - 10;
    for (int t = 0; t < shape.rank(); ++t) {
      f[t].a = below(3) ? below(13) - 6 : 0;
      if (quotients && below(2)) f[t].b = below(13) - 6, f[t].s = 2 + below(4);
    }
    make_canonical(f, shape);
    return f;
  }

 private:
  std::mt19937 random_;
};

std::vector<int64_t> position(int64_t element, const Shape& shape) {
  std::vector<int64_t> p(static_cast<size_t>(shape.rank()));
  for (int t = shape.rank() - 1; t >= 0; --t) p[static_cast<size_t>(t)] = element % shape[t], element /= shape[t];
  return p;
}

int64_t at(const Affine& f, const Shape& shape, int64_t element) {
  const std::vector<int64_t> p = position(element, shape);
  int64_t v = f.c;
  for (int t = 0; t < shape.rank(); ++t)
    v += f[t].a * p[static_cast<size_t>(t)] + f[t].b * (p[static_cast<size_t>(t)] / f[t].s);
  return v;
}

template <class F>
void at_every_element(const Shape& shape, F&& f) {
  for (int64_t e = 0; e < shape.count() && !testing::Test::HasFailure(); ++e) f(e);
}

TEST(Affine, ArraysHoldTheValuesOfTheForm) {
  Draw draw(1);
  for (int k = 0; k < 500; ++k) {
    const Shape shape = draw.shape(3);
    const Affine f = draw.affine(shape, true);
    const auto graph = std::make_shared<ir::Graph>();
    Program p;
    const ir::Expr e = affine_array(*graph, shape, f);
    p.graph = graph;
    p.results = {{"r", e.id.v, e.type()}};
    const std::vector<double> have = ir::evaluate(p, {})[0].data;
    at_every_element(shape,
                     [&](int64_t i) { EXPECT_EQ(have[static_cast<size_t>(i)], at(f, shape, i)) << to_string(shape) << k; });
  }
}

TEST(Affine, ArraysLoseTheAxesThatTheyDoNotDependOn) {
  Draw draw(5);
  for (int k = 0; k < 300; ++k) {
    const Shape shape = draw.shape(4);
    std::vector<int64_t> keep;
    Shape kept;
    Affine f = draw.affine(shape, true), left;
    left.c = f.c;
    for (int t = 0; t < shape.rank(); ++t) {
      if (draw.below(2)) {
        left[kept.rank()] = f[t];
        keep.push_back(t);
        kept.push_back(shape[t]);
      } else {
        f[t] = {};
      }
    }
    const auto graph = std::make_shared<ir::Graph>();
    Program p;
    // Computed at every position, or stretched over the axes that are lost.
    const bool stretched = draw.below(2) == 0;
    ir::Expr e = stretched ? ir::broadcast(affine_array(*graph, kept, left), shape, keep) : -affine_array(*graph, shape, f);
    e = project(e, keep);
    if (!stretched) e = -e;
    p.graph = graph;
    p.results = {{"r", e.id.v, e.type()}};
    ASSERT_EQ(e.shape(), kept);
    const std::vector<double> have = ir::evaluate(p, {})[0].data;
    at_every_element(
        kept, [&](int64_t i) { EXPECT_EQ(have[static_cast<size_t>(i)], at(left, kept, i)) << to_string(shape) << k; });
  }
}

TEST(Affine, BoundsHoldAndAreMet) {
  Draw draw(2);
  for (int k = 0; k < 1000; ++k) {
    const Shape shape = draw.shape(3);
    const Affine f = draw.affine(shape, k % 2 == 0);
    const Range r = range_of(f, shape);
    int64_t least = at(f, shape, 0), most = least;
    at_every_element(shape, [&](int64_t i) {
      const int64_t v = at(f, shape, i);
      least = std::min(least, v), most = std::max(most, v);
      EXPECT_TRUE(r.lo <= v && v <= r.hi) << v << " outside of " << r.lo << " to " << r.hi;
    });
    if (!f.has_quotient()) {
      EXPECT_EQ(std::pair(least, most), std::pair(r.lo, r.hi));
    }
  }
}

TEST(Affine, SumsReshapesAndDivisionsAreRightWhereTheyExist) {
  Draw draw(3);
  int sums = 0, reshapes = 0, divisions = 0;
  for (int k = 0; k < 3000; ++k) {
    const Shape shape = draw.shape(3);
    const Affine f = draw.affine(shape, draw.below(2)), g = draw.affine(shape, draw.below(2));
    const int64_t factor = draw.below(9) - 4, divisor = 1 + draw.below(6);
    if (auto sum = combined(f, factor, g)) {
      ++sums;
      at_every_element(shape, [&](int64_t i) { EXPECT_EQ(at(*sum, shape, i), at(f, shape, i) + factor * at(g, shape, i)); });
    }
    // The same elements on one axis, on two, and with its axes in other groups.
    for (const Shape& to :
         {Shape{shape.count()}, Shape{1, shape.count()}, shape.inserted(0, 1), Shape{2, 3, 4}, Shape{4, 6}})
      if (to.count() == shape.count()) {
        if (const auto r = reshaped(f, shape, to)) {
          ++reshapes;
          at_every_element(
              shape, [&](int64_t i) { EXPECT_EQ(at(*r, to, i), at(f, shape, i)) << to_string(shape) << to_string(to); });
        }
      }
    if (range_of(f, shape).lo < 0) continue;
    if (const auto d = divided(f, shape, divisor)) {
      ++divisions;
      at_every_element(shape, [&](int64_t i) {
        EXPECT_EQ(at(d->quot, shape, i), at(f, shape, i) / divisor);
        EXPECT_EQ(at(d->rem, shape, i), at(f, shape, i) % divisor);
      });
    }
  }
  EXPECT_GT(sums, 1000);
  EXPECT_GT(reshapes, 1000);
  EXPECT_GT(divisions, 100);
}

TEST(Affine, ConstantsThatHaveAFormAreFound) {
  Draw draw(4);
  int found = 0;
  for (int k = 0; k < 500; ++k) {
    const Shape shape = draw.shape(3);
    const Affine f = draw.affine(shape, false);
    ir::Graph graph;
    std::vector<double> data;
    for (int64_t i = 0; i < shape.count(); ++i) data.push_back(static_cast<double>(at(f, shape, i)));
    const ir::Expr e = ir::constant(graph, i32(shape), data);
    const auto form = of_constant(e.node());
    ASSERT_TRUE(form) << to_string(shape);
    at_every_element(shape, [&](int64_t i) { EXPECT_EQ(at(*form, shape, i), at(f, shape, i)); });
    if (shape.count() < 3) continue;
    data.back() += 1;
    if (const auto other = of_constant(ir::constant(graph, i32(shape), data).node())) {
      ++found;
      at_every_element(shape, [&](int64_t i) { EXPECT_EQ(at(*other, shape, i), data[static_cast<size_t>(i)]); });
    }
  }
  EXPECT_LT(found, 300);
}

}  // namespace affine_test
}  // namespace spirograd::rewrite
