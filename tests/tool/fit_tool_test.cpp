// spirograd fit: what it finds, what it keeps when the loss or a person ends it, and what it refuses.
#include <csignal>
#include <nlohmann/json.hpp>

#include "tool/process.h"
#include "tools/io/npz.h"

namespace spirograd::tool_test {
namespace fit_tool_test {

// Through (0, 1), (1, 3), (2, 7), (3, 13) goes 1 + x + x^2.
constexpr const char* kParabola =
    R"(def loss(w: f32[2], b: f32, x: f32[N], y: f32[N], k: i32) -> (k: i32, loss: f32, r: f32[N]) = {
  let r = for i: N => x[i] * (w[0] + w[1] * x[i]) + b - y[i]
  (k, sum(r * r), r)
}
def slope(w: f32[N]) -> f32 = sum(-w)
def edge(w: f32) -> f32 = log(w)
def none(w: f32[N]) -> f32[N] = w
def half(w: f16[N]) -> f32 = sum(w * w)
)";
const Words kInputs = {"w=[0,0]", "b=0", "x=[0,1,2,3]", "y=[1,3,7,13]", "k=1", "--function", "loss"};

struct Fit : testing::Test {
  Folder folder;
  Fit() { folder.write("model.sg", kParabola); }
  Words devices() {
    Words out = {"interpreter"};
    if (folder.has_device()) out.push_back("0");
    return out;
  }
  static Words words(Words first, const Words& more) {
    first.insert(first.begin(), {"fit", "model.sg"});
    first.insert(first.end(), more.begin(), more.end());
    return first;
  }
  io::NpzReader archive(const std::string& name) const {
    const std::string bytes = folder.read(name);
    return {{bytes.begin(), bytes.end()}, name};
  }
};

std::vector<double> member(const io::NpzReader& npz, const std::string& name) {
  return io::to_host(npz.read(name), name).values();
}

TEST_F(Fit, FindsTheParabola) {
  for (const std::string& d : devices()) {
    const Finished f = folder.run(words(kInputs, {"--by", "w,b", "--steps", "600", "--rate", "0.1", "--device", d, "--save",
                                                  "o.npz", "--history", "h.npy", "--every", "300"}));
    ASSERT_EQ(f.status, 0) << f.err;
    const io::NpzReader npz = archive("o.npz");
    EXPECT_EQ(npz.names(), (Words{"w", "b"}));
    for (const double x : {member(npz, "w")[0], member(npz, "w")[1], member(npz, "b")[0]}) EXPECT_NEAR(x, 1, 1e-4) << d;
    const std::vector<double> history = folder.array("h.npy").values();
    ASSERT_EQ(history.size(), 601u);
    EXPECT_EQ(history[0], 228);
    EXPECT_LT(history[600], 1e-8);
    EXPECT_EQ(f.out.find("step 0  loss 228\nstep 300  loss "), 0u) << f.out;
    EXPECT_NE(f.out.find("\nstep 600  loss "), std::string::npos) << f.out;
  }
}

// loss = -(w0 + w1) from (1, 2): three steps of 0.5 along the constant slope, by hand.
TEST_F(Fit, EachMethodStepsAsItsFormulaSays) {
  const struct {
    const char* method;
    double w0, w1, error;
  } cases[] = {{"sgd", 2.5, 3.5, 0},
               {"momentum", 3.805, 4.805, 1e-6},
               {"nesterov", 5.0245, 6.0245, 1e-6},
               {"rmsprop", 4.68869094, 5.68869094, 1e-5},
               {"adagrad", 2.14222853, 3.14222853, 1e-6},
               {"adam", 2.5, 3.5, 1e-4},  // 1 - 0.999 ** t loses three digits
               {"adamw", 2.47758738, 3.46266225, 1e-4}};
  for (const std::string& d : devices())
    for (const auto& [method, w0, w1, error] : cases) {
      const Finished f = folder.run({"fit", "model.sg", "--function", "slope", "w=[1,2]", "--by", "w", "--steps", "3",
                                     "--rate", "0.5", "--method", method, "--device", d, "--json"});
      ASSERT_EQ(f.status, 0) << f.err;
      const Json out = Json::parse(f.out);
      EXPECT_EQ(out["steps"], 3);
      EXPECT_EQ(out["ended"], "steps");
      EXPECT_EQ(out["first_loss"], -3);
      EXPECT_NEAR(out["loss"].get<double>(), -w0 - w1, 2 * error) << d << " " << method;
      EXPECT_NEAR(out["inputs"]["w"]["data"][1].get<double>(), w1, error) << d << " " << method;
    }
}

