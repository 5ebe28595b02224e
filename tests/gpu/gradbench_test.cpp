// The evaluations of GradBench over its protocol, small: every function of each gives what plain loops in double give,
// derivatives what these give over complex numbers.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "support/gradbench_references.h"
#include "tools/gradbench/protocol.h"

namespace spirograd::gradbench_test {
namespace gradbench_test {

using nlohmann::json;

void collect(const json& j, Reals& out) {
  if (j.is_number()) return out.push_back(j.get<double>());
  for (const json& part : j) collect(part, out);
}

class GradBench : public testing::Test {
 protected:
  /// The elements of the output in their order, objects by the names of their members. The suite's measure of error is at
  /// most `tolerance` in f64, and in f32 the suite's own.
  void expect(const std::string& module, const std::string& function, const json& input, const Reals& want,
              double tolerance = 1e-11) {
    const json output = evaluate(module, function, input);
    Reals have;
    collect(output, have);
    ASSERT_EQ(have.size(), want.size()) << module << "::" << function;
    const double limit = engine_.element() == DType::F64 ? tolerance : 1e-4;
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_LE(std::abs(have[i] - want[i]) / std::max(1.0, std::abs(have[i]) + std::abs(want[i])), limit)
          << module << "::" << function << "[" << i << "]: " << have[i] << " for " << want[i];
  }

  json evaluate(const std::string& module, const std::string& function, const json& input) {
    const json message = {{"id", ++id_}, {"kind", "evaluate"}, {"module", module}, {"function", function}, {"input", input}};
    const json answer = json::parse(gradbench::answer(message.dump(), engine_));
    EXPECT_EQ(answer["id"], id_);
    EXPECT_TRUE(answer["success"]) << answer.value("error", "");
    EXPECT_EQ(answer.contains("note"), engine_.element() == DType::F32) << "f32 is told";
    return answer.value("output", json());
  }

  Reals numbers(size_t n, double least = 0, double most = 1) {
    std::uniform_real_distribution<double> draw(least, most);
    Reals out;
    for (size_t i = 0; i < n; ++i) out.push_back(static_cast<float>(draw(random_)));  // so that f32 has it too
    return out;
  }
  RealMatrix numbers(size_t n, size_t m, double least, double most) {
    RealMatrix out;
    for (size_t i = 0; i < n; ++i) out.push_back(numbers(m, least, most));
    return out;
  }

  void expect_mixture(size_t n, size_t k, size_t d, double gamma, double m);
  void expect_hand(bool within, bool is_mirrored);

