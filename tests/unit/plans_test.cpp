// What the compiler makes of programs: sizes of simplified programs and of their plans, kept in tests/golden/*plans.txt, so
// that no change of a rule or a heuristic goes unseen, better or worse. Fingerprints tell whether a simplified program reads
// the same. `cmake --build build/release --target update_docs`
// writes the file anew; the difference is what to review.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "frontend/rewrite/passes.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirv/kernel/iterations.h"
#include "spirv/lower/plan.h"
#include "tests/conformance/conformance.h"
#include "tests/support/lowered.h"
#include "tests/support/random_program.h"

namespace spirograd {
namespace {

const std::string kFolder = std::string(SPIROGRAD_SOURCE_DIR) + "/tests/golden/";

std::string contents(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Ends loops as some drivers do.
Target cpu_target() {
  Target t = test::cpu_target();
  t.max_loop_iterations = 65535;
  return t;
}

Target gpu_target() {
  Target t;
  t.float64 = true;
  t.atomic_float_add = true;
  t.subgroup_size = 32;
  t.subgroup_operations = kSubgroupBasic | kSubgroupShuffle;
  t.max_invocations = 1024;
  t.max_buffers = 16;
  return t;
}

// "12 steps: 64 1 1 .., 120 instructions, 300 iterations, 4096 bytes": workgroups of the first steps ("[repeat 100 x 4]": so
// often the next 4), instructions of all kernels, loop iterations of the invocation that runs most, bytes of scratch memory.
std::string summary(const lower::Plan& plan) {
  constexpr size_t kShown = 6;
  std::stringstream out;
  out << plan.steps.size() << (plan.steps.size() == 1 ? " step:" : " steps:");
  for (size_t k = 0; k < std::min(kShown, plan.steps.size()); ++k) switch (const Step& s = plan.steps[k]; s.kind) {
      case Step::Kind::Dispatch: out << " " << s.groups; break;
      case Step::Kind::Fill: out << " fill"; break;
      case Step::Kind::Copy: out << " copy"; break;
      case Step::Kind::Repeat: out << " [repeat " << s.count << " x " << s.body << "]"; break;
    }
  size_t instructions = 0;
  uint64_t iterations = 0;
  for (const kernel::Kernel& k : plan.kernels) {
    instructions += k.body.size();
    iterations = std::max(iterations, kernel::loop_iterations(k));
  }
  out << (plan.steps.size() > kShown ? " .., " : ", ") << instructions << " instructions, " << iterations << " iterations, "
      << plan.scratch_bytes << " bytes";
  return out.str();
}

// Tells texts apart (FNV-1a).
std::string fingerprint(const std::string& text) {
  uint32_t hash = 2166136261u;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  char out[16];
  std::snprintf(out, sizeof out, "%08x", hash);
  return out;
}

std::string described(const std::string& name, const Program& p) {
  const Program simple = rewrite::optimise_for_lowering(p, {.verify = true});
  return name + ": " + std::to_string(rewrite::operations(simple)) + " operations, text " +
         fingerprint(text::print(simple)) + "\n  cpu " + summary(lower::lower(simple, cpu_target())) + "\n  gpu " +
         summary(lower::lower(simple, gpu_target())) + "\n";
}

std::string all_described() {
  std::string out;
  const text::Module module = text::parse(contents(kFolder + "families.sg"), "families.sg").value();
  for (const text::Signature& f : module.functions()) {
    const std::string& name = f.name;
    const Program p = text::instantiate(module, name).value();
    out += described(name, p);
    const bool scalar = p.results.size() == 1 && p.results[0].type.shape.rank() == 0 && is_float(p.results[0].type.dtype);
    if (scalar) out += described(name + ", gradient", grad(p).value());
    if (is_float(p.results[0].type.dtype)) out += described(name + ", in a direction", jvp(p).value());
  }
  for (const conformance::Check& c : conformance::checks(conformance::Surface::Text, DType::F32))
    out += described(c.line + " " + c.name, c.program);
  return out;
}

std::string random_described() {
  std::string out;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    out += described("program " + std::to_string(seed), test::random_program(seed).program);
    const test::RandomOptions smooth = {.differentiable_only = true, .max_size = 40};
    const Program p = test::random_program(10000 + seed, smooth).program;
    const Result<Program> derivative = seed % 3 == 0 ? jvp(p) : vjp(p);
    if (derivative) out += described("derivative " + std::to_string(seed), *derivative);  // else: no float parameter
  }
  return out;
}

void expect_golden(const std::string& file, const std::string& have) {
  const std::string path = kFolder + file;
  if (std::getenv("SPIROGRAD_UPDATE_GOLDEN")) std::ofstream(path) << have;
  std::stringstream want_lines(contents(path)), have_lines(have);
  int shown = 0;
  for (std::string want, line, name; shown < 20;) {
    const bool more_wanted = !!std::getline(want_lines, want), more = !!std::getline(have_lines, line);
    if (!more_wanted && !more) break;
    if (line.rfind("  ", 0) != 0) name = line;
    if (want != line) ADD_FAILURE() << ++shown << ". " << name << "\n  was " << want << "\n  is  " << line;
    want.clear(), line.clear();
  }
  if (shown > 0) ADD_FAILURE() << "if that is meant: cmake --build BUILD --target update_docs, and review the difference";
}

TEST(Plans, OfEveryFamilyAreThoseOfTheGoldenFile) { expect_golden("plans.txt", all_described()); }

TEST(Plans, OfRandomProgramsAreThoseOfTheGoldenFile) { expect_golden("random_plans.txt", random_described()); }

}  // namespace
}  // namespace spirograd