TEST_F(Fit, AStructIsAllOfItsFloats) {
  folder.write("struct.sg", "struct M { k: i32, a: f32, b: f32[2] }\ndef loss(m: M) = m.a - sum(m.b)\n");
  const Finished f = folder.run({"fit", "struct.sg", "m.k=1", "m.a=2", "m.b=[3,4]", "--by", "m", "--method", "sgd",
                                 "--steps", "2", "--rate", "1", "--device", "interpreter", "--save", "o.npz"});
  ASSERT_EQ(f.status, 0) << f.err;
  const io::NpzReader npz = archive("o.npz");
  EXPECT_EQ(npz.names(), (Words{"m.a", "m.b"}));
  EXPECT_EQ(member(npz, "m.a"), std::vector<double>{0});
  EXPECT_EQ(member(npz, "m.b"), (std::vector<double>{5, 6}));
}

TEST_F(Fit, MoreLossesThanTheDeviceKeepsAreAllThere) {
  if (!folder.has_device()) GTEST_SKIP() << "there is no device";
  const Finished f = folder.run({"fit", "model.sg", "--function", "slope", "w=[0]", "--by", "w", "--steps", "10000",
                                 "--rate", "1", "--method", "sgd", "--device", "0", "--history", "h.npy"});
  ASSERT_EQ(f.status, 0) << f.err;
  const std::vector<double> history = folder.array("h.npy").values();
  ASSERT_EQ(history.size(), 10001u);
  for (size_t j = 0; j < history.size(); ++j) ASSERT_EQ(history[j], -static_cast<double>(j));
}

TEST_F(Fit, AnArrayWithoutElementsFits) {
  for (const std::string& d : devices())
    EXPECT_EQ(
        folder.run({"fit", "model.sg", "--function", "slope", "w=[]", "--by", "w", "--steps", "2", "--device", d}).status,
        0);
}

// log(w) from 1 by steps of 0.6 / w: 1, 0.4, -1.1, where it is NaN.
TEST_F(Fit, DivergenceKeepsTheLastGoodState) {
  for (const std::string& d : devices()) {
    const Finished f = folder.run({"fit", "model.sg", "--function", "edge", "w=1", "--by", "w", "--steps", "50", "--rate",
                                   "0.6", "--method", "sgd", "--device", d, "--save", "o.npz", "--history", "h.npy"});
    EXPECT_EQ(f.status, 3);
    EXPECT_NE(f.err.find("error[SG0209]: fit: the loss is not a number after step 2; after step 1 it was -0.916"),
              std::string::npos)
        << f.err;
    EXPECT_NE(f.err.find("--rate 0.06"), std::string::npos) << f.err;
    EXPECT_NEAR(member(archive("o.npz"), "w")[0], 0.4, 1e-6) << d;
    EXPECT_EQ(folder.array("h.npy").count(), 3);
  }
}

TEST_F(Fit, ALossBeyondTheBoundEndsIt) {
  for (const std::string& d : devices()) {
    const Finished f = folder.run({"fit", "model.sg", "--function", "slope", "w=[0]", "--by", "w", "--rate", "1", "--method",
                                   "sgd", "--bound", "4.5", "--device", d, "--save", "o.npz"});
    EXPECT_EQ(f.status, 3);
    EXPECT_NE(f.err.find("is -5, beyond the bound of 4.5 after step 5; after step 4 it was -4"), std::string::npos) << f.err;
    EXPECT_EQ(member(archive("o.npz"), "w")[0], 4);
  }
}

TEST_F(Fit, NothingIsSavedOfABadStart) {
  for (const std::string& d : devices()) {
    const Words edge = {"fit", "model.sg", "--function", "edge", "w=nan", "--by", "w", "--device", d, "--save", "bad.npz"};
    const Finished f = folder.run(edge);
    EXPECT_EQ(f.status, 3);
    EXPECT_NE(f.err.find("before the first step"), std::string::npos) << f.err;
    EXPECT_FALSE(fs::exists(folder.path("bad.npz")));
  }
}

template <class F>
void wait_until(F&& holds) {
  for (int j = 0; j < 6000 && !holds(); ++j) usleep(10000);
}

// Whether the first Ctrl-C is yet to come and is waited for.
bool catches_interrupts(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigCgt:")) return std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1;
  return false;
}

