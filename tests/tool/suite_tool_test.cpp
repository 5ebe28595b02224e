// spirograd check --suite on the interpreter, on pretended devices, and with a driver that takes its process with it.
#include <nlohmann/json.hpp>

#include "tests/tool/process.h"

namespace spirograd::tool_test {
namespace suite_tool_test {

struct Suite : testing::Test {
  Folder folder;
  Finished run(Words words, const Words& environment = {}) {
    words.insert(words.begin(), {"check", "--suite"});
    return folder.run(words, environment);
  }
  Words pretending(const std::string& name) {
    return {"VK_INSTANCE_LAYERS=VK_LAYER_SPIROGRAD_pretend", "SPIROGRAD_PRETEND=" + name};
  }
  Words not_ok(const Json& report) {
    Words out;
    for (const Json& p : report["checked"])
      if (!p["ok"]) out.push_back(p["program"]);
    return out;
  }
};

TEST_F(Suite, TellsWhichProgramsAreWrongOnADevice) {
  const Finished f = run({"--json", "--samples", "1"}, pretending("fast_math"));
  EXPECT_EQ(f.status, 1) << f.err;
  const Json report = Json::parse(f.out);
  EXPECT_EQ(report["device"]["name"], "pretended fast_math");
  EXPECT_EQ(report["failed"], "");
  EXPECT_GT(report["checked"].size(), 20u);
  EXPECT_EQ(not_ok(report), Words{"no_numbers"}) << "it compares NaN as if it was a number";
  for (const Json& p : report["checked"]) {
    const std::string name = p["program"], failures = p["failures"].dump();
    EXPECT_EQ(p.value("skipped", ""), name == "doubles" ? "the device has no f64" : "");
    EXPECT_EQ(failures.find("device = interpreter, relative error ") != std::string::npos, name == "no_numbers") << failures;
  }
  EXPECT_GT(report["limits"]["bytes_per_second"].get<double>(), 0);
  ASSERT_EQ(report["measured"].size(), 5u);
  for (const Json& m : report["measured"]) EXPECT_GT(m.value("seconds", 0.0), 0) << m;
}

TEST_F(Suite, TheInterpreterAgreesWithItself) {
  const Finished f = run({"--device", "interpreter"});
  EXPECT_EQ(f.status, 0) << f.err << f.out;
  EXPECT_NE(f.out.find("\nok  no_numbers  "), std::string::npos) << f.out;
  EXPECT_EQ(f.out.find("FAIL"), std::string::npos) << f.out;
}

TEST_F(Suite, DevicesThatCannotBeUsedAreToldAndNotTried) {
  const Finished lost = run({}, pretending("lost_at_once"));
  EXPECT_EQ(lost.status, 1) << lost.err;
  EXPECT_NE(lost.out.find("\nFAIL  "), std::string::npos) << lost.out;
  EXPECT_EQ(lost.out.find("elementwise     "), std::string::npos) << lost.out;
  const Words broken = {"VK_INSTANCE_LAYERS=", "VK_DRIVER_FILES=" SPIROGRAD_BROKEN_DRIVER,
                        "VK_ICD_FILENAMES=" SPIROGRAD_BROKEN_DRIVER, "SPIROGRAD_BROKEN_DRIVER=crash"};
  const Finished crashed = run({}, broken);
  EXPECT_EQ(crashed.status, 1) << crashed.err;
  EXPECT_NE(crashed.out.find("\nFAIL  the driver ended the process by signal 6 (Aborted) while creating the device\n"),
            std::string::npos)
      << crashed.out;
}

TEST_F(Suite, TakesNoProgram) {
  EXPECT_EQ(run({"model.sg"}).status, 2);
  EXPECT_EQ(run({"--dtype", "f64"}).status, 2);
  EXPECT_NE(folder.run({"check"}).err.find("needs a program, or --suite"), std::string::npos);
  EXPECT_EQ(folder.run({"check", "model.sg", "--patience", "3"}).status, 2);
}

}  // namespace suite_tool_test
}  // namespace spirograd::tool_test
