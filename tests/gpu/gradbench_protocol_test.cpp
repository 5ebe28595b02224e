// What goes over GradBench's protocol beside numbers: a line for a line, errors that name what is wrong, and no crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tools/gradbench/protocol.h"

namespace spirograd::gradbench {
namespace gradbench_protocol_test {

using nlohmann::json;

class Protocol : public testing::Test {
 protected:
  json ask(const std::string& line) {
    const std::string out = answer(line, engine_);
    EXPECT_EQ(out.find('\n'), std::string::npos) << "one line: " << out;
    return json::parse(out);
  }
  json evaluate(const std::string& module, const std::string& function, const json& input) {
    return ask(json({{"id", 7}, {"kind", "evaluate"}, {"module", module}, {"function", function}, {"input", input}}).dump());
  }

  Engine engine_{{"", SPIROGRAD_TEST_CACHE, "", std::nullopt}};
};

TEST_F(Protocol, StartNamesToolAndDevice) {
  const json a = ask(R"({"id": 0, "kind": "start", "eval": "hello", "config": {"d": [2]}})");
  EXPECT_EQ(a["id"], 0);
  EXPECT_EQ(a["tool"], "spirograd");
  EXPECT_EQ(a["config"]["device"], engine_.device().name);
  EXPECT_EQ(a["config"]["element"], engine_.device().target.float64 ? "f64" : "f32");
}

TEST_F(Protocol, DefineKnowsAllTwelve) {
  for (const Evaluation& e : evaluations()) {
    const json a = ask(json({{"id", 1}, {"kind", "define"}, {"module", e.name}}).dump());
    EXPECT_EQ(a, json({{"id", 1}, {"success", true}}));
  }
  EXPECT_EQ(evaluations().size(), 12u);
}

TEST_F(Protocol, AnalysisIsAcknowledged) {
  EXPECT_EQ(ask(R"({"id": 9, "kind": "analysis", "of": 8, "valid": false, "error": "no"})"), json({{"id", 9}}));
}

TEST_F(Protocol, CompilesOnceForAShapeAndRunsAsOftenAsAsked) {
  const auto count = [](const json& answer, const char* name) {
    return std::count_if(answer["timings"].begin(), answer["timings"].end(),
                         [&](const json& t) { return t["name"] == name; });
  };
  const json three = {{"x", {1, 2, 3}}, {"min_runs", 4}, {"min_seconds", 0}};
  const json first = evaluate("lse", "primal", three);
  EXPECT_EQ(count(first, "compile"), 1);
  EXPECT_EQ(count(first, "first"), 1);
  EXPECT_EQ(count(first, "evaluate"), 4);
  for (const json& t : first["timings"]) EXPECT_GT(t["nanoseconds"], 0);
  const json again = evaluate("lse", "primal", {{"x", {1, 2, 4}}});
  EXPECT_EQ(count(again, "compile"), 0);
  EXPECT_EQ(count(again, "evaluate"), 1);
  EXPECT_GT(again["output"], first["output"]) << "of the new numbers";
  EXPECT_EQ(count(evaluate("lse", "primal", {{"x", {1, 2}}}), "compile"), 1);
  EXPECT_EQ(count(evaluate("lse", "primal", three), "compile"), 0);
  EXPECT_GT(count(evaluate("lse", "primal", {{"x", {1}}, {"min_seconds", 0.02}}), "evaluate"), 1);
}

struct Case {
  const char* name;
  std::string line;
  std::vector<std::string> fragments;  // all stand in the error
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class BadLine : public Protocol, public testing::WithParamInterface<Case> {};

TEST_P(BadLine, IsAnsweredByAnErrorThatNamesIt) {
  const json a = ask(GetParam().line);
  ASSERT_TRUE(a.contains("id"));
  EXPECT_EQ(a["success"], false);
  EXPECT_FALSE(a.contains("output"));
  for (const std::string& fragment : GetParam().fragments)
    EXPECT_NE(a["error"].get<std::string>().find(fragment), std::string::npos) << a["error"];
  EXPECT_EQ(evaluate("hello", "square", 3)["output"], 9.0) << "the next one is answered as ever";
}

std::string asked(const std::string& module, const std::string& function, const std::string& input) {
  return R"({"id": 1, "kind": "evaluate", "module": ")" + module + R"(", "function": ")" + function + R"(", "input": )" +
         input + "}";
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Protocol, BadLine, testing::Values(
    Case{"Empty", "", {"not JSON"}},
    Case{"Words", "hello there", {"not JSON"}},
    Case{"HalfALine", R"({"id": 1, "kind": "eval)", {"not JSON"}},
    Case{"TwoObjects", R"({"id": 1} {"id": 2})", {"not JSON"}},
    Case{"NoUtf8", "{\"id\": 1, \"kind\": \"\xff\xfe\"}", {"not JSON"}},
    Case{"NumberTooLarge", R"({"id": 1, "kind": "evaluate", "input": 1e999})", {"not JSON"}},
    Case{"List", "[1, 2]", {"array", "not an object"}},
    Case{"NoId", R"({"kind": "start"})", {"'id'"}},
    Case{"WordAsId", R"({"id": "one", "kind": "start"})", {"'id'"}},
    Case{"NoKind", R"({"id": 1})", {"'kind'"}},
    Case{"NumberAsKind", R"({"id": 1, "kind": 3})", {"'kind'", "number"}},
    Case{"OtherKind", R"({"id": 1, "kind": "stop"})", {"'stop'", "evaluate"}},
    Case{"DefineNothing", R"({"id": 1, "kind": "define"})", {"'module'"}},
    Case{"DefineOther", R"({"id": 1, "kind": "define", "module": "fluid"})", {"'fluid'", "kmeans"}},
    Case{"EvaluateOther", asked("fluid", "primal", "{}"), {"'fluid'", "kmeans"}},
    Case{"OtherFunction", asked("lse", "hessian", "{}"), {"'lse'", "'hessian'", "gradient"}},
    Case{"NoInput", R"({"id": 1, "kind": "evaluate", "module": "lse", "function": "primal"})", {"'input'"}},
    Case{"InputIsANumber", asked("lse", "primal", "3"), {"the input is 3"}},
    Case{"FieldMissing", asked("kmeans", "cost", R"({"points": [[1]]})"), {"'centroids' is missing"}},
    Case{"NestedFieldMissing", asked("ht", "objective", R"({"theta": [1], "data": {"model": {}}})"), {"'data.model.parents' is missing"}},
    Case{"FieldWithoutParts", asked("ht", "objective", R"({"theta": [1], "data": 3})"), {"'data' is 3"}},
    Case{"WordInAList", asked("lse", "primal", R"({"x": [1, "two"]})"), {"'x'", "string", "number"}},
    Case{"ListInAList", asked("lse", "primal", R"({"x": [1, [2]]})"), {"'x'", "array", "number"}},
    Case{"NumberForAList", asked("lse", "primal", R"({"x": 1})"), {"'x'", "1 deep"}},
    Case{"Null", asked("lse", "primal", R"({"x": null})"), {"'x'", "null"}},
    Case{"Ragged", asked("kmeans", "cost", R"({"points": [[1, 2], [3]], "centroids": [[1, 2]]})"), {"'points'", "2", "1"}},
    Case{"ShapesThatDoNotFit", asked("kmeans", "cost", R"({"points": [[1, 2]], "centroids": [[1, 2, 3]]})"), {"'D'", "2", "3"}},
    Case{"SizeThatDoesNotFit", asked("det", "primal", R"({"A": [1, 2, 3], "ell": 2})"), {"'A'", "f", "[3]", "[4]"}},
    Case{"SizeIsNoNumber", asked("llsq", "primal", R"({"x": [1], "n": "3"})"), {"'n'", "string"}},
    Case{"SizeIsNotWhole", asked("llsq", "primal", R"({"x": [1], "n": 2.5})"), {"'n' is 2.5"}},
    Case{"SizeIsNegative", asked("ode", "primal", R"({"x": [1], "s": -1})"), {"'s' is -1"}},
    Case{"SizeIsHuge", asked("ba", "objective", R"({"n": 1, "m": 1, "p": 2000000000, "cam": [1], "x": [1], "w": 1, "feat": [1, 1]})"), {"2000000000", "2^28"}},
    Case{"MatrixIsHuge", asked("det", "primal", R"({"A": [1], "ell": 25})"), {"'ell' is 25", "24"}},
    Case{"RunsAreNegative", asked("lse", "primal", R"({"x": [1], "min_runs": -1})"), {"'min_runs' is -1"}},
    Case{"SecondsAreNegative", asked("lse", "primal", R"({"x": [1], "min_seconds": -1})"), {"'min_seconds' is -1"}},
    Case{"CorrespondenceIsNotWhole", asked("ht", "objective",
        R"({"theta": [1], "data": {"model": {"parents": [0.5]}}})"), {"'data.model.parents' is 0.5"}},
    Case{"FlightIsTooLong", asked("particle", "rr", R"({"w": -3})"), {"'out'", "NaN"}},
    Case{"NothingToReduce", asked("lse", "primal", R"({"x": []})"), {"'out'", "infinite"}}),
    [](const auto& c) { return c.param.name; });
// clang-format on

TEST(ProtocolOptions, AFolderOfProgramsIsRead) {
  const std::string folder = testing::TempDir() + "gradbench_programs_" + std::to_string(std::random_device()());
  const std::string define = R"({"id": 1, "kind": "define", "module": "hello"})";
  Engine engine({"", SPIROGRAD_TEST_CACHE, folder, std::nullopt});
  EXPECT_NE(json::parse(answer(define, engine))["error"].get<std::string>().find("hello.sg"), std::string::npos);
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/hello.sg") << "def square(x: T) -> T = x * x * x\n";
  EXPECT_EQ(json::parse(answer(define, engine))["success"], true);
  EXPECT_EQ(json::parse(answer(asked("hello", "square", "2"), engine))["output"], 8.0);
  const json without = json::parse(answer(asked("hello", "double", "2"), engine));
  EXPECT_NE(without["error"].get<std::string>().find("'double'"), std::string::npos) << without;
  std::filesystem::remove_all(folder);
}

TEST(ProtocolOptions, ElementsMayBeF32) {
  Engine engine({"", SPIROGRAD_TEST_CACHE, "", DType::F32});
  const json a = json::parse(answer(asked("lse", "primal", R"({"x": [0.1, 0.2, 0.3]})"), engine));
  EXPECT_NEAR(a["output"], 1.3019428, 1e-5);
  EXPECT_NE(a["note"].get<std::string>().find("f32"), std::string::npos);
}

TEST(ProtocolOptions, WithoutADeviceEachLineIsStillAnswered) {
  Engine engine({"no such device", "", "", std::nullopt});
  const json start = json::parse(answer(R"({"id": 0, "kind": "start"})", engine));
  EXPECT_EQ(start, json({{"id", 0}, {"tool", "spirograd"}}));
  const json define = json::parse(answer(R"({"id": 1, "kind": "define", "module": "hello"})", engine));
  EXPECT_EQ(define["success"], false);
  EXPECT_NE(define["error"].get<std::string>().find("no such device"), std::string::npos);
}

}  // namespace gradbench_protocol_test
}  // namespace spirograd::gradbench
