// The driver of the passes: it runs them in order, verifies and reports, counts rules and stops at a limit.
#include "frontend/rewrite/passes.h"

#include <gtest/gtest.h>

#include "frontend/ir/eval.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "support/simplified.h"

namespace spirograd::rewrite {
namespace passes_test {

Program program(const std::string& source) { return text::instantiate(text::parse(source, "passes").value()).value(); }

Program roughness() { return grad(program("def f(x: f32[8]) -> f32 = sum(for i: 7 => square(x[i + 1] - x[i]))\n")).value(); }

TEST(Passes, RunInOrderAndReport) {
  std::vector<std::string> names;
  std::vector<size_t> sizes;
  Program last;
  RuleLog rules;
  const Program p = optimise_for_lowering(
      roughness(), {.verify = true, .rules = &rules, .after = [&](const PassReport& r, const Program& made) {
                      names.emplace_back(r.name);
                      sizes.push_back(r.operations);
                      last = made;
                      EXPECT_GE(r.seconds, 0);
                    }});
  EXPECT_EQ(names, (std::vector<std::string>{"without_rules", "vectorise", "simplify", "split_loops", "factor_sums",
                                             "exchange_sums", "read_chosen", "spread_updates"}));
  EXPECT_GT(sizes[1], sizes[2]);
  EXPECT_EQ(sizes[7], operations(p));
  EXPECT_EQ(text::print(last), text::print(p));
  int64_t sum = 0;
  for (const auto& [name, n] : rules.applied) sum += n;
  EXPECT_EQ(sum, rules.total);
  EXPECT_GE(sum, 3);
}

TEST(Passes, AreVerifiedWhereThatIsAskedFor) {
  Program broken = roughness();
  broken.params[0].type = f32({9});  // its nodes say 8
  try {
    (void)optimise_for_lowering(broken, {.verify = true});
    ADD_FAILURE() << "nobody looked";
  } catch (const Error& e) {
    EXPECT_NE(e.str().find("after the pass without_rules"), std::string::npos) << e.str();
  }
}

TEST(Passes, StopWhereTheLimitSays) {
  const Program bulk = vectorise(roughness());
  RuleLog all;
  const std::string simple = text::print(simplify(bulk, &all));
  EXPECT_EQ(text::print(simplify(bulk)), simple) << "counting changes nothing";
  const auto inputs = test::random_inputs(bulk, 1);
  for (int64_t most = 0; most <= all.total; ++most) {
    RuleLog rules;
    rules.most = most;
    const Program p = simplify(bulk, &rules);
    EXPECT_EQ(rules.total, most);
    EXPECT_EQ(test::difference(ir::evaluate(bulk, inputs), ir::evaluate(p, inputs)), "") << rules.last;
  }
  EXPECT_EQ(all.total, 5);
}

TEST(Passes, TheFirstRuleThatBreaksAProgramIsFoundByBisection) {
  const Program bulk = vectorise(roughness());
  EXPECT_FALSE(first_bad_rule(bulk, [](const Program&) { return true; }));
  // "Good" is a program that still has a scatter: the rule that takes the last one away is the culprit.
  const auto has_scatter = [](const Program& p) {
    return test::count_ops(p, ir::Op::Scatter) + test::count_ops(p, ir::Op::Gather) > 0;
  };
  ASSERT_TRUE(has_scatter(bulk));
  const auto rule = first_bad_rule(bulk, has_scatter);
  ASSERT_TRUE(rule);
  RuleLog before = {.applied = {}, .total = 0, .most = rule->total - 1, .last = ""}, with = before;
  with.most = rule->total;
  EXPECT_TRUE(has_scatter(simplify(bulk, &before)));
  EXPECT_FALSE(has_scatter(simplify(bulk, &with)));
  EXPECT_EQ(with.last, rule->last);
}

}  // namespace passes_test
}  // namespace spirograd::rewrite
