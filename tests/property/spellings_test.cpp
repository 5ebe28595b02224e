// Random programs as people write them, in two spellings: with functions, rules, structs, derivatives as expressions and
// loops of every kind, and written out. Both mean the same, in values and in derivatives, and each passes through the whole
// compiler.
#include <algorithm>

#include "spirograd/grad.h"
#include "support/random_source.h"
#include "support/text_programs.h"
#include "tests/property/pipeline.h"

namespace spirograd::property {
namespace spellings_test {

using test::RandomSource;
using test::Spelling;

RandomProgram spelt(const Decisions& d, Spelling spelling) {
  const RandomSource source = test::random_source(d, spelling);
  return {test::program(source.text), source.inputs};
}

std::string shown(const Decisions& d) {
  const RandomSource rich = test::random_source(d, Spelling::Rich);
  std::ostringstream out;
  out.precision(17);
  out << rich.text << "# the same, written out\n" << test::random_source(d, Spelling::Plain).text;
  for (const Values& v : rich.inputs) {
    out << "#";
    for (double x : v) out << " " << x;
    out << "\n";
  }
  return out.str();
}

// The inputs, then for each result a cotangent.
std::vector<Values> with_cotangents(const Program& p, std::vector<Values> inputs) {
  for (const ProgramResult& r : p.results) {
    Values ct;
    for (int64_t j = 0; j < r.type.shape.count(); ++j) ct.push_back(0.75 - 0.5 * static_cast<double>(j % 4));
    inputs.push_back(std::move(ct));
  }
  return inputs;
}

// A line of the table of tools/test --long.
void report(const char* what, uint64_t agreed) {
  std::cout << "sizes: host | spellings | " << what << " | " << agreed << " agreed, 0 refused, 0 too long, 0 by f64, "
            << ::testing::Test::HasFailure() << " found\n";
}

TEST(Spellings, MeanTheSameInValueAndDerivative) {
  uint64_t compared = 0;
  const auto same = [&](const Decisions& d) -> std::string {
    const RandomProgram rich = spelt(d, Spelling::Rich), plain = spelt(d, Spelling::Plain);
    std::string wrong = named("value", difference(run(plain.program, plain.inputs), run(rich.program, rich.inputs), 1e-9));
    if (!wrong.empty()) return wrong;
    const std::vector<Values> inputs = with_cotangents(rich.program, rich.inputs);
    const std::vector<Values> want = run(vjp(plain.program).value(), inputs), have = run(vjp(rich.program).value(), inputs);
    compared += std::all_of(want.begin(), want.end(), [](const Values& v) {
      return std::all_of(v.begin(), v.end(), [](double x) { return std::isfinite(x); });
    });
    return named("derivative", difference(want, have, 1e-8));
  };
  // The property is one of decisions, for it makes two programs of them.
  const Decisions* last = nullptr;
  const Generator generate = {[&](const Decisions& d) {
                                last = &d;
                                return RandomProgram{};
                              },
                              shown};
  const uint64_t programs = check_generated(50000, 4000, generate, [&](const RandomProgram&) { return same(*last); });
  report("both", programs);
  EXPECT_GT(compared, programs / 40 * 39);
}

TEST(Spellings, PassThroughTheWholeCompiler) {
  Counts counts;
  const Generator generate = {[](const Decisions& d) { return spelt(d, Spelling::Rich); }, shown};
  const uint64_t programs = check_generated(60000, 1500, generate, up_to_signs_of_zeros(counts, stages_agree));
  report("stages", programs);
  EXPECT_LE(counts.rounded, programs / 100);
}

TEST(Spellings, HaveRightDerivatives) {
  Counts counts;
  const Generator generate = {[](const Decisions& d) { return spelt(d, Spelling::Rich); }, shown};
  const uint64_t programs = check_generated(70000, 1500, generate, up_to_signs_of_zeros(counts, derivatives_agree));
  report("slopes", programs);
  std::cout << counts.differences << " compared with differences, " << counts.second << " to second order\n";
  EXPECT_GT(counts.differences, programs / 10 * 9);
  EXPECT_GT(counts.second, programs / 4);
  EXPECT_LE(counts.rounded, programs / 100);
}

}  // namespace spellings_test
}  // namespace spirograd::property
