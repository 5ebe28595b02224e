// Contractions as tiles of subgroups that read rows, where drivers gather what loops read: short ones are written out, long
// ones become short ones.
#include "spirv/schedule/product_rules.h"

#include <gtest/gtest.h>

#include <functional>

#include "spirograd/grad.h"
#include "spirv/schedule/legal.h"
#include "spirv/schedule/rules.h"
#include "support/golden_plans.h"
#include "support/lowered.h"
#include "support/text_programs.h"

namespace spirograd::schedule {
namespace product_rules_test {

// x[i, k] y[k, j], as the reads of a map over i and j.
MapFacts product(int64_t rows, int64_t columns, double length) {
  MapFacts f{{rows, columns}, {}, 8, true, {{3, length, true}}};
  f.reads.push_back({0, 1, false, true, true, 0, true});
  f.reads.push_back({1, 2, false, true, true, 2});
  f.operations = {{3, 2}};
  f.alone = true;
  return f;
}

MapFacts product_but(double length, const std::function<void(MapFacts&)>& change) {
  MapFacts f = product(1024, 1024, length);
  change(f);
  return f;
}

std::string map(const MapFacts& f, const Target& t = test::lane_cpu()) {
  const MapSchedule s = Scheduler().map(f, t);
  if (const auto wrong = check(f, s, t)) ADD_FAILURE() << wrong->str();
  return to_string(s);
}

Target scattering() {
  Target t = test::lane_cpu();
  t.quirks &= ~uint32_t{kScatteredStores};
  return t;
}

TEST(ProductRules, ShortOnesAreTilesThatSubgroupsLoadRowsFor) {
  EXPECT_EQ(map(product(1024, 1024, 64)), "i = grid 32 local 8 register 4; j = grid 64 register 2 lane 8; group 64; team 8");
  EXPECT_EQ(map(product(1024, 1024, 64), scattering()),
            "i = grid 32 local 8 register 4; j = grid 64 lane 8 register 2; group 64; team 8")
      << "each lane stores pairs";
  EXPECT_EQ(map(product(1003, 1000, 20)),
            "i = grid 32 local 8 register 4; j = grid 63 register 2 lane 8; tail recompute; group 64; team 8");
  EXPECT_EQ(map(product(20, 5000, 20)),
            "i = grid 5 register 4; j = grid 40 local 8 register 2 lane 8; tail recompute; group 64; team 8")
      << "tiles beside each other";
  EXPECT_EQ(map(product(36, 2048, 20)), "i = grid 9 register 4; j = grid 16 local 8 register 2 lane 8; group 64; team 8")
      << "as many as a workgroup has";
  EXPECT_EQ(map(product(3, 8192, 64)), "i = grid 1 register 3; j = grid 64 local 8 register 2 lane 8; group 64; team 8");
  EXPECT_EQ(map(product(9, 8192, 64)), "i = grid 3 register 3; j = grid 64 local 8 register 2 lane 8; group 64; team 8")
      << "tiles of equal heights";
}

TEST(ProductRules, OthersAreNot) {
  const auto by_rows = [](const MapFacts& f) { return map(f).find("register 2 lane 8; group 64") != std::string::npos; };
  EXPECT_FALSE(by_rows(product(1024, 1024, 65))) << "more than is added plainly";
  EXPECT_FALSE(by_rows(product(1024, 1024, 7)));
  EXPECT_EQ(map(product(1024, 1001, 64)).find("team"), std::string::npos) << "rows begin anywhere";
  EXPECT_TRUE(by_rows(product(2, 131072, 64)));
  EXPECT_FALSE(by_rows(product(1, 131072, 64))) << "one row has nothing in common with others";
  EXPECT_FALSE(by_rows(product(100000, 14, 64)));
  EXPECT_FALSE(by_rows(product(100, 100, 64))) << "little work";
  const auto but = [&](const std::function<void(MapFacts&)>& change) { return by_rows(product_but(64, change)); };
  EXPECT_TRUE(but([](MapFacts&) {}));
  EXPECT_FALSE(but([](MapFacts& f) { f.operations[0].count = 5; })) << "code";
  EXPECT_TRUE(but([](MapFacts& f) { f.operations.push_back({3, 100, false, false}); })) << "of no element";
  EXPECT_FALSE(but([](MapFacts& f) { f.reads[1].last = 0; })) << "neighbours are apart";
  EXPECT_FALSE(but([](MapFacts& f) { f.reads[1].axes = 3; })) << "no rows share it";
  EXPECT_FALSE(but([](MapFacts& f) { f.reads[0].axes = 0, f.reads[0].reduced = false; })) << "nothing in common";
  EXPECT_FALSE(but([](MapFacts& f) { f.alone = false; }));
}

// "part", with "at once" or what rows and columns are multiples of.
std::string parts(const MapFacts& f, const Target& t = test::lane_cpu()) {
  const std::optional<LongProduct> p = long_product(f, t);
  if (!p) return "none";
  const std::string part = std::to_string(p->part);
  const int64_t all = static_cast<int64_t>(f.reductions[0].length) / p->part;
  if (p->at_once >= all) return part + " at once";
  if (p->at_once > 0) return part + ", " + std::to_string(p->at_once) + " of " + std::to_string(all) + " at once";
  return part + ", " + std::to_string(p->height) + " x " + std::to_string(p->width) + ", rows " + std::to_string(p->rows);
}

// Of two short axes, one operation that each decides alone.
MapFacts square(int64_t side) {
  MapFacts f{{40, side, side, 1000}, {}, 8, true, {{15, 40, true}}};
  f.reads.push_back({0, 3, false, true, false, 0});
  f.reads.push_back({0, 5, false, true, false, 0});
  f.reads.push_back({1, 8, false, true, true, 8});
  f.operations = {{15, 2}, {11, 1}, {13, 1}};
  f.alone = true;
  return f;
}

TEST(ProductRules, ShortAxesAreTilesWhereTheyShareOperations) {
  EXPECT_EQ(map(square(4)),
            "i = grid 40; j = grid 1 register 4; k = grid 1 register 4; l = grid 16 local 8 lane 8; tail "
            "recompute; group 64; team 8");
  EXPECT_EQ(map(square(2)).find("register 2; k"), std::string::npos) << "too short";
  EXPECT_EQ(map(square(7)).find("register 7"), std::string::npos) << "no registers";
  MapFacts f = square(4);
  f.operations = {{15, 2}};
  EXPECT_EQ(map(f),
            "i = grid 40; j = grid 4; k = grid 1 register 4; l = grid 8 local 8 register 2 lane 8; tail recompute; "
            "group 64; team 8")
      << "nothing is shared";
  EXPECT_EQ(parts(square(4)), "none") << "short";
}

// A product for each element of another sum.
MapFacts nested(double length, double left) {
  MapFacts f = product(1024, 1000, length);
  f.reductions[0].loops = true;
  f.reductions[0].inner = length;
  f.reductions[0].left = left;
  f.operations = {{3, 2, true}, {3, 1, false}};
  return f;
}

TEST(ProductRules, ProductsInsideOfSumsAreWrittenOutWhereManyTermsAreKnownToBeZero) {
  EXPECT_EQ(map(nested(20, 0.525)), "i = grid 32 local 8 register 4; j = grid 125 lane 8; group 64; team 8");
  EXPECT_EQ(map(nested(20, 1)).find("team"), std::string::npos) << "compiling takes long";
  EXPECT_EQ(map(nested(40, 0.525)).find("team"), std::string::npos) << "code";
  EXPECT_EQ(parts(nested(100, 0.5)), "none");
}

TEST(ProductRules, LongOnesAreInParts) {
  EXPECT_EQ(parts(product(1024, 1024, 1024)), "64, 32 x 16, rows 0");
  EXPECT_EQ(parts(product(1024, 1024, 1000)), "50, 32 x 16, rows 0") << "nothing is left over";
  EXPECT_EQ(parts(product(1024, 1024, 997)), "64, 32 x 16, rows 0");
  EXPECT_EQ(parts(product(1024, 1024, 1027)), "63, 32 x 16, rows 0") << "three are few: 19 are left over";
  EXPECT_EQ(parts(product(200, 900, 1024)), "64, 4 x 16, rows 0") << "32 rows would be many more";
  EXPECT_EQ(parts(product(1001, 999, 1024)), "64, 32 x 16, rows 0");
  EXPECT_EQ(parts(product(1024, 1024, 64)), "none");
  EXPECT_EQ(parts(product(1024, 1024, 1024), scattering()), "none");
  EXPECT_EQ(parts(product_but(1024, [](MapFacts& f) { f.operations[0].count = 5; })), "50, 32 x 16, rows 0") << "more code";
  EXPECT_EQ(parts(product_but(1024, [](MapFacts& f) { f.operations[0].count = 8; })), "none");
  const auto symmetric = [](int64_t n) {
    MapFacts f = product(n, n, 1000);
    f.symmetric = {0, 1};
    return parts(f);
  };
  EXPECT_EQ(symmetric(38), "50 at once") << "as fast as half in loops that gather";
  EXPECT_EQ(symmetric(36), "none") << "half of it is computed otherwise, and tiles would have 48 columns";
  EXPECT_EQ(parts(product(36, 36, 1000)), "50 at once");
  EXPECT_EQ(symmetric(640), "50, 32 x 16, rows 0");
  EXPECT_EQ(parts(product_but(1024, [](MapFacts& f) { f.reductions[0].one_axis = false; })), "none");
  EXPECT_EQ(parts(product_but(1024, [](MapFacts& f) { f.reads[1].axes = 3; })), "none");
}

TEST(ProductRules, FewTilesHaveAllPartsAtOnce) {
  EXPECT_EQ(parts(product(64, 256, 784)), "56 at once") << "the parts stay in caches";
  EXPECT_EQ(parts(product(512, 512, 512)), "64, 32 x 16, rows 0") << "they would not";
  EXPECT_EQ(parts(product(100, 100, 20000)), "50 at once") << "too few tiles for a dispatch each";
  EXPECT_EQ(parts(product(100, 100, 200000)), "64, 782 of 3125 at once") << "too much memory for all of them";
  EXPECT_EQ(parts(product(100, 100, 2000000)), "none") << "as often as that would be";
  EXPECT_EQ(parts(product(101, 101, 20000)), "none") << "rows begin anywhere";
  EXPECT_EQ(parts(product(101, 801, 100)), "50, 4 x 16, rows 0");
  EXPECT_EQ(parts(product(64, 64, 200)), "none") << "little work";
}

Program program(const std::string& text) { return test::program("def f" + text); }

lower::Plan lowered(const Program& p) {
  lower::Plan plan;
  EXPECT_TRUE(test::lowers_right(p, test::sines(p, 0.37), test::lane_cpu(), &plan)) << p.name;
  return plan;
}

int64_t dispatched_parts(const std::string& text) {
  SCOPED_TRACE(text);
  return test::dispatched_loops(lowered(program(text)));
}

// Of subgroups, written out.
bool is_short_product(const kernel::Kernel& k) {
  const auto loops = [](const kernel::Inst& i) { return i.op == kernel::KOp::Loop; };
  const auto loads = [](const kernel::Inst& i) { return i.op == kernel::KOp::Load; };
  return k.subgroup > 0 && std::ranges::none_of(k.body, loops) && std::ranges::count_if(k.body, loads) >= 60;
}

TEST(ProductRules, ProductsOfOneShapeHaveKernelsOfTheirOwn) {
  const auto short_products = [](const std::string& text) {
    const lower::Plan plan = lowered(program(text));
    return std::ranges::count_if(plan.steps, [&](const Step& s) { return is_short_product(plan.kernels.at(s.kernel)); });
  };
  const std::string operands = "(x: f32[128, 64], a: f32[64, 128], b: f32[64, 128])";
  EXPECT_EQ(short_products(operands + " = (x @ a, x @ b)"), 2);
  EXPECT_EQ(short_products(operands + " = (x @ a, exp(x @ a))"), 1) << "what is made of it is stored beside it";
}

TEST(ProductRules, LoopsOverPartsGiveTheInterpretersValues) {
  EXPECT_EQ(dispatched_parts("(x: f32[131, 400], y: f32[400, 129]) = x @ y"), 1);
  EXPECT_EQ(
      dispatched_parts("(x: f32[400, 130], y: f32[139, 400]) = for i: 130, j: 139 => sum(for k: 400 => x[k, i] * y[j, k])"),
      1)
      << "either order";
  EXPECT_EQ(dispatched_parts("(x: f32[131, 400]) = x @ transpose(x)"), 1) << "both operands are one array";
  EXPECT_EQ(dispatched_parts("(x: f32[3, 70, 337], y: f32[337, 81]) = for b: 3 => x[b] @ y"), 1) << "a batch, and a rest";
  EXPECT_EQ(dispatched_parts("(x: f32[131, 400], y: f32[400, 129], v: f32[129]) = max(0.0, exp(x) @ square(y) + v)"), 1)
      << "what is before and behind";
  EXPECT_EQ(dispatched_parts("(x: f32[132, 400], y: f32[400, 129]) ="
                             " for i: 132, j: 129 => sum(for k: 400 => max(x[i, k], y[k, j]))"),
            1)
      << "not a product of two";
  EXPECT_EQ(dispatched_parts("(x: f32[131, 400], y: f32[400, 129], m: f32[131]) ="
                             " for i: 131, j: 129 => sum(for k: 400 => where(m[i] > 0.0, x[i, k], 0.5) * y[k, j])"),
            1);
}

TEST(ProductRules, PartsAtOnceGiveTheInterpretersValues) {
  for (const std::string text :
       {"(x: f32[64, 200], y: f32[200, 128]) = x @ y", "(x: f32[64, 261], y: f32[261, 130]) = x @ y",
        "(x: f32[4, 48, 200], y: f32[4, 200, 64]) = for b: 4 => x[b] @ y[b]",
        "(x: f32[300, 64], y: f32[300, 80]) = transpose(x) @ y + 1.0"}) {
    SCOPED_TRACE(text);
    const lower::Plan plan = lowered(program(text));
    EXPECT_EQ(test::dispatched_loops(plan), 0);
    EXPECT_TRUE(std::ranges::any_of(plan.kernels, is_short_product));
  }
}

// Arrays of this type between kernels.
int64_t scratch_arrays(const lower::Plan& plan, const Type& type) {
  return std::ranges::count_if(plan.buffers, [&](const BufferDesc& b) { return b.role == Role::Scratch && b.type == type; });
}

TEST(ProductRules, WhatTilesHaveInCommonIsComputedOnceHoweverCheap) {
  const std::string operands = "(x: f32[256, 64], m: f32[256, 64], c: f32[256], y: f32[64, 256])";
  for (const std::string left : {"relu(x - 0.5)", "where(m > 0.5, x, 0.0)", "(x / (2 + c)[:, None])", "tril(x)"}) {
    SCOPED_TRACE(left);
    const lower::Plan plan = lowered(program(operands + " = " + left + " @ y"));
    EXPECT_EQ(scratch_arrays(plan, f32({256, 64})), 1);
    EXPECT_TRUE(std::ranges::any_of(plan.kernels, is_short_product));
  }
  EXPECT_EQ(scratch_arrays(lowered(program("(x: f32[64, 64], y: f32[64, 64]) = relu(x) @ y")), f32({64, 64})), 0)
      << "little work";
  EXPECT_EQ(scratch_arrays(lowered(program("(x: f32[3000, 64], y: f32[64, 12]) = relu(x) @ y")), f32({3000, 64})), 0)
      << "fewer columns than a tile has";
}

// What arrives at a product behind a mask is made of what is stored for the value; both products read it as it is.
TEST(ProductRules, MaskedCotangentsAreStoredForTheirProducts) {
  const Program p =
      program("(x: f32[256, 120], y: f32[120, 200]) = sum(square(where(iota(256)[:, None] >= iota(200), x @ y, -1.0)))");
  const lower::Plan plan = lowered(grad(p, {"x", "y"}).value());
  EXPECT_GE(std::ranges::count_if(plan.kernels, is_short_product), 2);
}

TEST(ProductRules, WhatHasFewColumnsIsTurned) {
  const auto is_turned = [](const std::string& text) {
    const lower::Plan plan = lowered(program(text));
    return std::ranges::any_of(plan.kernels, is_short_product);
  };
  EXPECT_TRUE(is_turned("(x: f32[3000, 50], y: f32[3000, 7]) = transpose(x) @ y"));
  EXPECT_TRUE(is_turned("(x: f32[3001, 50], y: f32[3001, 15]) = exp(transpose(x) @ tanh(y))")) << "some are left over";
  EXPECT_TRUE(is_turned("(x: f32[2, 3000, 40], y: f32[2, 3000, 5]) = for b: 2 => transpose(x[b]) @ y[b]"));
  EXPECT_FALSE(is_turned("(x: f32[50, 3000], y: f32[3000, 7]) = x @ y")) << "rows of x are far apart";
  EXPECT_FALSE(is_turned("(x: f32[3000, 12], y: f32[3000, 12]) = transpose(x) @ exp(y)")) << "nor has it many rows";
  EXPECT_FALSE(is_turned("(x: f32[200, 50], y: f32[200, 7]) = transpose(x) @ y")) << "little work";
}

// Whether a kernel of the plan computes sums over some of the axes; `copies`: arrays with zeros around.
void expect_short_sums(const std::string& text, size_t copies, bool expected = true) {
  SCOPED_TRACE(text);
  const lower::Plan plan = lowered(program(text));
  const auto is_copy = [](const Step& s) { return s.label.starts_with("window"); };
  EXPECT_EQ(static_cast<size_t>(std::ranges::count_if(plan.steps, is_copy)), copies);
  EXPECT_EQ(std::ranges::any_of(plan.kernels, is_short_product), expected);
}

TEST(ProductRules, SumsOverSeveralAxesAreSumsOfShortOnes) {
  expect_short_sums(
      "(x: f32[100, 20, 30], w: f32[20, 30, 48]) = for i: 100, j: 48 => sum(for a: 20, c: 30 => x[i, a, c] * w[a, c, j])",
      0);
  expect_short_sums(
      "(x: f32[400, 3, 12], w: f32[3, 12, 80]) = for i: 400, j: 80 => sum(for a: 3, c: 12 => x[i, a, c] * w[a, c, j])", 0);
  expect_short_sums(
      "(x: f32[38, 5, 65], w: f32[5, 65, 80]) = for i: 38, j: 80 => sum(for a: 5, c: 65 => x[i, a, c] * w[a, c, j])", 0,
      false);
}

TEST(ProductRules, LongAxesAreCutAndLanesLieAlongAnotherAxisWhereTheLastOneIsShort) {
  expect_short_sums(
      "(x: f32[300, 3, 128], w: f32[3, 128, 64]) = for i: 300, j: 64 => sum(for a: 3, c: 128 => x[i, a, c] * w[a, c, j])",
      0);
  expect_short_sums(
      "(x: f32[2, 32, 64], g: f32[2, 48, 64]) = for o: 48, c: 32, u: 3 => sum(for b: 2, i: 62 =>"
      " g[b, o, i] * x[b, c, i + u])",
      0, false);
  expect_short_sums(
      "(x: f32[8, 64, 66], g: f32[8, 96, 64]) = for o: 96, c: 64, u: 3 => sum(for b: 8, i: 64 =>"
      " g[b, o, i] * x[b, c, i + u])",
      0);
}

TEST(ProductRules, SumsThatAnotherOneReadsElsewhereAreStored) {
  const lower::Plan plan =
      lowered(program("(g: f32[40, 44, 32], w: f32[3, 32, 32]) = for i: 40, j: 44, c: 32 => {\n"
                      "  let taps = for k: 44, u: 3 => sum(for o: 32 => g[i, k, o] * w[u, c, o])\n"
                      "  sum(for u: 3 => taps[j + u - 1, u])\n"
                      "}"));
  EXPECT_TRUE(std::ranges::any_of(plan.kernels, is_short_product));
  EXPECT_GT(plan.kernels.size(), 1u);
}

TEST(ProductRules, WhatLiesBeyondCountsAsNothingWhereNoArrayDependsOnThePlace) {
  lowered(
      program("(g: f32[40, 32], w: f32[3, 32, 32]) = for i: 40, j: 44, c: 32 => sum(for u: 3, o: 32 =>"
              " (for k: 44, v: 3, m: 32 => g[i, m] * w[v, c, m])[j + u - 1, u, o])"));
}

TEST(ProductRules, ConvolutionsReadCopiesWithZerosAround) {
  const std::string last = "(x: f32[2, 24, 24, 8], w: f32[3, 3, 8, 16])",
                    first = "(x: f32[2, 8, 24, 24], w: f32[16, 8, 3, 3])";
  expect_short_sums(last +
                        " = for b: 2, i: 24, j: 24, o: 16 => sum(for u: 3, v: 3, c: 8 =>"
                        " x[b, i + u - 1, j + v - 1, c] * w[u, v, c, o])",
                    1);
  expect_short_sums(first +
                        " = for b: 2, o: 16, i: 24, j: 24 => sum(for c: 8, u: 3, v: 3 =>"
                        " x[b, c, i + u - 1, j + v - 1] * w[o, c, u, v])",
                    1);
  expect_short_sums(
      last + " = for b: 2, i: 22, j: 22, o: 16 => sum(for u: 3, v: 3, c: 8 => x[b, i + u, j + v, c] * w[u, v, c, o])", 0);
  expect_short_sums(
      "(x: f32[2, 48, 48, 8], w: f32[3, 3, 8, 16]) = for b: 2, i: 24, j: 24, o: 16 => sum(for u: 3, v: 3, c: 8 =>"
      " x[b, 2 * i + u - 1, 2 * j + v, c] * w[u, v, c, o])",
      1);
}

TEST(ProductRules, RowsThatAreGatheredAreReadWhereTheyAre) {
  const auto copies = [](const std::string& text) {
    const lower::Plan plan = lowered(program(text));
    EXPECT_TRUE(std::ranges::any_of(plan.kernels, is_short_product)) << text;
    return std::ranges::count_if(plan.steps, [](const Step& s) { return s.label.starts_with("transpose"); });
  };
  EXPECT_EQ(
      copies("(x: f32[2, 8, 26, 26], w: f32[16, 8, 3, 3]) = for b: 2, o: 16, i: 24, j: 24 => sum(for c: 8, u: 3, v: 3 =>"
             " x[b, c, i + u, j + v] * w[o, c, u, v])"),
      0);
  EXPECT_EQ(
      copies("(x: f32[2, 8, 26, 26], w: f32[16, 8, 3, 3]) = for b: 2, o: 16, i: 24, j: 24 => sum(for c: 8, u: 3, v: 3 =>"
             " x[b, c, j + u, i + v] * w[o, c, u, v])"),
      1)
      << "columns are copied as rows";
}

TEST(ProductRules, ConvolutionsInsideOfOtherReductionsHaveKernelsOfTheirOwn) {
  const auto is_apart = [](const std::string& filters) {
    const lower::Plan plan =
        lowered(program("(x: f32[4, 8, 32, 32], w: f32" + filters + ") = max_pool(conv(x, w, padding=\"same\"), 2)"));
    return std::ranges::any_of(plan.kernels, is_short_product);
  };
  EXPECT_TRUE(is_apart("[16, 8, 3, 3]"));
  EXPECT_FALSE(is_apart("[16, 8, 1, 3]")) << "of so few terms that loops are as fast";
}

TEST(ProductRules, GradientsOfConvolutionsAreTheInterpreters) {
  const Program p = program(
      "(x: f32[2, 24, 24, 8], w: f32[3, 3, 8, 16]) = 0.01 * sum(square(for b: 2, i: 24, j: 24, o: 16 =>"
      " sum(for u: 3, v: 3, c: 8 => x[b, i + u - 1, j + v - 1, c] * w[u, v, c, o])))");
  lowered(grad(p, {"x", "w"}).value());
}

TEST(ProductRules, GradientsOfProductsAreProducts) {
  const Program p = program("(x: f32[131, 400], y: f32[400, 129]) = sum(square(x @ y))");
  const Program gradient = grad(p, {"x", "y"}).value();
  const lower::Plan plan = lowered(gradient);
  EXPECT_EQ(test::dispatched_loops(plan), 1);
  for (size_t j = 0; j < plan.kernels.size(); ++j)
    for (const lower::ScheduleLine& line : plan.schedules[j])
      EXPECT_FALSE(line.what.starts_with("sum") && line.how.find("serial") != std::string::npos) << line.what << line.how;
}

}  // namespace product_rules_test
}  // namespace spirograd::schedule
