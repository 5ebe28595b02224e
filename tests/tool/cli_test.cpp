// The commands on good input: what they print, what they write, and that programs survive printing.
#include <sys/stat.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tool/process.h"
#include "tools/io/npz.h"

namespace spirograd::tool_test {
namespace cli_test {

struct Cli : testing::Test {
  Folder folder;
  Cli() { folder.write("model.sg", kModel); }

  Finished good(const Words& words, const Words& environment = {}) {
    Finished f = folder.run(words, environment);
    EXPECT_EQ(f.status, 0) << f.err;
    return f;
  }
  // The interpreter, and the device that is there, if any.
  std::vector<std::string> devices() {
    std::vector<std::string> out = {"interpreter"};
    if (folder.has_device()) out.push_back("0");
    return out;
  }
};

// rows = x w = [14, 32], loss = 1220; d loss / d w = 2 x^T rows = [284, 376, 468].
const Words kInputs = {"w=[1,2,3]", "x=[[1,2,3],[4,5,6]]", "k=41"};

Words command(Words first, const Words& more) {
  first.insert(first.end(), kInputs.begin(), kInputs.end());
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

TEST_F(Cli, VersionAndHelpGoToStdout) {
  EXPECT_EQ(good({"--version"}).out.rfind("spirograd ", 0), 0u);
  EXPECT_NE(good({"--help"}).out.find("commands:"), std::string::npos);
  EXPECT_EQ(good({"--help"}).err, "");
}

TEST_F(Cli, EveryHelpHasTwoExamplesAndFitsAScreen) {
  for (const char* name : {"devices", "run", "grad", "fit", "bench", "tune", "check", "opt", "compile", "inspect", "explain",
                           "completion", "man"}) {
    const std::string text = good({name, "--help"}).out;
    EXPECT_EQ(text, good({"help", name}).out);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 60) << name;
    const size_t examples = text.find("\nexamples:\n");
    ASSERT_NE(examples, std::string::npos) << name;
    EXPECT_EQ(std::count(text.begin() + static_cast<std::ptrdiff_t>(examples) + 11, text.end(), '\n'), 2) << name;
  }
}

TEST_F(Cli, RunPrintsAllResults) {
  for (const std::string& d : devices())
    EXPECT_EQ(good(command({"run", "model.sg"}, {"--device", d})).out, "loss = 1220\nrows: f32[2]\n[1 1]\ncount = 42\n")
        << d;
}

TEST_F(Cli, RunWritesArraysByName) {
  for (const std::string& d : devices()) {
    const Finished f =
        good(command({"run", "model.sg"}, {"--device", d, "-o", "loss=loss.npy", "-o", "count=-", "-o", "all.npz"}));
    EXPECT_EQ(f.out, "count = 42\n");
    const HostArray loss = folder.array("loss.npy");
    EXPECT_EQ(loss.type, f32());
    EXPECT_EQ(loss.values()[0], 1220);
    const std::string bytes = folder.read("all.npz");
    const io::NpzReader npz({bytes.begin(), bytes.end()}, "all.npz");
    EXPECT_EQ(npz.names(), (Words{"loss", "rows", "count"}));
    EXPECT_EQ(io::to_host(npz.read("count"), "count").values()[0], 42);
  }
}

TEST_F(Cli, WhatRunWritesItReads) {
  good(command({"run", "model.sg"}, {"--device", "interpreter", "-o", "rows=w.npy"}));
  const Finished f = good({"run", "model.sg", "w=w.npy", "x=[[1,2]]", "k=0", "--device", "interpreter", "-o", "loss=-"});
  EXPECT_EQ(f.out, "loss = 9\n");
}

TEST_F(Cli, AnArchiveSuppliesInputsByName) {
  folder.write("in.npz", io::npz_bytes({{"w", HostArray(f32({3}), {1, 2, 3})}, {"x", HostArray(f32({1, 3}), {1, 1, 1})}}));
  EXPECT_EQ(good({"run", "model.sg", "in.npz", "k=1", "--device", "interpreter", "-o", "loss=-"}).out, "loss = 36\n");
  EXPECT_EQ(good({"run", "model.sg", "w=in.npz:w", "x=in.npz:x", "k=1", "--device", "interpreter", "-o", "loss=-"}).out,
            "loss = 36\n");
}

TEST_F(Cli, CastConvertsOnRequest) {
  folder.write("w.npy", io::npy_bytes(HostArray(f64({3}), {1, 2, 3})));
  EXPECT_EQ(
      good({"run", "model.sg", "w=w.npy", "x=ones:1x3xi32", "k=1", "--cast", "--device", "interpreter", "-o", "loss=-"}).out,
      "loss = 36\n");
}

TEST_F(Cli, EmptyArraysAndScalarsPass) {
  for (const std::string& d : devices())
    EXPECT_EQ(good({"run", "model.sg", "w=[]", "x=zeros:0x0", "k=1", "--device", d}).out,
              "loss = 0\nrows: f32[0]\n[]\ncount = 2\n")
        << d;
}

constexpr const char* kGeneric =
    "def distance(x: T[N], y: T[N]) -> T = sqrt(sum(square(x - y)) + 0.1)\n"
    "def main(x: T[N], y: T[N], k: f32) -> (d: T, r: T[N]) = (distance(x, y), 0.1 * x + T(k))\n";

TEST_F(Cli, DtypeChoosesTheTypeParameterForEveryCommand) {
  folder.write("generic.sg", kGeneric);
  const Words typed = {"x=[1,2]", "y=[1,2]", "k=0", "--device", "interpreter"};
  const auto with = [&](Words words, const std::string& dtype) {
    words.insert(words.end(), typed.begin(), typed.end());
    words.insert(words.end(), {"--dtype", dtype});
    return good(words).out;
  };
  EXPECT_EQ(with({"run", "generic.sg"}, "f64"), "d = 0.31622776601683794\nr: f64[2]\n[0.1 0.2]\n");
  EXPECT_NE(with({"run", "generic.sg"}, "f32").find("d = 0.316227"), std::string::npos);
  EXPECT_NE(with({"run", "generic.sg"}, "f32").find("r: f32[2]"), std::string::npos);
  EXPECT_NE(with({"grad", "generic.sg", "--wrt", "x"}, "f64").find("f64[2]"), std::string::npos);
  EXPECT_EQ(with({"check", "generic.sg"}, "f64").find("FAIL"), std::string::npos);
  EXPECT_NE(good({"opt", "generic.sg", "N=2", "--dtype", "f64"}).out.find("main(x: f64[2], y: f64[2], k: f32)"),
            std::string::npos);
  EXPECT_EQ(good({"check", "generic.sg", "N=2", "--dtype", "f64", "--device", "interpreter"}).out.find("FAIL"),
            std::string::npos);
}

TEST_F(Cli, InputsSayWhatATypeParameterStandsFor) {
  folder.write("generic.sg", kGeneric);
  const auto results = [&](Words words) {
    words.insert(words.begin(), {"run", "generic.sg", "k=0", "--device", "interpreter"});
    return good(words).out;
  };
  for (const char* t : {"f32", "f64"}) {
    const std::string type = std::string("r: ") + t + "[2]";
    // Numbers without a type follow, in whatever order.
    EXPECT_NE(results({"x=[1,2]", std::string("y=ones:2x") + t}).find(type), std::string::npos);
    EXPECT_NE(results({std::string("x=random:7:2x") + t, "y=ones:2"}).find(type), std::string::npos);
    results({std::string("x=ones:2x") + t, "y=[1,2]", "-o", "r=r.npy", "-o", "d=d.npy", "-o", "all.npz"});
    EXPECT_NE(results({"x=[1,2]", "y=r.npy"}).find(type), std::string::npos);
    EXPECT_NE(results({"x=all.npz:r", "y=ones:2"}).find(type), std::string::npos);
  }
  // A file of the other type is converted on request only.
  EXPECT_EQ(
      folder.run({"run", "generic.sg", "x=r.npy", "y=r.npy", "k=0", "--dtype", "f32", "--device", "interpreter"}).status, 5);
  EXPECT_NE(results({"x=r.npy", "y=r.npy", "--dtype", "f32", "--cast"}).find("r: f32[2]"), std::string::npos);
}

TEST_F(Cli, AnElementTypeThatNothingSaysIsAskedFor) {
  folder.write("generic.sg", kGeneric);
  const auto told = [&](Words words, int status, const std::string& part) {
    words.insert(words.begin() + 2, {"--device", "interpreter"});
    const Finished f = folder.run(words);
    EXPECT_EQ(f.status, status) << f.err;
    EXPECT_NE(f.err.find(part), std::string::npos) << f.err;
  };
  told({"run", "generic.sg", "x=[1,2]", "y=ones:2", "k=0"}, 3, "choose it: --dtype f64");
  told({"grad", "generic.sg", "x=[1,2]", "y=ones:2", "k=0"}, 3, "choose it: --dtype f64");
  told({"check", "generic.sg", "N=2"}, 3, "choose it: --dtype f64");
  told({"run", "generic.sg", "x=ones:2xf32", "y=ones:2xf64", "k=0"}, 3, "'T' is f32 ('x') and f64 ('y')");
  told({"run", "generic.sg", "x=ones:2xf32", "y=ones:2xf64", "k=0"}, 3, "--dtype f64 --cast");
  told({"run", "generic.sg", "x=[1,2]", "y=ones:2", "k=0", "--dtype", "f8"}, 2, "'--dtype' is f32 or f64");
  told({"run", "model.sg", "w=[1]", "x=[[1]]", "k=1", "--dtype", "f64"}, 2, "has none");
  folder.write("twice.sg", "def f(x: f64[2*L]) -> f64 = sum(x)\n");
  told({"run", "twice.sg", "x=ones:4"}, 3, "give it: L=2 on the command line");
  EXPECT_EQ(good({"run", "twice.sg", "x=ones:4", "L=2", "--device", "interpreter"}).out, "out = 4\n");
}

TEST_F(Cli, JsonOfRunParses) {
  for (const std::string& d : devices()) {
    const Json j =
        Json::parse(good(command({"run", "model.sg"}, {"--device", d, "--json", "--time", "-o", "rows=r.npy"})).out);
    EXPECT_EQ(j["results"]["loss"]["data"], 1220);
    EXPECT_EQ(j["results"]["loss"]["dtype"], "f32");
    EXPECT_EQ(j["results"]["rows"]["file"], "r.npy");
    EXPECT_EQ(j["results"]["rows"]["shape"], Json::array({2}));
    EXPECT_EQ(j["results"]["count"]["data"], 42);
    EXPECT_GE(j["time"]["first"]["host"].get<double>(), 0);
  }
}

TEST_F(Cli, NonFiniteNumbersAreStringsInJson) {
  folder.write("log.sg", "def f(x: f32[N]) -> (y: f32[N]) {\n  log(x)\n}\n");
  const Json j = Json::parse(good({"run", "log.sg", "x=[0,-1,1]", "--device", "interpreter", "--json"}).out);
  EXPECT_EQ(j["results"]["y"]["data"], Json::array({"-inf", "nan", 0}));
}

TEST_F(Cli, GradWritesGradientsByParameterName) {
  for (const std::string& d : devices()) {
    const Finished f = good(command({"grad", "model.sg"}, {"--wrt", "w", "--device", d, "-o", "w=gw.npy", "-o", "loss=-"}));
    EXPECT_EQ(folder.array("gw.npy").values(), (std::vector<double>{284, 376, 468}));
    EXPECT_NE(f.out.find("loss = 1220"), std::string::npos);
    EXPECT_NE(f.out.find("|d_w|"), std::string::npos);
    EXPECT_NE(f.out.find("0 NaN, 0 Inf"), std::string::npos);
  }
}

TEST_F(Cli, GradCountsNaNAndInfinity) {
  folder.write("root.sg", "def f(x: f32[N]) -> (y: f32) {\n  sum(sqrt(x))\n}\n");
  const Json j = Json::parse(good({"grad", "root.sg", "x=[0,-1,4]", "--device", "interpreter", "--json"}).out);
  EXPECT_EQ(j["derivatives"]["d_x"]["inf"], 1);
  EXPECT_EQ(j["derivatives"]["d_x"]["nan"], 1);
  EXPECT_EQ(j["derivatives"]["d_x"]["norm"], "nan");
  EXPECT_EQ(j["values"]["y"]["data"], "nan");
}

TEST_F(Cli, ForwardModeGivesTheDerivativeInADirection) {
  for (const std::string& d : devices()) {
    const Finished f = good(command(
        {"grad", "model.sg"}, {"--wrt", "w", "--jvp", "dot_w=[0,1,0]", "--device", d, "-o", "dot_loss=-", "--of", "loss"}));
    EXPECT_NE(f.out.find("dot_loss = 376"), std::string::npos) << f.out;
  }
}

TEST_F(Cli, HessianTimesVector) {
  // H = 2 x^T x; its second row is 2 [22, 29, 36].
  for (const std::string& d : devices()) {
    good(command({"grad", "model.sg"}, {"--wrt", "w", "--hvp", "dot_w=[0,1,0]", "--device", d, "-o", "dot_d_w=h.npy"}));
    EXPECT_EQ(folder.array("h.npy").values(), (std::vector<double>{44, 58, 72}));
  }
}

TEST_F(Cli, CheckPassesOnEveryDevice) {
  for (const std::string& d : devices()) {
    const Finished f = good(command({"check", "model.sg"}, {"--device", d, "--samples", "3"}));
    EXPECT_EQ(f.out.find("FAIL"), std::string::npos) << f.out;
    for (const char* line :
         {"bulk = traced", "kernels = interpreter", "forward = differences", "reverse = forward", "second = differences"})
      EXPECT_NE(f.out.find(line), std::string::npos) << f.out;
    EXPECT_EQ(f.out.find("device = interpreter") != std::string::npos, d != "interpreter") << f.out;
  }
}

TEST_F(Cli, CheckMakesUpInputs) {
  const Json j = Json::parse(good({"check", "model.sg", "N=3", "M=2", "--device", "interpreter", "--json"}).out);
  EXPECT_EQ(j["ok"], true);
  EXPECT_EQ(j["checks"].size(), 7u);
}

TEST_F(Cli, CheckFailsWhereF32HasNoDigitsLeft) {
  folder.write("cancel.sg", "def f(x: f32[N]) -> (y: f32) {\n  x[0] + x[1] - x[0]\n}\n");
  const Finished f = folder.run({"check", "cancel.sg", "x=[100000000,1]", "--device", "interpreter"});
  EXPECT_EQ(f.status, 1) << f.out << f.err;
  EXPECT_NE(f.out.find("FAIL  kernels = interpreter"), std::string::npos) << f.out;
  EXPECT_EQ(Json::parse(folder.run({"check", "cancel.sg", "x=[100000000,1]", "-d", "interpreter", "--json"}).out)["ok"],
            false);
}

TEST_F(Cli, CheckNamesKinksAndComparesTheRest) {
  folder.write("kink.sg", "def f(x: f32[N]) -> (y: f32[N]) {\n  max(x, 0.0) * x[2]\n}\n");
  const Finished f = good({"check", "kink.sg", "x=[1,0,2]", "--device", "interpreter"});
  EXPECT_NE(f.out.find("10 of 10 directions"), std::string::npos) << f.out;
  EXPECT_NE(f.out.find("not comparable in 10 of 10 directions: a kink at y[1]"), std::string::npos) << f.out;
}

TEST_F(Cli, CheckNamesStopGradient) {
  folder.write("stop.sg", "def f(x: f32[N]) -> (y: f32) {\n  let s = stop_gradient(x)\n  sum(x * s)\n}\n");
  const Finished f = good({"check", "stop.sg", "x=[1,2]", "--device", "interpreter"});
  EXPECT_NE(f.out.find("not comparable"), std::string::npos) << f.out;
  EXPECT_NE(f.out.find("stop_gradient at stop.sg:2"), std::string::npos) << f.out;
}

TEST_F(Cli, ConstantIndicesOutOfRangeAreTold) {
  folder.write(
      "far.sg",
      "def f(x: f32[3], m: f32[2, 2]) -> (y: f32, z: f32) {\n  let a = x[5] + x[2] + fori(2, fn(i, s) => s + x[-1], 0.0)\n"
      "  (a, m[1, 2] + sum(x[[0, 3]]))\n}\n");
  const Finished f = good({"run", "far.sg", "x=[1,2,3]", "m=[[1,2],[3,4]]", "--device", "interpreter"});
  EXPECT_EQ(f.out, "y = 3\nz = 1\n") << "reads out of range give 0";
  for (const char* told : {"warning: far.sg:2", "index 5 lies outside of f32[3]", "index -1 lies outside of f32[3]",
                           "do not count from the end", "warning: far.sg:3", "index 2 lies outside of f32[2,2], axis 1",
                           "index 3 lies outside of f32[3]"})
    EXPECT_NE(f.err.find(told), std::string::npos) << told << "\n" << f.err;
  EXPECT_EQ(std::count(f.err.begin(), f.err.end(), '\n'), 4) << f.err;
  EXPECT_EQ(good(command({"run", "model.sg"}, {"--device", "interpreter"})).err, "") << "nothing to warn of";
}

TEST_F(Cli, TimesAreOfTheFirstRunAndOfWarmReplays) {
  for (const std::string& d : devices())
    for (const Words& first : {Words{"run", "model.sg"}, Words{"grad", "model.sg", "--wrt", "w"}}) {
      const Finished f = good(command(first, {"--device", d, "--time"}));
      const bool replays =
          f.err.find("first run, cold: ") != std::string::npos && f.err.find("warm replays: ") != std::string::npos;
      EXPECT_EQ(replays, d != "interpreter") << f.err;
      const Json time = Json::parse(good(command(first, {"--device", d, "--time", "--json"})).out)["time"];
      EXPECT_GT(time["first"]["host"].get<double>(), 0);
      EXPECT_EQ(time.contains("replay"), d != "interpreter");
      if (d != "interpreter") {
        EXPECT_GE(time["replay"]["runs"].get<int>(), 1);
      }
    }
}

TEST_F(Cli, BenchMeasuresValueAndGradientAndTheirSteps) {
  const Words bench = {"bench", "model.sg", "--wrt", "w"};
  for (const std::string& d : devices()) {
    if (d == "interpreter") continue;
    const Json j = Json::parse(good(command(bench, {"--device", d, "--json"})).out);
    EXPECT_GT(j["limits"]["bytes_per_second"].get<double>(), 0);
    EXPECT_GT(j["limits"]["operations_per_second"].get<double>(), 0);
    ASSERT_EQ(j["measured"].size(), 2u);
    EXPECT_EQ(j["measured"][1]["what"], "value and gradient");
    for (const Json& m : j["measured"]) {
      EXPECT_GE(m["replay"]["median"].get<double>(), m["replay"]["best"].get<double>());
      EXPECT_GE(m["moved_bytes"].get<double>(), m["least_bytes"].get<double>());
      EXPECT_GT(m["operations"].get<double>(), 0);
      EXPECT_EQ(m["steps"].empty(), false);
    }
    const std::string text = good(command(bench, {"--device", d})).out;
    for (const char* told : {"first call", "replay", "at the speed of copying", "arithmetic", "Gop/s"})
      EXPECT_NE(text.find(told), std::string::npos) << told << "\n" << text;
  }
  const Finished refused = folder.run(command(bench, {"--device", "interpreter", "--trace", "steps.json"}));
  EXPECT_EQ(refused.status, 2);
  EXPECT_FALSE(fs::exists(folder.path("steps.json")));
  EXPECT_NE(refused.err.find("measures devices"), std::string::npos) << refused.err;
}

TEST_F(Cli, BenchWritesWhatTraceViewersShow) {
  for (const std::string& d : devices()) {
    if (d == "interpreter") continue;
    good(command({"bench", "model.sg", "--wrt", "w"}, {"--device", d, "--trace", "steps.json"}));
    const Json events = Json::parse(folder.read("steps.json"))["traceEvents"];
    Words rows;
    size_t steps = 0;
    for (const Json& e : events) {
      if (e["name"] == "thread_name") rows.push_back(e["args"]["name"]);
      EXPECT_GE(e.value("dur", 0.0), 0) << e;
      steps += e["ph"] == "X" && e["args"].contains("bytes");
    }
    EXPECT_EQ(rows, (Words{"value, first call", "value, a replay", "value and gradient, first call",
                           "value and gradient, a replay"}));
    EXPECT_GE(steps, 2u) << events;
  }
}

TEST_F(Cli, NormsOfNaNAndInfinityAreNotNumbers) {
  folder.write("root.sg", "def f(x: f32[N]) -> (y: f32) {\n  sum(sqrt(x))\n}\n");
  const auto norm = [&](const char* x) {
    return Json::parse(good({"grad", "root.sg", x, "--device", "interpreter", "--json"}).out)["derivatives"]["d_x"]["norm"];
  };
  EXPECT_EQ(norm("x=[-1,4]"), "nan");
  EXPECT_EQ(norm("x=[0,4]"), "inf");
  EXPECT_EQ(norm("x=[-1,0]"), "nan");
  EXPECT_NE(good({"grad", "root.sg", "x=[-1,4]", "--device", "interpreter"}).out.find("|d_x|  = nan"), std::string::npos);
}

TEST_F(Cli, AnOutputMayReplaceAnInput) {
  folder.write("twice.sg", "def f(x: f32[N]) -> (y: f32[N]) {\n  x * 2.0\n}\n");
  good({"run", "twice.sg", "x=[1,2,3]", "--device", "interpreter", "-o", "a.npy"});
  good({"run", "twice.sg", "x=a.npy", "--device", "interpreter", "-o", "./a.npy"});
  EXPECT_EQ(folder.array("a.npy").values(), (std::vector<double>{4, 8, 12}));
}

TEST_F(Cli, NumbersTooNearToZeroAreZero) {
  folder.write("same.sg", "def f(x: f32[N]) -> (y: f32[N]) {\n  x\n}\n");
  EXPECT_EQ(good({"run", "same.sg", "x=[1e-400,-1e-400,1e-4000000]", "--device", "interpreter"}).out,
            "y: f32[3]\n[ 0 -0  0]\n");
}

TEST_F(Cli, EmptyArraysOfManyRowsPrintFewLines) {
  folder.write("same.sg", "def f(x: f32[N, M]) -> (y: f32[N, M]) {\n  x\n}\n");
  folder.write("rows.npy", npy_of("<f4", "(100000000, 0)", 0));
  const Finished f = good({"run", "same.sg", "x=rows.npy", "--device", "interpreter"});
  EXPECT_LT(f.out.size(), 200u);
  EXPECT_NE(f.out.find("f32[100000000,0]"), std::string::npos) << f.out;
}

TEST_F(Cli, DamagedAndForeignCachesAreIgnored) {
  if (devices().size() < 2) GTEST_SKIP() << "no device, no cache";
  const std::string cache = folder.path("cache").string();
  const Words words = command({"run", "model.sg"}, {"--device", "0"});
  const auto run = [&] { return good(words, {"SPIROGRAD_CACHE=" + cache}).out; };
  const std::string out = run();
  std::vector<fs::path> files;
  for (const auto& e : fs::directory_iterator(cache)) files.push_back(e.path());
  ASSERT_GE(files.size(), 2u) << "pipelines and verdicts";
  const auto each = [&](const char* what, auto&& put) {
    for (const fs::path& file : files) {
      fs::remove_all(file);
      put(file);
    }
    EXPECT_EQ(run(), out) << what;
    EXPECT_EQ(run(), out) << what << ", once more";
  };
  each("a folder", [](const fs::path& p) { fs::create_directory(p); });
  each("a pipe", [](const fs::path& p) { ASSERT_EQ(mkfifo(p.c_str(), 0600), 0); });
  each("an endless device", [](const fs::path& p) { fs::create_symlink("/dev/zero", p); });
  each("a terminal", [](const fs::path& p) { fs::create_symlink("/dev/tty", p); });
  each("text", [](const fs::path& p) { std::ofstream(p) << "SPGCACHE is what this is not"; });
  size_t entries = 0;
  for (const auto& e : fs::directory_iterator(cache)) entries += e.is_regular_file();
  EXPECT_EQ(entries, files.size()) << "each was replaced, and no temporary file is left";
}

TEST_F(Cli, PrintedProgramsParseBackAtEveryStage) {
  for (const Words& stage : {Words{}, Words{"--bot"}, Words{"--bot", "--grad", "w"}, Words{"--grad", "w", "--simplify"},
                             Words{"--jvp", "w,x"}, Words{"--grad", "w", "--jvp", "w", "--simplify"},
                             Words{"--split-forward", "w"}, Words{"--split-backward", "w", "--simplify"}}) {
    Words words = {"opt", "model.sg", "N=3", "M=2"};
    words.insert(words.end(), stage.begin(), stage.end());
    const std::string text = good(words).out;
    folder.write("stage.sg", text);
    EXPECT_EQ(good({"opt", "stage.sg"}).out, text);
  }
}

TEST_F(Cli, PrintedGradientComputesTheGradient) {
  folder.write("gradient.sg", good({"opt", "model.sg", "N=3", "M=2", "--grad", "w", "--simplify"}).out);
  EXPECT_EQ(good(command({"run", "gradient.sg"}, {"--device", "interpreter"})).out, "d_w: f32[3]\n[284 376 468]\n");
}

TEST_F(Cli, PassesShowWhatTheyDo) {
  const std::string all =
      good({"opt", "model.sg", "N=3", "M=2", "--print-after", "all", "--time-passes", "--count-rules"}).out;
  for (const char* part : {"# after vectorise\ndef ", "# after simplify\n", "# after split_loops\n", "# after factor_sums\n",
                           "lower ", "rule "})
    EXPECT_NE(all.find(part), std::string::npos) << part << all;
  const std::string few = good({"opt", "model.sg", "N=3", "M=2", "--rules-at-most", "1"}).out;
  EXPECT_NE(few.find("rules applied: 1, the last one "), std::string::npos) << few;
  EXPECT_EQ(good({"opt", "model.sg", "N=3", "M=2", "--rules-at-most", "0"}).out, "rules applied: 0\n");
}

TEST_F(Cli, LaterStagesPrint) {
  EXPECT_NE(good({"opt", "model.sg", "N=3", "M=2", "--kernels"}).out.find("kernel "), std::string::npos);
  EXPECT_NE(good({"opt", "model.sg", "N=3", "M=2", "--spirv"}).out.find("PhysicalStorageBuffer64"), std::string::npos);
  EXPECT_EQ(good({"opt", "model.sg", "N=3", "M=2", "--spirv", "--form", "descriptors"}).out.find("PhysicalStorageBuffer64"),
            std::string::npos);
  EXPECT_NE(good({"opt", "model.sg", "N=3", "M=2", "--schedule"}).out.find("dispatch"), std::string::npos);
  folder.write("steps.sg", "def main(w: f32[N,N], x: f32[N]) -> f32[N] = fori(2001, fn(i, s) => tanh(w @ s), x)\n");
  const std::string steps = good({"opt", "steps.sg", "N=5000", "--schedule"}).out;
  EXPECT_NE(steps.find("\n   1  repeat 1000 times "), std::string::npos) << steps;
  EXPECT_NE(steps.find("\n   2    dispatch "), std::string::npos) << steps;
  EXPECT_NE(good({"opt", "model.sg", "N=3", "M=2", "--loops"}).out.find("grid 2"), std::string::npos);
  EXPECT_NE(good({"opt", "--rules"}).out.find("|"), std::string::npos);
  EXPECT_EQ(Json::parse(good({"opt", "model.sg", "N=3", "M=2", "--bot", "--json"}).out)["stage"], "bulk");
}

TEST_F(Cli, OptTellsHowMuchWaits) {
  folder.write("wide.sg", "def f(x: f32[100000]) = sum(x * x)\n");
  const std::string out = good({"opt", "wide.sg", "--value-and-grad", "x", "--parallelism"}).out;
  EXPECT_NE(out.find("one after the other"), std::string::npos) << out;
  EXPECT_NE(out.find("\ntraced        2                    2 "), std::string::npos) << out;
  EXPECT_NE(out.find("\ngradient      2                    2 "), std::string::npos) << out;
  EXPECT_NE(out.find("gradient: 1 times as many one after the other, 1.48 times the operations\n"), std::string::npos)
      << out;
}

TEST_F(Cli, OptShowsWhatLoopsKeep) {
  folder.write("loops.sg",
               "def main(x: f32[400]) = sum(fori(400, fn(i, s) =>\n  sin(s) * s, x, keep=sqrt))\n"
               "def one(x: f32[400]) = sum(fori(400, fn(i, s) =>\n  where(iota(400) == i, sin(s[i]), s), x))\n");
  EXPECT_EQ(good({"opt", "loops.sg", "--function", "main", "--grad", "x", "--stored"}).out,
            "bytes  type         value  from           kept\n"
            "32000  f32[20,400]  state  loops.sg:1:29  before each of 20 rounds\n"
            "32000  f32[20,400]  state  loops.sg:1:29  in each of 20 steps\n\n"
            "kept for the way back: 64000 bytes; scratch: 64000 bytes\n");
  EXPECT_EQ(good({"opt", "loops.sg", "--grad", "x", "--stored"}).out,
            "bytes  type      value   from           kept\n"
            " 1600  f32[400]  gather  loops.sg:4:30  in each of 400 steps\n\n"
            "kept for the way back: 1600 bytes; scratch: 1792 bytes\n");
  EXPECT_EQ(good({"opt", "loops.sg", "--stored"}).out.substr(0, 31), "kept for the way back: 0 bytes;");
  const Finished both = folder.run({"opt", "loops.sg", "--stored", "--loops"});
  EXPECT_EQ(both.status, 2);
  EXPECT_NE(both.err.find("exclude each other"), std::string::npos) << both.err;
}

TEST_F(Cli, DevicesAsJson) {
  if (devices().size() < 2) GTEST_SKIP() << "no Vulkan driver";
  const Json j = Json::parse(good({"devices", "--json"}).out);
  ASSERT_GE(j["devices"].size(), 1u);
  EXPECT_FALSE(j["devices"][0]["name"].get<std::string>().empty());
  EXPECT_NE(good({"devices", "-v"}).out.find("elementwise arithmetic"), std::string::npos);
}

TEST_F(Cli, TheEnvironmentNamesTheDevice) {
  const Json j = Json::parse(good(command({"run", "model.sg"}, {"--json"}), {"SPIROGRAD_DEVICE=interpreter"}).out);
  EXPECT_EQ(j["device"], "interpreter");
}

TEST_F(Cli, EveryCodeInTheSourcesIsExplained) {
  EXPECT_NE(good({"explain", "sg0204"}).out.find("scalar"), std::string::npos);
  const Json all = Json::parse(good({"explain", "--json"}).out);
  const std::regex code("\"(SG0[0-9]{3})\"");
  std::set<std::string> used;
  for (const char* part : {"frontend", "ad", "spirv", "vk_runtime", "tools"})
    for (const auto& e : fs::recursive_directory_iterator(fs::path(SPIROGRAD_SOURCE_DIR) / part)) {
      if (e.path().extension() != ".cpp" && e.path().extension() != ".h") continue;
      std::stringstream s;
      s << std::ifstream(e.path()).rdbuf();
      const std::string text = s.str();
      for (std::sregex_iterator it(text.begin(), text.end(), code), end; it != end; ++it) used.insert((*it)[1]);
    }
  EXPECT_GT(used.size(), 30u);
  for (const std::string& c : used) EXPECT_TRUE(all.contains(c)) << c;
}

TEST_F(Cli, ProgressStaysOffStreamsThatAreNoTerminals) {
  EXPECT_EQ(good(command({"run", "model.sg"}, {"--device", "interpreter"})).err, "");
}

TEST_F(Cli, FilesImportFilesAndOnlyTheirOwnFunctionsAreEntries) {
  fs::create_directory(folder.path("parts"));
  folder.write("parts/shape.sg", "let n = 2\nstruct Box { w: f32[M] }\n");
  folder.write("parts/model.sg", "import \"shape.sg\" as s\ndef score(b: s.Box, x: f32[s.n]) -> f32 = sum(b.w) * sum(x)\n");
  folder.write("whole.sg",
               "import \"parts/model.sg\"\nimport \"parts/shape.sg\"\nimport losses\n"
               "def first(x: f32[n]) -> f32 = mse(x, zeros(n))\n"
               "def main(b: Box, x: f32[n]) -> f32 = score(b, x) + first(x)\n");
  for (const std::string& d : devices()) {
    const Words typed = {"b.w=[1,2,3]", "x=[1,3]", "--device", d};
    const auto with = [&](Words words) {
      words.insert(words.end(), typed.begin(), typed.end());
      return good(words).out;
    };
    EXPECT_EQ(with({"run", "whole.sg"}), "out = 29\n") << d;
    EXPECT_EQ(good({"run", "whole.sg", "-f", "first", "x=[1,3]", "--device", d}).out, "out = 5\n") << d;
    EXPECT_NE(with({"grad", "whole.sg", "--wrt", "x", "-o", "x=-"}).find("[7 9]"), std::string::npos) << d;
    EXPECT_EQ(with({"check", "whole.sg"}).find("FAIL"), std::string::npos) << d;
  }
  const std::string printed = good({"opt", "whole.sg", "M=3"}).out;
  EXPECT_EQ(printed.find("import"), std::string::npos);
  const Finished other = folder.run({"run", "whole.sg", "-f", "score", "x=[1]"});
  EXPECT_EQ(other.status, 3);
  EXPECT_NE(other.err.find("functions: first, main"), std::string::npos) << other.err;
}

}  // namespace cli_test
}  // namespace spirograd::tool_test
