// Every line of the conformance tables on the reference interpreter, at 1e-8: as traced, and in bulk form, simplified.
#include "tests/conformance/conformance.h"

#include <gtest/gtest.h>

#include <set>

#include "frontend/ir/eval.h"
#include "frontend/ir/traverse.h"
#include "frontend/ir/verify.h"
#include "frontend/rewrite/simplify.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"

namespace spirograd::conformance {
namespace conformance_test {

constexpr double kTolerance = 1e-8;

std::vector<Values> run(const Program& p, const std::vector<Values>& inputs) {
  std::vector<Values> out;
  for (ir::Array& a : ir::evaluate(p, inputs)) out.push_back(std::move(a.data));
  return out;
}

size_t size(const Program& p) {
  std::vector<ir::NodeId> roots;
  for (const ProgramResult& r : p.results) roots.push_back({r.node});
  return ir::postorder(*p.graph, roots).size();
}

void expect_all(Surface surface) {
  double worst = 0;
  std::set<std::string> lines;
  const std::vector<Check> all = checks(surface, DType::F64);
  for (const Check& c : all) {
    const std::string where = c.line + " " + c.name + " (" + name(surface) + ")";
    const Program bulk = rewrite::vectorise(c.program);
    const Program simple = rewrite::simplify(bulk);
    if (const auto defect = ir::check_bulk(bulk)) ADD_FAILURE() << where << ": " << defect->str();
    if (const auto defect = ir::check_well_formed(simple)) ADD_FAILURE() << where << ": " << defect->str();
    for (const Program& stage : {c.program, bulk, simple})
      for (const Part& part : c.parts)
        EXPECT_EQ(disagreement(part, run(stage, c.inputs), kTolerance, &worst), "") << where << "\n" << text::print(stage);
    lines.insert(c.line);
  }
  EXPECT_EQ(lines, std::set<std::string>(all_lines().begin(), all_lines().end()));
  std::cout << name(surface) << ": " << lines.size() << " lines, " << all.size() << " programs, largest relative error "
            << worst << "\n";
}

TEST(Conformance, EveryLineAsText) { expect_all(Surface::Text); }

TEST(Conformance, EveryLineThroughCpp) { expect_all(Surface::Cpp); }

TEST(Conformance, ThereAre124Lines) {
  EXPECT_EQ(all_lines().size(), 125u);
  EXPECT_EQ(std::set<std::string>(all_lines().begin(), all_lines().end()).size(), 125u);
}

TEST(Conformance, C07DerivedTwiceInOneGraphIsTheSameProgram) {
  for (Surface s : {Surface::Text, Surface::Cpp}) {
    const Program p = program(s, "C07", DType::F64);
    const Program first = grad(p).value(), second = grad(p).value();
    EXPECT_EQ(text::print(first), text::print(second));
    for (size_t j = 0; j < 3; ++j) EXPECT_EQ(first.results[j].node, second.results[j].node);
    EXPECT_EQ(run(first, {{1.1}, {2.2}, {3.3}}), run(second, {{1.1}, {2.2}, {3.3}}));
  }
}

TEST(Conformance, C13IntegersHaveNoGradient) {
  for (Surface s : {Surface::Text, Surface::Cpp}) {
    const auto by_integers = grad(program(s, "C13", DType::F64), {"v"});
    ASSERT_FALSE(by_integers);
    EXPECT_EQ(by_integers.error().code.substr(0, 4), "SG02") << by_integers.error().str();
  }
}

TEST(Conformance, C49GradientOf7000StepsIsLinearInThem) {
  for (Surface s : {Surface::Text, Surface::Cpp}) {
    const auto gradient = [&](int steps) { return grad(chain(s, steps, 0, DType::F64)).value(); };
    const Program half = gradient(3500), whole = gradient(7000);
    EXPECT_LT(size(whole), 2 * size(half) + 10);
    EXPECT_LT(size(whole), 7000u * 8);
    const Program simple = rewrite::simplify(rewrite::vectorise(whole));
    EXPECT_LE(size(simple), size(whole));
    double worst = 0;
    const Part part = {"gradient", 0, 2, {0.3332633406816766, -0.22217556045445108}};
    EXPECT_EQ(disagreement(part, run(whole, {{2}, {3}}), kTolerance, &worst), "");
    EXPECT_EQ(disagreement(part, run(simple, {{2}, {3}}), kTolerance, &worst), "");
  }
}

TEST(Conformance, WrongNumbersAreFound) {
  double worst = 0;
  EXPECT_NE(disagreement({"value", 0, 1, {1}}, {{1 + 3e-8}}, kTolerance, &worst), "");
  EXPECT_NE(disagreement({"value", 0, 1, {0, 1}}, {{1e-7, 1}}, kTolerance, &worst), "");
  EXPECT_NE(disagreement({"value", 0, 1, {1, 2}}, {{1}}, kTolerance, &worst), "");
  EXPECT_EQ(disagreement({"value", 0, 1, {1, 2}}, {{1, 2}}, kTolerance, &worst), "");
}

}  // namespace conformance_test
}  // namespace spirograd::conformance
