// Contractions over several axes as short sums over parts of them, some of which are stored at a time, and what they read.
#include "spirv/lower/several_axes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "frontend/ir/algebra.h"
#include "frontend/ir/eval.h"
#include "frontend/ir/traverse.h"
#include "spirv/lower/near_reads.h"

namespace spirograd::lower {
namespace several_axes_test {

// A graph of parameters f32, with values that have no digits behind the point: sums of them in any order are the same.
struct Arrays {
  std::shared_ptr<ir::Graph> graph = std::make_shared<ir::Graph>();
  Program program;

  ir::Expr param(Shape shape) {
    const Type type{DType::F32, shape};
    program.params.push_back({"p" + std::to_string(program.params.size()), type});
    return ir::param(*graph, static_cast<int>(program.params.size()) - 1, type);
  }

  void expect_same(ir::Expr a, ir::Expr b) {
    program.graph = graph;
    program.results = {{"a", a.id.v}, {"b", b.id.v}};
    std::vector<std::vector<double>> in;
    for (const auto& p : program.params) {
      in.emplace_back();
      for (int64_t j = 0; j < p.type.shape.count(); ++j) in.back().push_back(static_cast<double>(j * 37 % 11));
    }
    const auto out = ir::evaluate(program, in);
    EXPECT_EQ(out[0].data, out[1].data);
  }
};

// The products of [2, axes.., 3] by [axes..], summed over the axes: as many of them as `most` in each short sum.
std::string products_of(const Shape& axes, int64_t most) {
  Arrays of;
  const Shape all = Shape{2} + axes + Shape{3};
  std::vector<int64_t> summed;
  for (int a = 1; a <= axes.rank(); ++a) summed.push_back(a);
  const ir::Expr sum = ir::reduce(ir::Op::Sum, of.param(all) * ir::broadcast(of.param(axes), all, summed), summed);
  std::optional<ShortSums> sums = short_sums(*of.graph, sum.id, {}, 1, most);
  if (!sums) return "none";
  const std::string shape = to_string(sums->products.shape());
  std::set<uint32_t> stored;
  of.expect_same(sum, SumOfShortSums(*of.graph, *std::move(sums), {}, 1 << 20).total(stored));
  return shape;
}

TEST(SeveralAxes, ShortSumsTakeAsManyOfEachAsLeaveWholeParts) {
  EXPECT_EQ(products_of({4, 5}, 64), "[2,3,20]") << "all";
  EXPECT_EQ(products_of({32, 3, 3}, 64), "[2,3,2,3,48]") << "half of the first one, all of the last one";
  EXPECT_EQ(products_of({16, 5, 5}, 64), "[8,2,3,50]");
  EXPECT_EQ(products_of({16, 5, 5}, 30), "[16,2,3,25]");
  EXPECT_EQ(products_of({3, 128}, 64), "[3,2,2,3,64]");
  EXPECT_EQ(products_of({7, 11}, 64), "[7,2,3,11]");
  EXPECT_EQ(products_of({3, 4, 3, 4}, 12), "[3,4,2,3,12]") << "of equals the last ones";
  EXPECT_EQ(products_of({67, 71}, 64), "none") << "primes that are longer";
}

// Shapes of what is stored of a sum over [6, 4, 5] of [3, 2], with so many short sums at a time.
std::vector<std::string> stored_of(int64_t most) {
  Arrays of;
  const ir::Expr sum = ir::reduce(ir::Op::Sum, of.param({6, 4, 3, 2, 5}), {0, 1, 4});
  SumOfShortSums sums(*of.graph, *short_sums(*of.graph, sum.id, {}, 1, 5), {}, most);
  std::set<uint32_t> stored;
  of.expect_same(sum, sums.total(stored));
  std::vector<std::string> shapes;
  for (const uint32_t id : stored) shapes.push_back(to_string((*of.graph)[{id}].type.shape));
  return shapes;
}

TEST(SeveralAxes, AsManySumsAreStoredAsThereIsMemoryFor) {
  using Shapes = std::vector<std::string>;
  EXPECT_EQ(stored_of(144), (Shapes{"[6,4,3,2]"}));
  EXPECT_EQ(stored_of(100), (Shapes{"[3,4,3,2]", "[3,2]", "[3,4,3,2]"})) << "and what they are, before the next ones";
  EXPECT_EQ(stored_of(13).size(), 23u) << "one of the first axis, two of the next one: 12 sums, and 11 before the last one";
  EXPECT_EQ(stored_of(1).size(), 47u) << "at least one";
}

// Of x[i, j, k] summed over one of them with y[k, m]: shapes of copies.
std::vector<std::string> copies_of(Shape shape, int summed, int64_t times) {
  Arrays of;
  const ir::Expr x = of.param(shape);
  std::vector<int64_t> order = {0, 1, 2, 3};
  order.erase(order.begin() + 1 + summed), order.push_back(1 + summed);
  const ir::Expr products = ir::transpose(ir::broadcast(x, Shape{times} + shape, std::vector<int64_t>{1, 2, 3}), order);
  std::set<uint32_t> copies;
  of.expect_same(products, with_near_reads(*of.graph, products, {}, copies));
  std::vector<std::string> shapes;
  for (const uint32_t id : copies) shapes.push_back(to_string((*of.graph)[{id}].type.shape));
  return shapes;
}

TEST(SeveralAxes, WhatASumReadsLiesTogether) {
  using Shapes = std::vector<std::string>;
  EXPECT_EQ(copies_of({5, 8, 20}, 0, 64), (Shapes{"[8,5,20]"})) << "before the axis of lanes";
  EXPECT_EQ(copies_of({5, 8, 20}, 0, 63), Shapes{}) << "read too seldom";
  EXPECT_EQ(copies_of({5, 8, 15}, 0, 64), Shapes{}) << "near enough";
  EXPECT_EQ(copies_of({5, 8, 20}, 1, 64), Shapes{}) << "as it is";
  EXPECT_EQ(copies_of({5, 8, 20}, 2, 64), Shapes{}) << "lanes are neighbours along an axis that is not the last one";
}

TEST(SeveralAxes, ArraysBelowWhatIsStoredStayAsTheyAre) {
  Arrays of;
  const ir::Expr x = of.param({5, 8, 20}), y = x + x;
  const ir::Expr products = ir::transpose(ir::broadcast(x * y, {64, 5, 8, 20}, {1, 2, 3}), {0, 2, 3, 1});
  std::set<uint32_t> copies;
  NodeSet stored;
  stored.insert(y.id.v);
  const ir::Expr near = with_near_reads(*of.graph, products, stored, copies);
  of.expect_same(products, near);
  const std::vector<ir::NodeId> order = ir::postorder(*of.graph, {&near.id, 1});
  EXPECT_TRUE(std::ranges::any_of(order, [&](ir::NodeId id) { return id == y.id; }));
  EXPECT_EQ(copies.size(), 2u);
}

TEST(SeveralAxes, StoredPlacesStayAsTheyAre) {
  Arrays of;
  const ir::Expr x = of.param({5, 8, 20});
  const ir::Expr place = ir::converted(ir::reduce(ir::Op::ReduceMax, x, {1, 2}), DType::I32);
  const ir::Expr found = ir::gather(x, {&place, 1});
  const ir::Expr products = ir::transpose(ir::broadcast(found, {64, 5, 8, 20}, {1, 2, 3}), {0, 2, 3, 1});
  NodeSet stored;
  stored.insert(place.id.v);
  std::set<uint32_t> copies;
  const ir::Expr near = with_near_reads(*of.graph, products, stored, copies);
  of.expect_same(products, near);
  EXPECT_EQ(copies.size(), 1u);
  const std::vector<ir::NodeId> order = ir::postorder(*of.graph, {&near.id, 1});
  EXPECT_TRUE(std::ranges::any_of(order, [&](ir::NodeId id) { return id == place.id; }));
}

}  // namespace several_axes_test
}  // namespace spirograd::lower
