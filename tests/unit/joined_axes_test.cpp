// Neighbouring axes that nothing tells apart become one, for each kind of operation: the shapes of the results that are
// computed then, and their values.
#include <gtest/gtest.h>

#include "frontend/ir/algebra.h"
#include "frontend/ir/own_graph.h"
#include "frontend/rewrite/passes.h"
#include "spirograd/text.h"
#include "spirv/lower/joined_axes.h"
#include "support/lowered.h"

namespace spirograd {
namespace joined_axes_test {

struct Case {
  const char* name;
  const char* text;           // behind "def f(x: f32[4, 6, 5]"
  std::vector<Shape> shapes;  // of the results
};

const Case kCases[] = {
    {"elementwise", ") = exp(x) * x", {{120}}},
    {"beside_a_row", ", b: f32[5]) = x + b", {{24, 5}}},
    {"beside_a_matrix", ", b: f32[6, 5]) = x + b", {{4, 30}}},
    {"beside_a_column", ", b: f32[4]) = for i: 4, j: 6, k: 5 => x[i, j, k] * b[i]", {{4, 30}}},
    {"beside_what_repeats_in_the_middle", ", b: f32[4, 5]) = for i: 4, j: 6, k: 5 => x[i, j, k] * b[i, k]", {{4, 6, 5}}},
    {"summed_over_the_first_axis", ") = sum(x, axis=0)", {{30}}},
    {"summed_over_the_middle", ") = sum(x, axis=1)", {{4, 5}}},
    {"summed_over_the_last_axis", ") = sum(x, axis=2)", {{24}}},
    {"summed_over_neighbours", ", b: f32[4]) = b * sum(x, axis=[1, 2])", {{4}}},
    {"summed_over_all_but_one", ") = sum(x, axis=[0, 2])", {{6}}},
    {"places", ") = argmax(x, axis=0)", {{30}}},
    {"places_of_rows", ") = argmin(x, axis=2)", {{24}}},
    {"neighbours_that_stay_neighbours", ") = transpose(x, [2, 0, 1])", {{5, 24}}},
    {"neighbours_that_change_places", ") = transpose(x, [2, 1, 0])", {{5, 6, 4}}},
    {"windows", ") = x[1:3]", {{2, 30}}},
    {"windows_of_rows", ") = x[:, :, 1:3]", {{24, 2}}},
    {"reversed", ") = reverse(x, axis=1)", {{4, 6, 5}}},
    {"reversed_rows", ") = reverse(x, axis=2)", {{24, 5}}},
    {"concatenated", ", y: f32[3, 6, 5]) = concat(x, y, axis=0)", {{7, 30}}},
    {"stacked", ") = stack(x, exp(x), axis=1)", {{4, 2, 30}}},
    {"one_of_several", ", n: i32) = if n > 0 then exp(x) else sin(x)", {{120}}},
    {"gathered_rows", ", k: i32[7]) = for i: 7 => x[k[i]]", {{7, 30}}},
    {"gathered_rows_by_a_matrix", ", k: i32[2, 3]) = for i: 2, j: 3 => x[k[i, j]]", {{6, 30}}},
    {"gathered_elements", ", k: i32[2, 3]) = for i: 2, j: 3 => x[k[i, j], 1, 2]", {{6}}},
    {"scattered", ", k: i32[4]) = scatter([9], x, k)", {{9, 6, 5}}},
    {"counted_along_the_first_axis", ") = for i: 4, j: 6, k: 5 => x[i, j, k] * f32(i)", {{4, 30}}},
    {"counted_along_the_middle", ") = for i: 4, j: 6, k: 5 => x[i, j, k] * f32(j)", {{4, 6, 5}}},
    {"reshaped_to_fewer_axes", ") = exp(reshape(x, [24, 5]))", {{120}}},
    {"reshaped_on_the_way", ", b: f32[5]) = reshape(x, [8, 3, 5]) + b", {{24, 5}}},
    {"reshaped_across", ", b: f32[10]) = reshape(exp(x), [12, 10]) + b", {{12, 10}}},
    {"reshaped_beside_what_stays", ", b: f32[4, 5]) = exp(reshape(x + b[:, None, :], [4, 2, 3, 5]))", {{4, 6, 5}}},
    {"constants", ") = x * [[[1.0, 2.0, 3.0, 4.0, 5.0]]]", {{24, 5}}},
    {"loops", ") = fori(3, fn(i, y) => exp(-y), x)", {{4, 6, 5}}},
    {"one_reader_tells_them_apart", ") = (sum(x, axis=0), sum(x, axis=1))", {{6, 5}, {4, 5}}},
    {"nothing", ", y: f32[4, 0, 5]) = (exp(y), sum(y, axis=0))", {{4, 0, 5}, {0, 5}}},
};

class JoinedAxesOf : public ::testing::TestWithParam<Case> {};

TEST_P(JoinedAxesOf, AreOneAxis) {
  const std::string text = std::string("def f(x: f32[4, 6, 5]") + GetParam().text;
  const Program p =
      rewrite::optimise_for_lowering(text::instantiate(text::parse(text, "test.sg").value()).value(), {.verify = true});
  Program own = p;
  ir::Graph& g = *ir::make_graph_private(own);
  std::vector<ir::NodeId> roots;
  for (const ProgramResult& r : own.results) roots.push_back({r.node});
  std::vector<std::string> joined, wanted;
  for (const ir::NodeId root : lower::with_joined_axes(g, roots)) joined.push_back(to_string(g[root].type.shape));
  for (const Shape& s : GetParam().shapes) wanted.push_back(to_string(s));
  EXPECT_EQ(joined, wanted);
  std::vector<std::vector<double>> inputs = test::sines(p, 0.7);
  for (size_t j = 0; j < inputs.size(); ++j)
    for (double& x : inputs[j])
      if (p.params[j].type.dtype == DType::I32) x = std::floor(2 + 2 * x);
  for (const Target& t : {test::cpu_target(), test::gpu_target()})
    EXPECT_TRUE(test::same_as_interpreter(p, lower::lower(p, t), inputs, 1e-5));
}

TEST(JoinedAxes, NoneHasMoreElementsThanAreCounted) {
  const auto reduced = [](const Shape& shape) {  // over all axes, of an array that is never stored
    ir::Graph g;
    const ir::Expr x = ir::broadcast(ir::param(g, 0, {DType::F32, {}}), shape, {});
    const ir::NodeId root = ir::reduce(ir::Op::Sum, ir::unary(ir::Op::Exp, x), {0, 1}).id;
    return g[g[lower::with_joined_axes(g, {&root, 1})[0]].in[0]].type.shape;
  };
  EXPECT_EQ(reduced({1 << 15, 1 << 15}), Shape({1 << 30}));
  EXPECT_EQ(reduced({1 << 16, 1 << 15}), Shape({1 << 16, 1 << 15}));
}

INSTANTIATE_TEST_SUITE_P(Of, JoinedAxesOf, ::testing::ValuesIn(kCases),
                         [](const auto& c) { return std::string(c.param.name); });

}  // namespace joined_axes_test
}  // namespace spirograd
