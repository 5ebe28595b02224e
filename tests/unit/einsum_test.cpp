// einsum against sums over all letters in plain C++, and against the same contractions written in other ways.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "frontend/rewrite/passes.h"
#include "spirograd/check.h"
#include "spirograd/grad.h"
#include "support/text_programs.h"

namespace spirograd {
namespace einsum_test {

using test::program;
using test::run;
using test::Values;

const std::map<char, int64_t> kExtents = {{'a', 2}, {'b', 3}, {'c', 4}, {'i', 2}, {'j', 3}, {'k', 5}, {'n', 0}, {'u', 1}};

std::vector<std::string> split(const std::string& s) {
  std::vector<std::string> out(1);
  for (char c : s) {
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

int64_t count(const std::string& axes) {
  int64_t n = 1;
  for (char c : axes) n *= kExtents.at(c);
  return n;
}

// Every operand is sin of its positions and number.
Values filled(size_t operand, int64_t n) {
  Values x;
  for (int64_t j = 0; j < n; ++j) x.push_back(std::sin(static_cast<double>(j) + 0.3 + 2 * static_cast<double>(operand)));
  return x;
}

// The sum over all values of all letters.
Values by_letters(const std::vector<std::string>& inputs, const std::string& output) {
  std::string letters;
  for (const std::string& axes : inputs)
    for (char c : axes)
      if (letters.find(c) == std::string::npos) letters += c;
  std::map<char, int64_t> at;
  const auto place = [&](const std::string& axes) {
    int64_t flat = 0;
    for (char c : axes) flat = flat * kExtents.at(c) + at[c];
    return static_cast<size_t>(flat);
  };
  Values out(static_cast<size_t>(count(output)), 0.0);
  for (int64_t flat = 0; flat < count(letters); ++flat) {
    int64_t rest = flat;
    for (char c : letters) at[c] = rest % kExtents.at(c), rest /= kExtents.at(c);
    double product = 1;
    for (size_t j = 0; j < inputs.size(); ++j) product *= filled(j, count(inputs[j]))[place(inputs[j])];
    out[place(output)] += product;
  }
  return out;
}

std::string types(const std::vector<std::string>& inputs) {
  std::string out;
  for (size_t j = 0; j < inputs.size(); ++j) {
    out += (j ? ", x" : "x") + std::to_string(j) + ": f64";
    for (size_t k = 0; k < inputs[j].size(); ++k) out += (k ? "," : "[") + std::to_string(kExtents.at(inputs[j][k]));
    if (!inputs[j].empty()) out += "]";
  }
  return out;
}

Program of_letters(const std::string& letters, const std::vector<std::string>& inputs, const std::string& after = "") {
  std::string call = "einsum(\"" + letters + "\"";
  for (size_t j = 0; j < inputs.size(); ++j) call += ", x" + std::to_string(j);
  return program("def f(" + types(inputs) + ") = { let y = " + call + ")\n y" + after + " }");
}

TEST(Einsum, IsTheSumOverAllLetters) {
  const std::pair<const char*, const char*> cases[] = {
      {"ij,jk", "ik"},      {"ij,jk", "ki"},      {"ij,ij", ""},         {"ij", "ji"},
      {"ij", "j"},          {"aai", "ia"},        {"aaa", "a"},          {"aa", ""},
      {"i,j", "ij"},        {"ij,jk,kc", "ic"},   {"aij,ajk", "aik"},    {"ij,jk,k", "i"},
      {"abc,bi,cj", "aij"}, {",ij", "ij"},        {"nj,jk", "nk"},       {"in,nk", "ik"},
      {"ui,uj", "ij"},      {"aij,bj,ck", "abc"}, {"ai,ai,ai,aj", "aj"}, {"iijj", "ij"},
      {"ia,aj,a", "ij"},    {"a,b,c,i", "icab"},  {"u,ui", "i"},         {"", ""},
  };
  for (const auto& [in, out] : cases) {
    const std::vector<std::string> inputs = split(in);
    std::vector<Values> x;
    for (size_t j = 0; j < inputs.size(); ++j) x.push_back(filled(j, count(inputs[j])));
    const std::string letters = std::string(in) + "->" + out;
    const Values have = run(of_letters(letters, inputs), x), want = by_letters(inputs, out);
    ASSERT_EQ(have.size(), want.size()) << letters;
    for (size_t j = 0; j < have.size(); ++j) EXPECT_NEAR(have[j], want[j], 1e-12) << letters << ", element " << j;
    std::vector<HostArray> at;
    for (size_t j = 0; j < inputs.size(); ++j) {
      Shape s;
      for (char c : inputs[j]) s.push_back(kExtents.at(c));
      at.emplace_back(f64(s), x[j]);
    }
    for (const DerivativeCheck& check : check_derivatives(of_letters(letters, inputs), at).value())
      EXPECT_TRUE(check.ok) << letters << ": " << check.what << " " << check.detail << " " << check.note;
  }
}

TEST(Einsum, ResultsMayBeLeftOut) {
  const auto same = [](const std::string& in, const std::string& with_result) {
    EXPECT_EQ(text::print(of_letters(in, split(in))), text::print(of_letters(with_result, split(in)))) << in;
  };
  same("ij,jk", "ij,jk->ik");
  same("ji", "ji->ij");
  same("aa", "aa->");
  same("ba,bc", "ba,bc->ac");
}

// Equal programs have equal kernels, schedules and derivatives.
TEST(Einsum, IsTheContractionThatItSays) {
  const std::string three = "def f(a: f32[8,20,30], b: f32[8,30,40]) = ", two = "def f(a: f32[20,30], b: f32[30,40]) = ";
  const auto simple = [](const std::string& text) { return text::print(rewrite::optimise_for_lowering(program(text))); };
  const std::pair<std::string, std::string> equal[] = {
      {three + "einsum(\"bij,bjk->bik\", a, b)", three + "a @ b"},
      {three + "einsum(\"...ij,...jk->...ik\", a, b)", three + "a @ b"},
      {two + "einsum(\"ij,jk\", a, b)", two + "a @ b"},
      {two + "einsum(\"ij,jk->ki\", a, b)", two + "for k: 40, i: 20 => sum(for j: 30 => a[i, j] * b[j, k])"},
      {two + "einsum(\"ij,jk,k->i\", a, b, b[0])", two + "a @ (b @ b[0])"},
      {three + "einsum(\"bij->b\", a)", three + "sum(a, axis=[1, 2])"},
  };
  for (const auto& [one, other] : equal) EXPECT_EQ(simple(one), simple(other)) << one;
}

// What is summed stands before all axes in which an operand ends as the result does, so that these stay one.
TEST(Einsum, TurnsNoOperandThatEndsAsTheResultDoes) {
  for (const char* letters : {"ab,bjk->ajk", "aibc,bcjk->aijk", "ab,bc->ac", "cij,c->ij"}) {
    const Program p = rewrite::optimise_for_lowering(
        of_letters(letters, split(std::string(letters).substr(0, std::string(letters).find('-')))));
    EXPECT_EQ(text::print(p).find("transpose"), std::string::npos) << text::print(p);
  }
}

TEST(Einsum, EllipsesBroadcast) {
  const std::string types = "def f(a: f64[2,1,3,4], b: f64[5,4,2], v: f64[4]) = ";
  const std::vector<Values> x = {filled(0, 24), filled(1, 40), filled(2, 4)};
  EXPECT_EQ(run(program(types + "einsum(\"...ij,...jk->...ik\", a, b)"), x), run(program(types + "a @ b"), x));
  EXPECT_EQ(run(program(types + "einsum(\"...ij,j\", a, v)"), x), run(program(types + "a @ v"), x));
  EXPECT_EQ(run(program(types + "einsum(\"...j->j...\", b)"), x), run(program(types + "transpose(b, [2, 0, 1])"), x));
  EXPECT_EQ(run("def f(a: i32[2,2], b: i32[2]) = einsum(\"ij,j->i\", a, b)", {{1, 2, 3, 4}, {1, 10}}), (Values{21, 43}));
}

TEST(Einsum, MistakesNameTheLetter) {
  const std::pair<const char*, const char*> cases[] = {
      {"einsum(\"ij,ik->jk\", x, y)", "SG0101 einsum: in \"ij,ik->jk\" 'i' is 2 and, in f32[3,4], 3"},
      {"einsum(\"ii\", x)", "SG0101 einsum: in \"ii\" 'i' is 2 and, in f32[2,3], 3"},
      {"einsum(\"ijk\", x)", "SG0101 einsum: in \"ijk\" an operand has 3 letters, and f32[2,3] has 2 axes"},
      {"einsum(\"i\", x)", "SG0101 einsum: in \"i\" an operand has 1 letter, and f32[2,3] has 2 axes"},
      {"einsum(\"ij->ik\", x)", "SG0404 einsum: \"ij->ik\" has 'k' in the result alone"},
      {"einsum(\"ij->ii\", x)", "SG0404 einsum: \"ij->ii\" has 'i' twice in the result"},
      {"einsum(\"ij,jk\", x)", "SG0404 einsum: \"ij,jk\" is for 2 arrays, it is given 1"},
      {"einsum(\"i+j\", x)", "SG0404 einsum: \"i+j\" has an unexpected '+'"},
      {"einsum(\"......\", x)", "SG0404 einsum: \"......\" has \"...\" twice in one operand"},
      {"einsum(\"...i,...i\", x, y)", "SG0101 einsum: in \"...i,...i\" an axis of \"...\" is 2 and, in f32[3,4], 3"},
      {"einsum(\"ij\", x > 0)", "SG0101 einsum: not defined for bool[2,3]"},
      {"einsum(\"ij,ij\", x, i32(x))", "SG0102 einsum: "},
      {"einsum(x, y)", "SG0404 'einsum' begins with the letters of the axes in quotes, not with f32[2,3]"},
      {"sin(\"x\")", "SG0102 sin: expected an array, found a string"},
  };
  for (const auto& [body, want] : cases) {
    const auto module = text::parse("def f(x: f32[2,3], y: f32[3,4]) = " + std::string(body), "test.sg");
    const auto p = text::instantiate(module.value());
    const std::string have = p ? "" : p.error().code + " " + p.error().message;
    EXPECT_EQ(have.substr(0, std::string(want).size()), want) << body;
  }
  EXPECT_EQ(text::parse("def f(x: f32) = sin(\"x)", "test.sg").error().message,
            "the quoted string that begins here has no closing '\"'");
}

}  // namespace einsum_test
}  // namespace spirograd
