// spirograd doctor on whatever is here, on pretended devices, and with drivers that take their process with them.
#include <nlohmann/json.hpp>

#include "tests/tool/process.h"

namespace spirograd::tool_test {
namespace doctor_test {

Words pretending(const std::string& name) {
  return {"VK_INSTANCE_LAYERS=VK_LAYER_SPIROGRAD_pretend", "SPIROGRAD_PRETEND=" + name};
}
Words broken(const std::string& how) {
  return {"VK_INSTANCE_LAYERS=", "VK_DRIVER_FILES=" SPIROGRAD_BROKEN_DRIVER, "VK_ICD_FILENAMES=" SPIROGRAD_BROKEN_DRIVER,
          "SPIROGRAD_BROKEN_DRIVER=" + how};
}

struct Doctor : testing::Test {
  Folder folder;
  Finished run(Words words, const Words& environment) {
    words.insert(words.begin(), "doctor");
    return folder.run(words, environment);
  }
  Json verdict(const Json& device, int number) const {
    for (const Json& v : device["verdicts"])
      if (v["number"] == number) return v;
    return {};
  }
};

TEST_F(Doctor, TellsAllAboutADevice) {
  const Finished f = run({}, pretending("discrete"));
  EXPECT_EQ(f.status, 0) << f.err;
  for (const char* part : {"pretended discrete\n", "   conformance  ", "   heap 0  ", "   memory of arrays  ", "   queue  ",
                           "   float modes  ", "   the host reads  ", "\n    1  elementwise arithmetic  ", "\n   30  "})
    EXPECT_NE(f.out.find(part), std::string::npos) << part << "\n" << f.out;
}

TEST_F(Doctor, GivesTheSameAsJson) {
  const Finished f = run({"--json", "-d", "pretended"}, pretending("loses_additions"));
  EXPECT_EQ(f.status, 0) << f.err;
  const Json device = Json::parse(f.out)["devices"].at(0);
  EXPECT_EQ(device["name"], "pretended loses_additions");
  EXPECT_EQ(device["verdicts"].size(), 31u);
  EXPECT_EQ(verdict(device, 7)["outcome"], "wrong");
  EXPECT_EQ(verdict(device, 1)["outcome"], "passed");
  EXPECT_EQ(device["target"]["atomic_float_add"], false);
  EXPECT_FALSE(device["hardware"].empty());
  EXPECT_GT(device["speeds"]["bytes_read_per_second"].get<double>(), 0);
}

TEST_F(Doctor, DevicesThatCannotBeUsedAreAFailedCheck) {
  const Finished lost = run({"--json"}, pretending("lost_at_once"));
  EXPECT_EQ(lost.status, 1) << lost.out;
  const Finished old = run({}, pretending("ancient"));
  EXPECT_EQ(old.status, 1) << old.out;
  EXPECT_NE(old.out.find("Vulkan 1.1"), std::string::npos) << old.out;
  const Finished unknown = run({"-d", "voodoo"}, pretending("discrete"));
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.out.find("pretended discrete"), std::string::npos) << unknown.out;
}

TEST_F(Doctor, DriversThatCrashOrHangAreToldAndNotFollowed) {
  const Finished crashed = run({}, broken("crash"));
  EXPECT_EQ(crashed.status, 4);
  EXPECT_NE(crashed.err.find("ended the process by signal 6 (Aborted) while loading the drivers"), std::string::npos)
      << crashed.err;
  const Finished hung = run({"--patience", "1"}, broken("hang"));
  EXPECT_EQ(hung.status, 4);
  EXPECT_NE(hung.err.find("the driver hung while loading the drivers"), std::string::npos) << hung.err;
}

TEST_F(Doctor, ProgramsWarnOfDevicesWhoseNumbersMayBeWrong) {
  folder.write("f.sg", "def main(x: f32[3]) -> f32[3] = x + 1.0\n");
  const Finished doubtful = folder.run({"run", "f.sg", "x=[1,2,3]"}, pretending("reassociates"));
  EXPECT_EQ(doubtful.status, 0) << doubtful.err;
  EXPECT_NE(doubtful.err.find("warning: 'pretended reassociates' fails the probe 'reassociation'"), std::string::npos)
      << doubtful.err;
  EXPECT_EQ(folder.run({"run", "f.sg", "x=[1,2,3]"}, pretending("discrete")).err.find("warning"), std::string::npos);
}

}  // namespace doctor_test
}  // namespace spirograd::tool_test
