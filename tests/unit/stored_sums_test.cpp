// Sums of parts, as many of them at a time as there is memory for.
#include "spirv/lower/stored_sums.h"

#include <gtest/gtest.h>

#include "frontend/ir/algebra.h"
#include "frontend/ir/eval.h"
#include "frontend/ir/traverse.h"

namespace spirograd::lower {
namespace stored_sums_test {

// Shapes of what is stored of the sum over the middle axis, of so many elements; its values are checked.
std::vector<std::string> stored_of(int64_t length, int64_t part, int64_t at_once) {
  const auto g = std::make_shared<ir::Graph>();
  const Type type = f32({3, length, 2});
  const ir::Expr sum = ir::reduce(ir::Op::Sum, ir::param(*g, 0, type), {1});
  std::set<uint32_t> stored;
  const ir::Expr parts = sum_of_parts(*g, sum.id, {.part = part, .at_once = at_once}, stored);
  Program p;
  p.graph = g;
  p.params = {{"x", type}};
  p.results = {{"a", sum.id.v}, {"b", parts.id.v}};
  std::vector<std::vector<double>> in(1);
  for (int64_t j = 0; j < type.shape.count(); ++j) in[0].push_back(static_cast<double>(j * 37 % 101));
  const auto out = ir::evaluate(p, in);
  EXPECT_EQ(out[0].data, out[1].data) << length;
  std::vector<std::string> shapes;
  for (const uint32_t id : stored) shapes.push_back(to_string((*g)[{id}].type.shape));
  return shapes;
}

using Shapes = std::vector<std::string>;

TEST(StoredSums, PartsAreStoredAndSummedUp) {
  EXPECT_EQ(stored_of(20, 5, 4), (Shapes{"[4,3,2]"}));
  EXPECT_EQ(stored_of(23, 5, 4), (Shapes{"[4,3,2]"})) << "a few are left over";
}

TEST(StoredSums, AsManyAtATimeAsThereIsMemoryFor) {
  EXPECT_EQ(stored_of(29, 4, 3), (Shapes{"[3,3,2]", "[3,2]", "[3,3,2]", "[3,2]", "[1,3,2]", "[3,2]"}))
      << "and sums so far, before the next ones";
}

TEST(StoredSums, ManyPartsAreSummedUpAFewAtATime) {
  EXPECT_EQ(stored_of(400, 4, 100), (Shapes{"[100,3,2]", "[2,6]"})) << "50 at a time";
  EXPECT_EQ(stored_of(404, 4, 101), (Shapes{"[101,3,2]", "[1,6]"})) << "64, and 37 that are left over";
}

}  // namespace stored_sums_test
}  // namespace spirograd::lower
