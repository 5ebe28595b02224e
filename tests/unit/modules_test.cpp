// Constants outside of definitions, and files that import files: what names mean, and one clear error per mistake.
#include <gtest/gtest.h>

#include <map>

#include "frontend/text/imports.h"
#include "spirograd/check.h"
#include "spirograd/grad.h"
#include "support/text_programs.h"

namespace spirograd {
namespace modules_test {

using test::run;
using test::Values;

using Files = std::map<std::string, std::string>;

text::FileLoader held(const Files& files) {
  return [files](const std::string& path) -> Result<std::string> {
    if (const auto it = files.find(path); it != files.end()) return it->second;
    return Error("SG0504", "there is no such file");
  };
}

Program from(const Files& files, const text::ShapeVariables& shapes = {}) {
  return text::instantiate(text::parse(files.at("main.sg"), "main.sg", held(files)).value(), "", shapes).value();
}

std::string failure(const Files& files, const text::ShapeVariables& shapes = {}) {
  try {
    from(files, shapes);
  } catch (const Error& e) {
    return e.str();
  }
  return "no error";
}

void expect_failure(const Files& files, const std::vector<std::string>& parts, const text::ShapeVariables& shapes = {}) {
  const std::string shown = failure(files, shapes);
  for (const std::string& part : parts) EXPECT_NE(shown.find(part), std::string::npos) << part << "\n" << shown;
}

// ---- constants

TEST(Constants, AreOpenInTheirElementTypeAsLiteralsAre) {
  const std::string let = "let tenth = 1 / 10.0\nlet tau = 2 * pi\n";
  EXPECT_EQ(run(let + "def f(x: f64) = tenth * x", {{1}}), (Values{0.1}));
  EXPECT_EQ(run(let + "def f(x: f32) = tenth * x", {{1}}), (Values{static_cast<double>(0.1f)}));
  EXPECT_EQ(run(let + "def f(x: T) -> T = tau * x\ndef g(x: f64) = f(x)", {{1}}), (Values{6.283185307179586}));
  EXPECT_EQ(run("let n = 3\ndef f(x: i32, y: f32) = (n * x, n * y)", {{2}, {0.5}}), (Values{6, 1.5}));
}

TEST(Constants, MayBeArraysStructsAndWhatIsComputedOfThem) {
  EXPECT_EQ(run("let a = [0.1, 0.2]\nlet s = sqrt(sum(a * a))\ndef f(x: f64[2]) = (a * x, s)", {{1, 2}}).at(1), 0.4);
  EXPECT_EQ(run("let two = 2u\nlet deep = two * two\ndef f(x: u32) = x + deep", {{1}}), (Values{5}));
  EXPECT_EQ(run("struct P { x: f32, y: f32 }\nlet start = P(1, y=2.5)\nlet pair = (1, 2)\n"
                "def f(x: f32) = x * start.y + pair[1]",
                {{2}}),
            (Values{7}));
  EXPECT_EQ(run("let yes = 2 > 1\ndef f(x: f32[3]) = if yes then x[0:2] else x", {{1, 2, 3}}), (Values{1, 2}));
  EXPECT_EQ(run("def g(x: T) -> T = x * x\nlet four = g(2)\ndef f(x: f64) = four * x", {{0.1}}), (Values{0.4}));
}

TEST(Constants, AreSizesInTypesAndWhereverWholeNumbersStand) {
  const Program p =
      test::program("let n = 3\nlet m = n + 1\ndef f(x: f32[n,m]) -> f32[m] = sum(for i: n => x[i], axis=0) + zeros(m)");
  EXPECT_EQ(to_string(p.params[0].type), "f32[3,4]");
  EXPECT_EQ(p.results[0].type, f32({4}));
  EXPECT_EQ(test::program("let h = 2\nstruct N[h] { w: f32[h] }\ndef f(n: N[5]) = sum(n.w)").params[0].type, f32({5}))
      << "sizes of a struct are its own";
  EXPECT_TRUE(text::has_fixed_types(text::parse("let n = 3\ndef f(x: f32[n]) = x", "t.sg").value()));
  EXPECT_FALSE(text::has_fixed_types(text::parse("let n = 3\ndef f(x: f32[m]) = x", "t.sg").value()));
}

TEST(Constants, GiveWayToParametersAndLocalNames) {
  EXPECT_EQ(run("let a = 7\ndef f(a: f32) = a", {{1}}), (Values{1}));
  EXPECT_EQ(run("let a = 7\ndef f(x: f32) = { let a = 2\n a * x }", {{1}}), (Values{2}));
  EXPECT_EQ(run("let a = 7\ndef f(x: f32[2]) = (for a: 2 => x[a]) + a", {{1, 2}}), (Values{8, 9}));
  EXPECT_EQ(run("let a = 7\ndef g(x: f32) = x + a\ndef f(a: f32) = g(a)", {{1}}), (Values{8})) << "not those of a caller";
  EXPECT_EQ(run("let norm = 2.0\ndef f(x: f32[2]) = norm * norm(x)", {{3, 4}}), (Values{10}));
}

TEST(Constants, CostNothingWhereNobodyReadsThem) {
  const std::string def = "def f(x: f32[3]) = x * 2";
  const Program with = test::program("let table = iota(1000) * 3\nlet wrong = sum(3, 4)\n" + def),
                without = test::program(def);
  EXPECT_EQ(with.graph->size(), without.graph->size());
  EXPECT_EQ(text::print(with), text::print(without));
}

TEST(Constants, ReadOneAnotherToABoundedDepth) {
  const auto chain = [](int n) {
    std::string text = "let a0 = 1\n";
    for (int j = 1; j < n; ++j) text += "let a" + std::to_string(j) + " = a" + std::to_string(j - 1) + " + 1\n";
    return text + "def f(x: f32) = x + a" + std::to_string(n - 1);
  };
  EXPECT_EQ(run(chain(200), {{1}}), (Values{201}));
  expect_failure({{"main.sg", chain(5000)}}, {"SG0406", "nested more than"});
}

TEST(Constants, ArePassedByInDerivatives) {
  const Program p = test::program("let k = [1.5, 2.0]\ndef f(x: f64[2]) -> f64 = sum(k * x * x)");
  EXPECT_EQ(run(grad(p).value(), {{1, 2}}), (Values{3, 8}));
  const std::vector<HostArray> at = {HostArray::of<double>({1, 2})};
  for (const DerivativeCheck& c : check_derivatives(p, at).value()) EXPECT_TRUE(c.ok) << c.what;
  EXPECT_EQ(text::print(test::program(text::print(p))), text::print(p));
}

TEST(Constants, HaveOneClearErrorForEachMistake) {
  const auto wrong = [](const std::string& text, const std::vector<std::string>& parts, const text::ShapeVariables& s = {}) {
    expect_failure({{"main.sg", text}}, parts, s);
  };
  const std::string f = "\ndef f(x: f32) = a * x";
  wrong("let a = 1\nlet a = 2" + f, {"SG0408", "main.sg:2:5", "constant 'a' is defined twice", "main.sg:1"});
  wrong("let a = 1\ndef a(x: f32) = x", {"SG0408", "function 'a' is defined twice"});
  wrong("let pi = 3" + f, {"SG0408", "'pi' is a number of the language"});
  wrong("let f32 = 3" + f, {"SG0408", "'f32' is an element type"});
  wrong("let a = a + 1" + f, {"SG0405", "main.sg:1:9", "'a' reads itself"});
  wrong("let a = b\nlet b = a" + f, {"SG0405", "main.sg:1:9", "'b' is read before its definition in line 2"});
  wrong("def f(x: f32) = a * x\nlet a = 1\ndef g(x: f32) = f(x)", {"SG0405", "'a' is read before its definition in line 2"});
  wrong("let a = fn(x) => x" + f, {"SG0409", "main.sg:1:5", "the constant 'a' is a function", "def a("});
  wrong("let a = exp" + f, {"SG0409", "the constant 'a' is a function"});
  wrong("let a = f32" + f, {"SG0409", "main.sg:1:5"});
  wrong("let a = N" + f, {"SG0402", "unknown name 'N'"});
  wrong("let a = N" + f, {"SG0409", "'N' is given from outside"}, {{"N", 3}});
  wrong("let N = 3\ndef f(x: f32[N]) = x", {"SG0104", "main.sg:1:5", "'N' is a constant of the file"}, {{"N", 4}});
  wrong("let (a, b) = (1, 2)" + f, {"SG0401", "a let has one name"});
  wrong("let a = 1.5\ndef f(x: f32[a]) = x", {"SG0105"});
  wrong("let a = 0 - 1\ndef f(x: f32[a]) = x", {"SG0101", "negative extent -1"});
  wrong("let a = 1\ndef f(x: f32) = a(x)", {"SG0403", "'a' is no function"});
  wrong("let a = 1 +", {"SG0401"});
}

// ---- imports

const Files kParts = {
    {"main.sg", "import \"lib/base.sg\"\ndef f(x: f32[n]) = twice(x) + shift\n"},
    {"lib/base.sg",
     "import \"deep.sg\"\nlet n = 3\nlet shift = 0.5\ndef hidden(x: T[N]) -> T[N] = deepest(x)\n"
     "def twice(x: T[N]) -> T[N] = 2 * hidden(x)\n"},
    {"lib/deep.sg", "let depth = 2\ndef deepest(x: T[N]) -> T[N] = x\n"},
};

TEST(Imports, BringTheNamesThatAFileDefinesItself) {
  const Program p = from(kParts);
  EXPECT_EQ(p.params[0].type, f32({3}));
  EXPECT_EQ(run(p, {{1, 2, 3}}), (Values{2.5, 4.5, 6.5}));
  Files files = kParts;
  files["main.sg"] = "import \"lib/base.sg\"\ndef f(x: f32[2]) = deepest(x)";
  expect_failure(files, {"SG0403", "main.sg:2:20", "unknown operation 'deepest'"});
}

TEST(Imports, AreNoEntriesOfTheProgram) {
  const text::Module m = text::parse(kParts.at("main.sg"), "main.sg", held(kParts)).value();
  ASSERT_EQ(m.functions().size(), 1u);
  EXPECT_EQ(m.functions()[0].name, "f");
  EXPECT_EQ(text::instantiate(m, "twice").error().code, "SG0403");
  std::vector<std::string> names;
  for (const text::SourceFile& file : m.files()) names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string>{"main.sg", "lib/base.sg", "lib/deep.sg"}));
  Files files = kParts;
  files["main.sg"] = "import \"lib/base.sg\"\n";
  expect_failure(files, {"SG0403", "main.sg", "the file defines no function"});
}

