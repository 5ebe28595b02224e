// The programs of the gallery, in small, by the interpreter: each does what its page says.
// tests/gpu/device_gallery_test.cpp has devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "frontend/ir/eval.h"
#include "spirograd/text.h"

namespace spirograd {
namespace gallery_test {

const std::string kFolder = SPIROGRAD_SOURCE_DIR "/samples/gallery/";

Program sample(const std::string& name, const text::ShapeVariables& sizes) {
  const std::string file = kFolder + name + ".sg";
  const text::Module module = text::parse(text::read_file(file).value(), file).value();
  return text::instantiate(module, "main", sizes).value();
}

/// The results of a program whose only input, if there is one, is the seed 1.
std::vector<double> result_of(const Program& p, const std::string& name) {
  const std::vector<std::vector<double>> seed(p.params.size(), {1});
  const std::vector<ir::Array> all = ir::evaluate(p, seed);
  for (size_t j = 0; j < all.size(); ++j)
    if (p.results[j].name == name) return all[j].data;
  ADD_FAILURE() << "there is no result " << name;
  return {0};
}

struct Fit {
  const char* name;
  text::ShapeVariables sizes;
  double at_most;  // the last loss, as a share of the first
};

TEST(Gallery, LossesFall) {
  const Fit fits[] = {{"splats", {{"SIZE", 12}, {"SPLATS", 6}, {"STEPS", 20}}, 0.5},
                      {"distance", {{"SIZE", 4}, {"POINTS", 24}, {"STEPS", 40}}, 0.2},
                      {"cloth", {{"KNOTS", 5}, {"TIMES", 8}, {"STEPS", 15}}, 0.2},
                      {"deblur", {{"SIZE", 20}, {"STEPS", 20}}, 0.3},
                      {"raster", {{"SIZE", 12}, {"STEPS", 40}}, 0.3},
                      {"smoke", {{"SIZE", 10}, {"TIMES", 4}, {"STEPS", 20}}, 0.4},
                      {"field", {{"SIZE", 4}, {"BATCH", 32}, {"ROWS", 64}, {"STEPS", 30}}, 0.8},
                      {"digits", {{"BATCH", 16}, {"STEPS", 8}, {"SHOWN", 10}}, 0.95},
                      {"crf", {{"ROWS", 10}, {"T", 30}, {"STEPS", 30}}, 0.4}};
  for (const Fit& f : fits) {
    const std::vector<double> history = result_of(sample(f.name, f.sizes), "history");
    EXPECT_LT(history.back(), f.at_most * history.front()) << f.name;
    EXPECT_GT(history.back(), 0) << f.name;
  }
}

TEST(Gallery, NewtonsMethodDoublesItsDigits) {
  const std::vector<double> slope = result_of(sample("newton", {{"N", 40}, {"STEPS", 7}, {"SIZE", 4}}), "newton");
  EXPECT_GT(slope[0], 0.1);
  EXPECT_LT(slope[6], 1e-6);
  EXPECT_LT(slope[6] * 100, slope[5]);
}

// What flows through a row flows through all of them: exactly, since transforms have no error of differences.
TEST(Gallery, TheWindPressesNoAirTogether) {
  const std::vector<double> wind = result_of(sample("smoke", {{"SIZE", 10}, {"TIMES", 4}, {"STEPS", 5}}), "wind");
  std::vector<double> down(10), right(10), size(10);
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 10; ++j) {
      down[i] += wind[i * 10 + j];
      right[j] += wind[100 + i * 10 + j];
      size[i] += std::abs(wind[i * 10 + j]);
    }
  for (int i = 0; i < 10; ++i) {
    EXPECT_GT(size[i], 0.01);
    EXPECT_NEAR(down[i], down[0], 1e-9) << i;
    EXPECT_NEAR(right[i], right[0], 1e-9) << i;
  }
}

// The gradient of log Z is the probability of each state: the same from all 2^5 ways.
TEST(Gallery, MarginalsAreThoseOfAllWays) {
  const std::string file = kFolder + "crf.sg";
  const text::Module module = text::parse(text::read_file(file).value(), file).value();
  const Program p = text::instantiate(module, "loaded", {{"T", 5}}).value();
  const std::vector<double> roll = {0.1, 0.2, 0.3, -0.4, 0.5, -0.9, -0.3, 0.4, 0.1, 0.2, -0.6, 0.8};
  const std::vector<double> change = {1.2, -0.7, -0.9, 1.1}, rolls = {5, 5, 0, 3, 5};
  const std::vector<double> have = ir::evaluate(p, std::vector<std::vector<double>>{roll, change, rolls})[0].data;
  std::vector<double> want(5);
  double total = 0;
  for (int way = 0; way < 32; ++way) {
    double score = 0;
    for (int t = 0; t < 5; ++t) {
      const int die = way >> t & 1;
      score += roll[die * 6 + static_cast<int>(rolls[t])];
      if (t > 0) score += change[(way >> (t - 1) & 1) * 2 + die];
    }
    total += std::exp(score);
    for (int t = 0; t < 5; ++t)
      if (way >> t & 1) want[t] += std::exp(score);
  }
  for (int t = 0; t < 5; ++t) EXPECT_NEAR(have[t], want[t] / total, 1e-12);
}

TEST(Gallery, EverySampleIsShortAndHasItsPicture) {
  const std::string page = text::read_file(SPIROGRAD_SOURCE_DIR "/docs/gallery.md").value();
  int samples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".sg") continue;
    ++samples;
    const std::string source = text::read_file(entry.path().string()).value();
    EXPECT_LE(std::count(source.begin(), source.end(), '\n'), 100) << entry.path();
    EXPECT_NE(page.find("(pictures/gallery/" + entry.path().stem().string() + ".png)"), std::string::npos) << entry.path();
  }
  EXPECT_EQ(samples, 10);
}

}  // namespace gallery_test
}  // namespace spirograd
