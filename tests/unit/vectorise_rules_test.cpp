// Every row of the rule tables carries an example: two programs. The first comes out bulk and means what the second means.
#include <gtest/gtest.h>

#include <cmath>

#include "frontend/ir/eval.h"
#include "frontend/ir/verify.h"
#include "frontend/rewrite/build_rules.h"
#include "frontend/rewrite/index_rules.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/text.h"

namespace spirograd::rewrite {
namespace vectorise_rules_test {

Program program(std::string_view source) {
  const Result<text::Module> module = text::parse(std::string(source), "example.sg");
  if (!module) throw module.error();
  return text::instantiate(*module).value();
}

// Integers go from below the least valid index of the examples to above the greatest.
std::vector<std::vector<double>> inputs(const Program& p, int round) {
  std::vector<std::vector<double>> out;
  for (const Param& param : p.params) {
    std::vector<double>& data = out.emplace_back();
    for (int64_t k = 0; k < param.type.shape.count(); ++k)
      data.push_back(is_float(param.type.dtype) ? std::sin(static_cast<double>(k * 3 + round))
                                                : static_cast<double>((k * 5 + round) % 9 - 2));
  }
  return out;
}

struct Example {
  std::string table, name;
  std::string_view before, after;
};

std::vector<Example> examples() {
  std::vector<Example> out;
  for (const BuildRule& r : build_rules()) out.push_back({"build", std::string(r.name), r.before, r.after});
  for (const IndexRule& r : index_rules()) out.push_back({"index", std::string(r.name), r.before, r.after});
  return out;
}

void PrintTo(const Example& e, std::ostream* out) { *out << e.table << " " << e.name; }

class RuleExample : public testing::TestWithParam<Example> {};

TEST_P(RuleExample, ComesOutBulkAndMeansTheSame) {
  const Example e = GetParam();
  try {
    const Program before = program(e.before), after = program(e.after);
    const Program bulk = vectorise(before);
    const auto error = ir::check_bulk(bulk);
    ASSERT_FALSE(error) << error->str();
    for (int round = 0; round < 9; ++round) {
      const auto want = ir::evaluate(after, inputs(after, round)), have = ir::evaluate(bulk, inputs(before, round));
      ASSERT_EQ(want.size(), have.size());
      for (size_t j = 0; j < want.size(); ++j) {
        ASSERT_EQ(want[j].type, have[j].type);
        EXPECT_EQ(want[j].data, have[j].data) << "round " << round;
      }
    }
  } catch (const Error& error) {
    FAIL() << error.str();
  }
}

std::string test_name(const testing::TestParamInfo<Example>& info) {
  std::string s = info.param.table + "_" + info.param.name;
  for (char& c : s)
    if (c == '-') c = '_';
  return s;
}

INSTANTIATE_TEST_SUITE_P(Tables, RuleExample, testing::ValuesIn(examples()), test_name);

}  // namespace vectorise_rules_test
}  // namespace spirograd::rewrite