TEST(Imports, AreDifferentiatedPassedOnAndPrinted) {
  const Files files = {{"main.sg",
                        "import \"m.sg\" as m\ndef apply(f: fn, x: f64) = f(x)\n"
                        "def f(x: f64) -> f64 = apply(m.wave, x) + grad(m.wave)(x) * m.k + m.P(x, 2).b\n"},
                       {"m.sg",
                        "let k = 3.0\nstruct P { a: f64, b: f64 }\ndef wave(x: f64) = sin(x)\n"
                        "custom_jvp wave(x, dx) = (wave(x), k * cos(x) * dx)\n"}};
  const Program p = from(files);
  EXPECT_NEAR(run(p, {{0.5}})[0], std::sin(0.5) + 9 * std::cos(0.5) + 2, 1e-14);
  EXPECT_NEAR(run(grad(p).value(), {{0.5}})[0], 3 * std::cos(0.5) - 9 * std::sin(0.5), 1e-14)
      << "the rule has its derivative";
  const std::string printed = text::print(p);
  EXPECT_EQ(printed.find("import"), std::string::npos);
  EXPECT_EQ(text::print(test::program(printed)), printed);
}

TEST(Imports, UnderANameStayApart) {
  const Files files = {{"main.sg",
                        "import \"a.sg\" as a\nimport \"b.sg\" as b\nlet s = 1\n"
                        "def f(x: f32[a.n], q: b.P[2]) -> b.P[2] = b.P(w=a.g(x) * b.s + s + q.w)\n"},
                       {"a.sg", "let n = 2\nlet s = 10\ndef g(x: f32[N]) = x + s\n"},
                       {"b.sg", "let s = 3\nstruct P[N] { w: f32[N] }\ndef g(x: f32) = x\n"}};
  EXPECT_EQ(run(from(files), {{1, 2}, {5, 6}}), (Values{39, 43}));
  Files local = files;
  local["main.sg"] = "import \"b.sg\" as b\ndef f(x: f32[2]) = { let b = b.P(x)\n b.w }";
  EXPECT_EQ(run(from(local), {{1, 2}}), (Values{1, 2})) << "a local name hides that of an import";
}

