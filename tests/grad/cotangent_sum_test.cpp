// Cotangents of parts of an array: laid side by side, at linear cost, and right however the parts lie to each other.
#include "frontend/ir/layout.h"
#include "frontend/rewrite/simplify.h"
#include "tests/grad/grad_support.h"

namespace spirograd::grad_test {
namespace cotangent_sum_test {

using In = const std::vector<Expr>&;

// x[place, ...]
Expr read(Maker& m, Expr x, const std::vector<int64_t>& place) {
  std::vector<Expr> index;
  for (int64_t i : place) index.push_back(scalar(m.g(), DType::I32, static_cast<double>(i)));
  return gather(x, index);
}

// Of an array of the shape [n / columns, columns], or [n] without columns.
Program chain(int64_t n, int64_t columns = 0) {
  return make({columns > 0 ? f64({n / columns, columns}) : f64({n})}, [=](Maker& m, In in) {
    const auto at = [&](int64_t k) {
      return read(m, in[0], columns > 0 ? std::vector{k % n / columns, k % columns} : std::vector{k % n});
    };
    Expr s = at(0);
    for (int64_t i = 0; i < n; ++i) s = s + fn(Op::Sin, at(i * 7) * at(i * 7 + 1));
    return s;
  });
}

// Elements that the operations of a program give.
double work(const Program& p) {
  double out = 0;
  for (NodeId id : postorder(*p.graph, std::vector<NodeId>{{p.results[0].node}}))
    if (const Node& n = (*p.graph)[id]; is_pointwise(n.op)) out += static_cast<double>(n.type.shape.count());
  return out;
}

TEST(CotangentSum, ReadsAtWrittenPlacesCostLinearWork) {
  for (const int64_t n : {11, 101, 401})
    EXPECT_LT(work(rewrite::simplify(grad(chain(n)).value())), 10 * static_cast<double>(n)) << n;
  for (const int64_t n : {33, 99, 396})
    EXPECT_LT(work(rewrite::simplify(grad(chain(n, 3)).value())), 10 * static_cast<double>(n)) << n << " in rows of 3";
}

int64_t joins(const Program& p) {
  int64_t out = 0;
  for (NodeId id : postorder(*p.graph, std::vector<NodeId>{{p.results[0].node}})) out += (*p.graph)[id].op == Op::Concat;
  return out;
}

// The gates of a recurrent net: alike, and all of the array. Each element of the gradient is of one part.
TEST(CotangentSum, FewPartsThatAreAllOfAnArrayAreLaidSideBySide) {
  const auto slices = [](int64_t first, int64_t n, int64_t width) {
    return make({f64({5, 12})}, [=](Maker& m, In in) {
      Expr s = m.like(window(in[0], 1, 0, width), 0.5);
      for (int64_t k = 0; k < n; ++k) s = s * fn(Op::Sin, window(in[0], 1, first + k * width, width));
      return sum_all(s);
    });
  };
  std::mt19937 rng(7);
  for (const int64_t n : {2, 3, 4, 6}) {
    EXPECT_EQ(joins(rewrite::simplify(grad(slices(0, n, 12 / n)).value())), 1) << n;
    check_derivatives(slices(0, n, 12 / n), {random_values(rng, 60, -1, 1)}, rng, 2);
  }
  EXPECT_EQ(joins(rewrite::simplify(grad(slices(0, 3, 3)).value())), 0) << "a gap behind them";
  EXPECT_EQ(joins(rewrite::simplify(grad(slices(3, 3, 3)).value())), 0) << "a gap before them";
}

TEST(CotangentSum, ReadsAtWrittenPlacesHaveRightGradients) {
  std::mt19937 rng(3);
  check_derivatives(chain(11), {random_values(rng, 11, -1, 1)}, rng, 2);
  check_derivatives(chain(12, 3), {random_values(rng, 12, -1, 1)}, rng, 2);
}

// Elements, rows and slices along any axis, out of range as well: beside each other, one over the other, twice the same.
TEST(CotangentSum, PartsOfAllKindsHaveRightGradients) {
  std::mt19937 rng(5);
  const auto draw = [&](int64_t from, int64_t to) { return std::uniform_int_distribution<int64_t>(from, to)(rng); };
  for (int k = 0; k < 60; ++k) {
    Shape shape;
    for (int64_t a = draw(1, 3); a > 0; --a) shape.push_back(draw(1, 7));
    const Program p = make({{DType::F64, shape}}, [&](Maker& m, In in) {
      Expr s = sum_all(k % 2 ? in[0] * in[0] : m.like(in[0], 0.5));
      for (int64_t part = draw(1, 20); part > 0; --part) {
        Expr x = in[0];
        if (draw(0, 1)) {
          std::vector<int64_t> place;
          for (int64_t a = draw(1, shape.rank()); a > 0; --a)
            place.push_back(draw(-1, shape[static_cast<int>(place.size())]));
          x = read(m, x, place);
        } else {
          const int axis = static_cast<int>(draw(0, shape.rank() - 1));
          x = window(x, axis, draw(-1, shape[axis] - 1), draw(1, shape[axis]));
        }
        s = fn(Op::Sin, s) + sum_all(fn(Op::Sin, x * m.like(x, 0.1 * static_cast<double>(part))));
      }
      return s;
    });
    check_derivatives(p, {random_values(rng, shape.count(), -1, 1)}, rng, 2, 1e-4);
    if (testing::Test::HasFailure()) FAIL() << "program " << k;
  }
}

}  // namespace cotangent_sum_test
}  // namespace spirograd::grad_test
