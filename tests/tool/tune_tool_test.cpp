// spirograd tune as users call it, and what the other commands make of what it has found.
#include <nlohmann/json.hpp>

#include "tool/process.h"

namespace spirograd::tool_test {
namespace tune_tool_test {

struct TuneTool : testing::Test {
  Folder folder;
  const Words cache = {"SPIROGRAD_CACHE=" + folder.path("cache").string()};
  TuneTool() {
    folder.write("sums.sg",
                 "def loss(x: f32[300, 70], w: f32[70]) -> (loss: f32) = sum(square(sum(x * w, axis=1)))\n"
                 "def sums(x: i32[60000]) -> (y: i32[60000]) = cumsum(x)\n");
  }
  Finished good(const Words& words, const Words& environment) {
    Finished f = folder.run(words, environment);
    EXPECT_EQ(f.status, 0) << f.err;
    return f;
  }
  Finished good(const Words& words) { return good(words, cache); }
};

TEST_F(TuneTool, TellsWhatItHasDoneAndRemembersIt) {
  if (!folder.has_device()) GTEST_SKIP() << "there is no device";
  const Json found = Json::parse(good({"tune", "sums.sg", "x=iota:60000xi32", "--seconds", "3", "--json"}).out);
  EXPECT_EQ(found["what"], "sums");
  EXPECT_GE(found["asked"], 1);
  EXPECT_GE(found["tried"], 1);
  EXPECT_EQ(found["refused"], 0);
  EXPECT_GT(found["before"], 0.0);
  EXPECT_LE(found["after"], found["before"]);
  EXPECT_EQ(found["computes"].empty(), !found["remembered"].get<bool>());
  for (const Json& c : found["computes"]) {
    EXPECT_NE(c["compute"], "");
    EXPECT_NE(c["before"]["schedule"], c["after"]["schedule"]);
    EXPECT_LT(c["after"]["seconds"], c["before"]["seconds"]);
  }
  const Words run = {"run", "sums.sg", "x=iota:60000xi32", "-o", "y=-"};
  Words tuned = run;
  tuned.push_back("--tuned");
  const std::string want = good(run).out;
  EXPECT_EQ(good(tuned).out, want);
  EXPECT_EQ(good({"bench", "sums.sg", "x=iota:60000xi32", "--tuned"}).err.find("error"), std::string::npos);
  // Whatever stands in the folder is no reason to fail.
  for (const auto& e : fs::directory_iterator(folder.path("cache"))) std::ofstream(e.path(), std::ios::binary) << "damaged";
  EXPECT_EQ(good(tuned).out, want);
}

TEST_F(TuneTool, TunesGradientsAndSaysSo) {
  if (!folder.has_device()) GTEST_SKIP() << "there is no device";
  const Words words = {"tune", "sums.sg", "-f", "loss", "x=random:1:300x70", "w=ones:70", "--wrt", "w", "--seconds", "1"};
  const std::string text = good(words).out;
  EXPECT_EQ(text.rfind("loss and its gradient on ", 0), 0u) << text;
  EXPECT_NE(text.find(" schedules tried for "), std::string::npos) << text;
  const Finished none = good(words, {"SPIROGRAD_CACHE="});
  EXPECT_EQ(none.out.find("\nremembered"), std::string::npos) << none.out;
  const Words grad = {"grad", "sums.sg", "-f", "loss", "--wrt", "w", "x=ones:300x70", "w=ones:70", "--tuned", "-o", "w=-"};
  EXPECT_NE(good(grad).out.find("42000"), std::string::npos);
}

TEST_F(TuneTool, MistakesAreTold) {
  const auto fails = [&](const Words& words, const std::string& why) {
    const Finished f = folder.run(words);
    EXPECT_EQ(f.status, 2) << f.err;
    EXPECT_NE(f.err.find(why), std::string::npos) << f.err;
  };
  fails({"tune"}, "'tune' needs a program");
  fails({"tune", "sums.sg", "x=iota:60000xi32", "--device", "interpreter"}, "the interpreter has no schedules");
  fails({"tune", "sums.sg", "x=iota:60000xi32", "--seconds", "0"}, "needs a positive number");
}

}  // namespace tune_tool_test
}  // namespace spirograd::tool_test