TEST(Imports, MayMeetInOneFile) {
  const Files files = {{"main.sg", "import \"a.sg\"\nimport \"./sub/../b.sg\"\ndef f(x: f32) = pa(P(x)) + pb(P(x))"},
                       {"a.sg", "import \"c.sg\"\ndef pa(p: P) = 2 * p.x"},
                       {"b.sg", "import \"c.sg\"\ndef pb(p: P) = 3 * p.x"},
                       {"c.sg", "struct P { x: f32 }"}};
  expect_failure(files, {"SG0403", "unknown operation 'P'"});
  Files three = files;
  three["main.sg"] = "import \"c.sg\"\n" + files.at("main.sg");
  EXPECT_EQ(run(from(three), {{1}}), (Values{5})) << "the struct of c.sg is one type, whoever imports it";
}

TEST(Imports, OfTypesKeepTheConstantsOfTheirFile) {
  const Files files = {{"main.sg", "import \"a.sg\"\nlet m = 7\ndef f(p: P) -> f32[n] = p.w"},
                       {"a.sg", "let n = 2\nstruct P { w: f32[n] }"}};
  EXPECT_EQ(from(files).params[0].type, f32({2}));
  Files apart = files;
  apart["main.sg"] = "import \"a.sg\" as a\nlet n = 7\ndef f(p: a.P, x: f32[n]) = (p.w, x)";
  EXPECT_EQ(from(apart).params[0].type, f32({2}));
  EXPECT_EQ(from(apart).params[1].type, f32({7}));
}

