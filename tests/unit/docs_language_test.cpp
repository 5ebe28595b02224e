// The programs of the language manual: each ```sg block is a complete program, and the manual names every operation.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "frontend/ir/eval.h"
#include "spirograd/text.h"

namespace spirograd {
namespace docs_language_test {

std::string manual() {
  std::ifstream in(std::string(SPIROGRAD_SOURCE_DIR) + "/docs/language.md");
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

std::vector<std::string> blocks(const std::string& text) {
  std::vector<std::string> out;
  const std::string fence = "```sg\n";
  for (size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at)) {
    at += fence.size();
    const size_t end = text.find("```", at);
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

TEST(LanguageManual, EveryProgramRunsAndRoundTrips) {
  const std::vector<std::string> programs = blocks(manual());
  ASSERT_GE(programs.size(), 10u);
  for (const std::string& source : programs) {
    const auto m = text::parse(source, "language.md");
    ASSERT_TRUE(m) << source << m.error().str();
    const auto p = text::instantiate(*m);
    ASSERT_TRUE(p) << source << p.error().str();
    std::vector<std::vector<double>> inputs;
    for (const Param& param : p->params) inputs.emplace_back(static_cast<size_t>(param.type.shape.count()), 1.0);
    const auto values = ir::try_evaluate(*p, inputs);
    ASSERT_TRUE(values) << source << values.error().str();
    const std::string printed = text::print(*p);
    const auto again = text::parse(printed, "printed.sg");
    ASSERT_TRUE(again) << printed << again.error().str();
    const auto q = text::instantiate(*again);
    ASSERT_TRUE(q) << printed << q.error().str();
    EXPECT_EQ(text::print(*q), printed);
  }
}

TEST(LanguageManual, NamesEveryOperation) {
  const std::string text = manual();
  for (const std::string& name : text::operation_names())
    EXPECT_TRUE(text.find(name + "(") != std::string::npos || text.find("`" + name + "`") != std::string::npos) << name;
}

}  // namespace docs_language_test
}  // namespace spirograd
