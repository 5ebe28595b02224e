// Reverse mode as two programs: together they are vjp, and what passes between them is what the cut says.
#include "spirograd/split.h"

#include <map>

#include "frontend/rewrite/passes.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/text.h"
#include "support/random_program.h"
#include "support/text_programs.h"
#include "tests/grad/grad_support.h"

namespace spirograd::grad_test {
namespace split_test {

// The results of vjp, by running one half and then the other.
Inputs run_halves(const Program& primal, const Split& s, const Inputs& inputs, const Inputs& cts) {
  const Inputs first = run(s.forward, inputs);
  Inputs given;
  for (const Residual& r : s.residuals) {
    const auto is_it = [&](const auto& item) { return item.name == r.name; };
    const auto& params = primal.params;
    const auto& results = s.forward.results;
    if (r.from == Residual::From::Input)
      given.push_back(inputs[static_cast<size_t>(std::find_if(params.begin(), params.end(), is_it) - params.begin())]);
    else
      given.push_back(first[static_cast<size_t>(std::find_if(results.begin(), results.end(), is_it) - results.begin())]);
  }
  given.insert(given.end(), cts.begin(), cts.end());
  Inputs out(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(primal.results.size()));
  for (Values& v : run(s.backward, given)) out.push_back(std::move(v));
  return out;
}

Inputs cotangents(const Program& p) {
  std::mt19937 rng(5);
  Inputs cts;
  for (const ProgramResult& r : p.results)
    if (is_float(r.type.dtype)) cts.push_back(random_values(rng, r.type.shape.count(), -1, 1));
  return cts;
}

bool same_bits(const Inputs& a, const Inputs& b) {
  if (a.size() != b.size()) return false;
  for (size_t j = 0; j < a.size(); ++j)
    for (size_t k = 0; k < a[j].size(); ++k)
      if (!(a[j][k] == b[j][k] || (std::isnan(a[j][k]) && std::isnan(b[j][k])))) return false;
  return true;
}

std::string text_of(const std::vector<Residual>& residuals) {
  std::string out;
  for (const Residual& r : residuals) out += (out.empty() ? "" : ", ") + r.name + ": " + to_string(r.type);
  return out;
}

struct Case {
  const char* program;
  const char* residuals;
};

// Of as few bytes as they can be.
constexpr Case kCases[] = {
    // nothing, where the derivative is a constant
    {"def f(x: f32[5]) -> (y: f32) = sum(3.0 * x)", ""},
    {"def f(x: f32[5]) -> (y: f32[5]) = sin(x)", "x: f32[5]"},
    // what is smaller than the input that it is made of
    {"def f(x: f32[5,4]) -> (y: f32[5]) = exp(sum(x, axis=1))", "r_0: f32[5]"},
    {"def f(x: f32[5,4]) -> (y: f32) = sum(square(sum(x, axis=1)))", "r_0: f32[5]"},
    // a mask of the size of the input is no better than the input; numbers of places are
    {"def f(x: f32[5,4]) -> (y: f32[5]) = max(x, axis=1)", "r_0: i32[5]"},
    // layers: the operands of their products, of which the one in the middle is what the forward half has computed
    {"def f(w: f32[8,6], v: f32[2,8], x: f32[6]) -> (y: f32[2]) = v @ tanh(w @ x)",
     "w: f32[8,6], v: f32[2,8], x: f32[6], r_0: f32[8]"},
    // a sum is not computed twice, though what it sums is small
    {"def f(x: f32[2], y: f32[30]) -> (z: f32[30]) = sin(y * sum(x * x))", "x: f32[2], y: f32[30], r_0: f32"},
    // a result that the program has anyway
    {"def f(x: f32[5,4]) -> (s: f32[5], y: f32[5]) { let s = sum(x, axis=1)\n (s, exp(s)) }", "s: f32[5]"},
    // of loops what each step keeps, and no loop runs again
    {"def f(x: f32[3]) -> (y: f32[3]) = fori(7, fn(i, s) => sin(s) * 0.9 + s * 0.1, x)", "r_0: f32[7,3]"},
    {"def f(x: f32[6]) -> (y: f32[6]) = fori(6, fn(i, s) => where(iota(6) == i, sin(s[i]), s), x)", "r_0: f32[6]"},
    {"def f(x: f32[2]) -> (y: f32[2]) = sin(fori(7, fn(i, s) => s * 0.5 + 1.0, x))", "r_0: f32[2]"},
    {"def f(x: f32[64]) -> (y: f32[64]) = fori(100, fn(i, s) => sin(s) * 0.9, x, keep=sqrt)", "r_0: f32[10,64]"},
    // whole numbers
    {"def f(x: f32[9], k: i32[4]) -> (y: f32[4], n: i32) = (square(x[k]), sum(k))", "k: i32[4], r_0: f32[4]"},
};

TEST(Split, KeepsTheFewestBytes) {
  for (const Case& c : kCases) {
    const Split s = split(test::program(c.program)).value();
    EXPECT_EQ(text_of(s.residuals), c.residuals) << c.program;
    uint64_t bytes = 0;
    for (const Residual& r : s.residuals) bytes += device_bytes(r.type);
    EXPECT_EQ(s.residual_bytes(), bytes);
  }
}

TEST(Split, HalvesOneAfterTheOtherAreVjpBitByBit) {
  std::mt19937 rng(3);
  for (const Case& c : kCases) {
    const Program p = test::program(c.program);
    Inputs inputs;
    for (const Param& q : p.params)
      inputs.push_back(is_float(q.type.dtype) ? random_values(rng, q.type.shape.count(), -1, 1) : Values{3, -1, 3, 8});
    const Inputs cts = cotangents(p);
    EXPECT_TRUE(same_bits(run_halves(p, split(p).value(), inputs, cts), run(vjp(p).value(), joined(inputs, cts))))
        << c.program;
  }
}

TEST(Split, OfRandomProgramsIsVjpBitByBit) {
  int with_residuals = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const test::RandomProgram random = test::random_program(seed, {.hostile_values = seed % 2 == 0});
    const Program& p = random.program;
    const Result<Split> s = split(p);
    const Result<Program> both = vjp(p);
    ASSERT_EQ(static_cast<bool>(s), static_cast<bool>(both)) << seed;
    if (!s) continue;
    EXPECT_TRUE(rewrite::optimise_for_lowering(s->backward, {.verify = true}).graph) << seed;
    with_residuals += !s->residuals.empty();
    const Inputs cts = cotangents(p);
    EXPECT_TRUE(same_bits(run_halves(p, *s, random.inputs, cts), run(*both, joined(random.inputs, cts)))) << seed;
  }
  EXPECT_GT(with_residuals, 50);
}

int count_reachable(const Program& p, Op op) {
  int n = 0;
  std::vector<NodeId> roots;
  for (const ProgramResult& r : p.results) roots.push_back({r.node});
  for (NodeId id : postorder(*p.graph, roots)) n += (*p.graph)[id].op == op;
  return n;
}

TEST(Split, RunsNoLoopAndNoSumTwice) {
  const Split s = split(test::program("def f(w: f32[9,9], x: f32[2]) -> (y: f32) = sum(sin(w * fori(50, fn(i, s) => "
                                      "sin(s) + 0.1, x)[0]) * sum(w * w))"),
                        {"w"})
                      .value();
  EXPECT_EQ(count_reachable(s.forward, Op::MapAccum), 1);
  EXPECT_EQ(count_reachable(s.backward, Op::MapAccum), 0);
  EXPECT_EQ(text_of(s.residuals), "w: f32[9,9], r_0: f32, r_1: f32");
}

TEST(Split, TellsWhereResidualsComeFrom) {
  const Split s = split(test::program("def f(x: f32[5,4]) -> (y: f32[5]) {\n  let s = sum(x, axis=1)\n  exp(s)\n}")).value();
  ASSERT_EQ(s.residuals.size(), 1u);
  EXPECT_EQ(s.residuals[0].from, Residual::From::Added);
  EXPECT_EQ(s.residuals[0].at.line, 2);
}

TEST(Split, NamesThatAreTakenGetTheirPrefixOnceMore) {
  const Program p =
      test::program("def f(r_0: f32[5,4], ct_y: f32) -> (y: f32[5], d_r_0: f32) = (exp(sum(r_0, axis=1)) * ct_y, ct_y)");
  const Split s = split(p).value();
  EXPECT_EQ(text_of(s.residuals), "ct_y: f32, r_r_0: f32[5]");
  ASSERT_EQ(s.backward.params.size(), 4u);
  EXPECT_EQ(s.backward.params[2].name, "ct_ct_y");
  EXPECT_EQ(s.backward.params[3].name, "ct_d_r_0");
  EXPECT_EQ(s.backward.results[0].name, "d_r_0");
  // An input and a result of one name are two arrays.
  const Split two = split(test::program("def f(x: f32[5,4]) -> (x: f32[5]) = exp(exp(sum(x, axis=1)))")).value();
  EXPECT_EQ(text_of(two.residuals), "r_0: f32[5]");
}

TEST(Split, HalvesAreProgramsLikeOthers) {
  const Program p = test::program("def f(x: f32[3], y: f32[3]) -> (z: f32[3]) = sin(x * y)");
  const Split s = split(p, {"x"}).value();
  const Program again = jvp(s.backward, {"x"}).value();
  EXPECT_EQ(again.results.back().name, "dot_d_x");
  const Program read = text::instantiate(text::parse(text::print(s.backward), "half.sg").value()).value();
  EXPECT_EQ(run(read, {{1, 2, 3}, {2, 1, 0}, {1, 1, 1}}), run(s.backward, {{1, 2, 3}, {2, 1, 0}, {1, 1, 1}}));
}

TEST(Split, MistakesAreThoseOfVjp) {
  const Program p = test::program("def f(x: f32[3], k: i32) = sum(x) * f32(k)");
  const auto code = [](const auto& r) { return r.error().code; };
  EXPECT_EQ(code(split(p, {"q"})), "SG0202");
  EXPECT_EQ(code(split(p, {"k"})), "SG0201");
  EXPECT_EQ(code(split(p, {"x", "x"})), "SG0206");
  EXPECT_EQ(code(split(Program{})), "SG0404");
}

}  // namespace split_test
}  // namespace spirograd::grad_test