TEST(Imports, NameTheFileAndLineOfWhatIsWrongInThem) {
  const std::string import = "import \"m.sg\"\ndef f(x: f32[3], y: f32) = g(x)";
  expect_failure({{"main.sg", import}, {"m.sg", "def g(x: f32[N]) = {\n  sofmax(x)\n}"}},
                 {"SG0403", "m.sg:2:3", "  sofmax(x)", "in the call of 'g' at main.sg:2:28", "did you mean 'softmax'"});
  expect_failure({{"main.sg", import}, {"m.sg", "\ndef g(x: f32[N] = x"}}, {"SG0401", "m.sg:2:6", "imported at main.sg:1"});
  expect_failure({{"main.sg", import}, {"m.sg", "\ndef g(x: f64[N]) = x"}},
                 {"SG0103", "main.sg:2:28", "'g' is defined in m.sg:2"});
  expect_failure(
      {{"main.sg", "import \"m.sg\"\ndef f(x: f32[3]) = norm(x, axis=0)"}, {"m.sg", "\n\ndef norm(x: f32[N]) = x"}},
      {"SG0404", "main.sg:2:20", "'norm' is the definition in m.sg:3"});
  expect_failure({{"main.sg", "import \"m.sg\"\ndef f(x: f32) = P(x, x)"}, {"m.sg", "struct P { x: f64, y: f64 }"}},
                 {"SG0103", "main.sg:2", "'P' is defined in m.sg:1"});
}

