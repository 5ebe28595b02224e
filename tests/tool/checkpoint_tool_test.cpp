// spirograd fit --checkpoint, --batch, --bounds, --plot: a fit that was killed goes on to the numbers of one that was not,
// and files of others are refused.
#include <csignal>
#include <nlohmann/json.hpp>

#include "tool/process.h"
#include "tools/io/npz.h"

namespace spirograd::tool_test {
namespace checkpoint_tool_test {

constexpr const char* kLine = R"(def loss(w: f32[2], x: f32[N], y: f32[N]) -> (loss: f32) = {
  let r = for i: N => w[0] + w[1] * x[i] - y[i]
  sum(r * r)
}
def away(w: f32[2], x: f32[N], y: f32[N]) -> (loss: f32) = sum(w) + sum(x) + sum(y)
def tall(w: f32, x: f32[2, N]) -> (loss: f32) = sum(for i: N => (w - x[1, i]) * (w - x[1, i]))
def grows(w: f32[N]) -> (loss: f32) = sum(-w)
)";
const Words kInputs = {"w=[0,0]", "x=[0,1,2,3,4]", "y=[1,3,5,7,9]", "--by", "w"};

struct Checkpoint : testing::Test {
  Folder folder;
  Checkpoint() { folder.write("model.sg", kLine); }
  Words devices() {
    Words out = {"interpreter"};
    if (folder.has_device()) out.push_back("0");
    return out;
  }
  static Words fit(const std::string& device, const Words& more, const std::string& function = "loss") {
    Words out = {"fit", "model.sg", "--function", function, "--device", device};
    if (function == "loss" || function == "away") out.insert(out.end(), kInputs.begin(), kInputs.end());
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  std::vector<double> saved(const std::string& name) const {
    const std::string bytes = folder.read(name);
    return io::to_host(io::NpzReader({bytes.begin(), bytes.end()}, name).read("w"), name).values();
  }
};

template <class F>
void wait_until(F&& holds) {
  for (int j = 0; j < 6000 && !holds(); ++j) usleep(10000);
}

TEST_F(Checkpoint, AKilledFitGoesOnToTheSameNumbers) {
  for (const std::string& d : devices())
    for (const Words& how :
         {Words{}, {"--method", "momentum", "--batch", "N=2", "--seed", "7"}, {"--bounds", "w:0.2..1.5"}}) {
      for (const char* name : {"c.npz", "o.npz"}) fs::remove(folder.path(name));
      Words all = {"--steps", "100000000", "--rate", "0.001", "--checkpoint", "c.npz", "--checkpoint-every", "50"};
      all.insert(all.end(), how.begin(), how.end());
      const pid_t child = folder.start(fit(d, all));
      wait_until([&] { return fs::exists(folder.path("c.npz")); });
      kill(child, SIGKILL);
      int status = 0;
      waitpid(child, &status, 0);
      ASSERT_TRUE(WIFSIGNALED(status)) << status;

      const std::string bytes = folder.read("c.npz");
      const int64_t done = io::NpzReader({bytes.begin(), bytes.end()}, "c.npz").read("history").shape[0];
      ASSERT_GT(done, 0);
      EXPECT_EQ(done % 50, 0);
      all[1] = std::to_string(done + 130);
      Words resumed = all, whole = all;
      resumed.insert(resumed.end(), {"--resume", "--save", "a.npz", "--history", "a.npy"});
      whole[5] = "other.npz";
      whole.insert(whole.end(), {"--save", "b.npz", "--history", "b.npy"});
      const Finished a = folder.run(fit(d, resumed)), b = folder.run(fit(d, whole));
      ASSERT_EQ(a.status, 0) << a.err;
      ASSERT_EQ(b.status, 0) << b.err;
      EXPECT_EQ(folder.array("a.npy").count(), done + 131);
      EXPECT_EQ(folder.read("a.npy"), folder.read("b.npy")) << d << " " << done;
      EXPECT_EQ(folder.read("a.npz"), folder.read("b.npz")) << d << " " << done;
      fs::remove(folder.path("other.npz"));
    }
}

TEST_F(Checkpoint, MoreStepsGoOnFromTheEnd) {
  for (const std::string& d : devices()) {
    for (const char* name : {"c.npz", "whole.npz"}) fs::remove(folder.path(name));
    const Finished first = folder.run(fit(d, {"--steps", "40", "--checkpoint", "c.npz", "--resume"}));
    EXPECT_EQ(first.status, 0) << first.err;
    EXPECT_NE(first.err.find("there is no c.npz yet: starting anew"), std::string::npos) << first.err;
    ASSERT_EQ(folder.run(fit(d, {"--steps", "70", "--checkpoint", "c.npz", "--resume", "--save", "a.npz"})).status, 0);
    ASSERT_EQ(folder.run(fit(d, {"--steps", "70", "--save", "b.npz"})).status, 0);
    EXPECT_EQ(folder.read("a.npz"), folder.read("b.npz"));
    // Nothing is left to do: the state is told as it is.
    const Finished again = folder.run(fit(d, {"--steps", "70", "--checkpoint", "c.npz", "--resume", "--save", "c2.npz"}));
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(folder.read("c2.npz"), folder.read("b.npz"));
  }
}

TEST_F(Checkpoint, OfAnotherFitOrOfNothingIsRefused) {
  const Words steps = {"--steps", "5", "--checkpoint", "c.npz"};
  const std::string d = "interpreter";
  ASSERT_EQ(folder.run(fit(d, steps)).status, 0);
  const std::string good = folder.read("c.npz");
  Words resume = steps;
  resume.push_back("--resume");
  const auto says = [&](const Words& words, int status, const std::string& what) {
    const Finished f = folder.run(words);
    EXPECT_EQ(f.status, status) << what << f.err;
    EXPECT_NE(f.err.find(what), std::string::npos) << what << "\n" << f.err;
    EXPECT_EQ(f.err.find("0900"), std::string::npos) << f.err;
  };
  says(fit(d, steps), 2, "is there already");
  says(fit(d, resume, "away"), 5, "error[SG0510]: c.npz is the checkpoint of another fit: its program");
  for (const Words& other : {Words{"--method", "sgd"}, {"--batch", "N=2"}, {"--bounds", "w:0.."}}) {
    Words words = fit(d, resume);
    words.insert(words.end(), other.begin(), other.end());
    says(words, 5, "another fit: its program or its options differ");
  }
  Words data = fit(d, resume);
  *std::find(data.begin(), data.end(), "x=[0,1,2,3,4]") = "x=[0,1,2,3,5]";
  says(data, 5, "another fit: its inputs have other values");
  EXPECT_EQ(folder.read("c.npz"), good);

  folder.write("c.npz", good.substr(0, good.size() / 2));
  says(fit(d, resume), 5, "error[SG0501]");
  folder.write("c.npz", std::string("nothing"));
  says(fit(d, resume), 5, "error[SG0501]");
  const std::vector<uint8_t> foreign = io::npz_bytes({{"w", HostArray(Type{DType::F32, {2}})}});
  folder.write("c.npz", foreign);
  says(fit(d, resume), 5, "c.npz is no checkpoint");
  says(fit(d, {"--resume"}), 2, "'--resume' needs a file");
  says(fit(d, {"--checkpoint", "c.npy"}), 2, "does not end in .npz");
  for (const char* bad : {"x", "-1", "0", "0s", "1.5", "s", "nans"})
    says(fit(d, {"--checkpoint", "new.npz", "--checkpoint-every", bad}), 2, "'--checkpoint-every' is a number of steps");
}

TEST_F(Checkpoint, IsKeptByCtrlC) {
  const pid_t child = folder.start(fit("interpreter", {"--steps", "100000000", "--checkpoint", "c.npz", "--every", "1"}), {},
                                   folder.path("out").string());
  wait_until([&] { return !folder.read("out").empty(); });
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_TRUE(fs::exists(folder.path("c.npz")));
}

TEST_F(Checkpoint, OfALossThatIsLostIsTheLastGoodOne) {
  for (const std::string& d : devices()) {
    fs::remove(folder.path("c.npz"));
    const Finished f = folder.run(fit(d,
                                      {"w=[0]", "--by", "w", "--method", "sgd", "--rate", "1", "--bound", "25.5", "--steps",
                                       "1000", "--checkpoint", "c.npz", "--checkpoint-every", "10"},
                                      "grows"));
    EXPECT_EQ(f.status, 3) << f.err;
    const std::string bytes = folder.read("c.npz");
    EXPECT_EQ(io::NpzReader({bytes.begin(), bytes.end()}, "c.npz").read("history").shape[0], 20) << d;
  }
}

// sum (w - x)^2 of two elements by steps of 0.25 is their mean after one step, whatever w was.
TEST_F(Checkpoint, BatchesSeeEachElementOnceUntilAllAre) {
  folder.write("model.sg", kLine);
  for (const std::string& d : devices())
    for (const char* seed : {"1", "2"}) {
      const Finished f =
          folder.run(fit(d,
                         {"w=0", "x=[[9,9,9,9,9,9],[1,2,4,8,16,32]]", "--by", "w", "--method", "sgd", "--rate", "0.5",
                          "--batch", "N=1", "--seed", seed, "--steps", "12", "--history", "h.npy"},
                         "tall"));
      ASSERT_EQ(f.status, 0) << f.err;
      // The weight becomes the element that was seen: losses are squares of the differences of two that follow each other.
      const std::vector<double> h = folder.array("h.npy").values();
      std::vector<double> seen;
      double w = 0;
      for (size_t j = 0; j < 12; ++j) {
        double next = 0;
        for (const double x : {1, 2, 4, 8, 16, 32})
          if ((w - x) * (w - x) == h[j] && (seen.size() < 6 || x == seen[j - 6])) next = x;
        ASSERT_NE(next, 0) << d << " loss " << h[j] << " from " << w;
        seen.push_back(next);
        w = next;
      }
      std::vector<double> once(seen.begin(), seen.begin() + 6);
      std::sort(once.begin(), once.end());
      EXPECT_EQ(once, (std::vector<double>{1, 2, 4, 8, 16, 32})) << d;
    }
}

TEST_F(Checkpoint, BoundsHoldAtTheStartAndAfterEachStep) {
  for (const std::string& d : devices()) {
    const Finished f = folder.run(fit(d, {"--bounds", "w:-1..1.5", "--steps", "400", "--rate", "0.1", "--save", "o.npz"}));
    ASSERT_EQ(f.status, 0) << f.err;
    EXPECT_EQ(saved("o.npz")[1], 1.5) << d;
    EXPECT_EQ(folder.run(fit(d, {"--bounds", "w:3..", "--steps", "1", "--rate", "1e-9", "--save", "o.npz"})).status, 0);
    EXPECT_EQ(saved("o.npz"), (std::vector<double>{3, 3})) << d;
  }
}

TEST_F(Checkpoint, LinesOfJsonAreOnePerLoss) {
  const Finished f = folder.run(fit("interpreter", {"--steps", "4", "--every", "2", "--json"}));
  ASSERT_EQ(f.status, 0) << f.err;
  std::istringstream lines(f.out);
  std::vector<Json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(Json::parse(line));
  ASSERT_EQ(all.size(), 4u) << f.out;
  EXPECT_EQ(all[0]["step"], 0);
  EXPECT_EQ(all[0]["loss"], 165);
  EXPECT_EQ(all[2]["step"], 4);
  EXPECT_EQ(all[3]["ended"], "steps");
  EXPECT_EQ(all[3]["loss"], all[2]["loss"]);
}

TEST_F(Checkpoint, PlotsAreWholeOrNotThere) {
  const Finished svg = folder.run(fit("interpreter", {"--steps", "50", "--plot", "l.svg"}));
  if (svg.status == 5) {
    EXPECT_NE(svg.err.find("libcairo2-dev"), std::string::npos) << svg.err;
    GTEST_SKIP() << "built without Cairo";
  }
  ASSERT_EQ(svg.status, 0) << svg.err;
  EXPECT_NE(folder.read("l.svg").find("<svg"), std::string::npos);
  EXPECT_NE(folder.read("l.svg").find("</svg>"), std::string::npos);
  ASSERT_EQ(folder.run(fit("interpreter", {"--steps", "50", "--plot", "l.png"})).status, 0);
  const std::string png = folder.read("l.png");
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_NE(png.find("IEND"), std::string::npos);
  const Finished other = folder.run(fit("interpreter", {"--steps", "5", "--plot", "l.jpg"}));
  EXPECT_EQ(other.status, 2);
  EXPECT_NE(other.err.find("does not end in .svg or .png"), std::string::npos) << other.err;
}

TEST_F(Checkpoint, RefusesBatchesAndBoundsThatMakeNoSense) {
  const struct {
    Words more;
    int status;
    std::string says;
  } cases[] = {
      {{"--batch", "64"}, 2, "'--batch' needs an axis"},
      {{"--batch", "N=0"}, 2, "'--batch' needs an axis"},
      {{"--batch", "N=6"}, 2, "is more than the 5 that there are"},
      {{"--batch", "K=2"}, 2, "no input has an axis 'K'"},
      {{"--seed", "2"}, 2, "'--seed' is that of the order of batches"},
      {{"--bounds", "w"}, 2, "is no name with two bounds"},
      {{"--bounds", "w:1"}, 2, "is no name with two bounds"},
      {{"--bounds", "w:2..1"}, 2, "leaves no value"},
      {{"--bounds", "w:a..1"}, 2, "which is no number"},
      {{"--bounds", "w:0..1", "--bounds", "w:0..2"}, 2, "twice"},
      {{"--bounds", "v:0..1"}, 2, "'v' is no input that changes"},
      {{"--bounds", "x:0..1"}, 2, "'x' is no input that changes"},
  };
  for (const auto& c : cases) {
    const Finished f = folder.run(fit("interpreter", c.more));
    EXPECT_EQ(f.status, c.status) << c.says << "\n" << f.err;
    EXPECT_NE(f.err.find(c.says), std::string::npos) << c.says << "\n" << f.err;
  }
  const Finished f = folder.run(fit("interpreter", {"w=[1,2]", "--by", "w", "--batch", "N=1"}, "grows"));
  EXPECT_EQ(f.status, 2);
  EXPECT_NE(f.err.find("'w' changes, and has the axis N"), std::string::npos) << f.err;
}

}  // namespace checkpoint_tool_test
}  // namespace spirograd::tool_test