// Waits until it runs, which its first line says.
pid_t started(const Folder& folder, const std::string& device) {
  folder.write("out", std::string());
  const pid_t child =
      folder.start({"fit", "model.sg", "--function", "slope", "w=[0]", "--by", "w", "--rate", "1", "--method", "sgd",
                    "--steps", "2000000000", "--every", "1", "--device", device, "--save", "o.npz"},
                   {}, folder.path("out").string(), folder.path("err").string());
  wait_until([&] { return !folder.read("out").empty(); });
  return child;
}

TEST_F(Fit, CtrlCKeepsWhatWasReached) {
  for (const std::string& d : devices()) {
    const pid_t child = started(folder, d);
    kill(child, SIGINT);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), 130) << folder.read("err");
    const double w = member(archive("o.npz"), "w")[0];
    const std::string out = folder.read("out"), line = "step " + std::to_string(static_cast<int64_t>(w)) + "  loss ";
    EXPECT_NE(out.find(line), std::string::npos) << d << " kept " << w;
    EXPECT_NE(folder.read("err").find("stopped as asked"), std::string::npos);
    fs::remove(folder.path("o.npz"));
  }
}

TEST_F(Fit, ASecondCtrlCEndsItAtOnce) {
  folder.write("slow.sg", "def f(w: f32[N]) -> f32 = sum(for i: N => sum(for j: N => sin(w[i] * w[j])))\n");
  const pid_t child =
      folder.start({"fit", "slow.sg", "w=random:1:3000", "--by", "w", "--device", "interpreter", "--save", "o.npz"});
  wait_until([&] { return catches_interrupts(child); });
  kill(child, SIGINT);
  wait_until([&] { return !catches_interrupts(child); });
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  EXPECT_FALSE(fs::exists(folder.path("o.npz")));
}

TEST_F(Fit, RefusesWhatMakesNoSense) {
  const struct {
    Words more;
    int status;
    std::string says;
  } cases[] = {
      {{}, 2, "'fit' needs the inputs to change"},
      {{"--by", "v"}, 3, "there is no parameter 'v'"},
      {{"--by", "k"}, 3, "error[SG0201]"},
      {{"--by", "w,w"}, 3, "error[SG0206]"},
      {{"--by", "w", "--of", "r"}, 3, "not a scalar"},
      {{"--by", "w", "--of", "rr"}, 3, "there is no result 'rr'"},
      {{"--by", "w", "--steps", "0"}, 2, "'--steps' needs a whole number of at least 1"},
      {{"--by", "w", "--steps", "99999999999"}, 2, "'--steps' counts to"},
      {{"--by", "w", "--rate", "-1"}, 2, "'--rate' needs a positive number, not '-1'"},
      {{"--by", "w", "--rate", "nan"}, 2, "'--rate' needs a positive number"},
      {{"--by", "w", "--rate", "fast"}, 2, "'--rate' needs a positive number"},
      {{"--by", "w", "--method", "newton"}, 2, "'--method' is one of adam, adamw"},
      {{"--by", "w", "--every", "0"}, 2, "'--every' needs"},
      {{"--by", "w", "--save", "o.npy"}, 2, "does not end in .npz"},
      {{"--by", "w", "--history", "no/h.npy"}, 5, "error[SG0505]"},
      {{"--by", "w", "z=1"}, 2, "no parameter 'z'"},
  };
  const Words before = folder.files();
  for (const auto& c : cases) {
    Words all = words(kInputs, c.more);
    all.insert(all.end(), {"--device", "interpreter"});
    const Finished f = folder.run(all);
    EXPECT_EQ(f.status, c.status) << c.says << "\n" << f.err;
    EXPECT_NE(f.err.find(c.says), std::string::npos) << c.says << "\n" << f.err;
  }
  const Finished f = folder.run({"fit", "model.sg", "--function", "none", "w=[1]", "--by", "w", "--device", "interpreter"});
  EXPECT_EQ(f.status, 3);
  EXPECT_NE(f.err.find("scalar"), std::string::npos) << f.err;
  const Finished h = folder.run({"fit", "model.sg", "--function", "half", "w=[1]", "--by", "w", "--device", "interpreter"});
  EXPECT_EQ(h.status, 5);
  EXPECT_NE(h.err.find("'w' is f16[1]"), std::string::npos) << h.err;
  EXPECT_NE(h.err.find("f16(w)"), std::string::npos) << h.err;
  EXPECT_EQ(folder.files(), before);
}

}  // namespace fit_tool_test
}  // namespace spirograd::tool_test
