// spirograd run and grad over several devices: the results of one, and what each did.
#include <nlohmann/json.hpp>

#include "tool/process.h"

namespace spirograd::tool_test {
namespace several_devices_tool_test {

struct SeveralDevicesTool : testing::Test {
  Folder folder;
  SeveralDevicesTool() {
    folder.write("line.sg",
                 "def loss(w: f32[2], x: f32[N], y: f32[N]) -> (loss: f32, r: f32[N]) = {\n"
                 "  let r = w[0] + w[1] * x - y\n  (mean(r * r), r) }\n"
                 "def rows(x: f32[M, N], k: f32) -> (t: f32[M], s: f32[N]) = (k * sum(x, axis=1), sum(x, axis=0))\n"
                 "def most(x: f32[N]) -> (m: f32) = max(x)\n");
  }
  // Of whatever drivers there are: two, where the second one is installed.
  Finished run(Words words) { return folder.run(words, Words{"VK_DRIVER_FILES=" DRIVERS, "VK_ICD_FILENAMES=" DRIVERS}); }
  Json good(Words words) {
    words.emplace_back("--json");
    const Finished f = run(words);
    EXPECT_EQ(f.status, 0) << f.err;
    return f.status == 0 ? Json::parse(f.out) : Json();
  }
  void told(const Words& words, int status, const std::string& what) {
    const Finished f = run(words);
    EXPECT_EQ(f.status, status) << f.err;
    EXPECT_NE(f.err.find(what), std::string::npos) << f.err;
    EXPECT_EQ(f.out, "");
  }
};

const Words kLine = {"line.sg", "-f", "loss", "w=[1,1]", "x=iota:1001xf32", "y=random:5:1001xf32"};
Words with(std::string command, const Words& base, const Words& more) {
  Words out = {std::move(command)};
  out.insert(out.end(), base.begin(), base.end());
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

int64_t elements(const Json& devices) {
  int64_t sum = 0;
  for (const Json& d : devices) sum += d["count"].get<int64_t>();
  return sum;
}

TEST_F(SeveralDevicesTool, GradIsThatOfOne) {
  const Json one = good(with("grad", kLine, {"--wrt", "w"}));
  const Json all = good(with("grad", kLine, {"--wrt", "w", "--devices", "all", "--cut", "N"}));
  ASSERT_FALSE(all.is_null());
  EXPECT_EQ(all["devices"].size(), size_t{DRIVER_COUNT});
  EXPECT_EQ(elements(all["devices"]), 1001);
  EXPECT_FALSE(all.contains("device"));
  EXPECT_NEAR(all["values"]["loss"]["data"].get<double>(), one["values"]["loss"]["data"].get<double>(),
              1e-5 * one["values"]["loss"]["data"].get<double>());
  for (size_t j = 0; j < 2; ++j)
    EXPECT_NEAR(all["derivatives"]["d_w"]["data"][j].get<double>(), one["derivatives"]["d_w"]["data"][j].get<double>(),
                1e-5 * std::abs(one["derivatives"]["d_w"]["data"][j].get<double>()));
  EXPECT_EQ(all["values"]["r"]["shape"], one["values"]["r"]["shape"]);
}

// By forward mode the directions of what is cut are cut as well; devices may be named.
TEST_F(SeveralDevicesTool, DirectionsAreCutWithTheirInputs) {
  const Words more = {"--wrt", "x", "--jvp", "dot_x=random:3:1001xf32", "--of", "loss"};
  const Json one = good(with("grad", kLine, more));
  Words shared = more;
  shared.insert(shared.end(), {"--devices", "0", "--cut", "N"});
  const Json all = good(with("grad", kLine, shared));
  ASSERT_FALSE(all.is_null());
  EXPECT_EQ(all["devices"].size(), 1u);
  const double want = one["derivatives"]["dot_loss"]["data"].get<double>();
  EXPECT_NEAR(all["derivatives"]["dot_loss"]["data"].get<double>(), want, 1e-5 * std::abs(want));
}

TEST_F(SeveralDevicesTool, RunCutsTheAxisThatIsNamed) {
  for (const char* axis : {"M", "N"}) {
    const Words rows = {"line.sg", "-f", "rows", "x=random:2:40x30xf32", "k=2"};
    const Json one = good(with("run", rows, {})), all = good(with("run", rows, {"--devices", "all", "--cut", axis}));
    ASSERT_FALSE(all.is_null());
    EXPECT_EQ(elements(all["devices"]), *axis == 'M' ? 40 : 30);
    for (const char* r : {"t", "s"})
      for (size_t j = 0; j < one["results"][r]["data"].size(); ++j)
        EXPECT_NEAR(all["results"][r]["data"][j].get<double>(), one["results"][r]["data"][j].get<double>(), 1e-4);
  }
  const Finished f =
      run({"run", "line.sg", "-f", "rows", "x=ones:4x3", "k=2", "--devices", "all", "--cut", "M", "-o", "s=-"});
  EXPECT_EQ(f.out, "s: f32[3]\n[4 4 4]\n") << f.err;
  EXPECT_NE(f.err.find("elements"), std::string::npos) << "a line for each device";
}

TEST_F(SeveralDevicesTool, MistakesAreTold) {
  told(with("grad", kLine, {"--devices", "all"}), 2, "'--devices' needs '--cut'");
  told(with("grad", kLine, {"--cut", "N"}), 2, "of no use without '--devices'");
  told(with("grad", kLine, {"--devices", "all", "--cut", "K"}), 2, "no input has an axis 'K'");
  told(with("run", kLine, {"--devices", "all", "--cut", "N", "--device", "0"}), 2, "'--device' is for one device");
  told(with("run", kLine, {"--devices", "all", "--cut", "N", "--time"}), 2, "'--time' is for one device");
  told(with("run", kLine, {"--devices", "nobody", "--cut", "N"}), 4, "nobody");
  told({"run", "line.sg", "-f", "most", "x=random:1:9xf32", "--devices", "all", "--cut", "N"}, 5, "SG0511");
}

}  // namespace several_devices_tool_test
}  // namespace spirograd::tool_test
