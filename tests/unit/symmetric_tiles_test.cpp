// Symmetric sums in tiles: the same values as all of the square.
#include "spirv/lower/symmetric_tiles.h"

#include <gtest/gtest.h>

#include "frontend/ir/algebra.h"
#include "frontend/ir/eval.h"
#include "frontend/rewrite/simplify.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/text.h"

namespace spirograd::lower {
namespace symmetric_tiles_test {

Program simple(const std::string& source, const text::ShapeVariables& shapes) {
  return rewrite::simplify(rewrite::vectorise(text::instantiate(*text::parse(source, "test.sg"), "", shapes).value()));
}

// What is computed of a square of so many rows: the elements of all tiles. 0: there are no tiles.
int64_t elements(const std::string& source, int64_t rows, int last) {
  Program p = simple(source, {{"D", rows}});
  const auto g = std::make_shared<ir::Graph>(*p.graph);
  p.graph = g;
  const auto tiles = SymmetricTiles::of(*g, {p.results[0].node}, last);
  if (!tiles) return 0;
  std::vector<std::vector<double>> in;
  for (const Param& param : p.params) {
    std::vector<double>& x = in.emplace_back();
    for (int64_t j = 0; j < param.type.shape.count(); ++j) x.push_back(static_cast<double>(j * 7919 % 2003) / 2003 - 0.25);
  }
  const std::vector<double> want = ir::evaluate(p, in)[0].data;
  p.results[0].node = tiles->square_of(tiles->sums()).id.v;
  const std::vector<double> have = ir::evaluate(p, in)[0].data;
  EXPECT_EQ(have.size(), want.size());
  for (size_t j = 0; j < want.size(); ++j) EXPECT_NEAR(have[j], want[j], 1e-12) << rows << " rows, " << j;
  return tiles->sums().shape().count() / p.results[0].type.shape[last];
}

const std::string kMoments =
    "def f(w: f32[5, 3], m: f32[3, D], x: f32[5, D]) = for j: 3, r: D, c: D => "
    "sum(for i: 5 => w[i, j] * (x[i, r] - m[j, r]) * (x[i, c] - m[j, c]))";

TEST(SymmetricTiles, HaveTheValuesOfTheSquare) {
  for (int64_t rows = 8; rows < 28; ++rows) {
    const int64_t computed = elements(kMoments, rows, 0);
    EXPECT_GE(computed, rows * (rows + 1) / 2);
    EXPECT_LT(computed, rows * rows) << rows;
  }
  EXPECT_EQ(elements(kMoments, 20, 0), 15 * 16) << "tiles of 4 rows";
  EXPECT_EQ(elements(kMoments, 10, 0), 3 * 25) << "tiles of 5 rows";
}

TEST(SymmetricTiles, OtherAxesStayWhereTheyAre) {
  const std::string batch =
      "def f(w: f32[5, 3], x: f32[2, 5, D]) = for r: D, b: 2, j: 3, c: D => sum(for i: 5 => w[i, j] * x[b, i, r] * x[b, i, "
      "c])";
  EXPECT_EQ(elements(batch, 9, 2), 2 * 3 * 25) << "b and tiles of 5 rows";
  EXPECT_EQ(elements(batch, 9, 1), 3 * 3 * 25) << "j and tiles";
}

TEST(SymmetricTiles, OthersHaveNone) {
  EXPECT_EQ(elements(kMoments, 7, 0), 0) << "a small square";
  EXPECT_EQ(elements(kMoments, 20, 1), 0) << "lanes along the square";
  EXPECT_EQ(elements("def f(w: f32[5, 3], x: f32[5, D], y: f32[5, D]) = for j: 3, r: D, c: D => "
                     "sum(for i: 5 => w[i, j] * x[i, r] * y[i, c])",
                     20, 0),
            0)
      << "not symmetric";
  EXPECT_EQ(
      elements("def f(x: f32[5, 4, D]) = for j: 3, r: D, c: D => sum(for i: 5, k: 4 => x[i, k, r] * x[i, k, c])", 20, 0), 0)
      << "several axes";
}

}  // namespace symmetric_tiles_test
}  // namespace spirograd::lower