  std::mt19937_64 random_{31337};
  gradbench::Engine engine_{{"", SPIROGRAD_TEST_CACHE, "", std::nullopt}};
  int64_t id_ = 0;
};

Reals joined(std::initializer_list<Reals> parts) {
  Reals out;
  for (const Reals& p : parts) out.insert(out.end(), p.begin(), p.end());
  return out;
}

TEST_F(GradBench, HelloIsASquareAndItsDerivative) {
  expect("hello", "square", 3, {9});
  expect("hello", "double", 64.5, {129});
}

TEST_F(GradBench, LseIsTheLogOfASum) {
  for (size_t n : {1, 7, 200}) {
    const Reals x = numbers(n);
    expect("lse", "primal", {{"x", x}}, {log_sum_exp(x)});
    expect("lse", "gradient", {{"x", x}}, gradient(log_sum_exp<Complex>, x));
  }
  const Reals far = {1e4, 1e4 + 1};
  expect("lse", "primal", {{"x", far}}, {1e4 + log_sum_exp<double>({0, 1})});
}

TEST_F(GradBench, LlsqIsHowFarAPolynomialIsFromTheSign) {
  for (int n : {2, 9, 100}) {
    const Reals x = numbers(6);
    expect("llsq", "primal", {{"x", x}, {"n", n}}, {least_squares(x, n)});
    expect("llsq", "gradient", {{"x", x}, {"n", n}},
           gradient([&](const Vector<Complex>& z) { return least_squares(z, n); }, x));
  }
}

TEST_F(GradBench, OdeIsSolvedByRungeAndKutta) {
  for (int steps : {1, 2, 11}) {
    const Reals x = numbers(9);
    expect("ode", "primal", {{"x", x}, {"s", steps}}, runge_kutta(x, steps));
    expect("ode", "gradient", {{"x", x}, {"s", steps}},
           gradient([&](const Vector<Complex>& z) { return runge_kutta(z, steps).back(); }, x));
  }
}

TEST_F(GradBench, DetIsWhatPlainExpansionGives) {
  for (size_t n : {1, 2, 5}) {
    const Reals a = numbers(n * n, -1, 1);
    expect("det", "primal", {{"A", a}, {"ell", n}}, {determinant(a, n)});
    expect("det", "gradient", {{"A", a}, {"ell", n}},
           gradient([&](const Vector<Complex>& z) { return determinant(z, n); }, a));
  }
}

TEST_F(GradBench, KmeansStepsGoToTheMeans) {
  const RealMatrix points = numbers(60, 3, 0, 1);
  RealMatrix centroids(points.end() - 5, points.end());
  for (Reals& c : centroids) c[0] += 0.03125;
  const Clusters want = clusters(points, centroids);
  const json input = {{"points", points}, {"centroids", centroids}};
  expect("kmeans", "cost", input, {want.cost});
  expect("kmeans", "dir", input, flat(want.step));
}

void GradBench::expect_mixture(size_t n, size_t k, size_t d, double gamma, double m) {
  const size_t below = d * (d - 1) / 2;
  const Reals alpha = numbers(k, -1, 1);
  const RealMatrix mu = numbers(k, d, 0, 1), q = numbers(k, d, -1, 1), l = numbers(k, below, -1, 1),
                   x = numbers(n, d, -1, 1);
  const json input = {{"d", d}, {"k", k}, {"n", n}, {"alpha", alpha}, {"mu", mu},      {"q", q},
                      {"l", l}, {"x", x}, {"m", m}, {"gamma", gamma}, {"min_runs", 2}, {"min_seconds", 0}};
  const Reals at = joined({alpha, flat(mu), flat(q), flat(l)});
  expect("gmm", "objective", input, {mixture(at, x, k, gamma, m)});
  const Reals g = gradient([&](const Vector<Complex>& z) { return mixture(z, x, k, gamma, m); }, at);
  const auto mu_at = g.begin() + static_cast<ptrdiff_t>(k), q_at = mu_at + static_cast<ptrdiff_t>(k * d),
             l_at = q_at + static_cast<ptrdiff_t>(k * d);
  expect("gmm", "jacobian", input, joined({{g.begin(), mu_at}, {l_at, g.end()}, {mu_at, q_at}, {q_at, l_at}}));
}

TEST_F(GradBench, GmmHasThePriorOfTheSuite) {
  expect_mixture(12, 3, 2, 1, 0);
  expect_mixture(7, 2, 4, 1.5, 2);
}
TEST_F(GradBench, GmmOfOneDimensionHasNothingBelowTheDiagonal) { expect_mixture(5, 2, 1, 0.5, 1); }

TEST_F(GradBench, LstmIsTheLossOfThatNetwork) {
  for (size_t layers : {1, 3}) {
    const RealMatrix main = numbers(2 * layers, 4 * 5, 0, 1), extra = numbers(3, 5, 0, 1),
                     state = numbers(2 * layers, 5, 0, 1);
    RealMatrix sequence = numbers(7, 5, 0, 1);
    for (Reals& row : sequence)
      for (double& bit : row) bit = bit < 0.5 ? 0 : 1;
    const json input = {{"main_params", main}, {"extra_params", extra}, {"state", state}, {"sequence", sequence}};
    const Reals at = joined({flat(main), flat(extra)});
    expect("lstm", "objective", input, {recurrent_loss(at, state, sequence)});
    expect("lstm", "jacobian", input,
           gradient([&](const Vector<Complex>& z) { return recurrent_loss(z, state, sequence); }, at));
  }
}

TEST_F(GradBench, ParticleEndsWhereThatDescentEndsInAllModes) {
  for (double start : {0.0, 0.25}) {
    const Reals w = descent(
        [](const Reals& at) { return particle_miss(at[0]); },
        [](const Reals& at) { return gradient([](const Vector<Complex>& z) { return particle_miss(z[0]); }, at); }, {start});
    for (const char* modes : {"ff", "fr", "rf", "rr"}) expect("particle", modes, {{"w", start}}, w);
  }
}

TEST_F(GradBench, SaddleEndsWhereThoseDescentsEndInAllModes) {
  for (const Reals& start : {Reals{1, 1}, Reals{0.5, -0.25}}) {
    const auto square = [](const Reals& v) { return v[0] * v[0] + v[1] * v[1]; };
    const auto twice = [](const Reals& v) { return Reals{2 * v[0], 2 * v[1]}; };
    const auto worst = [&](const Reals& x) {
      return descent([&](const Reals& y) { return square(y) - square(x); }, twice, start);
    };
    const Reals x = descent([&](const Reals& at) { return square(at) - square(worst(at)); }, twice, start);
    for (const char* modes : {"ff", "fr", "rf", "rr"}) expect("saddle", modes, {{"start", start}}, joined({x, worst(x)}));
  }
}

TEST_F(GradBench, BaGivesOneObservationAndWhereItsRowsAre) {
  const Reals camera = {0.25, -0.5, 0.125, 0.1, 0.2, -0.3, 4, 0.5, -0.25, 0.0625, 0.03125}, point = {0.5, 0.25, 2.5},
              feature = {1, 2};
  const double weight = 1.5;
  const json input = {{"n", 2}, {"m", 3}, {"p", 12}, {"cam", camera}, {"x", point}, {"w", weight}, {"feat", feature}};
  const Reals at = joined({camera, point, {weight}}), error = reprojection(at, feature);
  const json objective = evaluate("ba", "objective", input);
  EXPECT_EQ(objective["reproj_error"]["repeated"], 12);
  EXPECT_EQ(objective["w_err"]["repeated"], 12);
  expect("ba", "objective", input, {error[0], error[1], 12, 1 - weight * weight, 12});

  // Rows of a sparse matrix with 11 * 2 + 3 * 3 + 12 columns: 24 rows of 15 elements, then 12 of one.
  Reals rows, columns;
  for (int i = 0; i < 30; ++i) rows.push_back(i <= 24 ? 15 * i : 360 + (i - 24));
  rows.push_back(372);
  for (int row = 0; row < 2; ++row) {
    for (int c = 0; c < 11; ++c) columns.push_back(c);
    for (int c = 0; c < 3; ++c) columns.push_back(22 + c);
    columns.push_back(31);
  }
  columns.push_back(42);
  const RealMatrix by_all = slopes([&](const Vector<Complex>& z) { return reprojection(z, feature); }, at);
  expect("ba", "jacobian", input, joined({columns, rows, flat(by_all), {-2 * weight}}));
}

TEST_F(GradBench, BaWithoutRotationIsTheLimit) {
  const Reals camera = {0, 0, 0, 0.1, 0.2, -0.3, 4, 0.5, -0.25, 0.0625, 0.03125}, feature = {1, 2};
  Reals nearly = joined({camera, {0.5, 0.25, 2.5}, {1}});
  nearly[0] = 1e-12;
  const Reals want = reprojection(nearly, feature);
  expect("ba", "objective",
         {{"n", 1}, {"m", 1}, {"p", 1}, {"cam", camera}, {"x", {0.5, 0.25, 2.5}}, {"w", 1}, {"feat", feature}},
         {want[0], want[1], 1, 0, 1});
}

void GradBench::expect_hand(bool within, bool is_mirrored) {
  constexpr size_t kBones = 22, kVertices = 9, kTriangles = 5, kPoints = 4;
  Hand hand;
  hand.is_mirrored = is_mirrored;
  for (int i = 0; i < static_cast<int>(kBones); ++i) hand.parents.push_back(i < 2 || (i - 2) % 4 != 0 ? i - 1 : 1);
  const auto transforms = [&] {
    Matrix<Reals> out;
    for (size_t i = 0; i < kBones; ++i) {
      out.push_back(numbers(4, 4, -0.5, 0.5));
      out.back()[3] = {0, 0, 0, 1};
    }
    return out;
  };
  hand.base_relatives = transforms();
  hand.inverse_base_absolutes = transforms();
  hand.base_positions = numbers(kVertices, 4, -1, 1);
  for (Reals& p : hand.base_positions) p[3] = 1;
  hand.weights = numbers(kVertices, kBones, 0, 0.25);
  for (size_t i = 0; i < kTriangles; ++i)
    hand.triangles.push_back({static_cast<int>(i), static_cast<int>(i + 3), static_cast<int>(i + 4)});
  const Reals theta = numbers(26, -1, 1);
  const RealMatrix points = numbers(kPoints, 3, -1, 1), us = within ? numbers(kPoints, 2, 0, 0.5) : RealMatrix{};
  const Vector<int> correspondences = {4, 0, 3, 3};
  const json model = {{"bone_count", kBones},
                      {"parents", hand.parents},
                      {"base_relatives", hand.base_relatives},
                      {"inverse_base_absolutes", hand.inverse_base_absolutes},
                      {"base_positions", hand.base_positions},
                      {"weights", hand.weights},
                      {"triangles", hand.triangles},
                      {"is_mirrored", is_mirrored}};
  const json input = {
      {"theta", theta}, {"us", us}, {"data", {{"model", model}, {"correspondences", correspondences}, {"points", points}}}};
  expect("ht", "objective", input, hand_errors(theta, flat(us), hand, correspondences, points));
  const Reals at = joined({theta, flat(us)});
  const RealMatrix all = slopes(
      [&](const Vector<Complex>& z) {
        return hand_errors<Complex>({z.begin(), z.begin() + 26}, {z.begin() + 26, z.end()}, hand, correspondences, points);
      },
      at);
  Reals want;
  for (size_t row = 0; row < all.size(); ++row) {
    const auto own = all[row].begin() + static_cast<ptrdiff_t>(26 + row / 3 * 2);  // those of its own point alone are stored
    if (within) want.insert(want.end(), own, own + 2);
    want.insert(want.end(), all[row].begin(), all[row].begin() + 26);
  }
  expect("ht", "jacobian", input, want);
}

TEST_F(GradBench, HtComparesPointsWithVertices) { expect_hand(false, false); }
TEST_F(GradBench, HtComparesPointsWithPointsOfTriangles) { expect_hand(true, false); }
TEST_F(GradBench, HtHasMirroredHands) { expect_hand(false, true); }

}  // namespace gradbench_test
}  // namespace spirograd::gradbench_test
