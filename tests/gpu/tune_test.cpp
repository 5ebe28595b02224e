// Tuning on devices: what was measured is remembered and used, what is damaged is ignored, and a poor schedule is left.
#include "spirograd/tune.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "spirograd/jit.h"
#include "spirograd/ops.h"
#include "spirograd/text.h"
#include "spirv/assemble.h"
#include "tests/gpu/fixture.h"

namespace spirograd::vk::testing {
namespace tune_test {

constexpr int64_t kSteps = 200'000;

class Tune : public Gpu {
 protected:
  Tune() {
    folder = std::filesystem::temp_directory_path() / ("spirograd_tune_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder);
    cache_dir = folder.string();
  }
  ~Tune() override { std::filesystem::remove_all(folder); }

  static Program read(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }
  static Program sums() { return read("def f(x: f32[" + std::to_string(kSteps) + "]) = cumsum(x)"); }
  static std::vector<HostArray> numbers() {
    std::vector<double> x(static_cast<size_t>(kSteps));
    for (size_t j = 0; j < x.size(); ++j) x[j] = static_cast<double>(j % 7) - 3;
    return {HostArray(f32({kSteps}), x)};
  }
  CompileOptions how(const Choices& choices = {}) {
    CompileOptions out;
    out.form = device->preferred_form();
    out.choices = choices;
    return out;
  }
  // The facts of work of a kind ("scan ") in a program.
  std::string facts_of(const Program& program, std::string_view kind) {
    for (const schedule::Asked& a : decide(program, device->target(), how()).asked)
      if (a.facts.starts_with(kind)) return a.facts;
    ADD_FAILURE() << "there is no " << kind;
    return "";
  }
  std::string scan() { return facts_of(sums(), "scan "); }
  // The schedule of the scan in what compiles with these choices.
  std::string compiled(const Choices& choices) {
    for (const schedule::Asked& a : decide(sums(), device->target(), how(choices)).asked)
      if (a.facts.starts_with("scan ")) return a.schedule;
    return "";
  }
  std::vector<double> results(const Program& program, const Choices& choices, std::span<const HostArray> inputs) {
    const auto executable = compile(program, device->target(), how(choices));
    EXPECT_TRUE(executable) << executable.error().str();
    return (*session(*executable)->run(inputs))[0].values();
  }
  std::vector<double> results(const Choices& choices) { return results(sums(), choices, numbers()); }
  std::filesystem::path file() {
    for (const auto& e : std::filesystem::directory_iterator(folder))
      if (e.path().filename().string().starts_with("schedules-")) return e.path();
    ADD_FAILURE() << "nothing is remembered";
    return {};
  }
  void reopen() {
    device.reset();
    open();
  }

  std::filesystem::path folder;
  const std::string loop = "k = grid 1 serial 200000", halves = "k = grid 2 serial 100000";
};

TEST_F(Tune, WhatIsRememberedIsUsedWhereItIsAskedFor) {
  EXPECT_TRUE(device->tuned().empty());
  const std::string facts = scan(), usual = compiled({});
  ASSERT_NE(usual, halves);
  ASSERT_TRUE(device->remember({{facts, halves}}));
  ASSERT_TRUE(device->remember({{"other work", "in some way"}}));
  reopen();
  EXPECT_EQ(device->tuned(), (Choices{{facts, halves}, {"other work", "in some way"}}));
  EXPECT_EQ(compiled(device->tuned()), halves);
  EXPECT_EQ(compiled({}), usual) << "nobody has asked";
  EXPECT_EQ(results(device->tuned()), results({})) << "these are whole numbers";
  ASSERT_TRUE(device->remember({{facts, loop}}));
  EXPECT_EQ(compiled(device->tuned()), loop) << "the last word counts";
}

TEST_F(Tune, FunctionsThatAreJittedUseItToo) {
  const auto f = [](Array x) { return cumsum(x); };
  ASSERT_TRUE(device->remember({{scan(), loop}}));
  const auto usual = jit(f, {.device = device})(numbers()[0]),
             tuned = jit(f, {.device = device, .tuned = true})(numbers()[0]);
  ASSERT_TRUE(usual && tuned);
  EXPECT_EQ(usual->values(), tuned->values());
}

TEST_F(Tune, DamagedFilesAreIgnored) {
  const std::string facts = scan(), usual = compiled({});
  ASSERT_TRUE(device->remember({{facts, halves}}));
  const auto path = file();
  std::stringstream good;
  good << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string bytes = good.str();
  for (const size_t at : {size_t{0}, size_t{20}, bytes.size() / 2, bytes.size() - 1}) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    std::ofstream(path, std::ios::binary) << bad;
    EXPECT_TRUE(device->tuned().empty()) << "byte " << at;
    std::ofstream(path, std::ios::binary) << bytes.substr(0, at);
    EXPECT_TRUE(device->tuned().empty()) << "the first " << at;
  }
  EXPECT_EQ(compiled(device->tuned()), usual);
  ASSERT_TRUE(device->remember({{facts, halves}})) << "a damaged one is replaced";
  EXPECT_EQ(compiled(device->tuned()), halves);
}

TEST_F(Tune, WhatIsNotLegalHereIsIgnored) {
  const std::string facts = scan(), usual = compiled({});
  for (const char* wrong : {"k = grid 1 serial 7", "e = grid 200000", "k = grid 1 serial", "nonsense"})
    EXPECT_EQ(compiled({{facts, wrong}}), usual) << wrong;
  EXPECT_EQ(results({{facts, "k = grid 1 serial 7"}}), results({}));
}

// Each place looks at all updates: hundreds of times the work, whoever else keeps the processors busy.
TEST_F(Tune, APoorScheduleIsLeft) {
  const Program program = read("def f(u: i32[1000], i: i32[1000]) = scatter([500], u, i)");
  std::vector<double> places(1000);
  for (size_t j = 0; j < places.size(); ++j) places[j] = static_cast<double>(7 * j % 500);
  const std::vector inputs = {HostArray(i32({1000}), places), HostArray(i32({1000}), places)};
  const std::string poor = "u = grid 2 serial 500; p = grid 500 serial 1";
  const std::string facts = facts_of(program, "scatter ");
  TuneOptions options;
  options.seconds = 2;
  options.compile = how({{facts, poor}});
  std::vector<std::string> heard;
  options.progress = [&](std::string_view what) { heard.emplace_back(what); };
  const auto tuning = tune(program, device, inputs, options);
  ASSERT_TRUE(tuning) << tuning.error().str();
  ASSERT_FALSE(tuning->computes.empty()) << tuning->tried << " tried in " << tuning->seconds_before;
  EXPECT_LT(tuning->seconds_after, 0.95 * tuning->seconds_before);
  EXPECT_EQ(tuning->refused, 0u);
  EXPECT_GE(tuning->tried, 1u);
  EXPECT_GE(heard.size(), tuning->tried);
  EXPECT_NE(heard[0].find(" = "), std::string::npos) << heard[0];
  const auto found = std::find_if(tuning->computes.begin(), tuning->computes.end(),
                                  [&](const TunedCompute& c) { return c.before == poor; });
  ASSERT_NE(found, tuning->computes.end());
  EXPECT_EQ(found->after, tuning->choices.at(facts));
  EXPECT_NE(found->after, poor);
  EXPECT_NE(found->what, "");
  EXPECT_LT(found->seconds_after, found->seconds_before);
  EXPECT_TRUE(tuning->remembered);
  EXPECT_EQ(device->tuned(), tuning->choices);
  EXPECT_EQ(results(program, device->tuned(), inputs), results(program, {}, inputs));
}

// Where sums overflow on the way, their order shows: what comes out otherwise is not taken, however fast.
TEST_F(Tune, AScheduleThatGivesOtherResultsIsRefused) {
  const Program program = read("def f(x: f32[20000]) = cumsum(x)");
  std::vector<double> x(20000);
  for (size_t j = 0; j < x.size(); ++j) x[j] = j < x.size() / 2 ? 3e38 : -3e38;
  const std::vector inputs = {HostArray(f32({20000}), x)};
  TuneOptions options;
  options.seconds = 2;
  options.compile = how({{facts_of(program, "scan "), "k = grid 1 serial 20000"}});
  const auto tuning = tune(program, device, inputs, options);
  ASSERT_TRUE(tuning) << tuning.error().str();
  EXPECT_GE(tuning->refused, 1u) << "of " << tuning->tried;
  EXPECT_LE(tuning->refused, tuning->tried);
  EXPECT_TRUE(tuning->choices.empty() && !tuning->remembered) << "chunks meet infinities of both signs";
}

TEST_F(Tune, WithoutTimeOrWorkNothingChanges) {
  TuneOptions options;
  options.seconds = 0;
  options.compile = how();
  const auto none = tune(sums(), device, numbers(), options);
  ASSERT_TRUE(none) << none.error().str();
  EXPECT_EQ(none->tried, 0u);
  EXPECT_FALSE(none->complete);
  EXPECT_TRUE(none->choices.empty() && none->computes.empty() && !none->remembered);
  EXPECT_GT(none->seconds_before, 0);
  EXPECT_EQ(none->seconds_before, none->seconds_after);
  const Program empty = read("def f(x: f32[0]) = cumsum(x)");
  options.seconds = 20;
  const auto nothing = tune(empty, device, std::vector{HostArray(f32({0}))}, options);
  ASSERT_TRUE(nothing) << nothing.error().str();
  EXPECT_TRUE(nothing->complete);
  EXPECT_TRUE(nothing->choices.empty());
  EXPECT_TRUE(device->tuned().empty());
  const auto wrong = tune(sums(), device, std::vector{HostArray(f32({3}))}, options);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "SG0501") << wrong.error().str();
}

// What an earlier search has left, and this one does not find again, gives way.
TEST_F(Tune, AnAnswerThatIsNotFoundAgainIsReplaced) {
  const std::string facts = scan(), usual = compiled({});
  ASSERT_TRUE(device->remember({{facts, loop}}));
  TuneOptions options;
  options.seconds = 0;
  options.compile = how();
  ASSERT_TRUE(tune(sums(), device, numbers(), options));
  EXPECT_EQ(device->tuned(), (Choices{{facts, usual}}));
  ASSERT_TRUE(device->remember({{facts, loop}}));
  options.remember = false;
  ASSERT_TRUE(tune(sums(), device, numbers(), options));
  EXPECT_EQ(device->tuned(), (Choices{{facts, loop}})) << "as it was told";
}

}  // namespace tune_test
}  // namespace spirograd::vk::testing
