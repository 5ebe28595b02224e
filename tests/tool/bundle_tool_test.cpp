// spirograd compile: what it writes, what it refuses, and that what it refuses leaves every file as it was.
#include <nlohmann/json.hpp>

#include "spirograd/bundle_file.h"
#include "tool/process.h"

namespace spirograd::tool_test {
namespace bundle_tool_test {

struct BundleTool : testing::Test {
  Folder folder;
  BundleTool() { folder.write("model.sg", kModel); }

  Finished compile(const Words& more) {
    Words words = {"compile", "model.sg", "M=2", "N=3"};
    words.insert(words.end(), more.begin(), more.end());
    return folder.run(words);
  }
  Bundle bundle(const std::string& name) {
    const std::string s = folder.read(name);
    return read_bundle(std::vector<uint8_t>(s.begin(), s.end()), name).value();
  }
  // Refused with this status and message, and nothing was written.
  void refuses(const Words& more, int status, const std::string& message) {
    const std::vector<std::string> before = folder.files();
    const Finished f = compile(more);
    EXPECT_EQ(f.status, status) << f.err;
    EXPECT_NE(f.err.find(message), std::string::npos) << f.err;
    EXPECT_GT(std::count(f.err.begin(), f.err.end(), '\n'), 0);
    EXPECT_EQ(f.err.find("error", f.err.find("error") + 1), std::string::npos) << "one error: " << f.err;
    EXPECT_EQ(folder.files(), before);
  }
};

TEST_F(BundleTool, WritesBothFormsOfAProgram) {
  const Finished f = compile({"-o", "m.sgb"});
  ASSERT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(f.err, "wrote m.sgb  model in address and descriptor form\n");
  const Bundle b = bundle("m.sgb");
  EXPECT_EQ(b.program, "model");
  ASSERT_EQ(b.forms.size(), 2u);
  EXPECT_EQ(b.forms[0].form, BindingForm::Address);
  EXPECT_EQ(b.forms[1].form, BindingForm::Descriptors);
  const Executable& e = b.forms[0];
  ASSERT_EQ(e.n_inputs, 3u);
  ASSERT_EQ(e.n_outputs, 3u);
  EXPECT_EQ(e.buffers[1].name, "x");
  EXPECT_EQ(e.buffers[1].type, f32({2, 3}));
  EXPECT_EQ(e.buffers[5].name, "count");
  EXPECT_EQ(e.buffers[5].type, i32());
  // For every device: no more than Vulkan 1.1 promises.
  for (const Executable& form : b.forms) {
    Target least;
    least.device_address = form.form == BindingForm::Address;
    EXPECT_TRUE(missing(requirements_of(form), least).empty());
  }
}

TEST_F(BundleTool, IsRunByTheToolToo) {
  folder.write("line.sg",
               "struct Line { w: f32[N,N], b: f32[N] }\n"
               "def loss(m: Line, x: f32[N]) -> (loss: f32, y: f32[N]) = (sum(m.b * x), m.w @ x)\n");
  ASSERT_EQ(folder.run({"compile", "line.sg", "N=2", "-o", "line.sgb"}).status, 0);
  const Finished missing = folder.run({"run", "line.sgb", "x=[1,2]", "--device", "interpreter"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_NE(missing.err.find("input 'm.w' of 'loss' is missing"), std::string::npos) << missing.err;
  const Words inputs = {"run", "line.sgb", "m.w=[[1,2],[3,4]]", "m.b=[5,6]", "x=[1,2]"};
  const auto with = [&](const Words& more) {
    Words words = inputs;
    words.insert(words.end(), more.begin(), more.end());
    return folder.run(words);
  };
  EXPECT_NE(with({"--device", "interpreter"}).err.find("error[SG0303]: a bundle holds kernels"), std::string::npos);
  EXPECT_NE(with({"z=1"}).err.find("'loss' has no parameter 'z'"), std::string::npos);
  EXPECT_NE(with({"--dtype", "f64"}).err.find("a bundle is compiled already"), std::string::npos);
  if (!folder.has_device()) GTEST_SKIP() << "there is no device";
  const Finished f = with({"--json"});
  ASSERT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(Json::parse(f.out)["results"]["loss"]["data"], 17);
  EXPECT_EQ(Json::parse(f.out)["results"]["y"]["data"], (Json{5, 11}));
}

TEST_F(BundleTool, IsInspected) {
  ASSERT_EQ(compile({"-o", "m.sgb"}).status, 0);
  const Finished f = folder.run({"inspect", "m.sgb"});
  EXPECT_EQ(f.out.find("model\ninput "), 0u) << f.out;
  EXPECT_NE(f.out.find(" x      f32[2,3]\n"), std::string::npos) << f.out;
  EXPECT_NE(f.out.find("\naddress: "), std::string::npos) << f.out;
  const Json all = Json::parse(folder.run({"inspect", "m.sgb", "--json"}).out);
  EXPECT_EQ(all["inputs"].size(), 3u);
  EXPECT_EQ(all["forms"][1]["form"], "descriptors");
  EXPECT_EQ(all["forms"][0]["needs"], Json::array());
  folder.write("double.sg", "def f(x: f64) = 2 * x\n");
  ASSERT_EQ(folder.run({"compile", "double.sg", "-o", "d.sgb"}).status, 0);
  EXPECT_NE(folder.run({"inspect", "d.sgb"}).out.find("  needs f64 arithmetic"), std::string::npos);
  folder.write("bad.sgb", folder.read("m.sgb").substr(0, 200));
  EXPECT_EQ(folder.run({"inspect", "bad.sgb"}).status, 5);
  EXPECT_EQ(folder.run({"inspect", "none.sgb"}).status, 5);
  EXPECT_EQ(folder.run({"inspect"}).status, 2);
}

TEST_F(BundleTool, OneFormOnRequest) {
  ASSERT_EQ(compile({"-o", "m.sgb", "--form", "descriptors"}).status, 0);
  ASSERT_EQ(bundle("m.sgb").forms.size(), 1u);
  EXPECT_EQ(bundle("m.sgb").forms[0].form, BindingForm::Descriptors);
}

TEST_F(BundleTool, DerivativesApplyInTheirOrder) {
  ASSERT_EQ(compile({"-o", "m.sgb", "--value-and-grad", "w", "--jvp", "x"}).status, 0);
  const Executable e = bundle("m.sgb").forms[0];
  Words names;
  for (uint32_t i = 0; i < e.n_inputs + e.n_outputs; ++i) names.push_back(e.buffers[i].name);
  EXPECT_EQ(names, (Words{"w", "x", "k", "dot_x", "loss", "rows", "count", "d_w", "dot_loss", "dot_rows", "dot_d_w"}));
}

TEST_F(BundleTool, HalvesOfReverseModeAreBundles) {
  const auto names = [&](const char* half) {
    EXPECT_EQ(compile({"-o", "m.sgb", half, "w"}).status, 0);
    const Executable e = bundle("m.sgb").forms[0];
    Words out;
    for (uint32_t i = 0; i < e.n_inputs + e.n_outputs; ++i) out.push_back(e.buffers[i].name);
    return out;
  };
  const Words forward = names("--split-forward"), backward = names("--split-backward");
  EXPECT_EQ(backward.back(), "d_w");
  EXPECT_NE(std::find(backward.begin(), backward.end(), "ct_loss"), backward.end());
  for (const std::string& name : backward) {
    if (name.starts_with("ct_") || name == "d_w") continue;
    EXPECT_NE(std::find(forward.begin(), forward.end(), name), forward.end()) << name;
  }
}

TEST_F(BundleTool, TheSameProgramIsTheSameBytes) {
  ASSERT_EQ(compile({"-o", "a.sgb"}).status, 0);
  ASSERT_EQ(compile({"-o", "b.sgb"}).status, 0);
  ASSERT_EQ(compile({"-o", "c.sgb", "--grad", "w"}).status, 0);
  EXPECT_EQ(folder.read("a.sgb"), folder.read("b.sgb"));
  EXPECT_NE(folder.read("a.sgb"), folder.read("c.sgb"));
}

TEST_F(BundleTool, JsonTellsWhatIsInIt) {
  const Finished f = compile({"-o", "m.sgb", "--json"});
  ASSERT_EQ(f.status, 0) << f.err;
  const Json j = Json::parse(f.out);
  EXPECT_EQ(j["file"], "m.sgb");
  EXPECT_EQ(j["bytes"], folder.read("m.sgb").size());
  EXPECT_EQ(j["inputs"][1], (Json{{"name", "x"}, {"type", "f32[2,3]"}}));
  EXPECT_EQ(j["outputs"].size(), 3u);
  ASSERT_EQ(j["forms"].size(), 2u);
  EXPECT_EQ(j["forms"][1]["form"], "descriptors");
  EXPECT_GE(j["forms"][1]["dispatches"], 1);
}

TEST_F(BundleTool, ABundleForADeviceSaysWhatItNeeds) {
  if (!folder.has_device()) GTEST_SKIP() << "there is no device";
  ASSERT_EQ(compile({"-o", "m.sgb", "--device", "0"}).status, 0);
  EXPECT_GE(bundle("m.sgb").forms.size(), 1u);
}

TEST_F(BundleTool, WhatIsWrongIsToldBeforeAnythingIsWritten) {
  folder.write("old.sgb", std::string("old"));
  fs::create_directory(folder.path("folder.sgb"));
  refuses({}, 2, "'compile' needs a file to write");
  refuses({"-o", "model.sg"}, 2, "the name 'model.sg' does not end in .sgb");
  refuses({"-o", "m.sgb", "--header", "m.sgb"}, 2, "the name 'm.sgb' does not end in .h");
  refuses({"-o", "m.sgb", "-o", "n.sgb"}, 2, "'-o' is given twice");
  refuses({"-o", "m.sgb", "--form", "push"}, 2, "'--form' is 'address' or 'descriptors'");
  refuses({"-o", "m.sgb", "--tuned"}, 2, "'--tuned' takes what was measured on a device");
  refuses({"-o", "m.sgb", "--device", "interpreter"}, 2, "the interpreter has none");
  refuses({"-o", "no/m.sgb"}, 5, "SG0505");
  refuses({"-o", "folder.sgb"}, 5, "it is a folder");
  refuses({"-o", "old.sgb", "--header", "no/m.h"}, 5, "SG0505");
  refuses({"-o", "old.sgb", "--grad", "z"}, 3, "SG0202");
  refuses({"-o", "old.sgb", "-f", "nothing"}, 3, "SG0403");
  refuses({"-o", "old.sgb", "q=1"}, 2, "SG0503");
  EXPECT_EQ(folder.read("old.sgb"), "old");
  fs::create_hard_link(folder.path("old.sgb"), folder.path("same.h"));
  refuses({"-o", "old.sgb", "--header", "same.h"}, 2, "go to one file");
}

TEST_F(BundleTool, AFullDiskLeavesNothing) {
  const Finished f = compile({"-o", "/dev/full"});
  EXPECT_EQ(f.status, 5);
  EXPECT_NE(f.err.find("SG0505"), std::string::npos) << f.err;
}

TEST_F(BundleTool, ShapesThatAreOpenAreAskedFor) {
  const Finished f = folder.run({"compile", "model.sg", "M=2", "-o", "m.sgb"});
  EXPECT_EQ(f.status, 3);
  EXPECT_NE(f.err.find("SG0105"), std::string::npos) << f.err;
  EXPECT_FALSE(fs::exists(folder.path("m.sgb")));
}

TEST_F(BundleTool, TheHeaderHasNamesThatCPlusPlusTakes) {
  folder.write("names.sg",
               std::string("def namespace(new: f32, Inputs: f32[2], a__b: i32[0]) -> (delete: f32, Outputs: i32[0])"
                           " = (new + sum(Inputs), a__b)\n"));
  const Finished f = folder.run({"compile", "names.sg", "-o", "n.sgb", "--header", "n.h"});
  ASSERT_EQ(f.status, 0) << f.err;
  const std::string text = folder.read("n.h");
  for (const char* line :
       {"namespace namespace_ {", "  float new_ = {};", "  std::span<const float, 2> Inputs_;",
        "  std::span<const int32_t, 0> a_b;", "  float delete_ = {};", "  std::vector<int32_t> Outputs_;"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  char checksum[32];
  std::snprintf(checksum, sizeof checksum, "0x%016llxu", static_cast<unsigned long long>(bundle("n.sgb").checksum));
  EXPECT_NE(text.find(checksum), std::string::npos);
}

}  // namespace bundle_tool_test
}  // namespace spirograd::tool_test