TEST(Imports, HaveOneClearErrorForEachMistake) {
  const std::string def = "\ndef f(x: f32) = x";
  const auto wrong = [&](Files files, const std::vector<std::string>& parts) { expect_failure(files, parts); };
  wrong({{"main.sg", "\nimport \"sub/no.sg\"" + def}},
        {"SG0410", "main.sg:2:8", "'sub/no.sg' cannot be followed", "no such file"});
  wrong({{"main.sg", "import \"a.sg\"" + def}, {"a.sg", "import \"x/b.sg\"\n"}, {"x/b.sg", "import \"../a.sg\"\n"}},
        {"SG0410", "x/b.sg:1:8", "a.sg -> x/b.sg -> a.sg", "imported at a.sg:1"});
  wrong({{"main.sg", "import \"./main.sg\"" + def}}, {"SG0410", "main.sg -> main.sg"});
  wrong({{"main.sg", "import \"\"" + def}}, {"SG0410", "an import names a file"});
  wrong({{"main.sg", "import nothing" + def}},
        {"SG0410", "there is no library 'nothing'", "libraries: ", "import \"nothing.sg\""});
  wrong({{"main.sg", "import loses" + def}}, {"SG0410", "did you mean 'losses'"});
  wrong({{"main.sg", "import 3" + def}}, {"SG0401", "the path of a file in quotes"});
  wrong({{"main.sg", "import \"a.sg\" b" + def}, {"a.sg", ""}}, {"SG0401", "expected the end of the line"});
  wrong({{"main.sg", "let a = 1\nimport \"a.sg\"" + def}, {"a.sg", ""}},
        {"SG0401", "main.sg:2:8", "in front of all definitions", "line 1"});
  const std::string a = "def g(x: f32) = x\nlet k = 1";
  wrong({{"main.sg", "import \"a.sg\"\n\ndef g(x: f32) = x"}, {"a.sg", a}},
        {"SG0408", "main.sg:3:5", "function 'g' is defined in an imported file as well", "a.sg:1"});
  wrong({{"main.sg", "import \"a.sg\"\nlet k = 2" + def}, {"a.sg", a}}, {"SG0408", "constant 'k'", "a.sg:2", "m.k"});
  wrong({{"main.sg", "import \"a.sg\"\nimport \"b.sg\"" + def}, {"a.sg", a}, {"b.sg", "\ndef g(x: f32) = x"}},
        {"SG0408", "main.sg:2:8", "'b.sg' defines 'g'", "a.sg:1", "b.sg:2", "import \"b.sg\" as m"});
  wrong({{"main.sg", "import \"a.sg\"\nimport \"a.sg\"" + def}, {"a.sg", a}}, {"SG0408", "'a.sg' is imported twice"});
  wrong({{"main.sg", "import \"a.sg\" as m\nimport \"b.sg\" as m" + def}, {"a.sg", a}, {"b.sg", a}},
        {"SG0408", "main.sg:2"});
  wrong({{"main.sg", "import \"a.sg\" as m\ndef f(x: f32) = m.h(x)"}, {"a.sg", a}},
        {"SG0403", "main.sg:2:18", "'a.sg' defines no 'h'"});
  wrong({{"main.sg", "import \"a.sg\" as m\ndef f(x: m.P) = x"}, {"a.sg", a}}, {"SG0403", "'m' has no struct 'P'"});
  wrong({{"main.sg", "import \"a.sg\"\ncustom_jvp g(x, dx) = (x, dx)" + def}, {"a.sg", a}},
        {"SG0403", "no definition of 'g' above"});
}

TEST(Imports, WithoutALoaderSayWhatIsMissing) {
  const auto m = text::parse("import \"a.sg\"\ndef f(x: f32) = x", "main.sg");
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().code, "SG0410");
  EXPECT_NE(m.error().str().find("text::read_file"), std::string::npos);
}

TEST(Imports, NestToABoundedDepth) {
  Files files = {{"main.sg", "import \"0.sg\"\ndef f(x: f32) = x"}};
  for (int j = 0; j < 1000; ++j) files[std::to_string(j) + ".sg"] = "import \"" + std::to_string(j + 1) + ".sg\"\n";
  files["1000.sg"] = "";
  expect_failure(files, {"SG0410", "more than 100 deep"});
  files["50.sg"] = "";
  EXPECT_EQ(run(from(files), {{2}}), (Values{2}));
}

TEST(Imports, ReadsOnlyRegularFiles) {
  EXPECT_EQ(text::read_file(SPIROGRAD_SOURCE_DIR "/samples").error().message, "it is no regular file");
  EXPECT_EQ(text::read_file(SPIROGRAD_SOURCE_DIR "/samples/no.sg").error().message, "there is no such file");
  EXPECT_NE(text::read_file(SPIROGRAD_SOURCE_DIR "/samples/line.sg").value().find("def loss"), std::string::npos);
}

TEST(Imports, TellPathsByTheirText) {
  for (const auto& [path, plain] : std::vector<std::pair<std::string, std::string>>{{"a/b/../c.sg", "a/c.sg"},
                                                                                    {"./a.sg", "a.sg"},
                                                                                    {"../a.sg", "../a.sg"},
                                                                                    {"a/../../b", "../b"},
                                                                                    {"/a/../../b", "/b"},
                                                                                    {"a//b", "a/b"},
                                                                                    {"/", "/"},
                                                                                    {"", ""}})
    EXPECT_EQ(text::plain_path(path), plain) << path;
}

// ---- what a library has

TEST(Library, IsNamedWhereOneOfItsFunctionsIsMissing) {
  expect_failure({{"main.sg", "def f(x: f32[3]) = mse(x, x)"}}, {"SG0403", "unknown operation 'mse'", "import losses"});
  expect_failure({{"main.sg", "import losses\ndef f(x: f32[3]) = mes(x, x)"}}, {"SG0403", "did you mean 'mse'?"});
  expect_failure({{"main.sg", "import losses as l\ndef f(x: f32[3]) = l.mes(x, x)"}}, {"SG0403", "did you mean 'l.mse'?"});
}

}  // namespace modules_test
}  // namespace spirograd
