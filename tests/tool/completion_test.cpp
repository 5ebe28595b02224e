// What the tool tells shells and man: run by bash, read by man where it is there.
#include <nlohmann/json.hpp>

#include "tool/process.h"

namespace spirograd::tool_test {
namespace completion_test {

struct Completion : testing::Test {
  Folder folder;
  // What bash offers for the last of these words.
  std::string offered(const std::string& words, int last) const {
    folder.write("completion.bash", folder.run({"completion", "bash"}).out);
    const std::string script = "source completion.bash; COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(last) +
                               "; _spirograd; echo \"${COMPREPLY[*]}\" > offered";
    EXPECT_EQ(std::system(("cd " + folder.path(".").string() + " && bash -c '" + script + "'").c_str()), 0);
    return folder.read("offered");
  }
};

TEST_F(Completion, BashOffersCommandsOptionsAndChoices) {
  EXPECT_EQ(offered("spirograd c", 1), "check compile completion\n");
  EXPECT_EQ(offered("spirograd help ex", 2), "explain\n");
  EXPECT_EQ(offered("spirograd grad model.sg --wr", 3), "--wrt\n");
  EXPECT_EQ(offered("spirograd run model.sg --form a", 4), "address\n");
  EXPECT_EQ(offered("spirograd run model.sg --form \"\"", 4), "address descriptors\n");
  EXPECT_EQ(offered("spirograd run mod", 2), "\n") << "bash completes the file";
  EXPECT_EQ(offered("spirograd run model.sg -d int", 4), "\n");
}

TEST_F(Completion, EveryShellHasEveryCommand) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Finished f = folder.run({"completion", shell});
    EXPECT_EQ(f.status, 0);
    for (const char* word : {"devices", "fit", "compile", "explain", "wrt"})
      EXPECT_NE(f.out.find(word), std::string::npos) << shell << " " << word;
  }
}

TEST_F(Completion, WhatIsWrongIsTold) {
  EXPECT_EQ(folder.run({"completion"}).err.find("error: 'completion' needs a shell"), 0u);
  const Finished f = folder.run({"completion", "bas"});
  EXPECT_EQ(f.status, 2);
  EXPECT_NE(f.err.find("did you mean 'bash'?"), std::string::npos) << f.err;
  EXPECT_EQ(folder.run({"completion", "bash", "zsh"}).status, 2);
  EXPECT_EQ(folder.run({"man", "run"}).status, 2);
}

TEST_F(Completion, TheManualIsRoffWithoutStrayRequests) {
  const Finished f = folder.run({"man"});
  ASSERT_EQ(f.status, 0);
  EXPECT_EQ(f.out.find(".TH SPIROGRAD 1 "), 0u);
  std::istringstream lines(f.out);
  const std::vector<std::string> requests = {".TH", ".SH", ".SS", ".B", ".I", ".TP", ".PP", ".nf", ".fi"};
  for (std::string line; std::getline(lines, line);) {
    EXPECT_NE(line[0], '\'') << line;
    if (line[0] != '.') continue;
    const std::string request = line.substr(0, line.find(' '));
    EXPECT_NE(std::find(requests.begin(), requests.end(), request), requests.end()) << line;
  }
  if (std::system("command -v groff >/dev/null") != 0) GTEST_SKIP() << "groff is not there: nothing has read the manual";
  folder.write("spirograd.1", f.out);
  EXPECT_EQ(
      std::system(("groff -man -Tascii -ww -z " + folder.path("spirograd.1").string() + " 2>" + folder.path("log").string())
                      .c_str()),
      0);
  EXPECT_EQ(folder.read("log"), "");
}

}  // namespace completion_test
}  // namespace spirograd::tool_test
