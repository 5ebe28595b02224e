// spirograd-gradbench as the suite starts it: lines on stdin, as many on stdout, and nothing else.
#include <nlohmann/json.hpp>

#include "tool/process.h"

namespace spirograd::tool_test {
namespace gradbench_tool_test {

Finished shell(const Folder& folder, const std::string& command) { return folder.run({"-c", command}); }

const std::string kTool = std::string("'") + SPIROGRAD_GRADBENCH + "'";

TEST(GradBenchTool, HelpTellsTheEvaluations) {
  const Finished f = shell(Folder(), kTool + " --help");
  EXPECT_EQ(f.status, 0);
  for (const char* word : {"usage:", "examples:", "--dtype", "  ba: objective jacobian\n", "  saddle: ff fr rf rr\n"})
    EXPECT_NE(f.out.find(word), std::string::npos) << word;
}

TEST(GradBenchTool, OptionsAreChecked) {
  for (const auto& [options, fragment] :
       {std::pair{"--fast", "'--fast'"}, {"--dtype f16", "'f16'"}, {"--device", "needs a value"}}) {
    const Finished f = shell(Folder(), kTool + " " + options + " </dev/null");
    EXPECT_EQ(f.status, 2);
    EXPECT_EQ(f.out, "");
    EXPECT_NE(f.err.find(fragment), std::string::npos) << f.err;
  }
}

TEST(GradBenchTool, ALineForALine) {
  const Folder folder;
  folder.write("in.jsonl", std::string(R"({"id": 0, "kind": "start", "eval": "hello"})") + "\r\n" +
                               R"({"id": 1, "kind": "define", "module": "hello"})" + "\n" + "not a message\n" +
                               R"({"id": 2, "kind": "evaluate", "module": "hello", "function": "double", "input": 1.5})");
  const Finished f = shell(folder, kTool + " < in.jsonl");
  EXPECT_EQ(f.status, 0);
  EXPECT_EQ(f.err, "");
  std::istringstream lines(f.out);
  std::vector<nlohmann::json> answers;
  for (std::string line; std::getline(lines, line);) answers.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[0]["tool"], "spirograd");
  EXPECT_EQ(answers[1]["success"], true);
  EXPECT_EQ(answers[2]["id"], nullptr);
  EXPECT_EQ(answers[2]["success"], false);
  EXPECT_EQ(answers[3]["output"], 3.0);
}

}  // namespace gradbench_tool_test
}  // namespace spirograd::tool_test
